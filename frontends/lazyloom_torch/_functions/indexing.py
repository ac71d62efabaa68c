"""``x[...]``, ``x[...] = y``, and the named indexing functions.

Integers, slices, ``None`` and ``...`` make views. Tensors, lists, arrays and masks make
copies; as in PyTorch integers beside them count as selections, not as indices. A mask's
number of true elements is read, since it is the result's shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import lazyloom
from lazyloom.dtypes import int64
from lazyloom.views import index_key

from .._core import axis, broadcast_shapes, cast, numel, record, scalar
from .._promotion import is_number
from .._tensor import Tensor, operand
from . import views
from .plans import keep, known

_wrap = Tensor._wrap


def _is_advanced(item: Any) -> bool:
    return isinstance(item, (Tensor, list, np.ndarray, tuple, range))


def _as_items(index: Any) -> list[Any]:
    if isinstance(index, tuple):
        return list(index)
    # a list of slices or sequences is one advanced index, as in NumPy and recent PyTorch
    return [index]


def _consumed(item: Any) -> int:
    if item is None or item is Ellipsis or isinstance(item, (bool, np.bool_)):
        return 0
    if isinstance(item, (Tensor, np.ndarray)) and str(item.dtype).endswith("bool"):
        return item.ndim
    return 1


def _as_index(item: Any) -> Tensor:
    """An advanced index as a tensor of integers or bool."""
    from .creation import tensor

    found = item if isinstance(item, Tensor) else tensor(
        list(item) if isinstance(item, (tuple, range)) else item)
    if found.numel() == 0 and not isinstance(item, Tensor):
        found = tensor(np.zeros(found.shape, np.int64))
    if found._type.dtype.kind not in "iub":
        raise IndexError(
            "tensors used as indices must be long, int, byte or bool tensors, not "
            f"{found.dtype!r}")
    return found


def _check_bounds(item: Any, shape: tuple[int, ...], at: int) -> None:
    """Refuse a list or array of positions that are out of range; a tensor would be read for it."""
    try:
        given = np.asarray(item)
    except ValueError:
        return
    if given.dtype.kind not in "iu" or at >= len(shape):
        return
    for i in given[(given >= shape[at]) | (given < -shape[at])].flat:
        raise IndexError(f"index {i} is out of bounds for dimension {at} with size {shape[at]}")


def _basic(x: Tensor, items: list[Any]) -> tuple[Tensor, list[tuple[int, Tensor]]]:
    """A view by all integers, slices, None and ..., and what advanced indices remain.

    Returns the view and ``(dimension of the view, index)`` pairs.
    """
    shape = x._type.shape
    if sum(1 for i in items if i is Ellipsis) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    used = sum(_consumed(i) for i in items)
    if used > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)}")
    if Ellipsis not in [i if i is Ellipsis else None for i in items]:
        items = [*items, Ellipsis]
    starts, sizes, steps = [0] * len(shape), list(shape), [1] * len(shape)
    kept: list[int | None] = []  # for each dimension of the view: the dimension of x, None if new
    advanced: list[tuple[int, Tensor]] = []
    at = 0
    for item in items:
        if item is Ellipsis:
            for _ in range(len(shape) - used):
                kept.append(at)
                at += 1
        elif item is None:
            kept.append(None)
        elif isinstance(item, (bool, np.bool_)):
            from .creation import tensor

            advanced.append((len(kept), tensor(bool(item)).reshape(1)))
            kept.append(None)
        elif isinstance(item, slice):
            start, stop, step = _bounds(item, shape[at])
            starts[at], steps[at] = start, step
            sizes[at] = max(-(-(stop - start) // step), 0)
            kept.append(at)
            at += 1
        elif _is_advanced(item):
            index = _as_index(item)
            if not isinstance(item, Tensor):
                _check_bounds(item, shape, at)
            if index._type.dtype.kind == "b":
                if not index.ndim:
                    advanced.append((len(kept), index.reshape(1)))
                    kept.append(None)
                    continue
                for i, d in enumerate(index.shape):
                    if d != shape[at + i]:
                        raise IndexError(
                            f"The shape of the mask {list(index.shape)} at index {i} does not "
                            f"match the shape of the indexed tensor {list(shape)} at index "
                            f"{at + i}")
                advanced.append((len(kept), index))
                for _ in range(index.ndim):
                    kept.append(at)
                    at += 1
            elif not index.ndim and isinstance(item, Tensor) and index._type.dtype.kind != "b":
                advanced.append((len(kept), index))
                kept.append(at)
                at += 1
            else:
                advanced.append((len(kept), index))
                kept.append(at)
                at += 1
        elif hasattr(item, "__index__"):
            i = item.__index__()
            if not -shape[at] <= i < shape[at]:
                raise IndexError(
                    f"index {i} is out of bounds for dimension {at} with size {shape[at]}")
            starts[at], sizes[at] = i % shape[at], 1
            at += 1
        else:
            raise IndexError(
                "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables "
                f"are valid indices (got {type(item).__name__})")
    found = x
    if starts != [0] * len(shape) or sizes != list(shape) or steps != [1] * len(shape):
        found = views.slices(x, starts, sizes, steps)
    if kept != list(range(len(shape))) or (found is x and not advanced):
        strides = found._strides
        if strides is None and len(kept) != len(shape):
            strides = found.stride()
        found = found._share(
            views.Reshape(tuple(1 if d is None else sizes[d] for d in kept)),
            None if strides is None else tuple(0 if d is None else strides[d] for d in kept),
            found._offset)
    return found, advanced


def _bounds(item: slice, size: int) -> tuple[int, int, int]:
    parts = [None if p is None else int(p) for p in (item.start, item.stop, item.step)]
    if parts[2] is not None and parts[2] <= 0:
        raise ValueError("step must be greater than zero")
    start, stop, step = slice(*parts).indices(size)
    return start, max(stop, start), step


def _positions(
    x: Tensor, advanced: list[tuple[int, Tensor]]
) -> tuple[Tensor, list[int], list[Any]]:
    """Axes and integer index values, masks turned into the positions that they select."""
    axes: list[int] = []
    found: list[Any] = []
    for at, index in advanced:
        v = index._operand()
        if v.dtype.kind == "b":
            for i, position in enumerate(nonzero_values(v)):
                axes.append(at + i)
                found.append(position)
        else:
            axes.append(at)
            found.append(v if v.dtype.kind == "i" else cast(v, int64))
    broadcast_indices([v.shape for v in found])
    return x, axes, found


def broadcast_indices(shapes: list[tuple[int, ...]]) -> None:
    """Raise IndexError unless the shapes of indices broadcast."""
    try:
        broadcast_shapes(*shapes)
    except RuntimeError:
        raise IndexError(
            "shape mismatch: indexing tensors could not be broadcast together with shapes "
            f"{', '.join(str(list(s)) for s in shapes)}") from None


def nonzero_values(v: Any) -> list[Any]:
    """For each dimension the positions (int64) of the true elements. Reads their number."""
    count = int(_wrap(record("count_nonzero", [v], {"axes": None, "keepdims": False})).read())
    flat = record("flat_nonzero", [v], {"size": count})
    if len(v.shape) == 1:
        return [flat]
    found = []
    rest = numel(v.shape)
    for d in v.shape:
        rest //= max(d, 1)
        here = record("floor_divide", [flat, scalar(rest, int64)]) if rest != 1 else flat
        found.append(record("remainder", [here, scalar(max(d, 1), int64)]))
    return found


def getitem(x: Tensor, index: Any) -> Tensor:
    """``x[index]``: a view, or a copy for advanced indices."""
    key = index_key(index)
    if key is not None:
        key = (getitem, x._type, x._strides, key)
        view: Tensor | None = known(key, x)
        if view is not None:
            return view
    found, advanced = _basic(x, _as_items(index))
    if not advanced:
        if key is not None:
            keep(key, x, found)
        return found
    found, axes, indices = _positions(found, advanced)
    v = operand(found)
    if len(axes) == 1:
        return _wrap(record("take", [v, indices[0]], {"axis": axes[0]}))
    return _wrap(record("index", [v, *indices], {"axes": tuple(axes)}))


def _stored(
    x: Tensor, value: Any, what: str = "assigned value", *, keep_scalar: bool = False
) -> Any:
    """A value to be stored in x, in x's dtype.

    With ``keep_scalar`` a number stays a parameter, for ops that broadcast it themselves.
    """
    lazy = x._type.dtype
    if isinstance(value, Tensor):
        return cast(operand(value), lazy)
    if is_number(value):
        if isinstance(value, (complex, np.complexfloating)) and not lazy.is_complex:
            raise RuntimeError("value cannot be converted to type without overflow: complex")
        number = scalar(_fit(value, lazy), lazy)
        return number if keep_scalar else record("full", [number], {"shape": ()})
    if isinstance(value, np.ndarray):
        from .creation import tensor

        return cast(operand(tensor(value)), lazy)
    raise TypeError(
        f"can't assign a {type(value).__name__} to a {x.dtype!r} tensor; {what} must be a tensor "
        "or a number")


def _fit(number: Any, lazy: Any) -> Any:
    if lazy.kind in "iu" and isinstance(number, (float, np.floating)):
        return int(number)
    return bool(number) if lazy.kind == "b" else number


def setitem(x: Tensor, index: Any, value: Any) -> None:
    """``x[index] = value``, in place, with broadcasting."""
    key = index_key(index)
    if key is None:
        found, advanced = _basic(x, _as_items(index))
    else:
        found, advanced = getitem(x, index), []
    if not advanced and isinstance(value, Tensor) and found._same_place(value):
        # the second half of x[index] += y: the view was written in place already
        return
    new = _stored(x, value, keep_scalar=True)
    # a number stays a scalar operand, as in every frontend, so that the programs are equal
    single = isinstance(new, lazyloom.Scalar)
    if not advanced:
        shape = found._type.shape
        if single:
            new = record("full", [new], {"shape": shape})
        elif new.shape != shape:
            new = _fitted(new, shape)
        found._assign(new)
        return
    if len(advanced) == 1 and advanced[0][1]._type.dtype.kind == "b" and (single or not new.shape):
        at, mask = advanced[0]
        m = mask._operand()
        v = operand(found)
        rest = len(v.shape) - at - len(m.shape)
        if rest:
            m = record("reshape", [m], {"shape": (*m.shape, *(1,) * rest)})
        found._assign(record("where", [m, new, v]))
        return
    found, axes, indices = _positions(found, advanced)
    v = operand(found)
    while not single and len(new.shape) and new.shape[0] == 1 and len(new.shape) > len(v.shape):
        new = record("reshape", [new], {"shape": new.shape[1:]})
    found._assign(record("index_update", [v, new, *indices], {"axes": tuple(axes), "mode": "set"}))


def _fitted(new: Any, shape: tuple[int, ...]) -> Any:
    extra = len(new.shape) - len(shape)
    if extra > 0 and all(d == 1 for d in new.shape[:extra]):
        new = record("reshape", [new], {"shape": new.shape[extra:]})
    lead = len(shape) - len(new.shape)
    if lead < 0 or any(d not in (1, shape[lead + i]) for i, d in enumerate(new.shape)):
        raise RuntimeError(
            f"The expanded size of the tensor {list(shape)} must match the existing size "
            f"{list(new.shape)}: the value assigned does not broadcast to the part it is "
            "assigned to")
    return record("broadcast_to", [new], {"shape": shape}) if new.shape != shape else new


def _index_value(index: Any, name: str) -> Any:
    if not isinstance(index, Tensor):
        raise TypeError(f"{name}(): argument 'index' must be Tensor, not {type(index).__name__}")
    if index._type.dtype.kind not in "iu":
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index, got {index.dtype!r}")
    return operand(index)


def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices along a dimension that a vector of indices names."""
    where = _index_value(index, "index_select")
    if len(where.shape) > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if not where.shape:
        where = record("reshape", [where], {"shape": (1,)})
    return _wrap(record("take", [operand(input), where], {"axis": axis(dim, input.ndim)}))


