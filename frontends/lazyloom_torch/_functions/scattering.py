"""The named functions that take from and store to positions along a dimension, or a mask.

A tensor without dimensions stands for a vector of one element, as in PyTorch. Indices out of
range raise: those known on the host at the call, those computed when a result is read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import lazyloom
from lazyloom.dtypes import int64

from .._core import axis, broadcast_shapes, cast, numel, record, scalar
from .._elementwise import alike
from .._errors import described
from .._memory import requiring_too
from .._registry import declare
from .._tensor import Tensor, operand
from . import bounds, pointwise, views
from .indexing import nonzero_values, same_dtype, store, stored

_wrap = Tensor.from_value


def _index(index: Any, name: str, dtypes: tuple[str, ...] = ("int32", "int64")) -> Any:
    """An index tensor's value. Raises TypeError, RuntimeError."""
    if not isinstance(index, Tensor):
        raise TypeError(f"{name}(): argument 'index' must be Tensor, not {described(index)}")
    if index.tensor_type.dtype.name not in dtypes and index.tensor_type.size:
        raise RuntimeError(
            f"{name}(): Expected dtype {'/'.join(dtypes)} for index, got {index.dtype!r}")
    return operand(index)


def _vector(v: Any) -> Any:
    """A value with one dimension at least."""
    return v if v.shape else record("reshape", [v], {"shape": (1,)})


def _as(v: Any, shape: tuple[int, ...]) -> Tensor:
    made: Tensor = _wrap(v if v.shape == shape else record("reshape", [v], {"shape": shape}))
    return made


def _line(index: Tensor, name: str, dtypes: tuple[str, ...] = ("int32", "int64")) -> Any:
    """The value of a vector of indices; of one without dimensions, a vector of it."""
    where = _index(index, name, dtypes)
    if len(where.shape) > 1:
        raise IndexError(
            f"{name}(): Index is supposed to be a vector, but has shape {list(where.shape)}")
    return _vector(where)


def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices along a dimension that a vector of indices names."""
    at = axis(dim, input.ndim)
    v = _vector(operand(input))
    where = bounds.checked(
        _line(index, "index_select"), v.shape[at], at, "index_select", negative=False)
    found = record("take", [v, where], {"axis": at})
    if input.ndim:
        return _wrap(found)
    if where.shape != (1,):
        raise RuntimeError(
            "index_select(): Index to scalar can have only 1 value, got "
            f"{where.shape[0]} value(s)")
    return _as(found, ())


def take(input: Tensor, index: Tensor) -> Tensor:
    """Elements of the flattened tensor; negative indices count from the end."""
    where = _index(index, "take", ("int64",))
    if not input.tensor_type.size and where.type.size:
        raise IndexError("take(): tried to take from an empty tensor")
    flat = input.reshape(-1)
    where = bounds.checked(where, flat.tensor_type.size, None, "take")
    return _wrap(record("take", [operand(flat), where], {"axis": 0}))


def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy of input with elements of the flattened tensor replaced, or added to."""
    where = _index(index, "put", ("int64",))
    same_dtype(input, source, "put")
    if index.tensor_type.size != source.tensor_type.size:
        raise IndexError(
            f"put(): index has {index.tensor_type.size} elements and source "
            f"{source.tensor_type.size}; expected as many")
    flat = operand(input.reshape(-1))
    where = bounds.checked(where, numel(flat.shape), None, "put")
    mode = "add" if accumulate else "set"
    new = operand(source.reshape(index.tensor_type.shape))
    return alike(_as(store("index_update", flat, new, [where], {"axes": (0,)}, mode),
                     input.tensor_type.shape), input)


def _beginning(v: Any, shape: tuple[int, ...]) -> Any:
    """The first elements along each dimension."""
    if v.shape == shape:
        return v
    return record("slice", [v], {"starts": (0,) * len(shape), "stops": shape,
                                 "strides": (1,) * len(shape)})


