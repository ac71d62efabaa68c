"""The error function, its complement and its inverse, with NumPy."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from .error_functions import INVERSE_SINGLE

Array = Any

#: of fewer elements Python's functions are faster
_SMALL: Final = 48

_each_erf: Final = np.frompyfunc(math.erf, 1, 1)
_each_erfc: Final = np.frompyfunc(math.erfc, 1, 1)


#: erf(x) / x on [-1, 1] as a polynomial of x squared, and erfc(x) exp(x**2) / t for x >= 0 as one
#: of t = 2 / (2 + x): least squares of the relative error, at most 2e-7 and 3e-8
_NEAR: Final = (
    7.84725911e-05, -0.000800818932, 0.00518809889, -0.0268536911, 0.112835822, -0.376126256,
    1.12837917,
)  # fmt: skip
_FAR: Final = (
    0.0106641662, -0.114358533, 0.407849558, -0.641831037, 0.397900745, -0.0859050948,
    0.221335979, 0.239518339, 0.282756484, 0.282069374,
)  # fmt: skip


def _polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    """By Horner's rule, highest power first; x is of single precision."""
    found = x * np.float32(coefficients[0])
    for c in coefficients[1:-1]:
        found += np.float32(c)
        found *= x
    found += np.float32(coefficients[-1])
    return found


def _complement(a: Array) -> Array:
    """erfc of numbers that are not negative."""
    t = np.add(a, np.float32(2))
    np.divide(np.float32(2), t, t)
    found = _polynomial(_FAR, t)
    found *= t
    np.multiply(a, a, t)
    np.negative(t, t)
    np.exp(t, t)
    found *= t
    return found


def erf(x: Array) -> Array:
    if x.dtype != np.float32 or x.size < _SMALL:
        return np.asarray(_each_erf(x)).astype(x.dtype)
    a = np.abs(x)
    far = _complement(a)
    np.subtract(np.float32(1), far, far)
    np.copysign(far, x, far)
    near = _polynomial(_NEAR, np.multiply(x, x))
    near *= x
    return np.where(a < 1, near, far)


def erfc(x: Array) -> Array:
    if x.dtype != np.float32 or x.size < _SMALL:
        return np.asarray(_each_erfc(x)).astype(x.dtype)
    found = _complement(np.abs(x))
    np.subtract(np.float32(2), found, found, where=x < 0)
    return found


def erf_inv(x: Array) -> Array:
    x = np.asarray(x)
    return _single_erf_inv(x) if x.dtype == np.float32 else _double_erf_inv(x)


def _single_erf_inv(x: Array) -> Array:
    w = -np.log((1 - x) * (1 + x))
    near = w < 5
    w = np.where(near, w - np.float32(2.5), np.sqrt(w) - np.float32(3))
    found = np.where(near, np.float32(INVERSE_SINGLE[0][0]), np.float32(INVERSE_SINGLE[1][0]))
    for a, b in zip(INVERSE_SINGLE[0][1:], INVERSE_SINGLE[1][1:], strict=True):
        found = np.where(near, np.float32(a), np.float32(b)) + found * w
    return np.where(np.abs(x) == 1, x * np.float32(np.inf), found * x)


def _double_erf_inv(x: Array) -> Array:
    """Newton's steps with Halley's correction, on the erfc where that is more exact."""
    y = np.abs(x)
    rest = np.log1p(-y * y)
    a = 2 / (math.pi * 0.147) + rest / 2
    found = np.sqrt(np.sqrt(a * a - rest / 0.147) - a)
    for _ in range(3):
        slope = 2 / math.sqrt(math.pi) * np.exp(-found * found)
        error = np.where(y < 0.5, np.asarray(_each_erf(found)).astype(np.float64) - y,
                         (1 - y) - np.asarray(_each_erfc(found)).astype(np.float64))
        step = error / slope
        found = found - np.where(np.isfinite(step), step / (1 + found * step), 0)
    found = np.where(y < 1e-8, y * (math.sqrt(math.pi) / 2), found)
    found = np.where(y == 1, np.inf, np.where(y > 1, np.nan, found))
    return np.copysign(found, x)