def take(input: Tensor, index: Tensor) -> Tensor:
    """Elements of the flattened tensor."""
    return _wrap(record("take", [operand(input.reshape(-1)), _index_value(index, "take")],
                        {"axis": 0}))


def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """``out[i][j] = input[index[i][j]][j]`` for dim 0, and so on."""
    where = _index_value(index, "gather")
    v = operand(input)
    if len(where.shape) != len(v.shape):
        raise RuntimeError(
            "Index tensor must have the same number of dimensions as input tensor")
    at = axis(dim, input.ndim)
    if not v.shape:
        return _wrap(v)
    cut = tuple(s if i == at else min(s, w) for i, (s, w) in enumerate(
        zip(v.shape, where.shape, strict=True)))
    if any(w > s for i, (s, w) in enumerate(zip(v.shape, where.shape, strict=True)) if i != at):
        raise RuntimeError(
            f"Size does not match at dimension {at} expected index {list(where.shape)} to be no "
            f"larger than self {list(v.shape)} apart from dimension {at}")
    if cut != v.shape:
        v = record("slice", [v], {"starts": (0,) * len(cut), "stops": cut,
                                  "strides": (1,) * len(cut)})
    return _wrap(record("take_along_axis", [v, where], {"axis": at}))


def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """As NumPy's take_along_axis."""
    if dim is None:
        return gather(input.reshape(-1), 0, indices.reshape(-1))
    at = axis(dim, input.ndim)
    shape = list(broadcast_shapes(
        [1 if i == at else d for i, d in enumerate(input._type.shape)],
        [1 if i == at else d for i, d in enumerate(indices._type.shape)]))
    shape[at] = input._type.shape[at]
    wide = views.expand(input, *shape)
    shape[at] = indices._type.shape[at]
    return gather(wide, at, views.expand(indices, *shape))


