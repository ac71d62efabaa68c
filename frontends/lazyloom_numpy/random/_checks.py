"""Parameters of distributions: from what was given to floats or arrays, checked on the host.

Numbers, lists and NumPy arrays are checked and raise NumPy's errors. An array of the device is
not read for it: what a parameter outside its domain gives there is NaN, -1 in integers, or
undefined.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, Final

import numpy as onp

import lazyloom

from .._arguments import dtypes as dt
from .._arguments.convert import contains_tensor, host_value, value_of
from .._array.ndarray import ndarray, wrap

POISSON_LAM_MAX: Final = float(2**63 - 1) - math.sqrt(2**63 - 1) * 10
_HOST: Final = (int, float, onp.generic)


def _contains(x: Any) -> str:
    return "is NaN" if type(x) is float else "contains NaNs"


def non_negative(x: Any, name: str) -> None:
    if onp.any(onp.signbit(x) & ~onp.isnan(x)):
        raise ValueError(f"{name} < 0")


def positive(x: Any, name: str) -> None:
    if onp.any(onp.less_equal(x, 0)):
        raise ValueError(f"{name} <= 0")


def probability(x: Any, name: str) -> None:
    if not onp.all(onp.greater_equal(x, 0) & onp.less_equal(x, 1)):
        raise ValueError(f"{name} < 0, {name} > 1 or {name} {_contains(x)}")


def likely(x: Any, name: str) -> None:
    if not onp.all(onp.greater(x, 0) & onp.less_equal(x, 1)):
        raise ValueError(f"{name} <= 0, {name} > 1 or {name} contains NaNs")


def unsure(x: Any, name: str) -> None:
    if not onp.all(onp.greater_equal(x, 0) & onp.less(x, 1)):
        raise ValueError(f"{name} < 0, {name} >= 1 or {name} {_contains(x)}")


def above_one(x: Any, name: str) -> None:
    if not onp.all(onp.greater(x, 1)):
        raise ValueError(f"{name} <= 1 or {name} {_contains(x)}")


def rate(x: Any, name: str) -> None:
    if onp.any(onp.greater(x, POISSON_LAM_MAX)):
        raise ValueError(f"{name} value too large")
    if not onp.all(onp.greater_equal(x, 0)):
        raise ValueError(f"{name} < 0 or {name} {_contains(x)}")


def on_device(given: Any) -> bool:
    """Whether looking at the data would read it."""
    return isinstance(given, lazyloom.Tensor) or (
        isinstance(given, (list, tuple)) and contains_tensor(given))


def known(given: Any, name: str) -> Any:
    """A parameter as a float or a host array of float64; None if the device has it."""
    if on_device(given):
        return None
    if given is None:
        raise TypeError(f"{name}: None was given, expected a number")
    if isinstance(given, _HOST):
        return float(given)
    x = onp.asarray(given)
    if x.dtype.kind == "c":
        raise TypeError(f"{name}: complex numbers were given, expected real ones")
    return x.astype(onp.float64) if x.shape else float(x)


def real(given: Any, name: str, check: Any = None) -> Any:
    """A parameter as a float or an array of float64, checked if the host has it."""
    x = known(given, name)
    if x is None:
        device = wrap(value_of(given))
        if device.type.dtype.kind == "c":
            raise TypeError(f"{name}: a complex array was given, expected a real one")
        return wrap(value_of(device, dt.FLOAT64))
    if check is not None:
        check(x, name)
    return x if type(x) is float else wrap(host_value(x))


def ordered(names: Sequence[str], *given: Any) -> None:
    """Of parameters that the host has, none must be greater than the next; ValueError."""
    xs = [known(x, name) for x, name in zip(given, names)]
    for i in range(len(xs) - 1):
        if xs[i] is not None and xs[i + 1] is not None and onp.any(onp.greater(xs[i], xs[i + 1])):
            raise ValueError(f"{names[i]} > {names[i + 1]}")


def interval(low: Any, high: Any, may_fall: bool) -> None:
    """The ends of a uniform distribution: OverflowError where their distance is not finite."""
    first, last = known(low, "low"), known(high, "high")
    if first is None or last is None:
        return
    with onp.errstate(all="ignore"):
        width = onp.subtract(last, first)
    if not onp.all(onp.isfinite(width)):
        raise OverflowError("high - low range exceeds valid bounds")
    if not may_fall and onp.any(width < 0):
        raise ValueError("high - low < 0")


def whole(given: Any, name: str) -> Any:
    """A parameter that counts: an int, a host array of int64, or an array of the device.

    Numbers with a fraction are cut, as NumPy does. Raises ValueError for negative ones.
    """
    if on_device(given):
        return wrap(value_of(given, dt.INT64))
    if isinstance(given, _HOST):
        n = int(given)
        if n > 2**63 - 1:
            raise OverflowError(f"{name}: {n} does not fit int64")
        if n < 0:
            raise ValueError(f"{name} < 0")
        return n
    counts = onp.asarray(given)
    if counts.dtype.kind not in "biuf":
        raise TypeError(f"{name}: dtype {counts.dtype} was given, expected integers")
    counts = counts.astype(onp.int64)
    if onp.any(counts < 0):
        raise ValueError(f"{name} < 0")
    return counts if counts.shape else int(counts)


def shape_of(size: Any, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a draw: that of ``size``, to which the parameters' shapes must broadcast."""
    if size is None:
        return onp.broadcast_shapes(*shapes)
    if isinstance(size, (bool, float)):
        raise TypeError(
            f"expected a sequence of integers or a single integer, got '{size}'")
    shape = dt.shape_tuple(size)
    if onp.broadcast_shapes(shape, *shapes) != shape:
        raise ValueError(f"Output size {shape} is not compatible with broadcast dimensions of "
                         f"inputs {onp.broadcast_shapes(*shapes)}.")
    return shape


