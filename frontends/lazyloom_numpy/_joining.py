"""Arrays joined, padded, and with elements put in or taken out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as onp

import lazyloom

from . import _dtypes as dt
from ._array import ndarray
from ._convert import as_value, operand, param
from ._layout import keep_order
from ._manipulation import (
    _array,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_to,
    moveaxis,
    ravel,
    take_host,
    transpose,
)  # fmt: skip

record = lazyloom.record


def _common(arrays: Sequence[Any], dtype: Any, casting: str) -> list[Any]:
    operands = [operand(a) for a in arrays]
    # sequences and numbers count as arrays here, so nothing is weak
    values = [as_value(x) for x in operands]
    if dtype is None and len({v.dtype for v in values}) == 1:
        return values
    if dtype is not None:
        target = dt.internal(dtype)
    else:
        target = dt.promote(*dict.fromkeys(v.type.dtype for v in values))
    for v in values:
        if not dt.can_cast(v.type.dtype, target, casting):
            raise TypeError(f"Cannot cast array data from {v.type.dtype.numpy!r} to "
                            f"{target.numpy!r} according to the rule '{casting}'")  # fmt: skip
    return [as_value(v, target) for v in values]


def _sequence(arrays: Any) -> Sequence[Any]:
    if isinstance(arrays, ndarray):
        return list(arrays)
    if not isinstance(arrays, (list, tuple)):
        raise TypeError(
            'arrays to stack must be passed as a "sequence" type such as list or tuple.')
    return arrays


def concatenate(arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None,
                casting: str = "same_kind") -> ndarray:  # fmt: skip
    """Arrays joined along an axis, flattened for None. See ``numpy.concatenate``."""
    from ._reductions import finish

    values = _common(_sequence(arrays), dtype, casting) if len(arrays) else []
    if not values:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        values = [record("reshape", (v,), {"shape": (v.type.size,)}) for v in values]
        axis = 0
    ndim = len(values[0].type.shape)
    if ndim == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    position = dt.normalize_axis(axis, ndim)
    for i, v in enumerate(values):
        if len(v.type.shape) != ndim:
            raise ValueError(
                "all the input array dimensions except for the concatenation axis must match "
                f"exactly, but the array at index 0 has {ndim} dimension(s) and the array at index "
                f"{i} has {len(v.type.shape)} dimension(s)")
    joined = finish(record("concatenate", values, {"axis": position}), out, "concatenate")
    return keep_order(joined, *arrays) if out is None and ndim > 1 else joined  # type: ignore[no-any-return]


concat = concatenate


def stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None,
          casting: str = "same_kind") -> ndarray:  # fmt: skip
    """Arrays of one shape joined along a new axis. See ``numpy.stack``."""
    from ._reductions import finish

    values = _common(_sequence(arrays), dtype, casting) if len(arrays) else []
    if not values:
        raise ValueError("need at least one array to stack")
    if len({v.type.shape for v in values}) > 1:
        raise ValueError("all input arrays must have the same shape")
    position = dt.normalize_axis(axis, len(values[0].type.shape) + 1)
    return finish(record("stack", values, {"axis": position}), out, "stack")  # type: ignore[no-any-return]


def _many(result: Any) -> list[ndarray]:
    return list(result) if isinstance(result, tuple) else [result]


def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> ndarray:
    """Arrays stacked row-wise. See ``numpy.vstack``."""
    return concatenate(_many(atleast_2d(*_sequence(tup))), 0, dtype=dtype, casting=casting)


def row_stack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> ndarray:
    """:func:`vstack` by its deprecated name. See ``numpy.row_stack``."""
    warnings.warn("`row_stack` alias is deprecated. Use `np.vstack` directly.",
                  DeprecationWarning, stacklevel=2)  # fmt: skip
    return vstack(tup, dtype=dtype, casting=casting)


def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> ndarray:
    """Arrays stacked column-wise. See ``numpy.hstack``."""
    arrays = _many(atleast_1d(*_sequence(tup)))
    axis = 0 if arrays and arrays[0].ndim == 1 else 1
    return concatenate(arrays, axis, dtype=dtype, casting=casting)


def dstack(tup: Any) -> ndarray:
    """Arrays stacked along the third axis. See ``numpy.dstack``."""
    return concatenate(_many(atleast_3d(*_sequence(tup))), 2)


def column_stack(tup: Any) -> ndarray:
    """1-d arrays as the columns of a 2-d array. See ``numpy.column_stack``."""
    arrays = [_array(a) for a in _sequence(tup)]
    return concatenate([transpose(atleast_2d(x)) if x.ndim < 2 else x for x in arrays], 1)


def block(arrays: Any) -> ndarray:
    """An array from nested lists of blocks. See ``numpy.block``."""

    def depth_of(x: Any) -> int:
        return 1 + depth_of(x[0]) if isinstance(x, list) else 0

    depth = depth_of(arrays)
    ndim = depth

    def highest(x: Any) -> int:
        return max(map(highest, x)) if isinstance(x, list) else _array(x).ndim

    ndim = max(ndim, highest(arrays))

    def join(x: Any, level: int) -> ndarray:
        if isinstance(x, list):
            if not x:
                raise ValueError("List at arrays cannot be empty")
            return concatenate([join(y, level + 1) for y in x], axis=ndim - depth + level)
        a = _array(x)
        return a.reshape((1,) * (ndim - a.ndim) + a.shape)

    result = join(arrays, 0)
    return result if depth else result.copy()


def zeros_after(x: ndarray) -> ndarray:
    """One zero for each vector of the last axis."""
    shape = (*x.shape[:-1], 1)
    return ndarray._wrap(record("full", (dt.scalar(0, x.type.dtype),), {"shape": shape}))


def append(arr: Any, values: Any, axis: Any = None) -> ndarray:
    """Values joined to the end. See ``numpy.append``."""
    return concatenate([_array(arr), _array(values)], axis)


def _pairs(given: Any, ndim: int) -> list[tuple[Any, Any]]:
    if isinstance(given, dict):
        filled = [(0, 0)] * ndim
        for i, pair in given.items():
            filled[i] = pair if isinstance(pair, tuple) else (pair, pair)
        return filled
    if isinstance(given, ndarray):
        given = given.read()
    pairs = onp.broadcast_to(onp.asarray(given, dtype=object), (ndim, 2))
    return [(a, b) for a, b in pairs.tolist()]


def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> ndarray:
    """Elements added around an array. See ``numpy.pad``.

    Modes: constant, edge, reflect, symmetric, wrap, empty, maximum, minimum, mean.
    """
    x = _array(array)
    widths = [(int(a), int(b)) for a, b in _pairs(pad_width, x.ndim)]
    if any(w < 0 for pair in widths for w in pair):
        raise ValueError("index can't contain negative values")
    if mode in ("constant", "empty"):
        return _pad_constant(x, widths, kwargs.pop("constant_values", 0))
    if mode in ("maximum", "minimum", "mean"):
        return _pad_statistic(x, widths, mode, kwargs.pop("stat_length", None))
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise ValueError(f"mode {mode!r} is not supported")
    for axis, pair in enumerate(widths):
        if pair != (0, 0):
            order = onp.pad(onp.arange(x.shape[axis]), pair, mode)
            x = take_host(x, order, axis)
    return x if x is not array else x.copy()


def _pad_constant(x: ndarray, widths: list[tuple[int, int]], values: Any) -> ndarray:
    pairs = _pairs(values, x.ndim)
    d = x.type.dtype
    low, high = (tuple(w[i] for w in widths) for i in (0, 1))
    distinct = [v for pair in pairs for v in pair]
    value = x.value
    if all(v is distinct[0] or v == distinct[0] for v in distinct):
        fill = param(operand(distinct[0]) if distinct else 0, d)
        return ndarray._wrap(record("pad", (value, fill), {
            "low": low, "high": high, "interior": (0,) * x.ndim}))  # fmt: skip
    for axis, (pair, fills) in enumerate(zip(widths, pairs)):
        for side, (width, fill) in enumerate(zip(pair, fills)):
            sizes = [0] * x.ndim
            sizes[axis] = width
            none = (0,) * x.ndim
            both = (tuple(sizes), none) if side == 0 else (none, tuple(sizes))
            value = record("pad", (value, param(fill, d)), {
                "low": both[0], "high": both[1], "interior": none})  # fmt: skip
    return ndarray._wrap(value)


def _pad_statistic(x: ndarray, widths: list[tuple[int, int]], mode: str, length: Any) -> ndarray:
    from . import _reductions

    function: Any = {"maximum": _reductions.max, "minimum": _reductions.min,
                "mean": _reductions.mean}[mode]  # fmt: skip
    lengths = _pairs(length, x.ndim)
    for axis, (pair, limits) in enumerate(zip(widths, lengths)):
        n = x.shape[axis]
        parts = [x]
        for side, (width, limit) in enumerate(zip(pair, limits)):
            count = n if limit is None else min(int(limit), n)
            chosen = slice(0, count) if side == 0 else slice(n - count, n)
            statistic = function(x[(slice(None),) * axis + (chosen,)], axis=axis, keepdims=True)
            if mode == "mean" and x.dtype.kind in "iu":
                from ._ufuncs import TABLE

                statistic = TABLE["rint"](statistic)
            shape = list(x.shape)
            shape[axis] = width
            edge = broadcast_to(statistic.astype(x.dtype), tuple(shape))
            parts.insert(0 if side == 0 else len(parts), edge)
        x = concatenate(parts, axis)
    return x


def delete(arr: Any, obj: Any, axis: Any = None) -> ndarray:
    """Without the elements at indices; indices that are arrays are read. See NumPy's."""
    x = _array(arr)
    if axis is None:
        x, axis = ravel(x), 0
    position = dt.normalize_axis(axis, x.ndim)
    chosen = obj.read() if isinstance(obj, ndarray) else obj
    order = onp.delete(onp.arange(x.shape[position]), chosen)
    return take_host(x, order, position)


