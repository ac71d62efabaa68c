"""Numbers spaced evenly, or evenly on a logarithmic scale."""

from __future__ import annotations

import operator
from typing import Any

import numpy as onp

import lazyloom

from .._arguments import dtypes as dt
from .._arguments.convert import as_value, operand, operand_key, param, value_of
from .._array.array_api import elsewhere, onto
from .._array.ndarray import ndarray, wrap
from .._ufuncs.ufunc import TABLE
from .conditions import unless
from .manipulation import _array, expand_dims, moveaxis

record = lazyloom.record


def _kind(x: Any) -> Any:
    """What promotion looks at; a list counts as an array."""
    return operand_key(operand(x))


def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False,
             dtype: Any = None, axis: int = 0, *, device: Any = None) -> Any:  # fmt: skip
    """Evenly spaced numbers over an interval. See ``numpy.linspace``."""
    if device is not None and elsewhere(device, "linspace"):
        made = linspace(start, stop, num, endpoint, retstep, dtype, axis)
        return (onto(device, made[0]), made[1]) if retstep else onto(device, made)
    count = operator.index(num)
    if count < 0:
        raise ValueError(f"Number of samples, {count}, must be non-negative.")
    compute = dt.promote(*dict.fromkeys((_kind(start), _kind(stop))), float)
    target = compute if dtype is None else dt.internal(dtype)
    value = lazyloom.source("linspace", (param(start, compute), param(stop, compute)),
                            {"num": count, "endpoint": bool(endpoint)})  # fmt: skip
    if target is not compute:
        if target.kind in "iu":
            value = record("floor", (value,))
        value = record("cast", (value,), {"dtype": target})
    result = ndarray.from_value(value)
    if axis != 0 and result.ndim > 1:
        result = moveaxis(result, 0, axis)
    if not retstep:
        return result
    pieces = count - 1 if endpoint else count
    if pieces <= 0:
        return result, onp.nan
    return result, wrap(record("divide", (
        record("subtract", (value_of(stop, compute), value_of(start, compute))),
        dt.scalar(pieces, compute))))  # fmt: skip


def logspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0,
             dtype: Any = None, axis: int = 0) -> Any:  # fmt: skip
    """Numbers whose logarithms are evenly spaced. See ``numpy.logspace``."""
    if type(base) not in (int, float) and _array(base).ndim:
        ndim = max(_array(x).ndim for x in (start, stop, base))
        start, stop, base = (
            x.reshape((1,) * (ndim - x.ndim) + x.shape) for x in map(_array, (start, stop, base)))
        base = expand_dims(base, axis)
    result = TABLE["power"](base, linspace(start, stop, num, endpoint, axis=axis))
    return result if dtype is None else result.astype(dtype)


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None,
              axis: int = 0) -> Any:  # fmt: skip
    """Numbers in a geometric progression. See ``numpy.geomspace``.

    An end that is 0 raises ValueError, at the call where it is a number.
    """
    keys = dict.fromkeys((_kind(start), _kind(stop)))
    compute = dt.promote(*keys, float, dt.FLOAT64 if dtype is None else dt.internal(dtype))
    zero = "Geometric sequence cannot include zero"
    first, last = (ndarray.from_value(as_value(operand(x), compute)) for x in (start, stop))
    for x, end in ((start, first), (stop, last)):
        if not isinstance(x, lazyloom.Tensor) and (onp.asarray(x) == 0).any():
            raise ValueError(zero)
        if isinstance(x, lazyloom.Tensor):
            first = unless(end == 0, "zero", "geomspace", first)
    sign = TABLE["sign"](first)
    first, last = first / sign, last / sign
    log = TABLE["log10"]
    result = logspace(log(first), log(last), num, endpoint, 10.0, compute.numpy)
    if num > 0:
        result[0] = first
        if num > 1 and endpoint:
            result[-1] = last
    result = result * sign
    if axis != 0:
        result = moveaxis(result, 0, axis)
    return result if dtype is None else result.astype(dtype)
