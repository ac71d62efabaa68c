"""Elements added around an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as onp

import lazyloom

from .._arguments import dtypes as dt
from .._arguments.convert import operand, param
from .._array.ndarray import ndarray
from .._ufuncs.ufunc import TABLE
from . import reductions
from .elementwise import chosen as where
from .joining import concatenate
from .manipulation import _array, broadcast_to, moveaxis
from .quantiles import median
from .sorting import take
from .spaced import linspace

record = lazyloom.record
Pairs = list[tuple[Any, Any]]

#: the keyword arguments that each mode has
_ALLOWED: Final[dict[str, tuple[str, ...]]] = {
    "empty": (), "edge": (), "wrap": (), "constant": ("constant_values",),
    "linear_ramp": ("end_values",), "maximum": ("stat_length",), "mean": ("stat_length",),
    "median": ("stat_length",), "minimum": ("stat_length",), "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
}  # fmt: skip
_STATISTICS: Final[dict[str, Callable[..., Any]]] = {
    "maximum": reductions.max, "minimum": reductions.min, "mean": reductions.mean,
    "median": median,
}  # fmt: skip


def _pairs(given: Any, ndim: int) -> Pairs:
    """What stands before and after each axis, from any of the forms that NumPy takes."""
    if isinstance(given, dict):
        filled: Pairs = [(0, 0)] * ndim
        for axis, pair in given.items():
            filled[axis] = tuple(pair) if isinstance(pair, (tuple, list)) else (pair, pair)
        return filled
    if isinstance(given, (list, tuple)):
        plain = _plain(given)
        shape: tuple[int, ...] = onp.shape(given) if plain else (len(given),)
    else:
        shape = getattr(given, "shape", ())
    if shape == ():
        return [(given, given)] * ndim
    if len(shape) == 1 and len(given) == 1:
        return [(given[0], given[0])] * ndim
    if len(shape) == 1 and len(given) == 2:
        return [(given[0], given[1])] * ndim
    rows = [(row[0], row[1]) if len(row) == 2 else (row[0], row[0]) for row in given]
    if len(rows) not in (1, ndim):
        raise ValueError(
            f"operands could not be broadcast together with remapped shapes [original->remapped]: "
            f"{tuple(shape)} and requested shape ({ndim},2)")
    return rows * ndim if len(rows) == 1 else rows


def _plain(given: Any) -> bool:
    return not any(isinstance(x, lazyloom.Tensor) for x in given)


def _widths(given: Any, ndim: int) -> list[tuple[int, int]]:
    if isinstance(given, ndarray):
        given = given.read()
    pairs = _pairs(given, ndim)
    if any(onp.asarray(w).dtype.kind not in "iu" for pair in pairs for w in pair):
        raise TypeError("`pad_width` must be of integral type.")
    widths = [(int(a), int(b)) for a, b in pairs]
    if any(w < 0 for pair in widths for w in pair):
        raise ValueError("index can't contain negative values")
    return widths


def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> ndarray:
    """Elements added around an array, by any of NumPy's modes. See ``numpy.pad``.

    A function as the mode is called with views of the padded array, which it writes to.
    """
    x = _array(array)
    widths = _widths(pad_width, x.ndim)
    if callable(mode):
        return _pad_by(x, widths, mode, kwargs)
    if mode not in _ALLOWED:
        raise ValueError(f"mode '{mode}' is not supported")
    unknown = set(kwargs) - set(_ALLOWED[mode])
    if unknown:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unknown}")
    if mode in ("constant", "empty"):
        return _constant(x, widths, kwargs.get("constant_values", 0))
    for axis, pair in enumerate(widths):
        if not x.shape[axis] and pair != (0, 0):
            raise ValueError(
                f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
    result = x
    if mode in _STATISTICS:
        for axis, lengths in enumerate(_pairs(kwargs.get("stat_length"), x.ndim)):
            result = _statistic(result, axis, widths[axis], mode, lengths)
    elif mode == "linear_ramp":
        for axis, ends in enumerate(_pairs(kwargs.get("end_values", 0), x.ndim)):
            result = _ramp(result, axis, widths[axis], ends)
    else:
        odd = kwargs.get("reflect_type", "even") == "odd"
        for axis, pair in enumerate(widths):
            if pair != (0, 0):
                result = _repeated(result, axis, pair, mode, odd)
    return result.copy() if result is x else result


def _pad_by(x: ndarray, widths: list[tuple[int, int]], function: Any, kwargs: Any) -> ndarray:
    padded = _constant(x, widths, 0)
    for axis in range(padded.ndim):
        view = moveaxis(padded, axis, -1)
        for place in onp.ndindex(view.shape[:-1]):
            function(view[place], widths[axis], axis, kwargs)
    return padded


def _constant(x: ndarray, widths: list[tuple[int, int]], values: Any) -> ndarray:
    pairs = _pairs(values, x.ndim)
    d = x.type.dtype
    low, high = (tuple(w[i] for w in widths) for i in (0, 1))
    value = x.value
    none = (0,) * x.ndim
    first = pairs[0][0] if pairs else 0
    if all(v is first for pair in pairs for v in pair) or all(
        type(v) in (int, float) and v == first for pair in pairs for v in pair
    ):
        return ndarray.from_value(record("pad", (value, param(operand(first), d)), {
            "low": low, "high": high, "interior": none}))  # fmt: skip
    for axis, (pair, fills) in enumerate(zip(widths, pairs)):
        for side, (width, fill) in enumerate(zip(pair, fills)):
            sizes = tuple(width if i == axis else 0 for i in range(x.ndim))
            before, after = (sizes, none) if side == 0 else (none, sizes)
            value = record("pad", (value, param(fill, d)), {
                "low": before, "high": after, "interior": none})  # fmt: skip
    return ndarray.from_value(value)


def _part(x: ndarray, axis: int, chosen: slice) -> ndarray:
    return x[(slice(None),) * axis + (chosen,)]  # type: ignore[no-any-return]


def _statistic(x: ndarray, axis: int, widths: tuple[int, int], mode: str,
               lengths: tuple[Any, Any]) -> ndarray:  # fmt: skip
    n = x.shape[axis]
    parts = [x]
    for side, (width, length) in enumerate(zip(widths, lengths)):
        count = n if length is None else min(int(length), n)
        if count == 0 and mode in ("maximum", "minimum"):
            raise ValueError("stat_length of 0 yields no value for padding")
        chosen = _part(x, axis, slice(0, count) if side == 0 else slice(n - count, n))
        found = _STATISTICS[mode](chosen, axis=axis, keepdims=True)
        if x.dtype.kind in "iu" and found.dtype.kind == "f":
            found = TABLE["rint"](found)
        shape = (*x.shape[:axis], width, *x.shape[axis + 1:])
        parts.insert(0 if side == 0 else 2, broadcast_to(found.astype(x.dtype), shape))
    return concatenate(parts, axis)


def _ramp(x: ndarray, axis: int, widths: tuple[int, int], ends: tuple[Any, Any]) -> ndarray:
    n = x.shape[axis]
    parts = [x]
    for side, (width, end) in enumerate(zip(widths, ends)):
        place = 0 if side == 0 else n - 1
        edge = x[(slice(None),) * axis + (place,)]
        ramp = linspace(end, edge, width, endpoint=False, dtype=x.dtype, axis=axis)
        if ramp.ndim < x.ndim:
            ramp = ramp.reshape((*x.shape[:axis], width, *x.shape[axis + 1:]))
        if side:
            ramp = _part(ramp, axis, slice(None, None, -1))
        parts.insert(0 if side == 0 else 2, ramp)
    return concatenate(parts, axis)


def _repeated(x: ndarray, axis: int, widths: tuple[int, int], mode: str, odd: bool) -> ndarray:
    """The array continued by itself: every position is taken from one inside."""
    n = x.shape[axis]
    left, right = widths
    steps = record("iota", (), {"shape": (left + n + right,), "axis": 0, "dtype": dt.INT64})
    position = ndarray.from_value(record("subtract", (steps, dt.scalar(left, dt.INT64))))
    if mode == "edge" or (mode == "reflect" and n == 1):
        return take(x, position.clip(0, n - 1), axis)  # type: ignore[no-any-return]
    if mode == "wrap":
        return take(x, position % n, axis)  # type: ignore[no-any-return]
    period = 2 * n - 2 if mode == "reflect" else 2 * n
    last = period if mode == "reflect" else period - 1
    phase = position % period
    mirrored = phase >= n
    result = take(x, where(mirrored, last - phase, phase), axis)
    if not odd:
        return result  # type: ignore[no-any-return]
    # mirrored at the ends' values: each period lies higher by twice their difference
    shape = (1,) * axis + (-1,) + (1,) * (x.ndim - axis - 1)
    first, end = _part(x, axis, slice(0, 1)), _part(x, axis, slice(n - 1, n))
    result = where(mirrored.reshape(shape), 2 * end - result, result)
    return result + (position // period).reshape(shape).astype(x.dtype) * (2 * (end - first))  # type: ignore[no-any-return]