def _along(input: Tensor, dim: int, index: Tensor, name: str) -> tuple[Any, Any, int]:
    """Values of a tensor and of indices along a dimension of it, and that dimension.

    Raises RuntimeError unless the index is nowhere longer than the tensor but along ``dim``.
    """
    where = _index(index, name)
    at = axis(dim, input.ndim)
    v = _vector(operand(input))
    if not where.type.size:
        return v, where, at
    where = _vector(where)
    if len(where.shape) != len(v.shape):
        raise RuntimeError(
            f"{name}(): Index tensor must have the same number of dimensions as the tensor, got "
            f"{len(where.shape)} and {len(v.shape)}")
    if any(w > s for i, (s, w) in enumerate(zip(v.shape, where.shape, strict=True)) if i != at):
        raise RuntimeError(
            f"{name}(): Expected index {list(where.shape)} to be no larger than self "
            f"{list(v.shape)} apart from dimension {at}")
    return v, bounds.checked(where, v.shape[at], at, name, negative=False), at


def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """``out[i][j] = input[index[i][j]][j]`` for dim 0, and so on."""
    v, where, at = _along(input, dim, index, "gather")
    if not where.type.size:
        return _as(_beginning(v, (0,) * len(v.shape)), where.shape)
    cut = tuple(v.shape[i] if i == at else w for i, w in enumerate(where.shape))
    found = record("take_along_axis", [_beginning(v, cut), where], {"axis": at})
    return _as(found, index.tensor_type.shape)


def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """As :func:`gather`, with broadcasting; indices are taken modulo the size.

    Without ``dim``, elements of the flattened tensor.
    """
    where = _index(indices, "take_along_dim", ("int64",))
    if dim is None:
        input, indices, dim = input.reshape(-1), indices.reshape(-1), 0
    if input.ndim != indices.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {input.ndim} dimensions for input, and {indices.ndim} dimensions for indices")
    at = axis(dim, input.ndim)
    if not input.ndim:
        raise IndexError(f"take_along_dim(): dim is {dim}, but the tensors have no dimensions")
    shape = list(broadcast_shapes(
        [1 if i == at else d for i, d in enumerate(input.tensor_type.shape)],
        [1 if i == at else d for i, d in enumerate(indices.tensor_type.shape)]))
    shape[at] = size = input.tensor_type.shape[at]
    v = operand(views.expand(input, *shape))
    shape[at] = indices.tensor_type.shape[at]
    where = operand(views.expand(indices, *shape))
    if not where.type.size:
        return _as(_beginning(v, (0,) * len(v.shape)), tuple(shape))
    known = lazyloom.known_bounds(where)
    if known is None or known[0] < 0 or known[1] >= size:
        where = record("remainder", [where, scalar(size, int64)])
    return _wrap(record("take_along_axis", [v, where], {"axis": at}))


#: PyTorch's names of reductions and the modes of the scattering ops
_MODES = {"sum": "add", "prod": "multiply", "amax": "max", "amin": "min", "mean": "add"}


def _scattered(input: Tensor, dim: int, index: Tensor, src: Any, mode: str, name: str) -> Tensor:
    v, where, at = _along(input, dim, index, name)
    new = _source(input, src, where.shape, name)
    if not where.type.size:
        copy = _copy(input)
        if isinstance(src, Tensor) and src.requires_grad and not copy.requires_grad:
            return Tensor.from_value(requiring_too(copy.value, operand(src)))
        return copy
    found = store("scatter_along_axis", v, new, [where], {"axis": at}, mode)
    return _as(found, input.tensor_type.shape)


def _copy(input: Tensor) -> Tensor:
    return views.clone(input)


def _source(input: Tensor, src: Any, shape: tuple[int, ...], name: str) -> Any:
    """What is scattered: the first elements of a tensor, or a number."""
    if not isinstance(src, Tensor):
        return stored(input, src)
    same_dtype(input, src, name)
    new = _vector(operand(src))
    if numel(shape) == 0:
        return new
    if len(new.shape) != len(shape) or any(
            w > n for w, n in zip(shape, new.shape, strict=True)):
        raise RuntimeError(
            f"{name}(): Expected index {list(shape)} to be no larger than src {list(new.shape)}")
    return _beginning(new, shape)


def scatter(input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None,
            reduce: str | None = None) -> Tensor:
    """A copy of input with ``out[index[i][j]][j] = src[i][j]`` for dim 0, and so on.

    ``src`` (or ``value``, a number) is added or multiplied with ``reduce="add"`` or
    ``"multiply"``.
    """
    if reduce is not None and reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    given = value if src is None else src
    if given is None:
        raise TypeError("scatter() takes src, a Tensor, or value, a number")
    if isinstance(given, Tensor) and src is None:
        given = given.item()
    return _scattered(input, dim, index, given, "set" if reduce is None else reduce, "scatter")


