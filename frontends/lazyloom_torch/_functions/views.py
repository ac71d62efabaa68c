"""Views: results that share the storage of their input, as PyTorch's do.

Strides are tracked only to know what PyTorch knows: whether a new shape can be a view
(:func:`view` raises where it cannot, :func:`reshape` copies).
"""

from __future__ import annotations

from typing import Any

import lazyloom
from lazyloom.frontend import Broadcast, Diagonal, Permute, Reshape, Slice

from .. import _dtypes
from .._core import axes, axis, numel, record_one, shape_of, spec
from .._elementwise import alike
from .._formats import contiguous_format
from .._registry import declare
from .._strides import row_major
from .._tensor import Tensor, operand
from .bitcast import view_dtype
from .plans import planned


def view_strides(
    shape: tuple[int, ...], strides: tuple[int, ...], new: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Strides that address the same elements in a new shape, or None if there are none.

    Dimensions are merged while they are contiguous with one another and each such
    block is divided into new dimensions.
    """
    if numel(shape) == 0:
        return row_major(new)
    if not shape:
        return (1,) * len(new)
    found = [0] * len(new)
    at = len(new) - 1
    base = strides[-1]
    block = taken = 1
    for d in range(len(shape) - 1, -1, -1):
        block *= shape[d]
        if d == 0 or (shape[d - 1] != 1 and strides[d - 1] != block * base):
            while at >= 0 and (taken < block or new[at] == 1):
                found[at] = taken * base
                taken *= new[at]
                at -= 1
            if taken != block:
                return None
            if d > 0:
                base = strides[d - 1]
                block = taken = 1
    return tuple(found) if at == -1 else None


def infer_shape(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """The shape with its -1 replaced. Raises RuntimeError if the number of elements differs."""
    if shape.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if any(d < -1 for d in shape):
        raise RuntimeError(f"invalid shape dimension {min(shape)}")
    if -1 in shape:
        rest = -numel(shape)
        if rest == 0:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {list(shape)} because the "
                "unspecified dimension size -1 can be any value and is ambiguous")
        if size % rest:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {size}")
        return tuple(size // rest if d == -1 else d for d in shape)
    if numel(shape) != size:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {size}")
    return shape


def _reshaped(x: Tensor, new: tuple[int, ...]) -> Tensor | None:
    strides = x.element_strides
    if strides is not None:
        strides = view_strides(x.tensor_type.shape, strides, new)
        if strides is None:
            return None
    return x._share(Reshape(new), strides, x.element_offset)


@planned
def view(input: Tensor, *size: Any, dtype: Any = None) -> Tensor:
    """The same elements in another shape, sharing storage.

    Raises RuntimeError if the strides do not allow that. Given a dtype, the bytes read as that.
    """
    if dtype is None and len(size) == 1 and isinstance(size[0], _dtypes.dtype):
        dtype = size[0]
    if dtype is not None:
        return view_dtype(input, dtype)
    new = infer_shape(shape_of(size), input.tensor_type.size)
    found = _reshaped(input, new)
    if found is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead.")
    return found


@planned
def reshape(input: Tensor, *shape: Any) -> Tensor:
    """The same elements in another shape: a view where possible, otherwise a copy."""
    new = infer_shape(shape_of(shape), input.tensor_type.size)
    found = _reshaped(input, new)
    if found is None:
        ready = _copies.get(new)
        if ready is None:
            ready = _copies[new] = spec("reshape", 1, {"shape": new})
        return Tensor.from_value(record_one(ready, operand(input)))
    return found


#: the specs of reshapes that copy, by the new shape
_copies: dict[tuple[int, ...], lazyloom.Spec] = {}


def view_as(input: Tensor, other: Tensor) -> Tensor:
    """A view in another's shape."""
    return view(input, *other.tensor_type.shape)


def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """The tensor in another's shape; a view where possible."""
    return reshape(input, *other.tensor_type.shape)


@planned
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dimensions from start to end as one."""
    shape = input.tensor_type.shape
    first, last = axis(start_dim, len(shape)), axis(end_dim, len(shape))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return reshape(input, 1)
    if first == last:
        return input
    return reshape(input, *shape[:first], numel(shape[first:last + 1]), *shape[last + 1:])


def ravel(input: Tensor) -> Tensor:
    """The elements in one dimension; a view where possible."""
    return reshape(input, -1)


@planned
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """One dimension as several; one of the sizes may be -1."""
    shape = input.tensor_type.shape
    at = axis(dim, len(shape))
    if not shape:
        raise RuntimeError("unflatten: the tensor has no dimensions")
    return view(input, *shape[:at], *infer_shape(tuple(sizes), shape[at]), *shape[at + 1:])


@planned
def permute(input: Tensor, *dims: Any) -> Tensor:
    """Dimensions in another order."""
    order = axes(shape_of(dims), input.ndim)
    if len(order) != input.ndim:
        raise RuntimeError(
            "permute: number of dimensions in the tensor input does not match the length of the "
            f"desired ordering of dimensions i.e. input.dim() = {input.ndim} is not equal to "
            f"len(dims) = {len(order)}")
    strides = input.stride()
    return input._share(Permute(order), tuple(strides[d] for d in order), input.element_offset)


@planned
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged."""
    order = list(range(max(input.ndim, 1)))
    a, b = axis(dim0, input.ndim), axis(dim1, input.ndim)
    order[a], order[b] = order[b], order[a]
    return permute(input, *order[:input.ndim])


@planned
def t(input: Tensor) -> Tensor:
    """A matrix transposed; fewer dimensions as they are."""
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return permute(input, *reversed(range(input.ndim)))


@planned
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Dimensions moved to new places, the others keeping their order."""
    src, dst = axes(source, input.ndim), axes(destination, input.ndim)
    if len(src) != len(dst):
        raise RuntimeError("movedim: source and destination must have the same length")
    if not input.ndim:
        return alias(input)
    order: list[Any] = [None] * input.ndim
    for s, d in zip(src, dst, strict=True):
        order[d] = s
    rest = iter(d for d in range(input.ndim) if d not in src)
    return permute(input, *[next(rest) if o is None else o for o in order])


@planned
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A new dimension of size 1."""
    shape = input.tensor_type.shape
    at = axis(dim, len(shape) + 1)
    strides = input.element_strides
    if strides is not None:
        step = strides[at] * shape[at] if at < len(shape) else 1
        strides = (*strides[:at], step, *strides[at:])
    return input._share(Reshape((*shape[:at], 1, *shape[at:])), strides, input.element_offset)


@planned
def squeeze(input: Tensor, dim: Any = None, *more: int) -> Tensor:
    """Dimensions of size 1 removed: all, or those named if they have size 1."""
    shape = input.tensor_type.shape
    drop = range(len(shape)) if dim is None else axes((dim, *more) if more else dim, len(shape))
    keep = [i for i, d in enumerate(shape) if not (d == 1 and i in drop)]
    strides = input.element_strides
    return input._share(
        Reshape(tuple(shape[i] for i in keep)),
        None if strides is None else tuple(strides[i] for i in keep), input.element_offset)


@planned
def expand(input: Tensor, *size: Any) -> Tensor:
    """Dimensions of size 1 repeated without copying; -1 keeps a size."""
    wanted = shape_of(size)
    shape, strides = input.tensor_type.shape, input.stride()
    lead = len(wanted) - len(shape)
    if lead < 0:
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(wanted)}) must be greater or equal to the "
            f"number of dimensions in the tensor ({len(shape)})")
    new, steps = [], []
    for i, d in enumerate(wanted):
        have = shape[i - lead] if i >= lead else 1
        if d == -1:
            if i < lead:
                raise RuntimeError(
                    f"The expanded size of the tensor (-1) isn't allowed in a leading, "
                    f"non-existing dimension {i}")
            d = have
        if d != have and have != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({d}) must match the existing size ({have}) at "
                f"non-singleton dimension {i}. Target sizes: {list(wanted)}. Tensor sizes: "
                f"{list(shape)}")
        new.append(d)
        steps.append(strides[i - lead] if i >= lead and d == have else 0)
    if tuple(new) == shape:
        return input._share(Reshape(shape), input.element_strides, input.element_offset)
    if new[lead:] == list(shape) and new[:lead] == [1] * lead:
        # nothing is repeated, so that it can be written
        return input._share(Reshape(tuple(new)), tuple(steps), input.element_offset)
    return input._share(Broadcast(tuple(new)), tuple(steps), input.element_offset)


