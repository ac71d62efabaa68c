"""Functions whose result is as large as the data says: what is not zero, what a mask chooses.

How many is read, and the evaluation's record says for which function; the rest is computed on
the device.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as onp

import lazyloom
from lazyloom.errors import type_name
from lazyloom.frontend import one_step

from .._arguments import dtypes as dt
from .._arguments.assigning import assigned
from .._arguments.bounds import check
from .._arguments.convert import as_value, operand, value_of
from .._array.layout import is_writeable
from .._array.ndarray import assign, ndarray, wrap
from .._ufuncs.outputs import finish
from .counting import coordinates, flat_positions
from .sorting import _along

record = lazyloom.record


def _array(a: Any) -> ndarray:
    return a if isinstance(a, ndarray) else ndarray.from_value(value_of(a))


def _positions(condition: Any, function: str) -> Any:
    """Where a condition is true, flattened; it is not read where it is on the host."""
    if isinstance(condition, lazyloom.Tensor):
        return flat_positions(condition.value, function)
    return lazyloom.from_host(onp.flatnonzero(onp.asarray(condition)))


def nonzero(a: Any) -> tuple[ndarray, ...]:
    """Indices of the elements that are not zero; reads how many. See ``numpy.nonzero``."""
    value = _array(a).value
    if not value.type.shape:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() "
            "instead.")
    flat = flat_positions(value, "nonzero")
    return tuple(map(ndarray.from_value, coordinates(flat, value.type.shape)))


def argwhere(a: Any) -> ndarray:
    """Indices of the elements that are not zero, one a row; reads how many.

    See ``numpy.argwhere``.
    """
    value = _array(a).value
    flat = flat_positions(value, "argwhere")
    if not value.type.shape:
        return ndarray.from_value(record(
            "full", (dt.scalar(0, dt.INT64),), {"shape": (flat.type.shape[0], 0)}))
    # NumPy's is the transpose of what nonzero gives
    rows = ndarray.from_value(record("stack", coordinates(flat, value.type.shape), {"axis": 0}))
    return rows.T


def flatnonzero(a: Any) -> ndarray:
    """Flat indices of the elements that are not zero; reads how many. See NumPy's."""
    return ndarray.from_value(flat_positions(_array(a).value, "flatnonzero"))


def _chosen(condition: Any, a: Any, axis: Any, function: str) -> Any:
    x = _array(a)
    mask: Any = condition if isinstance(condition, lazyloom.Tensor) else onp.asarray(condition)
    if len(mask.shape) != 1:
        raise ValueError("condition must be a 1-d array")
    value, position = _along(x, axis, True)
    where = _positions(mask, function)
    size = value.type.shape[position]
    if mask.shape[0] > size:
        where = check(where, size, position, function)
    return record("take", (value, where), {"axis": position})


def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """The slices whose condition is true; reads how many. See ``numpy.compress``."""
    return finish(_chosen(condition, a, axis, "compress"), out, "compress")


def extract(condition: Any, arr: Any) -> Any:
    """The elements whose condition is true; reads how many. See ``numpy.extract``."""
    if isinstance(condition, lazyloom.Tensor):
        flat: Any = ndarray.from_value(
            record("reshape", (condition.value,), {"shape": (condition.tensor_type.size,)}))
    else:
        flat = onp.asarray(condition).reshape(-1)
    return wrap(_chosen(flat, arr, None, "extract"))


@one_step
def place(arr: ndarray, mask: Any, vals: Any) -> None:
    """Write the first values, repeated, where a mask is true, in order. See ``numpy.place``."""
    if not isinstance(arr, ndarray):
        raise TypeError(
            f"place() argument 1 must be numpy.ndarray, not {type_name(arr)}")
    if not is_writeable(arr):
        raise ValueError("assignment destination is read-only")
    where = value_of(mask, dt.BOOL)
    if where.type.size != arr.size:
        raise ValueError("place: mask and data must be the same size")
    new = as_value(assigned(vals, arr.type.dtype))
    if not new.type.size:
        if lazyloom.read_for_shape(record("any", (where,)), "place"):
            raise ValueError("Cannot insert from an empty array!")
        return
    if not arr.size:
        return
    where = record("reshape", (where,), {"shape": (arr.size,)})
    # the number of a true element among the true ones says which value it gets
    rank = record("cumsum", (as_value(where, dt.INT64),), {"axis": 0})
    number = record("subtract", (rank, dt.scalar(1, dt.INT64)))
    number = record("remainder", (number, dt.scalar(new.type.size, dt.INT64)))
    flat = record("reshape", (new,), {"shape": (new.type.size,)})
    old = record("reshape", (arr.value,), {"shape": (arr.size,)})
    result = record("where", (where, record("take", (flat, number), {"axis": 0}), old))
    assign(arr, record("reshape", (result,), {"shape": arr.shape}))


