"""Functions that put elements elsewhere and make new storage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import lazyloom
from lazyloom import Spec, Value
from lazyloom.dtypes import int64
from lazyloom.frontend import storage_of

from .. import _dtypes
from .._core import (
    axes,
    axis,
    broadcast_shapes,
    cast,
    record,
    record_spec,
    scalar,
    sequence_by_name,
    shape_of,
    spec,
)
from .._elementwise import elementwise
from .._errors import TorchArgumentError, described
from .._promotion import combine
from .._registry import declare
from .._tensor import Tensor, operand
from . import bounds, pointwise, views
from .creation import finish, tensor
from .indexing import coordinates

_wrap = Tensor.from_value


def _promoted(tensors: Any, name: str) -> list[Any]:
    tensors = list(tensors)
    if not tensors:
        raise TorchArgumentError(f"{name} expected a non-empty list of Tensors")
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TypeError(
                f"expected Tensor as element {i} in argument 0, but got {described(t)}")
    first = tensors[0].tensor_type.dtype
    for t in tensors:
        if t.tensor_type.dtype is not first:
            common = combine(pointwise.ranked(t) for t in tensors).lazy
            return [cast(operand(t), common) for t in tensors]
    return [operand(t) for t in tensors]


#: joins of fewer parts, and of parts that took more operations, are part of the step they are in
_MANY = 4
_SHALLOW = 4


def is_data(tensors: Sequence[Tensor], values: Sequence[Value], least: int = _MANY) -> bool:
    """Whether these are many tensors of data, whose join is best a program of its own.

    Samples of a replay memory or a dataset: which of them are one tensor, are views or were
    computed before differs from step to step, and would make every step another program. A
    sample that is still pending becomes a program, too, unless it is part of something larger.
    """
    if len(values) < least:
        return False
    for v in values:
        if v.requires_grad or (v.is_pending and v.node.depth > _SHALLOW):
            return False
    for t in tensors:
        if t.requires_grad:  # parameters that are joined without gradients
            return False
    for t, v in zip(tensors, values, strict=True):
        if v.is_pending and not is_part(t):
            lazyloom.boundary(v)
    return True


def is_part(t: Tensor) -> bool:
    """Whether a tensor is a view of some elements of a larger one."""
    return bool(t.tensor_type.size != storage_of(t).value.type.size)


def cat(tensors: Any, dim: int = 0) -> Tensor:
    """Tensors joined along an existing dimension; their dtypes are promoted."""
    tensors = tuple(tensors)
    values = _promoted(tensors, "torch.cat():")
    kept = []
    for v in values:
        shape = v.shape
        if not shape:
            raise RuntimeError("zero-dimensional tensor cannot be concatenated")
        if shape != (0,):  # PyTorch skips these, whatever the others' rank
            kept.append(v)
    if not kept:
        return _wrap(values[0])
    if len(kept) < len(values) and len(kept[0].shape) == 1 and lazyloom.grad_enabled():
        kept = [v for v in values if v.shape != (0,) or v.requires_grad]
    at = axis(dim, len(kept[0].shape))
    ready = _joins.get((len(kept), at))
    if ready is None:
        ready = _joins[len(kept), at] = spec("concatenate", len(kept), {"axis": at})
    if is_data(tensors, values):
        return _wrap(lazyloom.boundary(record_spec(ready, kept)))
    return _wrap(record_spec(ready, kept))


#: the specs of concatenations, by the number of parts and the axis
_joins: dict[tuple[int, int], Spec] = {}


def stack(tensors: Any, dim: int = 0) -> Tensor:
    """Tensors of one shape joined along a new dimension."""
    tensors = tuple(tensors)
    values = _promoted(tensors, "stack")
    for i, v in enumerate(values):
        if v.shape != values[0].shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(values[0].shape)} at "
                f"entry 0 and {list(v.shape)} at entry {i}")
    at = {"axis": axis(dim, len(values[0].shape) + 1)}
    if is_data(tensors, values):
        return _wrap(lazyloom.boundary(record("stack", values, at)))
    return _wrap(record("stack", values, at))


def atleast_1d(*tensors: Any) -> Any:
    """Each tensor with at least one dimension."""
    return _each(lambda t: t if t.ndim else t.reshape(1), tensors)


def atleast_2d(*tensors: Any) -> Any:
    """Each tensor with at least two dimensions."""
    return _each(lambda t: t if t.ndim > 1 else t.reshape(1, -1), tensors)


def _three(t: Tensor) -> Tensor:
    return t.reshape(1, -1, 1) if t.ndim < 2 else t.unsqueeze(-1) if t.ndim == 2 else t


def atleast_3d(*tensors: Any) -> Any:
    """At least three dimensions; a matrix gets its third at the end."""
    return _each(_three, tensors)


def _each(f: Callable[[Tensor], Tensor], tensors: Any) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return f(tensors[0])
    many = tensors[0] if len(tensors) == 1 else tensors
    return tuple(f(t) for t in many)


def hstack(tensors: Any) -> Tensor:
    """Tensors joined along the second dimension, vectors along the first."""
    parts = [atleast_1d(t) for t in tensors]
    return cat(parts, 0 if parts and parts[0].ndim == 1 else 1)


def vstack(tensors: Any) -> Tensor:
    """Tensors joined along the first dimension, with at least two dimensions."""
    return cat([atleast_2d(t) for t in tensors], 0)


def dstack(tensors: Any) -> Tensor:
    """Tensors joined along the third dimension."""
    return cat([atleast_3d(t) for t in tensors], 2)


def column_stack(tensors: Any) -> Tensor:
    """Vectors as the columns of a matrix; matrices side by side."""
    return cat([t.reshape(-1, 1) if t.ndim < 2 else t for t in tensors], 1)


@sequence_by_name
def flip(input: Tensor, *dims: Any) -> Tensor:
    """Dimensions in reverse order, as a copy."""
    over = axes(shape_of(dims), input.ndim)
    if not input.ndim:
        return views.clone(input)
    return _wrap(record("flip", [operand(input)], {"axes": over}))


def fliplr(input: Tensor) -> Tensor:
    """A copy with the second dimension reversed."""
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, 1)


def flipud(input: Tensor) -> Tensor:
    """A copy with the first dimension reversed."""
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, 0)


def _several(given: Any) -> tuple[int, ...]:
    return shape_of((given,) if hasattr(given, "__index__") else (tuple(given),))


def roll(input: Tensor, shifts: Any, dims: Any = ()) -> Tensor:
    """Elements shifted cyclically along dimensions, or through the flattened tensor."""
    amounts = _several(shifts)
    where = _several(() if dims is None else dims)
    if len(where) != len(amounts) and (where or len(amounts) != 1):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(amounts)}, dims:{len(where)}")
    if not amounts:
        raise RuntimeError("`shifts` required")
    if where and not input.ndim:
        raise IndexError("roll(): a dimension was given, but the tensor has no dimensions")
    if not input.tensor_type.size or not input.ndim:
        return views.clone(input)
    over = tuple(axis(d, input.ndim) for d in where)
    return _wrap(record("roll", [operand(input)], {"shifts": amounts, "axes": over or None}))


def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """Turned by 90 degrees ``k`` times, from the first of two dimensions towards the second."""
    pair = tuple(dims)
    if len(pair) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(pair)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    a, b = (axis(d, input.ndim) for d in pair)
    if a == b:
        raise RuntimeError(f"expected rotation dims to be different, but got {list(pair)}")
    k %= 4
    if k == 0:
        return views.clone(input)
    if k == 2:
        return flip(input, a, b)
    return views.clone(views.transpose(flip(input, b), a, b) if k == 1 else flip(
        views.transpose(input, a, b), b))


@sequence_by_name
def repeat(input: Tensor, *repeats: Any) -> Tensor:
    """The tensor tiled that many times along each dimension (``Tensor.repeat``)."""
    repeats = shape_of(repeats)
    if len(repeats) < input.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor")
    return tile(input, repeats)


@sequence_by_name
def tile(input: Tensor, *dims: Any) -> Tensor:
    """As NumPy's tile."""
    repeats = shape_of(dims)
    shape = input.tensor_type.shape
    repeats = (1,) * (len(shape) - len(repeats)) + repeats
    v = operand(input)
    if len(repeats) > len(shape):
        v = record("reshape", [v], {"shape": (1,) * (len(repeats) - len(shape)) + shape})
    return _wrap(record("tile", [v], {"repeats": repeats}))