_MODES = {"sum": "add", "prod": "multiply", "amax": "max", "amin": "min",
          "add": "add", "multiply": "multiply"}


def _scattered(input: Tensor, dim: int, index: Tensor, src: Any, mode: str) -> Tensor:
    where = _index_value(index, "scatter")
    v = operand(input)
    at = axis(dim, input.ndim)
    new = _stored(input, src)
    if new.shape:
        if isinstance(src, Tensor) and src.dtype is not input.dtype:
            raise RuntimeError(
                f"scatter(): Expected self.dtype to be equal to src.dtype, got {input.dtype!r} "
                f"and {src.dtype!r}")
        if len(new.shape) != len(where.shape) or any(
                w > n for w, n in zip(where.shape, new.shape, strict=False)):
            raise RuntimeError(
                f"Expected index {list(where.shape)} to be no larger than src {list(new.shape)}")
        if new.shape != where.shape:
            new = record("slice", [new], {"starts": (0,) * len(where.shape), "stops": where.shape,
                                          "strides": (1,) * len(where.shape)})
    return _wrap(record("scatter_along_axis", [v, where, new], {"axis": at, "mode": mode}))


def scatter(input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None,
            reduce: str | None = None) -> Tensor:
    """A copy of input with ``out[index[i][j]][j] = src[i][j]`` for dim 0, and so on."""
    if reduce is not None and reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    return _scattered(input, dim, index, value if src is None else src,
                      "set" if reduce is None else reduce)


