"""Discrete Fourier transforms: ``numpy.fft``.

Results are complex64 for float16, float32 and complex64, and complex128 for everything
else; real results have the precision of the argument, float64 for integers.
"""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as onp

import lazyloom
from lazyloom.dtypes import DType

from ._arguments import dtypes as dt
from ._arguments.convert import as_value, value_of
from ._array.ndarray import ndarray, wrap
from ._functions.creation import arange
from ._functions.manipulation import roll
from ._ufuncs.outputs import finish

record = lazyloom.record

_NORMS = {None: "backward", "backward": "backward", "ortho": "ortho", "forward": "forward"}
_OPPOSITE = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _norm(given: Any) -> str:
    found = _NORMS.get(given) if given is None or isinstance(given, str) else None
    if found is None:
        raise ValueError(
            f'Invalid norm value {given}; should be "backward", "ortho" or "forward".')
    return found


def _fitted(value: Any, axis: int, n: int) -> Any:
    """The value with n points along an axis: cropped, or zeros added after it."""
    shape = value.type.shape
    if shape[axis] == n:
        return value
    rest = (0,) * len(shape)
    change = (*rest[:axis], n - shape[axis], *rest[axis + 1:])
    zero = dt.scalar(0, value.type.dtype)
    return record("pad", (value, zero), {"low": rest, "high": change, "interior": rest})


def _points(n: Any) -> int:
    count = operator.index(n)
    if count < 1:
        raise ValueError(f"Invalid number of FFT data points ({count}) specified.")
    return count


def _complex(value: Any) -> Any:
    return as_value(value, dt.promote(value.type.dtype, complex))


def _real_dtype(value: Any) -> DType:
    return dt.promote(value.type.dtype.real, float)


def _transform(value: Any, axes: list[int], s: list[Any], inverse: bool, norm: str) -> Any:
    """Complex transforms along the axes, as one op where no axis comes twice."""
    value = _complex(value)
    counts = [_points(n) for n in s]
    ndim = len(value.type.shape)
    places = [dt.normalize_axis(a, ndim) for a in axes]
    if len(set(places)) < len(places):
        for a, n in zip(reversed(places), reversed(counts)):
            value = _transform(value, [a], [n], inverse, norm)
        return value
    for a, n in zip(places, counts):
        value = _fitted(value, a, n)
    return record("fft", (value,), {"axes": tuple(places), "inverse": inverse, "norm": norm})


def _size(value: Any, axis: Any) -> int:
    shape: tuple[int, ...] = value.type.shape
    if not -len(shape) <= operator.index(axis) < len(shape):
        raise IndexError("tuple index out of range")
    return shape[axis]


def _one(a: Any, n: Any, axis: Any, norm: Any, out: Any, inverse: bool) -> Any:
    value, scale = value_of(a), _norm(norm)
    n = _size(value, axis) if n is None else n
    return finish(_transform(value, [axis], [n], inverse, scale), out, "fft")


def fft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """The discrete Fourier transform along an axis, of n points. See ``numpy.fft.fft``."""
    return _one(a, n, axis, norm, out, False)


def ifft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """The inverse of ``fft``. See ``numpy.fft.ifft``."""
    return _one(a, n, axis, norm, out, True)


def _forward(value: Any, axis: Any, n: Any, norm: str, others: Any = (), s: Any = ()) -> Any:
    """The transform of real numbers along an axis, then along others."""
    d = value.type.dtype
    if d.kind == "c":
        raise dt.UFuncTypeError(
            f"rfft: the argument has dtype {d.name}, expected real numbers; use fft, or take the "
            "real part")
    if d.kind != "f":
        value = as_value(value, dt.FLOAT64)
    count = _points(n)
    ndim = len(value.type.shape)
    last = dt.normalize_axis(axis, ndim)
    places = [dt.normalize_axis(a, ndim) for a in others]
    value = _fitted(value, last, count)
    if len({*places, last}) == len(places) + 1 and all(
        value.type.shape[a] == k for a, k in zip(places, s)
    ):
        return record("rfft", (value,), {"axes": (*places, last), "norm": norm})
    value = record("rfft", (value,), {"axes": (last,), "norm": norm})
    return _transform(value, places, s, False, norm)


