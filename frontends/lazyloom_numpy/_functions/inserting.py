"""Elements put between others, and taken out."""

from __future__ import annotations

from typing import Any

import numpy as onp

import lazyloom

from .._arguments import dtypes as dt
from .._arguments.assigning import assigned
from .._arguments.bounds import check, out_of_bounds
from .._arguments.convert import as_value, full_value, host_value
from .._array.ndarray import ndarray
from .counting import flat_positions
from .joining import concatenate
from .manipulation import _array, broadcast_to, moveaxis, ravel, take_host
from .sorting import argsort, take

record = lazyloom.record


def _flattened(arr: Any, axis: Any) -> tuple[ndarray, int]:
    x = _array(arr)
    if axis is None:
        return ravel(x), 0
    return x, dt.normalize_axis(axis, x.ndim)


def delete(arr: Any, obj: Any, axis: Any = None) -> ndarray:
    """Without the slices at some positions of an axis. See ``numpy.delete``.

    Of positions that the device computes it is read how many different ones there are, unless
    it is one number.
    """
    x, position = _flattened(arr, axis)
    n = x.shape[position]
    if not isinstance(obj, lazyloom.Tensor):
        if isinstance(obj, (float, complex)):
            raise TypeError(f"delete: an index is an integer, got {obj!r}")
        if isinstance(obj, (list, tuple)):
            obj = onp.asarray(obj, None if len(obj) else onp.int64)
        return take_host(x, onp.delete(onp.arange(n), obj), position)
    value = obj.value
    if value.type.dtype.kind not in "biu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    if value.type.dtype is dt.BOOL:
        if value.type.shape != (n,):
            raise ValueError(
                f"boolean array argument obj to delete must be one dimensional and match the axis "
                f"length of {n}")
        kept = record("logical_not", (value,))
        return ndarray.from_value(record("take", (x.value, flat_positions(kept, "delete")),
                                    {"axis": position}))  # fmt: skip
    where = as_value(check(value, n, position, "delete"), dt.INT64)
    if value.type.size == 1:
        where = record("reshape", (where,), {"shape": ()})
        where = record("remainder", (where, dt.scalar(n, dt.INT64)))
        steps = record("iota", (), {"shape": (n - 1,), "axis": 0, "dtype": dt.INT64})
        later = record("cast", (record("greater_equal", (steps, where)),), {"dtype": dt.INT64})
        order = record("add", (steps, later))
    else:
        flat = record("reshape", (where,), {"shape": (value.type.size,)})
        kept = record("index_update", (full_value((n,), True, dt.BOOL),
                      dt.scalar(False, dt.BOOL), flat), {"axes": (0,), "mode": "set"})
        order = flat_positions(kept, "delete")
    return ndarray.from_value(record("take", (x.value, order), {"axis": position}))


def _check_integers(kind: str, count: int) -> None:
    """Raise TypeError for one index that is no integer, IndexError for several, as NumPy does."""
    if kind in "iu":
        return
    if count == 1:
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    raise IndexError("arrays used as indices must be of integer (or boolean) type")


def _insertion_points(obj: Any, n: int, axis: int) -> ndarray:
    """Where something is inserted, as int64 from the front."""
    if isinstance(obj, slice):
        obj = onp.arange(n)[obj]
    if isinstance(obj, lazyloom.Tensor):
        value = obj.value
        if value.type.dtype is dt.BOOL:
            value = flat_positions(value, "insert")
        else:
            _check_integers(value.type.dtype.kind, value.type.size)
            value = check(value, n + 1, axis, "insert")
    else:
        host = onp.asarray(obj)
        if host.size == 0:
            host = host.astype(onp.int64)
        if host.dtype.kind == "b":
            host = onp.flatnonzero(host)
        _check_integers(host.dtype.kind, host.size)
        if host.size and (host.min() < -n or host.max() > n):
            out_of_bounds(host[(host < -n) | (host > n)].flat[0], n, axis)
        value = host_value(host)
    if len(value.type.shape) > 1:
        raise ValueError("index array argument obj to insert must be one dimensional or scalar")
    points = ndarray.from_value(as_value(value, dt.INT64))
    return points + (points < 0).astype(onp.int64) * n  # type: ignore[no-any-return]


def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> ndarray:
    """With values inserted before some positions of an axis. See ``numpy.insert``."""
    x, position = _flattened(arr, axis)
    n = x.shape[position]
    points = _insertion_points(obj, n, position)
    new = ndarray.from_value(as_value(assigned(values, x.type.dtype)))
    if points.size == 1:
        new = new.reshape((1,) * (x.ndim - new.ndim) + new.shape)
        if not points.ndim:
            # the first axis of the values goes along the axis of insertion
            new = moveaxis(new, 0, position)
        count = new.shape[position]
        points = broadcast_to(points.reshape(1), (count,))
    else:
        count = points.size
    shape = (*x.shape[:position], count, *x.shape[position + 1:])
    new = broadcast_to(new, shape)
    if not count:
        return x.copy()
    # every new element moves those at and after its place; equal places keep their order
    rank = argsort(argsort(points, stable=True), stable=True)
    places = (points + rank).value
    steps = record("iota", (), {"shape": (count,), "axis": 0, "dtype": dt.INT64})
    total = full_value((n + count,), 0, dt.INT64)
    numbers = record("add", (steps, dt.scalar(n + 1, dt.INT64)))
    chosen = record("index_update", (total, numbers, places), {"axes": (0,), "mode": "set"})
    old = record("equal", (chosen, dt.scalar(0, dt.INT64)))
    before = record("cumsum", (record("cast", (old,), {"dtype": dt.INT64}),), {"axis": 0})
    chosen = record("where", (old, before, chosen))
    order = ndarray.from_value(record("subtract", (chosen, dt.scalar(1, dt.INT64))))
    return take(concatenate([x, new], position), order, position)  # type: ignore[no-any-return]