def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """As :func:`scatter`, adding."""
    return _scattered(input, dim, index, src, "add")


def scatter_reduce(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *,
                   include_self: bool = True) -> Tensor:
    """As :func:`scatter`, combining by "sum", "prod", "amax" or "amin"."""
    if reduce not in ("sum", "prod", "amax", "amin") or not include_self:
        raise RuntimeError(
            "scatter_reduce: reduce must be 'sum', 'prod', 'amax' or 'amin' with "
            f"include_self=True; got {reduce!r}, include_self={include_self}")
    return _scattered(input, dim, index, src, _MODES[reduce])


def _updated(input: Tensor, dim: int, index: Tensor, source: Any, mode: str) -> Tensor:
    where = _index_value(index, "index_add")
    at = axis(dim, input.ndim)
    return _wrap(record("index_update", [operand(input), _stored(input, source), where],
                        {"axes": (at,), "mode": mode}))


def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """A copy of input with slices of source added at the indices."""
    return _updated(input, dim, index, source if alpha == 1 else source * alpha, "add")


def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """A copy of input with slices replaced by those of source."""
    return _updated(input, dim, index, source, "set")


def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy of input with slices filled with a number."""
    return _updated(input, dim, index, value, "set")


def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy of input with ``values`` stored, or added, at ``input[indices]``."""
    found, advanced = _basic(input, list(indices))
    found, axes, where = _positions(found, advanced)
    mode = "add" if accumulate else "set"
    return _wrap(record("index_update", [operand(found), _stored(input, values), *where],
                        {"axes": tuple(axes), "mode": mode}))


def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """``value`` where the mask is true, input elsewhere."""
    m = operand(mask)
    if m.dtype.kind != "b":
        raise RuntimeError(
            f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype!r}")
    v = operand(input)
    new = _stored(input, value)
    if new.shape:
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{len(new.shape)} dimension(s).")
    shape = broadcast_shapes(v.shape, m.shape)
    if shape != v.shape:
        v = record("broadcast_to", [v], {"shape": shape})
    return _wrap(record("masked_fill", [v, m, new]))


def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """A vector of the elements where the mask is true. Reads their number."""
    shape = broadcast_shapes(input._type.shape, mask._type.shape)
    flat = nonzero_values(operand(views.expand(mask, *shape).reshape(-1)))[0]
    return _wrap(record("take", [operand(views.expand(input, *shape).reshape(-1)), flat],
                        {"axis": 0}))


def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy of input with masked elements taken from source, in order."""
    flat = nonzero_values(operand(views.expand_as(mask, input).reshape(-1)))[0]
    values = operand(source.reshape(-1)[:flat.shape[0]])
    found = record("index_update", [operand(input.reshape(-1)), values, flat],
                   {"axes": (0,), "mode": "set"})
    return _wrap(record("reshape", [found], {"shape": input._type.shape}))


FUNCTIONS = {f.__name__: f for f in (
    index_select, take, gather, take_along_dim, scatter, scatter_add, scatter_reduce, index_add,
    index_copy, index_fill, index_put, masked_fill, masked_select, masked_scatter)}
INPLACE = ("scatter", "scatter_add", "scatter_reduce", "index_add", "index_copy", "index_fill",
           "index_put", "masked_fill", "masked_scatter")