def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """As :func:`scatter`, adding."""
    return _scattered(input, dim, index, src, "add", "scatter_add")


def _check_reduction(reduce: str, name: str, known: tuple[str, ...]) -> None:
    if reduce not in known:
        raise RuntimeError(
            f"{name}(): reduce argument must be one of {', '.join(known)}; got {reduce!r}")


def neutral(reduce: str, dtype: Any) -> Any:
    """The number that changes nothing in a reduction."""
    if reduce in ("sum", "mean"):
        return scalar(0, dtype)
    if reduce == "prod":
        return scalar(1, dtype)
    low = reduce == "amax"
    if dtype.kind == "b":
        return scalar(not low, dtype)
    if dtype.is_integer:
        limits = np.iinfo(dtype.numpy)
        return scalar(int(limits.min if low else limits.max), dtype)
    return scalar(float("-inf" if low else "inf"), dtype)


def _reduced(v: Any, new: Any, reduce: str, include_self: bool, put: Any) -> Any:
    """A value with others reduced into places of it.

    ``put(value, new, mode)`` stores to the places. Without ``include_self`` what they held has
    no part in the result; places that nothing is stored to keep what they hold either way.
    """
    if not include_self:
        v = put(v, neutral(reduce, v.dtype), "set")
    found = put(v, new, _MODES[reduce])
    if reduce != "mean":
        return found
    ones = record("full", [scalar(1, v.dtype)], {"shape": v.shape})
    count = put(ones, scalar(1, v.dtype), "add")
    if not include_self:
        one = scalar(1, v.dtype)
        count = record("where", [record("equal", [count, one]), one,
                                 record("subtract", [count, one])])
    return record("divide" if v.dtype.is_inexact else "floor_divide", [found, count])


def scatter_reduce(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *,
                   include_self: bool = True) -> Tensor:
    """As :func:`scatter`, combining by ``reduce``: "sum", "prod", "mean", "amax" or "amin".

    With ``include_self`` false what input holds at those places has no part in the result.
    """
    _check_reduction(reduce, "scatter_reduce", tuple(_MODES))
    v, where, at = _along(input, dim, index, "scatter_reduce")
    new = _source(input, src, where.shape, "scatter_reduce")
    if not where.type.size:
        return _copy(input)

    def put(v: Any, new: Any, mode: str) -> Any:
        if isinstance(new, lazyloom.Scalar):
            new = record("full", [new], {"shape": ()})
        return store("scatter_along_axis", v, new, [where], {"axis": at}, mode)

    return _as(_reduced(v, new, reduce, include_self, put), input.tensor_type.shape)


def _slices(input: Tensor, dim: int, index: Tensor, source: Tensor, name: str,
            dtypes: tuple[str, ...] = ("int32", "int64")) -> tuple[Any, Any, Any, int]:
    """Values of a tensor, of indices along a dimension, of slices for them; the dimension."""
    at = axis(dim, input.ndim)
    where = _line(index, name, dtypes)
    same_dtype(input, source, name)
    v, new = _vector(operand(input)), operand(source)
    if not new.shape:
        if len(v.shape) > 1 or where.type.size != 1:
            raise RuntimeError(
                f"{name}(): source has no dimensions; expected {input.ndim} of them, or an index "
                "of one element")
        new = _vector(new)
    expected = (*v.shape[:at], where.shape[0], *v.shape[at + 1:])
    if new.shape != expected:
        raise RuntimeError(
            f"{name}(): source has shape {list(source.shape)}, expected {list(expected)}: that of "
            f"self with as many slices along dimension {at} as index has elements")
    where = bounds.checked(where, v.shape[at], at, name, negative=False)
    return v, new, where, at


def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """A copy of input with slices of source, times ``alpha``, added at the indices."""
    v, new, where, at = _slices(input, dim, index, source, "index_add")
    if alpha != 1:
        new = record("multiply", [new, scalar(alpha, new.dtype)])
    return _as(store("index_update", v, new, [where], {"axes": (at,)}, "add"),
               input.tensor_type.shape)


def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """A copy of input with slices replaced by those of source."""
    v, new, where, at = _slices(input, dim, index, source, "index_copy", ("int64",))
    return _as(record("index_update", [v, new, where], {"axes": (at,), "mode": "set"}),
               input.tensor_type.shape)