def _backward(value: Any, axis: Any, n: Any, norm: str, others: Any = (), s: Any = ()) -> Any:
    """The inverse: complex transforms along others, then to real numbers along an axis."""
    target = _real_dtype(value)
    value = _complex(value)
    if others:  # NumPy's first transform has made half precision complex64
        target = value.type.dtype.real
    count = _points(n)
    ndim = len(value.type.shape)
    last = dt.normalize_axis(axis, ndim)
    places = [dt.normalize_axis(a, ndim) for a in others]
    if len({*places, last}) == len(places) + 1:
        for a, k in zip(places, s):
            value = _fitted(value, a, _points(k))
    else:
        for a, k in zip(places, s):
            value = _transform(value, [a], [k], True, norm)
        places = []
    value = _fitted(value, last, count // 2 + 1)
    result = record(
        "irfft", (value,), {"axes": (*places, last), "length": count, "norm": norm})
    return as_value(result, target)


def rfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """The transform of real numbers, n // 2 + 1 points of it. See ``numpy.fft.rfft``."""
    value, scale = value_of(a), _norm(norm)
    n = _size(value, axis) if n is None else n
    return finish(_forward(value, axis, n, scale), out, "rfft")


def irfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """The inverse of ``rfft``: n real numbers. See ``numpy.fft.irfft``."""
    value, scale = value_of(a), _norm(norm)
    n = 2 * (_size(value, axis) - 1) if n is None else n
    return finish(_backward(value, axis, n, scale), out, "irfft")


def _conjugate(value: Any) -> Any:
    return record("conj", (value,)) if value.type.dtype.kind == "c" else value


def hfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """The transform of a signal whose spectrum is real. See ``numpy.fft.hfft``."""
    value, scale = value_of(a), _OPPOSITE[_norm(norm)]
    n = 2 * (_size(value, axis) - 1) if n is None else n
    return finish(_backward(_conjugate(value), axis, n, scale), out, "hfft")


def ihfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """The inverse of ``hfft``. See ``numpy.fft.ihfft``."""
    value, scale = value_of(a), _OPPOSITE[_norm(norm)]
    n = _size(value, axis) if n is None else n
    return finish(_conjugate(_forward(value, axis, n, scale)), out, "ihfft")


def _sizes(value: Any, s: Any, axes: Any, halved: bool = False) -> tuple[list[Any], list[int]]:
    """How many points along which axes, from the arguments ``s`` and ``axes``."""
    shape = value.type.shape
    if s is None:
        places = list(range(-len(shape), 0)) if axes is None else [operator.index(a) for a in axes]
        counts = [_size(value, a) for a in places]
        if halved:
            counts[-1] = 2 * (_size(value, places[-1]) - 1)
        return counts, places
    counts = list(s)
    if axes is None:
        warnings.warn("`axes` should not be `None` if `s` is not `None` (deprecated in NumPy 2.0)",
                      DeprecationWarning, stacklevel=4)  # fmt: skip
        places = list(range(-len(counts), 0))
    else:
        places = [operator.index(a) for a in axes]
    if len(counts) != len(places):
        raise ValueError("Shape and axes have different lengths.")
    if None in counts:
        warnings.warn("`None` in `s` is deprecated since NumPy 2.0; leave `s` out, or pass -1",
                      DeprecationWarning, stacklevel=4)  # fmt: skip
        if halved and counts[-1] is None:
            counts[-1] = 2 * (_size(value, places[-1]) - 1)
    return [_size(value, a) if n in (-1, None) else n for n, a in zip(counts, places)], places


def _several(a: Any, s: Any, axes: Any, norm: Any, out: Any, inverse: bool) -> Any:
    value, scale = value_of(a), _norm(norm)
    counts, places = _sizes(value, s, axes)
    if not places:
        return wrap(value)
    return finish(_transform(value, places, counts, inverse, scale), out, "fftn")


def fftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """The transform along several axes, all by default. See ``numpy.fft.fftn``.

    ``s`` is the number of points along each of the axes (the last ones if only it is given).
    """
    return _several(a, s, axes, norm, out, False)


def ifftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """The inverse of ``fftn``. See ``numpy.fft.ifftn``."""
    return _several(a, s, axes, norm, out, True)


def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    """The transform along two axes. See ``numpy.fft.fft2``."""
    return _several(a, s, axes, norm, out, False)


def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    """The inverse of ``fft2``. See ``numpy.fft.ifft2``."""
    return _several(a, s, axes, norm, out, True)


def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """The transform of real numbers along several axes. See ``numpy.fft.rfftn``."""
    value, scale = value_of(a), _norm(norm)
    counts, places = _sizes(value, s, axes)
    if not places:
        raise IndexError("list index out of range")
    result = _forward(value, places[-1], counts[-1], scale, places[:-1], counts[:-1])
    return finish(result, out, "rfftn")


def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """The inverse of ``rfftn``. See ``numpy.fft.irfftn``."""
    value, scale = value_of(a), _norm(norm)
    counts, places = _sizes(value, s, axes, True)
    if not places:
        raise IndexError("list index out of range")
    result = _backward(value, places[-1], counts[-1], scale, places[:-1], counts[:-1])
    return finish(result, out, "irfftn")


def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    """The transform of real numbers along two axes. See ``numpy.fft.rfft2``."""
    return rfftn(a, s, axes, norm, out)


def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    """The inverse of ``rfft2``. See ``numpy.fft.irfft2``."""
    return irfftn(a, s, axes, norm, out)


def _frequencies(n: Any, d: Any, dtype: Any, device: Any, whole: bool) -> Any:
    if not isinstance(n, (int, onp.integer)):
        raise ValueError("n should be an integer")
    step = 1.0 / (n * d)
    if whole and n < 0:
        raise ValueError("negative dimensions are not allowed")
    if whole:
        # the second half counts up from -(n // 2)
        positions = ifftshift(arange(-(n // 2), (n + 1) // 2, device=device))
    else:
        positions = arange(n // 2 + 1, device=device)
    result = positions * step
    return result if dtype is None else result.astype(dtype)


def fftfreq(n: int, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
    """The frequencies of ``fft``'s points, d the spacing of samples. See ``numpy.fft.fftfreq``."""
    return _frequencies(n, d, dtype, device, True)


def rfftfreq(n: int, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
    """The frequencies of ``rfft``'s points. See ``numpy.fft.rfftfreq``."""
    return _frequencies(n, d, dtype, device, False)


def _shifted(x: Any, axes: Any, sign: int) -> Any:
    a = x if isinstance(x, ndarray) else ndarray.from_value(value_of(x))
    if axes is None:
        places = list(range(a.ndim))
    elif isinstance(axes, (int, onp.integer)):
        places = [int(axes)]
    else:
        places = [operator.index(i) for i in axes]
    for i in places:
        dt.normalize_axis(i, a.ndim)
    return roll(a, tuple(sign * (a.shape[i] // 2) for i in places), tuple(places))


def fftshift(x: Any, axes: Any = None) -> Any:
    """Frequency 0 moved to the middle. See ``numpy.fft.fftshift``."""
    return _shifted(x, axes, 1)


def ifftshift(x: Any, axes: Any = None) -> Any:
    """The inverse of ``fftshift``. See ``numpy.fft.ifftshift``."""
    return _shifted(x, axes, -1)


__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip
