"""Functions that put elements elsewhere and make new storage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lazyloom import Spec

from .._core import (
    axes,
    axis,
    broadcast_shapes,
    cast,
    record,
    record_spec,
    scalar,
    shape_of,
    spec,
)
from .._errors import TorchArgumentError
from .._promotion import combine
from .._tensor import Tensor, operand
from . import pointwise, views

_wrap = Tensor._wrap


def _promoted(tensors: Any, name: str) -> list[Any]:
    tensors = list(tensors)
    if not tensors:
        raise TorchArgumentError(f"{name} expected a non-empty list of Tensors")
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TypeError(
                f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
    first = tensors[0]._type.dtype
    for t in tensors:
        if t._type.dtype is not first:
            common = combine(pointwise.ranked(t) for t in tensors).lazy
            return [cast(operand(t), common) for t in tensors]
    return [operand(t) for t in tensors]


def cat(tensors: Any, dim: int = 0) -> Tensor:
    """Tensors joined along an existing dimension; their dtypes are promoted."""
    values = _promoted(tensors, "torch.cat():")
    kept = []
    for v in values:
        shape = v.shape
        if not shape:
            raise RuntimeError("zero-dimensional tensor cannot be concatenated")
        if shape != (0,):  # PyTorch skips these, whatever the others' rank
            kept.append(v)
    if not kept:
        kept = values[:1]
    at = axis(dim, len(kept[0].shape))
    ready = _joins.get((len(kept), at))
    if ready is None:
        ready = _joins[len(kept), at] = spec("concatenate", len(kept), {"axis": at})
    return _wrap(record_spec(ready, kept))


#: the specs of concatenations, by the number of parts and the axis
_joins: dict[tuple[int, int], Spec] = {}


def stack(tensors: Any, dim: int = 0) -> Tensor:
    """Tensors of one shape joined along a new dimension."""
    values = _promoted(tensors, "stack")
    for i, v in enumerate(values):
        if v.shape != values[0].shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(values[0].shape)} at "
                f"entry 0 and {list(v.shape)} at entry {i}")
    return _wrap(record("stack", values, {"axis": axis(dim, len(values[0].shape) + 1)}))


def atleast_1d(*tensors: Any) -> Any:
    return _each(lambda t: t if t.ndim else t.reshape(1), tensors)


def atleast_2d(*tensors: Any) -> Any:
    return _each(lambda t: t if t.ndim > 1 else t.reshape(1, -1), tensors)


def _each(f: Callable[[Tensor], Tensor], tensors: Any) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return f(tensors[0])
    many = tensors[0] if len(tensors) == 1 else tensors
    return tuple(f(t) for t in many)


def hstack(tensors: Any) -> Tensor:
    parts = [atleast_1d(t) for t in tensors]
    return cat(parts, 0 if parts and parts[0].ndim == 1 else 1)


def vstack(tensors: Any) -> Tensor:
    return cat([atleast_2d(t) for t in tensors], 0)


def dstack(tensors: Any) -> Tensor:
    parts = [atleast_2d(t) for t in tensors]
    return cat([t.unsqueeze(-1) if t.ndim == 2 else t for t in parts], 2)


def column_stack(tensors: Any) -> Tensor:
    return cat([t.reshape(-1, 1) if t.ndim < 2 else t for t in tensors], 1)


def flip(input: Tensor, *dims: Any) -> Tensor:
    """Dimensions in reverse order, as a copy."""
    return _wrap(record("flip", [operand(input)], {"axes": axes(shape_of(dims), input.ndim)}))


def fliplr(input: Tensor) -> Tensor:
    return flip(input, 1)


def flipud(input: Tensor) -> Tensor:
    return flip(input, 0)


def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Elements shifted cyclically along dimensions, or through the flattened tensor."""
    amounts = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    where = None if dims is None or dims == () else axes(dims, input.ndim)
    return _wrap(record("roll", [operand(input)], {"shifts": amounts, "axes": where}))


def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    a, b = axes(dims, input.ndim)
    k %= 4
    if k == 0:
        return views.clone(input)
    if k == 2:
        return flip(input, a, b)
    return views.transpose(flip(input, b), a, b) if k == 1 else flip(
        views.transpose(input, a, b), b)


def repeat(input: Tensor, *sizes: Any) -> Tensor:
    """The tensor tiled that many times along each dimension (``Tensor.repeat``)."""
    repeats = shape_of(sizes)
    if len(repeats) < input.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor")
    return tile(input, repeats)


def tile(input: Tensor, *dims: Any) -> Tensor:
    """As NumPy's tile."""
    repeats = shape_of(dims)
    shape = input._type.shape
    repeats = (1,) * (len(shape) - len(repeats)) + repeats
    v = operand(input)
    if len(repeats) > len(shape):
        v = record("reshape", [v], {"shape": (1,) * (len(repeats) - len(shape)) + shape})
    return _wrap(record("tile", [v], {"repeats": repeats}))


