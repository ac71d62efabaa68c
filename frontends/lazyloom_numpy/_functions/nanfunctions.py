"""Reductions that leave NaN out. Where nothing is left, NumPy's warning comes with the read."""

from __future__ import annotations

from typing import Any

import numpy as onp

import lazyloom

from .._arguments import dtypes as dt
from .._array.ndarray import ndarray, wrap
from .._ufuncs.outputs import finish
from .._ufuncs.ufunc import TABLE
from . import reductions
from .conditions import unless
from .elementwise import chosen as _where
from .manipulation import _array

record = lazyloom.record


def _without_nan(a: Any, fill: Any) -> tuple[ndarray, Any]:
    """The array with a number for NaN, and where NaN was (None for dtypes without)."""
    x = _array(a)
    if x.dtype.kind not in "fc":
        return x, None
    mask = TABLE["isnan"](x)
    return wrap(record("where", (mask.value, dt.scalar(fill, x.type.dtype), x.value))), mask


def nansum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
           initial: Any = None, where: Any = True) -> Any:  # fmt: skip
    """The sum, NaN counting as 0. See ``numpy.nansum``."""
    x, _ = _without_nan(a, 0)
    return reductions.sum(x, axis, dtype, out, keepdims, initial, where)


def nanprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
            initial: Any = None, where: Any = True) -> Any:  # fmt: skip
    """The product, NaN counting as 1. See ``numpy.nanprod``."""
    x, _ = _without_nan(a, 1)
    return reductions.prod(x, axis, dtype, out, keepdims, initial, where)


def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Running sums, NaN counting as 0. See ``numpy.nancumsum``."""
    return reductions.cumsum(_without_nan(a, 0)[0], axis, dtype, out)


def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Running products, NaN counting as 1. See ``numpy.nancumprod``."""
    return reductions.cumprod(_without_nan(a, 1)[0], axis, dtype, out)


def _extremum(name: str, fill: float, a: Any, axis: Any, out: Any, keepdims: Any, initial: Any,
              where: Any) -> Any:  # fmt: skip
    worst: Any = complex(fill, fill) if _array(a).dtype.kind == "c" else fill
    x, mask = _without_nan(a, worst)
    result = getattr(reductions, name)(x, axis, None, keepdims, initial, where)
    if mask is not None and initial is None:
        nothing = reductions.all(mask, axis, keepdims=keepdims)
        result = _where(nothing, onp.nan, result)
        result = unless(nothing, "all-NaN slice", f"nan{name}", result)
    return finish(result.value, out, name)


def nanmax(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False,
           initial: Any = None, where: Any = True) -> Any:  # fmt: skip
    """The largest element that is not NaN; NaN of nothing. See ``numpy.nanmax``."""
    return _extremum("max", -onp.inf, a, axis, out, keepdims, initial, where)


def nanmin(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False,
           initial: Any = None, where: Any = True) -> Any:  # fmt: skip
    """The smallest element that is not NaN; NaN of nothing. See ``numpy.nanmin``."""
    return _extremum("min", onp.inf, a, axis, out, keepdims, initial, where)


def _position(name: str, fill: float, a: Any, axis: Any, out: Any, keepdims: Any) -> Any:
    worst: Any = complex(fill, fill) if _array(a).dtype.kind == "c" else fill
    x, mask = _without_nan(a, worst)
    result = getattr(reductions, name)(x, axis, None, keepdims=keepdims)
    if mask is not None:
        nothing = reductions.all(mask, axis)
        result = unless(nothing, "all-NaN argument", f"nan{name}", result)
    return finish(result.value, out, name)


def nanargmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    """Index of the largest element that is not NaN. See ``numpy.nanargmax``.

    Reading the result raises ValueError where there is none.
    """
    return _position("argmax", -onp.inf, a, axis, out, keepdims)


def nanargmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    """Index of the smallest element that is not NaN. See ``numpy.nanargmin``.

    Reading the result raises ValueError where there is none.
    """
    return _position("argmin", onp.inf, a, axis, out, keepdims)


def _of_number(x: ndarray, axis: Any) -> Any:
    """The axis; of an array of no dimension, which counts as one with one axis here, none."""
    return None if not x.ndim and axis is not None and axis in (0, -1) else axis


def _counted(a: Any, where: Any) -> tuple[ndarray, Any]:
    """Where the elements count: those that are not NaN and not masked; None for integers."""
    x = _array(a)
    if x.dtype.kind not in "fc":
        return x, None
    counted = ~TABLE["isnan"](x)
    return x, counted if where is True else counted & where


def _check_inexact(x: ndarray, dtype: Any, out: Any) -> None:
    """TypeError where the mean of inexact numbers is asked for in a dtype without NaN."""
    for name, given in (("dtype", dtype), ("out", None if out is None else out.dtype)):
        if given is not None and not dt.internal(given).is_inexact:
            raise TypeError(f"If a is inexact, then {name} must be inexact")


def nanmean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
            *, where: Any = True) -> Any:  # fmt: skip
    """The mean of the elements that are not NaN; NaN of nothing. See ``numpy.nanmean``."""
    x, counted = _counted(a, where)
    if counted is None:
        return reductions.mean(x, axis, dtype, out, keepdims, where=where)
    _check_inexact(x, dtype, out)
    axis = _of_number(x, axis)
    result = reductions.mean(x, axis, dtype, None, keepdims, where=counted)
    nothing = ~reductions.any(counted, axis, keepdims=keepdims)
    return finish(unless(nothing, "empty mean", "nanmean", result).value, out, "mean")


def _spread(name: str, a: Any, axis: Any, dtype: Any, out: Any, ddof: Any, keepdims: Any,
            where: Any, mean: Any, correction: Any) -> Any:  # fmt: skip
    x, counted = _counted(a, where)
    function = getattr(reductions, name)
    if counted is None:
        return function(x, axis, dtype, out, ddof, keepdims, where=where, mean=mean,
                        correction=correction)  # fmt: skip
    _check_inexact(x, dtype, out)
    axis = _of_number(x, axis)
    result = function(x, axis, dtype, None, ddof, keepdims, where=counted, mean=mean,
                      correction=correction)  # fmt: skip
    amount = ddof if correction is None else correction
    nothing = reductions.sum(counted, axis, keepdims=keepdims) - amount <= 0
    result = _where(nothing, onp.nan, result)
    result = unless(nothing, "no degrees of freedom", f"nan{name}", result)
    return finish(result.value, out, name)


def nanvar(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
           keepdims: Any = False, *, where: Any = True, mean: Any = None,
           correction: Any = None) -> Any:  # fmt: skip
    """The variance of the elements that are not NaN. See ``numpy.nanvar``."""
    return _spread("var", a, axis, dtype, out, ddof, keepdims, where, mean, correction)


def nanstd(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
           keepdims: Any = False, *, where: Any = True, mean: Any = None,
           correction: Any = None) -> Any:  # fmt: skip
    """The standard deviation of the elements that are not NaN. See ``numpy.nanstd``."""
    return _spread("std", a, axis, dtype, out, ddof, keepdims, where, mean, correction)