def _counted(counts: Tensor, total: int | None) -> Any:
    """Positions: as often each as ``counts`` says. Reads their sum, or is told it."""
    kind = counts.tensor_type.dtype
    if kind.name not in ("int32", "int64"):
        raise NotImplementedError(
            f"repeat_interleave is not implemented for counts of {counts.dtype!r}; expected int32 "
            "or int64")
    if counts.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    v = operand(counts)
    if not v.shape[0]:
        return record("full", [scalar(0, int64)], {"shape": (0,)})
    known = lazyloom.known_range(v)
    if known is not None and known[0] < 0:
        raise RuntimeError("repeats can not be negative")
    ends = record("cumsum", [cast(v, int64)], {"axis": 0})
    if total is None:
        total = int(lazyloom.read_for_shape(
            record("sum", [cast(v, int64)], {"axes": None, "keepdims": False}),
            "repeat_interleave"))
    if known is None:
        below = record("any", [record("less", [v, scalar(0, kind)])],
                       {"axes": None, "keepdims": False})
        ends = bounds.require(ends, below, "torch.repeats")
    at = record("iota", [], {"shape": (max(total, 0),), "axis": 0, "dtype": int64})
    return record("searchsorted", [ends, at], {"side": "right"})


def repeat_interleave(input: Tensor, repeats: Any = None, dim: int | None = None, *,
                      output_size: int | None = None) -> Tensor:
    """Each element, or slice along a dimension, repeated; of a vector alone, its indices.

    Of counts given as a tensor the sum is read to know the result's size, unless ``output_size``
    says it.
    """
    if repeats is None:
        made: Tensor = _wrap(cast(_counted(input, output_size), input.tensor_type.dtype))
        return made
    if dim is None:
        input, dim = input.reshape(-1), 0
    at = axis(dim, input.ndim)
    size = input.tensor_type.shape[at] if input.ndim else 1
    if isinstance(repeats, (list, tuple)):
        repeats = tensor(list(repeats), dtype=_dtypes.int64)
    if isinstance(repeats, Tensor) and repeats.tensor_type.size == 1 and size != 1:
        repeats = repeats.reshape(1).expand(size)
    v = operand(input)
    if not input.ndim:
        v = record("reshape", [v], {"shape": (1,)})
    if not isinstance(repeats, Tensor):
        if repeats < 0:
            raise RuntimeError("repeats can not be negative")
        return _wrap(record("repeat", [v], {"repeats": repeats.__index__(), "axis": at}))
    repeats = repeats.reshape(1) if not repeats.ndim else repeats
    if repeats.ndim == 1 and repeats.tensor_type.shape[0] != size:
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{repeats.tensor_type.shape[0]} and input.size({at}) = {size}")
    return _wrap(record("take", [v, _counted(repeats, output_size)], {"axis": at}))


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors broadcast to their common shape: views."""
    shape = broadcast_shapes(*[t.tensor_type.shape for t in tensors])
    return tuple(t if t.tensor_type.shape == shape else views.expand(t, *shape) for t in tensors)


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Coordinate grids; ``indexing`` is ``"ij"`` or ``"xy"``."""
    many = tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors
    if not many:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for t in many:
        if t.ndim > 1:
            raise RuntimeError(
                f"torch.meshgrid: Expected 0D or 1D tensors, but got one of shape {list(t.shape)}")
        if t.dtype is not many[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if indexing not in ("ij", "xy"):
        raise RuntimeError(
            f"torch.meshgrid: indexing must be one of 'xy' or 'ij', but received: {indexing!r}")
    swap = indexing == "xy" and len(many) > 1
    parts = list(many)
    if swap:
        parts[0], parts[1] = parts[1], parts[0]
    shape = tuple(t.numel() for t in parts)
    grids = [
        views.expand(t.reshape(*[shape[i] if i == j else 1 for j in range(len(parts))]), *shape)
        for i, t in enumerate(parts)]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All combinations of the elements of vectors, a row each."""
    for t in tensors:
        if t.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([g.reshape(-1) for g in meshgrid(*tensors)], 1)


def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """The lower triangle, zeros above the diagonal."""
    return _wrap(record("tril", [operand(input)], {"k": diagonal}))


def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """The upper triangle, zeros below the diagonal."""
    return _wrap(record("triu", [operand(input)], {"k": diagonal}))


def _triangle_indices(name: str) -> Callable[..., Tensor]:
    def function(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None,
                 layout: Any = None, requires_grad: bool = False) -> Tensor:
        _dtypes.check_device(device)
        if row < 0 or col < 0:
            raise RuntimeError(f"row and col must be non-negative, got {row} and {col}")
        low = [min(max(i + offset + 1, 0), col) for i in range(row)]
        if name == "tril_indices":
            count = sum(low)
        else:
            count = row * col - sum(min(max(i + offset, 0), col) for i in range(row))
        ones = record("full", [scalar(True, lazyloom.dtypes.bool_)], {"shape": (row, col)})
        if row and col:
            ones = record(name[:4], [ones], {"k": offset})
        flat = record("flat_nonzero", [ones], {"size": count})
        found = record("stack", coordinates(flat, (row, col)), {"axis": 0})
        kind = _dtypes.int64 if dtype is None else _dtypes.as_dtype(dtype)
        return finish(cast(found, kind.lazy), requires_grad, device)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Row and column of each element that {name[:4]} keeps, in a matrix of two."
    return function


tril_indices, triu_indices = _triangle_indices("tril_indices"), _triangle_indices("triu_indices")


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


def pad_value(v: Any, low: Any, high: Any, number: Any) -> Any:
    """A value padded with a constant; negative amounts cut."""
    return record("pad", [v, scalar(number, v.dtype)], {
        "low": tuple(low), "high": tuple(high), "interior": (0,) * len(v.shape)})


def constant_pad_nd(input: Tensor, pad: Any, value: Any = 0) -> Tensor:
    """A constant around the last dimensions: ``pad`` holds amounts before and after, last first.

    Negative amounts cut.
    """
    amounts = [p.__index__() for p in pad]
    n = input.ndim
    if len(amounts) % 2 or len(amounts) > 2 * n:
        raise RuntimeError(
            f"constant_pad_nd: pad has {len(amounts)} amounts, expected an even number of them, "
            f"at most {2 * n} for {n} dimensions")
    low, high = [0] * n, [0] * n
    for i in range(len(amounts) // 2):
        low[n - 1 - i], high[n - 1 - i] = amounts[2 * i], amounts[2 * i + 1]
    for d, a, b in zip(input.tensor_type.shape, low, high, strict=True):
        if d + a + b < 0:
            raise RuntimeError(
                f"constant_pad_nd: size {d} with pads of {a} and {b} would be negative")
    made: Tensor = _wrap(pad_value(operand(input), low, high, value))
    return made


def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with the flattened elements on a diagonal, zeros elsewhere."""
    return diag_embed(input.reshape(-1), offset)


def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    """The sum over the dimensions that broadcasting ``size`` to the input's shape would repeat."""
    wanted, shape = shape_of(size), input.tensor_type.shape
    lead = len(shape) - len(wanted)
    if lead < 0 or any(w not in (1, d) for w, d in zip(wanted, shape[lead:], strict=True)):
        raise RuntimeError(
            f"size {list(wanted)} is not expandable to size {list(shape)}")
    over = (*range(lead), *[lead + i for i, w in enumerate(wanted) if w != shape[lead + i]])
    v = operand(input)
    if over or not wanted:
        v = v if v.dtype.is_inexact else cast(v, int64)
        v = record("sum", [v], {"axes": over, "keepdims": True})
    if v.shape != wanted:
        v = record("reshape", [v], {"shape": wanted})
    made: Tensor = _wrap(v)
    return made if over or lead or not wanted else views.alias(input)


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """One tensor a dimension with the places in ``shape`` of indices into its flattened form."""
    if not isinstance(indices, Tensor) or indices.tensor_type.dtype.kind not in "iu":
        raise TypeError(f"expected 'indices' to be an integer tensor, but got {indices!r}")
    sizes = (shape.__index__(),) if hasattr(shape, "__index__") else shape_of((tuple(shape),))
    if any(d < 0 for d in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    v = operand(indices)
    found = []
    rest = 1
    for d in reversed(sizes):
        here = record("floor_divide", [v, scalar(rest, v.dtype)]) if rest != 1 else v
        found.append(_wrap(record("remainder", [here, scalar(max(d, 1), v.dtype)])))
        rest *= max(d, 1)
    return tuple(reversed(found))


declare({
    "function method inplace out": [tril, triu],
    "function method out": [diag],
    "function method": [
        *map(elementwise, (flip, fliplr, flipud)), roll, rot90, tile, repeat_interleave, diag_embed,
        diagflat],
    "function out": [
        cat, ("concat", cat), ("concatenate", cat), stack, hstack, vstack, ("row_stack", vstack),
        dstack, column_stack],
    "function": [
        atleast_1d, atleast_2d, atleast_3d, broadcast_tensors, meshgrid, cartesian_prod,
        tril_indices, triu_indices, unravel_index],
    "method": [repeat, sum_to_size],
})