def repeat_interleave(input: Tensor, repeats: Any, dim: int | None = None, *,
                      output_size: int | None = None) -> Tensor:
    """Each element repeated; a tensor of counts is read to know the result's size."""
    if dim is None:
        input, dim = input.reshape(-1), 0
    at = axis(dim, input.ndim)
    if isinstance(repeats, int):
        return _wrap(record("repeat", [operand(input)], {"repeats": repeats, "axis": at}))
    import numpy as np

    from .creation import tensor
    from .scattering import index_select

    counts = np.broadcast_to(repeats.read(), (input._type.shape[at],))
    return index_select(input, at, tensor(np.repeat(np.arange(len(counts)), counts)))


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    shape = broadcast_shapes(*[t._type.shape for t in tensors])
    return tuple(views.expand(t, *shape) for t in tensors)


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Coordinate grids; ``indexing`` is ``"ij"`` or ``"xy"``."""
    many = tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors
    if indexing not in ("ij", "xy"):
        raise RuntimeError(
            f"torch.meshgrid: indexing must be one of 'xy' or 'ij', but received: {indexing!r}")
    swap = indexing == "xy" and len(many) > 1
    parts = list(many)
    if swap:
        parts[0], parts[1] = parts[1], parts[0]
    shape = tuple(t.numel() for t in parts)
    grids = [
        views.expand(t.reshape(*[-1 if i == j else 1 for j in range(len(parts))]), *shape)
        for i, t in enumerate(parts)]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def cartesian_prod(*tensors: Tensor) -> Tensor:
    if len(tensors) == 1:
        return tensors[0]
    return stack([g.reshape(-1) for g in meshgrid(*tensors)], 1)


def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """The lower triangle, zeros above the diagonal."""
    return _wrap(record("tril", [operand(input)], {"k": diagonal}))


def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """The upper triangle, zeros below the diagonal."""
    return _wrap(record("triu", [operand(input)], {"k": diagonal}))


def _triangle_indices(lower: bool) -> Callable[..., Tensor]:
    def function(row: int, col: int, offset: int = 0, *, dtype: Any = None) -> Tensor:
        import numpy as np

        from .creation import tensor

        made = np.tril_indices(row, offset, col) if lower else np.triu_indices(row, offset, col)
        found = tensor(np.stack(made))
        return found if dtype is None else found.to(dtype)

    function.__name__ = "tril_indices" if lower else "triu_indices"
    return function


tril_indices, triu_indices = _triangle_indices(True), _triangle_indices(False)


def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices with the last dimension on a diagonal, zeros elsewhere."""
    n = input.ndim + 1
    return _wrap(record("diag_embed", [operand(input)], {
        "offset": offset, "axis1": axis(dim1, n), "axis2": axis(dim2, n)}))


def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A vector on the diagonal of a matrix, or the diagonal of a matrix (a copy)."""
    if input.ndim == 1:
        return diag_embed(input, diagonal)
    if input.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return views.clone(views.diagonal(input, diagonal))


def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of a dimension, as a new last dimension. A copy, not a view."""
    from .creation import tensor

    at = axis(dimension, input.ndim)
    length = input._type.shape[at]
    if size > length:
        raise RuntimeError(
            f"maximum size for tensor at dimension {at} is {length} but size is {size}")
    import numpy as np

    starts = np.arange(0, length - size + 1, step)
    where = tensor(starts[:, None] + np.arange(size)[None, :])
    found = record("take", [operand(input), operand(where)], {"axis": at})
    made: Tensor = _wrap(found)
    return views.clone(views.movedim(made, at + 1, -1))


def pad_value(v: Any, low: Any, high: Any, number: Any) -> Any:
    """A value padded with a constant; negative amounts cut."""
    return record("pad", [v, scalar(number, v.dtype)], {
        "low": tuple(low), "high": tuple(high), "interior": (0,) * len(v.shape)})


def view_as_real(input: Tensor) -> Tensor:
    """Real and imaginary parts as a last dimension of size 2. A copy, not a view."""
    v = operand(input)
    if not v.dtype.is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return _wrap(record("stack", [record("real", [v]), record("imag", [v])],
                        {"axis": len(v.shape)}))


def view_as_complex(input: Tensor) -> Tensor:
    """A complex tensor from a last dimension of size 2. A copy, not a view."""
    if not input.ndim or input._type.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    return pointwise.complex(views.select(input, -1, 0), views.select(input, -1, 1))


FUNCTIONS = {f.__name__: f for f in (
    cat, stack, atleast_1d, atleast_2d, hstack, vstack, dstack, column_stack, flip, fliplr, flipud,
    roll, rot90, tile, repeat_interleave, broadcast_tensors, meshgrid, cartesian_prod, tril, triu,
    tril_indices, triu_indices, diag_embed, diag, view_as_real, view_as_complex)}
FUNCTIONS.update(concat=cat, concatenate=cat, row_stack=vstack)
METHODS = {"repeat": repeat, "unfold": unfold}
METHOD_NAMES = ("flip", "fliplr", "flipud", "roll", "rot90", "tile", "repeat_interleave", "tril",
                "triu", "diag_embed", "diag")
INPLACE = ("tril", "triu")