def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """The tensor expanded to another's size: a view."""
    return expand(input, *other.tensor_type.shape)


def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """The tensor repeated to a size: a view."""
    return expand(input, *size)


def slices(input: Tensor, starts: Any, sizes: Any, steps: Any) -> Tensor:
    """A rectangular part; steps must be positive."""
    strides = input.stride()
    offset = input.element_offset + sum(a * s for a, s in zip(starts, strides, strict=True))
    return input._share(
        Slice(tuple(starts), tuple(sizes), tuple(steps)),
        tuple(s * k for s, k in zip(strides, steps, strict=True)), offset)


def position(given: Any, name: str) -> int:
    """An int, or what a tensor without dimensions holds; it is read if only the device knows."""
    if isinstance(given, Tensor):
        if given.ndim or given.tensor_type.dtype.kind not in "iu":
            raise RuntimeError(
                f"{name} must be an 0-dim integral Tensor, got one of shape {list(given.shape)} "
                f"and {given.dtype!r}")
        known = lazyloom.known_range(given.value)
        return known[0] if known is not None else int(given.item())
    return int(given.__index__())


@planned
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """``length`` elements along one dimension, from ``start`` on."""
    shape = input.tensor_type.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    at = axis(dim, len(shape))
    begin = position(start, "start")
    if not -shape[at] <= begin <= shape[at]:
        raise IndexError(
            f"start out of range (expected to be in range of [{-shape[at]}, {shape[at]}], but got "
            f"{begin})")
    begin += shape[at] if begin < 0 else 0
    if length < 0 or begin + length > shape[at]:
        raise RuntimeError(
            f"start ({begin}) + length ({length}) exceeds dimension size ({shape[at]}).")
    starts, sizes = [0] * len(shape), list(shape)
    starts[at], sizes[at] = begin, length
    return slices(input, starts, sizes, [1] * len(shape))


@planned
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """One index along a dimension, which is dropped."""
    shape = input.tensor_type.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    at = axis(dim, len(shape))
    where = position(index, "index")
    if not -shape[at] <= where < shape[at]:
        raise IndexError(
            f"select(): index {where} out of range for tensor of size {list(shape)} at dimension "
            f"{at}")
    return drop(narrow(input, at, where % shape[at], 1), [at])


def drop(input: Tensor, dims: Any) -> Tensor:
    """Dimensions of size 1 removed."""
    shape, strides = input.tensor_type.shape, input.stride()
    keep = [i for i in range(len(shape)) if i not in dims]
    return input._share(Reshape(tuple(shape[i] for i in keep)),
                        tuple(strides[i] for i in keep), input.element_offset)


@planned
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of two dimensions, as the last dimension of a view."""
    shape, strides = input.tensor_type.shape, input.stride()
    a, b = axis(dim1, len(shape)), axis(dim2, len(shape))
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    keep = [i for i in range(len(shape)) if i not in (a, b)]
    start = offset * strides[b] if offset >= 0 else -offset * strides[a]
    return input._share(
        Diagonal(offset, a, b), (*[strides[i] for i in keep], strides[a] + strides[b]),
        input.element_offset + start)


def contiguous(input: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself if its strides are row-major, a copy otherwise."""
    return input if input.is_contiguous() else clone(input, memory_format=contiguous_format)


def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy with its own storage, differentiable; laid out as the tensor is, or row-major."""
    v = operand(input)
    if v.requires_grad and lazyloom.grad_enabled():
        # a value of its own on the tape; strides of gradients are found from a copy on
        rows = input.element_strides is not None and memory_format is contiguous_format
        v = record_one(_COPY if rows else _IDENTITY, v)
    made: Tensor = Tensor.from_value(v if lazyloom.grad_enabled() else v.detach())
    return made if input.element_strides is None else alike(made, input, memory_format)


_COPY = spec("copy", 1)
_IDENTITY = spec("identity", 1)


def matrices(input: Tensor, name: str) -> Tensor:
    """The tensor, which holds matrices. Raises RuntimeError for fewer than two dimensions."""
    if input.ndim == 1:
        raise RuntimeError(
            f"tensor.{name} is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return input


def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions exchanged and conjugated."""
    if not input.ndim:
        return input.conj()
    return transpose(matrices(input, "adjoint()"), -2, -1).conj()


def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Two dimensions swapped: a view."""
    return transpose(input, axis0, axis1)


def alias(input: Tensor) -> Tensor:
    """A view of the whole tensor."""
    return input._share(
        Reshape(input.tensor_type.shape), input.element_strides, input.element_offset)


def as_subclass(input: Tensor, cls: type[Tensor]) -> Any:
    """The same tensor as an instance of a subclass, whose ``__init__`` is not called.

    Results of operations on it are plain tensors. Raises TypeError for what is no subclass.
    """
    if not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise TypeError(f"as_subclass(): expected a subclass of Tensor, not {cls!r}")
    made = alias(input)
    made.__class__ = cls
    return made


def make_subclass(cls: type[Tensor], data: Tensor, require_grad: bool = False) -> Tensor:
    """The data of a tensor as an instance of a subclass, for a subclass's ``__new__``."""
    made = data.detach()
    made.__class__ = cls
    return made.requires_grad_() if require_grad else made


declare({
    "function method out": [("moveaxis", movedim)],
    "function method": [
        reshape, flatten, ravel, unflatten, permute, transpose, ("swapdims", transpose), swapaxes,
        t, movedim, unsqueeze, squeeze, broadcast_to, narrow, select, diagonal, clone, adjoint],
    "method": [as_subclass, view, view_as, reshape_as, expand, expand_as, contiguous],
})
