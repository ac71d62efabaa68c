"""``numpy.emath``: functions whose results are complex where real numbers have none.

Whether they are complex depends on the data, so that each call on real data reads one bool; on
complex data nothing is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._array.ndarray import ndarray
from ._functions.creation import asarray
from ._functions.reductions import any as _any
from ._ufuncs import ufunc as _ufuncs

_f = _ufuncs.PUBLIC


def _complex_if(outside: Callable[[Any], Any], given: Any) -> ndarray:
    """``x``, in the complex dtype of its precision where ``outside`` holds for an element."""
    x = asarray(given)
    if x.dtype.kind == "c" or not bool(_any(outside(x))):
        return x
    single = x.dtype.itemsize <= (4 if x.dtype.kind == "f" else 2)
    return x.astype("complex64" if single else "complex128")


def _negative(x: Any) -> Any:
    return x < 0


def _beyond_one(x: Any) -> Any:
    return _f["absolute"](x) > 1


def sqrt(x: Any) -> Any:
    """The square root, of negative numbers on the positive imaginary axis."""
    return _f["sqrt"](_complex_if(_negative, x))


def log(x: Any) -> Any:
    """The natural logarithm's principal value."""
    return _f["log"](_complex_if(_negative, x))


def log10(x: Any) -> Any:
    """The principal value of the logarithm to base 10."""
    return _f["log10"](_complex_if(_negative, x))


def log2(x: Any) -> Any:
    """The principal value of the logarithm to base 2."""
    return _f["log2"](_complex_if(_negative, x))


def logn(n: Any, x: Any) -> Any:
    """The principal value of the logarithm of ``x`` to base ``n``."""
    return log(x) / log(n)


def power(x: Any, p: Any) -> Any:
    """``x ** p``; complex for negative ``x``, and floating for negative integers ``p``."""
    x, p = _complex_if(_negative, x), asarray(p)
    if p.dtype.kind in "iu" and bool(_any(p < 0)):
        p = p.astype(float)
    return _f["power"](x, p)


def arccos(x: Any) -> Any:
    """The inverse cosine's principal value."""
    return _f["arccos"](_complex_if(_beyond_one, x))


def arcsin(x: Any) -> Any:
    """The inverse sine's principal value."""
    return _f["arcsin"](_complex_if(_beyond_one, x))


def arctanh(x: Any) -> Any:
    """The inverse hyperbolic tangent's principal value."""
    return _f["arctanh"](_complex_if(_beyond_one, x))


__all__ = ["arccos", "arcsin", "arctanh", "log", "log10", "log2", "logn", "power", "sqrt"]
