"""What is assigned: cast and broadcast as NumPy's assignments do."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any, Final

import numpy as onp

import lazyloom

from . import dtypes as dt
from .convert import as_value, contains_tensor, operand

record = lazyloom.record

_HERE: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def shape_text(shape: tuple[int, ...]) -> str:
    """A shape as NumPy's messages write it: ``(2,3)``, ``(3,)``."""
    return f"({','.join(map(str, shape))}{',' * (len(shape) == 1)})"


def no_fit(given: tuple[int, ...], shape: tuple[int, ...]) -> ValueError:
    """The error where a value does not broadcast to the part that is assigned to."""
    return ValueError(
        f"could not broadcast input array from shape {shape_text(given)} into shape "
        f"{shape_text(shape)}")


def no_fit_indexed(given: tuple[int, ...], shape: tuple[int, ...]) -> ValueError:
    """:func:`no_fit` where index arrays say which part."""
    return ValueError(
        f"shape mismatch: value array of shape {shape_text(given)} could not be broadcast to "
        f"indexing result of shape {shape_text(shape)}")


def warn_discarded(source: Any, target: Any) -> None:
    """NumPy's warning, at the user's line, where complex numbers become real ones."""
    if source.kind == "c" and target.kind not in "cb":
        level, frame = 2, sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
            level, frame = level + 1, frame.f_back
        warnings.warn(
            "Casting complex values to real discards the imaginary part",
            onp.exceptions.ComplexWarning, stacklevel=level)


def assigned(given: Any, dtype: Any) -> Any:
    """A Value or Scalar of the dtype from anything that is assigned to an array of it.

    Arrays are cast, whatever is lost; Python numbers and sequences of them must fit.
    """
    if given is None or isinstance(given, (str, bytes)) or (
        isinstance(given, (list, tuple)) and not contains_tensor(given)
    ):
        given = onp.array(given, dtype.numpy)
        return lazyloom.from_host(given) if given.ndim else dt.scalar(given.item(), dtype)
    try:
        x = operand(given)
    except dt.HostOnly:  # strings, objects and dates become numbers where NumPy makes them such
        x = lazyloom.from_host(onp.asarray(given).astype(dtype.numpy))
    if isinstance(x, lazyloom.Value):
        warn_discarded(x.type.dtype, dtype)
        return as_value(x, dtype)
    if isinstance(x, lazyloom.Scalar):
        if x.type.dtype is dtype:
            return x
        warn_discarded(x.type.dtype, dtype)
        real = x.type.dtype.kind == "c" and dtype.kind not in "cb"
        return dt.unchecked_scalar(x.number.real if real else x.number, dtype)
    if isinstance(x, complex) and dtype.kind in "iuf":
        what = "float() argument must be a string or a real number" if dtype.kind == "f" else (
            "int() argument must be a string, a bytes-like object or a real number")
        raise TypeError(f"{what}, not 'complex'")
    if dtype.kind in "iu":
        return dt.scalar(int(x), dtype)
    return dt.scalar(bool(x) if dtype.kind == "b" else x, dtype)


def fitted(given: Any, shape: tuple[int, ...], target: Any, keep_scalar: bool = False,
           error: Any = no_fit) -> Any:  # fmt: skip
    """What is assigned to a part of the target of that shape, cast and broadcast.

    With ``keep_scalar`` a number stays a parameter, for ops that broadcast it themselves.
    """
    value = assigned(given, target.type.dtype)
    if not isinstance(value, lazyloom.Value):
        return value if keep_scalar else record("full", (value,), {"shape": shape})
    original = given_shape = value.type.shape
    if given_shape == shape:
        return value
    while len(given_shape) > len(shape) and given_shape[0] == 1:
        given_shape = given_shape[1:]
    if not _broadcasts(given_shape, shape):
        raise error(original, shape)
    if given_shape != original:
        value = record("reshape", (value,), {"shape": given_shape})
    return value if given_shape == shape else record("broadcast_to", (value,), {"shape": shape})


def repeated(value: Any, count: int) -> Any:
    """The elements of a Value, one after another, repeated or cut to a number."""
    if len(value.type.shape) != 1:
        value = record("reshape", (value,), {"shape": (value.type.size,)})
    size = value.type.size
    if size == count:
        return value
    if count > size:
        value = record("tile", (value,), {"repeats": (-(-count // size),)})
    return record("slice", (value,), {"starts": (0,), "stops": (count,), "strides": (1,)})


def _broadcasts(given: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    return len(given) <= len(shape) and all(
        a in (1, b) for a, b in zip(reversed(given), reversed(shape)))
