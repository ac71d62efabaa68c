"""Where results go: into a new array, or into the one that was given as ``out``."""

from __future__ import annotations

import contextlib
from typing import Any, Final

import numpy as onp

from lazyloom.frontend import write_locks

from .._arguments import dtypes as dt
from .._array.ndarray import ndarray, wrap
from .ufunc import store

#: what NumPy casts to an output of any dtype
_ANY_CAST: Final = frozenset({
    "mean", "median", "var", "sum", "prod", "max", "min", "cumsum", "cumprod", "nanmax", "nanmin",
    "nanquantile", "argmax", "argmin", "take", "choose", "compress"})
#: what NumPy computes in an output of the result's dtype, and copies back
_COPIED_BACK: Final = frozenset({"argmax", "argmin", "take", "choose", "compress"})


def output(out: Any, name: str) -> ndarray:
    """The array that is given as ``out``, by itself or in a tuple."""
    given = out[0] if type(out) is tuple and len(out) == 1 else out
    if isinstance(given, onp.ndarray):
        raise dt.HostOnly(f"{name}: the output is an array of NumPy's, which NumPy writes to")
    if not isinstance(given, ndarray):
        raise TypeError(f"{name}: return arrays must be of ArrayType, not {type(given).__name__}")
    return given


def writing(out: Any) -> Any:
    """A ``with`` block that is one step for other threads that write to ``out``, if it is given.

    What is read in it may be ``out``, too.
    """
    if out is None:
        return contextlib.nullcontext()
    given = out if isinstance(out, tuple) else (out,)
    return write_locks([target for target in given if isinstance(target, ndarray)])


def finish(value: Any, out: Any, name: str, spread: bool = False) -> Any:
    """The result as an array, or written into ``out``, broadcast to it with ``spread``."""
    if out is None:
        return wrap(value)
    out = output(out, name)
    if out.shape != value.type.shape and not spread:
        raise ValueError(
            f"{name}: output parameter has shape {out.shape}, expected {value.type.shape}")
    if name in _COPIED_BACK and not dt.can_cast(out.type.dtype, value.type.dtype, "safe"):
        raise TypeError(
            f"{name}: Cannot cast array data from {out.dtype!r} to {value.type.dtype.numpy!r} "
            "according to the rule 'safe'")
    store(name, out, value, "unsafe" if name in _ANY_CAST else "same_kind")
    return out
