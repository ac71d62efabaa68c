"""The error function, its complement and its inverse, with NumPy."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from .error_functions import INVERSE_DOUBLE, INVERSE_SINGLE

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
    """By Horner's rule, highest power first, in x's precision."""
    number = x.dtype.type
    found = x * number(coefficients[0])
    for c in coefficients[1:-1]:
        found += number(c)
        found *= x
    found += number(coefficients[-1])
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
    w = -np.log((1 - x) * (1 + x))
    found = _polynomial(INVERSE_DOUBLE[0], w - 3.125)
    far = w >= 6.25
    if far.any():
        root = np.sqrt(w)
        farther = w >= 16
        found = np.where(far, np.where(
            farther, _polynomial(INVERSE_DOUBLE[2], root - 5.05),
            _polynomial(INVERSE_DOUBLE[1], root - 3.25)), found)
    return np.where(np.abs(x) == 1, x * np.inf, found * x)