def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy of input with slices filled with a number, or a tensor without dimensions."""
    at = axis(dim, input.ndim)
    where = _line(index, "index_fill", ("int64",))
    new = stored(input, value)
    if new.shape:
        raise RuntimeError(
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{len(new.shape)} dimension(s).")
    v = _vector(operand(input))
    where = bounds.checked(where, v.shape[at], at, "index_fill")
    return alike(_as(record("index_update", [v, new, where], {"axes": (at,), "mode": "set"}),
                     input.tensor_type.shape), input)


def index_reduce(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *,
                 include_self: bool = True) -> Tensor:
    """A copy of input with slices of source combined: "prod", "mean", "amax" or "amin".

    With ``include_self`` false what input holds at the indices has no part in the result.
    """
    _check_reduction(reduce, "index_reduce", ("prod", "mean", "amax", "amin"))
    v, new, where, at = _slices(input, dim, index, source, "index_reduce")

    def put(v: Any, new: Any, mode: str) -> Any:
        return store("index_update", v, new, [where], {"axes": (at,)}, mode)

    return _as(_reduced(v, new, reduce, include_self, put), input.tensor_type.shape)


def _mask(mask: Any, name: str) -> Any:
    if not isinstance(mask, Tensor):
        raise TypeError(f"{name}(): argument 'mask' must be Tensor, not {described(mask)}")
    if mask.tensor_type.dtype.kind != "b":
        raise RuntimeError(
            f"{name}() only supports boolean masks, but got mask with dtype {mask.dtype!r}")
    return operand(mask)


def _wide(v: Any, shape: tuple[int, ...]) -> Any:
    return v if v.shape == shape else record("broadcast_to", [v], {"shape": shape})


def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """``value`` where the mask is true, input elsewhere; mask and input broadcast."""
    m = _mask(mask, "masked_fill")
    v = operand(input)
    new = stored(input, value)
    if new.shape:
        raise RuntimeError(
            f"masked_fill only supports a 0-dimensional value tensor, but got tensor with "
            f"{len(new.shape)} dimension(s).")
    return _wrap(record("masked_fill", [_wide(v, broadcast_shapes(v.shape, m.shape)), m, new]))


def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """A vector of the elements where the mask is true; both broadcast. Reads their number."""
    m, v = _mask(mask, "masked_select"), operand(input)
    shape = broadcast_shapes(v.shape, m.shape)
    size = {"shape": (numel(shape),)}
    at = nonzero_values(record("reshape", [_wide(m, shape)], size), "masked_select")[0]
    return _wrap(record("take", [record("reshape", [_wide(v, shape)], size), at], {"axis": 0}))


def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy of input with masked elements taken from source, in order; mask and input broadcast.

    Raises RuntimeError where source has too few elements, when the result is read.
    """
    m, v = _mask(mask, "masked_scatter"), operand(input)
    same_dtype(input, source, "masked_scatter")
    shape = broadcast_shapes(v.shape, m.shape)
    v, m = _wide(v, shape), _wide(m, shape)
    flat = operand(source.reshape(-1))
    n, have = numel(shape), flat.shape[0]
    if not n:
        return _wrap(v)
    order = record("cumsum", [cast(record("reshape", [m], {"shape": (n,)}), int64)], {"axis": 0})
    if have == 0:
        found = v
    else:
        one = scalar(1, int64)
        found = record("take", [flat, record("maximum", [
            record("subtract", [order, one]), scalar(0, int64)])], {"axis": 0})
        found = record("where", [m, record("reshape", [found], {"shape": shape}), v])
    if have < n:
        total = record("max", [order], {"axes": None, "keepdims": False})
        few = record("greater", [total, scalar(have, int64)])
        found = bounds.require(found, few, "torch.masked_scatter")
    return _wrap(found)


def _where(self: Tensor, condition: Any, other: Any) -> Tensor:
    """Elements of the tensor where a condition holds, else of another. Also a function."""
    found: Tensor = pointwise.where(condition, self, other)
    return found


# so that it is published, and pickled, by the method's name
_where.__name__ = _where.__qualname__ = "where"
declare({"method": [("where", _where)]})
declare({
    "function method inplace out": [
        scatter, scatter_add, scatter_reduce, index_add, index_copy, index_reduce],
    "function method inplace": [put, index_fill, masked_fill, masked_scatter],
    "function method out": [index_select, take, gather, take_along_dim, masked_select],
})