def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> ndarray:
    """With values inserted before indices; indices that are arrays are read. See NumPy's."""
    x = _array(arr)
    if axis is None:
        x, axis = ravel(x), 0
    position = dt.normalize_axis(axis, x.ndim)
    n = x.shape[position]
    where = obj.read() if isinstance(obj, ndarray) else obj
    single = onp.ndim(where) == 0 and not isinstance(where, slice)
    order = onp.insert(onp.arange(n), where, -1)
    count = len(order) - n
    new = _array(values).astype(x.dtype)
    if single:
        # NumPy moves the first axis of the values to the insertion axis
        new = moveaxis(new.reshape((1,) * (x.ndim - new.ndim) + new.shape), 0, position)
        count = new.shape[position]
        order = onp.insert(onp.arange(n), [int(where)] * count, -1)
    shape = list(x.shape)
    shape[position] = count
    new = broadcast_to(new, tuple(shape))
    if single or len(onp.atleast_1d(where) if not isinstance(where, slice) else ()) == count:
        given = onp.atleast_1d(where) if not isinstance(where, slice) else onp.arange(n)[where]
        rank = onp.argsort(onp.argsort(given, kind="stable"), kind="stable")
        slots = onp.flatnonzero(order == -1)
        if not single:
            inverse = onp.argsort(rank, kind="stable")
            order[slots] = n + inverse
        else:
            order[slots] = n + onp.arange(count)
    else:
        order[order == -1] = n + onp.arange(count)
    return take_host(concatenate([x, new], position), order, position)