def repeat(a: Any, repeats: Any, axis: Any = None) -> ndarray:
    """Each element repeated; of counts that the device has the sum is read.

    See ``numpy.repeat``.
    """
    x = _array(a)
    value, position = _along(x, axis, True)
    if hasattr(repeats, "__index__") and not getattr(repeats, "shape", ()) and not isinstance(
        repeats, lazyloom.Tensor
    ):
        count = operator.index(repeats)
        if count < 0:
            raise ValueError("repeats may not contain negative values.")
        return ndarray.from_value(record("repeat", (value,), {"repeats": count, "axis": position}))
    size = value.type.shape[position]
    if not isinstance(repeats, lazyloom.Tensor):
        counts = onp.asarray(repeats)
        if not counts.size:
            counts = counts.astype(onp.int64)  # of nothing NumPy makes floating-point numbers
        if counts.dtype.kind not in "iub":
            raise _no_counts(counts.dtype)
        _check_counts(counts.shape, size)
        order: Any = lazyloom.from_host(onp.repeat(onp.arange(size), counts))
        return ndarray.from_value(record("take", (value, order), {"axis": position}))
    given = repeats.value
    if given.type.dtype.kind not in "iub":
        raise _no_counts(given.type.dtype.numpy)
    given = as_value(given, dt.INT64)
    _check_counts(given.type.shape, size)
    given = record("broadcast_to", (record(
        "reshape", (given,), {"shape": (given.type.size,)}),), {"shape": (size,)})
    if not size:
        return ndarray.from_value(value)
    ends = record("cumsum", (given,), {"axis": 0})
    facts = record("stack", (record("sum", (given,)), record("min", (given,))), {"axis": 0})
    total, least = (int(n) for n in lazyloom.read_for_shape(facts, "repeat"))
    if least < 0:
        raise ValueError("repeats may not contain negative values.")
    numbers = record("arange", (dt.scalar(0, dt.INT64), dt.scalar(1, dt.INT64)), {"length": total})
    order = record("searchsorted", (ends, numbers), {"side": "right"})
    return ndarray.from_value(record("take", (value, order), {"axis": position}))


def _no_counts(dtype: Any) -> TypeError:
    return TypeError(
        f"Cannot cast array data from {dtype!r} to dtype('int64') according to the rule 'safe'")


def _check_counts(shape: tuple[int, ...], size: int) -> None:
    if len(shape) > 1:
        raise ValueError("object too deep for desired array")
    if len(shape) == 1 and shape[0] != 1 and shape[0] != size:
        raise ValueError(
            f"operands could not be broadcast together with shape ({size},) ({shape[0]},)")


def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> ndarray:
    """How often each non-negative int occurs; reads the extremes. See ``numpy.bincount``."""
    if isinstance(x, (list, tuple)) and not len(x):
        x = onp.zeros(0, onp.int64)
    value = as_value(operand(x))
    shape, d = value.type.shape, value.type.dtype
    if len(shape) != 1:
        raise ValueError("object too deep for desired array" if shape else
                         "object of too small depth for desired array")  # fmt: skip
    if d.kind not in "iub":
        raise _no_counts(d.numpy)
    least = operator.index(minlength)
    if least < 0:
        raise ValueError("'minlength' must not be negative")
    value = as_value(value, dt.INT64)
    low, high = 0, -1
    if value.type.size:
        facts = record("stack", (record("min", (value,)), record("max", (value,))), {"axis": 0})
        low, high = (int(n) for n in lazyloom.read_for_shape(facts, "bincount"))
    if low < 0:
        raise ValueError("'list' argument must have no negative elements")
    length = max(high + 1, least)
    if weights is None:
        return ndarray.from_value(record("bincount", (value,), {"length": length}))
    w = value_of(weights)
    if not dt.can_cast(w.type.dtype, dt.FLOAT64, "safe"):
        raise TypeError(
            f"Cannot cast array data from {w.type.dtype.numpy!r} to dtype('float64') according to "
            "the rule 'safe'")
    if w.type.shape != shape:
        raise ValueError("The weights and list don't have the same length.")
    w = as_value(w, dt.FLOAT64)
    return ndarray.from_value(record("bincount", (value, w), {"length": length}))


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """Without zeros at the ends of axes; reads how many there are. See ``numpy.trim_zeros``.

    A list or tuple gives one.
    """
    x = _array(filt)
    ends = trim.lower()
    if ends not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    axes = tuple(range(x.ndim)) if axis is None else dt.normalize_axes(axis, x.ndim)
    if not axes:
        return filt
    key = [slice(None)] * x.ndim
    for i, (start, stop) in zip(axes, _ends(x, axes)):
        key[i] = slice(start if "f" in ends or not stop else 0,
                       stop if "b" in ends or not stop else x.shape[i])  # fmt: skip
    return filt[key[0]] if isinstance(filt, (list, tuple)) and len(key) == 1 else x[tuple(key)]


def _ends(x: ndarray, axes: tuple[int, ...]) -> list[tuple[int, int]]:
    """Along each axis where what is not zero begins and ends; (0, 0) if all is zero."""
    if not x.size:
        return [(0, 0)] * len(axes)
    mask = x.value
    if x.type.dtype is not dt.BOOL:
        mask = record("not_equal", (mask, dt.scalar(0, x.type.dtype)))
    facts = [as_value(record("any", (mask,)), dt.INT64)]
    for i in axes:
        others = tuple(a for a in range(x.ndim) if a != i)
        along = as_value(record("any", (mask,), {"axes": others}) if others else mask, dt.INT64)
        back = record("argmax", (record("flip", (along,), {"axes": (0,)}),), {"axis": 0})
        facts += [record("argmax", (along,), {"axis": 0}),
                  record("subtract", (dt.scalar(x.shape[i], dt.INT64), back))]  # fmt: skip
    found = lazyloom.read_for_shape(record("stack", facts, {"axis": 0}), "trim_zeros")
    some, *bounds = (int(n) for n in found)
    return list(zip(bounds[::2], bounds[1::2])) if some else [(0, 0)] * len(axes)


__all__ = ["argwhere", "bincount", "compress", "extract", "flatnonzero", "nonzero", "place",
           "repeat", "trim_zeros"]  # fmt: skip