def shape_out(size: Any, dtype: Any, out: Any, name: str) -> tuple[Any, Any]:
    """Size and dtype (float32 or float64) of a draw that may go to ``out``."""
    d = dt.FLOAT64 if dtype is None else dt.internal(dtype)
    if d.numpy not in (onp.float32, onp.float64):
        raise TypeError(f"Unsupported dtype {d.numpy!r} for {name}")
    if out is None:
        return size, d
    if not isinstance(out, ndarray) or not out.flags.writeable or not (
            out.flags.c_contiguous or out.flags.f_contiguous):
        raise ValueError("Supplied output array must be contiguous, writable, aligned, and in "
                         "machine byte-order.")
    if out.dtype != d.numpy:
        raise TypeError(f"Supplied output array has the wrong type. Expected {d.numpy.name}, got "
                        f"{out.dtype.name}")
    if size is not None and dt.shape_tuple(size) != out.shape:
        raise ValueError("size must match out.shape when used together")
    return out.shape, d


def weights(p: Any, count: int | None) -> None:
    """Probabilities of a choice, and of one of ``count`` elements without replacement."""
    if onp.any(onp.isnan(p)):
        raise ValueError("Probabilities contain NaN")
    if onp.any(p < 0):
        raise ValueError("Probabilities are not non-negative")
    if abs(math.fsum(p.tolist()) - 1.0) > math.sqrt(onp.finfo(onp.float64).eps):
        raise ValueError("Probabilities do not sum to 1. See Notes section of docstring for more "
                         "information.")
    if count is not None and onp.count_nonzero(p) < count <= p.size:
        raise ValueError("Fewer non-zero entries in p than size")


def covariance(cov: Any, strict: bool, tol: float) -> None:
    """Warn, or raise ValueError, where a matrix is no covariance; reads it from the device."""
    host = onp.asarray(cov, onp.float64)
    scale = tol * max(1.0, float(onp.max(onp.abs(host), initial=0.0)))
    if onp.allclose(host, host.T, rtol=tol, atol=tol) and (
            not host.size or onp.linalg.eigvalsh(host)[0] >= -scale):
        return
    if strict:
        raise ValueError("covariance is not symmetric positive-semidefinite.")
    warnings.warn("covariance is not symmetric positive-semidefinite.", RuntimeWarning,
                  stacklevel=3)
