"""Window functions, and the functions that they are made of."""

from __future__ import annotations

from typing import Any

import numpy as onp

import lazyloom

from .._arguments import dtypes as dt
from .._arguments.convert import as_value, value_of
from .._array.ndarray import ndarray, wrap
from .._ufuncs.ufunc import TABLE
from .creation import arange, ones
from .elementwise import chosen as where

record = lazyloom.record


def _places(M: Any) -> tuple[Any, float]:
    """Twice the distances from the middle of a window of M points, and M."""
    count = float(M)
    return (arange(1.0 - count, count, 2) if count > 1 else None), count


def _short(count: float) -> Any:
    """The window of one point, or of none."""
    return ones(int(count >= 1))


def bartlett(M: Any) -> Any:
    """The Bartlett window, a triangle. See ``numpy.bartlett``."""
    n, count = _places(M)
    if n is None:
        return _short(count)
    slope = n / (count - 1)
    return where(n <= 0, 1 + slope, 1 - slope)


def hanning(M: Any) -> Any:
    """The Hann window. See ``numpy.hanning``."""
    n, count = _places(M)
    return _short(count) if n is None else 0.5 + 0.5 * _cos(onp.pi * n / (count - 1))


def hamming(M: Any) -> Any:
    """The Hamming window. See ``numpy.hamming``."""
    n, count = _places(M)
    return _short(count) if n is None else 0.54 + 0.46 * _cos(onp.pi * n / (count - 1))


def blackman(M: Any) -> Any:
    """The Blackman window. See ``numpy.blackman``."""
    n, count = _places(M)
    if n is None:
        return _short(count)
    first, second = _cos(onp.pi * n / (count - 1)), _cos(2.0 * onp.pi * n / (count - 1))
    return 0.42 + 0.5 * first + 0.08 * second


def kaiser(M: Any, beta: Any) -> Any:
    """The Kaiser window of shape ``beta``. See ``numpy.kaiser``."""
    count, shape = float(M), float(beta)
    if count == 1:
        return _short(count)
    alpha = (count - 1) / 2.0
    n = arange(0, count)
    inside = 1 - ((n - alpha) / alpha) ** 2.0
    return i0(shape * TABLE["sqrt"](inside)) / i0(shape)


def _cos(x: Any) -> Any:
    return TABLE["cos"](x)


def i0(x: Any) -> Any:
    """The modified Bessel function of the first kind and order 0. See ``numpy.i0``."""
    value = value_of(x)
    kind = value.type.dtype.kind
    if kind == "c":
        raise TypeError("i0 not supported for complex values")
    if kind != "f":
        value = as_value(value, dt.FLOAT64)
    size = record("abs", (value,))
    scaled = record("bessel_i0e", (size,))
    return ndarray.from_value(record("multiply", (record("exp", (size,)), scaled)))


def sinc(x: Any) -> Any:
    """``sin(pi x) / (pi x)``, 1 at 0. See ``numpy.sinc``."""
    y = onp.pi * wrap(value_of(x))
    tiny = float(onp.finfo(y.dtype).eps) if y.dtype.kind == "f" else 1e-20
    y = where(y != 0, y, tiny)
    return TABLE["sin"](y) / y
