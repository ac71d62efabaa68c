"""From anything array-like to what the runtime records: Values, Scalars, numbers."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from sys import getrefcount
from typing import Any, Final

import numpy as onp

import lazyloom
from lazyloom.dtypes import DType
from lazyloom.errors import type_name

from . import dtypes as dt

#: tensors of other libraries have it
_DLPACK = "__dlpack__"


def operand(given: Any, strict: bool = False) -> Any:
    """A Value, a Scalar (a NumPy scalar: its dtype counts) or a weak Python number.

    Lists and NumPy arrays are copied to the device. With ``strict``, NotImplementedError
    for what is not array-like, so that the other operand's operator gets its turn.
    """
    if isinstance(given, lazyloom.Tensor):
        return given.value
    kind = type(given)
    if kind is float or kind is int or kind is complex:
        return given
    if kind is bool:
        return lazyloom.Scalar(given, dt.BOOL)
    if isinstance(given, onp.generic):
        return lazyloom.Scalar(given.item(), dt.internal(given.dtype))
    if isinstance(given, (lazyloom.Value, lazyloom.Scalar)):
        return given
    if strict and not (isinstance(given, (onp.ndarray, list, tuple)) or _array_like(given)):
        raise NotImplementedError
    return host_value(given)


def _array_like(x: Any) -> bool:
    """Whether an operator converts the object: not one whose priority is above an array's."""
    if hasattr(x, _DLPACK):
        return True
    known = hasattr(x, "__array__") or hasattr(x, "__array_interface__") or (
        isinstance(x, (Sequence, deque)) and not isinstance(x, (str, bytes)))
    return known and not getattr(x, "__array_priority__", 0.0) > 0.0


def is_number(x: Any) -> bool:
    """Whether it is a number that the host has: 0-d results say that they are numbers, too."""
    return isinstance(x, (int, float, complex, onp.generic)) and not isinstance(x, lazyloom.Tensor)


def operand_key(x: Any) -> DType | type:
    """What promotion looks at: a dtype, or the type of a weak Python number."""
    if isinstance(x, (lazyloom.Value, lazyloom.Scalar)):
        return x.type.dtype
    return type(x)


def host_array(given: Any, dtype: Any = None) -> onp.ndarray[Any, Any]:
    """Host data as a NumPy array of a supported dtype; TypeError for another."""
    if isinstance(given, onp.ndarray) and hasattr(given, "_mask"):
        raise dt.HostOnly(
            "array: masked arrays are out of scope; use where= arguments, the nan* functions, or "
            "numpy.ma on numpy.asarray(x)")
    array = onp.asarray(given, None if dtype is None else dt.internal(dtype).numpy)
    if array.dtype == object:
        from .._absent import why_no_dtype  # for start-up time

        raise dt.HostOnly(
            f"array: {type_name(given)} gives {why_no_dtype(array.dtype)}; expected nested "
            "sequences of numbers of one length")
    return array


_FLOATS: Final = {float}


def host_value(given: Any, dtype: Any = None, references: int | None = None) -> Any:
    """The data as a Value. Sequences that hold arrays are stacked instead.

    ``references`` as :func:`lazyloom.from_host` takes it.
    """
    if type(given) is list and dtype is None and {*map(type, given)} == _FLOATS:
        data = onp.array(given)
        return lazyloom.from_host(data, references=getrefcount(data))
    if isinstance(given, (list, tuple)) and contains_tensor(given):
        return _stack(given, dtype)
    if hasattr(given, "__array__") and not isinstance(given, (onp.ndarray, onp.generic)):
        if hasattr(given, _DLPACK):
            # bfloat16, too, which __array__ has no dtype for
            given = getattr(given, "contiguous", lambda: given)()
            try:
                value = lazyloom.from_dlpack(given, copy=True)
                return as_value(value, None if dtype is None else dt.internal(dtype))
            except (lazyloom.errors.ArgumentError, BufferError, RuntimeError):
                pass  # the words of __array__ are what NumPy's users know
        given = given.__array__()
        if isinstance(given, lazyloom.Tensor):  # of a class written for NumPy
            return as_value(given.value, None if dtype is None else dt.internal(dtype))
    array = host_array(given, dtype)
    dt.internal(array.dtype)
    if array is not given:
        references = getrefcount(array)
    return lazyloom.from_host(array, references=references)


def contains_tensor(given: Any) -> bool:
    """Whether a nested sequence holds an array of ours somewhere."""
    return any(
        isinstance(x, lazyloom.Tensor) or (isinstance(x, (list, tuple)) and contains_tensor(x))
        for x in given)


def _stack(given: Any, dtype: Any) -> Any:
    parts: list[Any] = []
    for x in given:
        if type(x) in (bool, int, float, complex):
            parts.append(x)
        else:
            parts.append(x.value if isinstance(x, lazyloom.Tensor) else host_value(x))
    # in a sequence, unlike in an operation, a Python number has its own dtype
    keys = [dt.DEFAULT_OF_WEAK[type(p)] if isinstance(p, (int, float, complex)) else operand_key(p)
            for p in parts]  # fmt: skip
    target = dt.internal(dtype) if dtype is not None else dt.promote(*keys)
    values = [as_value(p, target) for p in parts]
    shapes = {v.type.shape for v in values}
    if len(shapes) > 1:
        raise ValueError(
            f"array: the sequence's elements have different shapes: {sorted(shapes)}")
    return lazyloom.record("stack", values, {"axis": 0})


def as_value(x: Any, dtype: DType | None = None) -> Any:
    """A Value of that dtype (or of its own) from what :func:`operand` returned."""
    if isinstance(x, lazyloom.Value):
        if dtype is None or x.type.dtype is dtype:
            return x
        return lazyloom.record("cast", (x,), {"dtype": dtype})
    if isinstance(x, lazyloom.Scalar):
        if dtype is not None and x.type.dtype is not dtype:
            x = dt.unchecked_scalar(x.number, dtype)
    else:
        x = dt.scalar(x, dtype or dt.DEFAULT_OF_WEAK[type(x)])
    return lazyloom.record("full", (x,), {"shape": ()})


def computes_itself(given: Any) -> bool:
    """Whether NumPy leaves functions to the class of an object that is no array of ours.

    That is a data frame, or an array of a class derived from NumPy's that goes before others.
    """
    kind = type(given)
    if kind in _PLAIN or isinstance(given, (lazyloom.Tensor, onp.generic)):
        return False
    decides = getattr(kind, "__array_ufunc__", None)
    if isinstance(given, onp.ndarray):
        return decides is not onp.ndarray.__array_ufunc__ or given.__array_priority__ > 0.0
    return decides is not None


_PLAIN: Final = frozenset((onp.ndarray, float, int, bool, complex, list, tuple))


def argument(given: Any) -> Any:
    """The Value of a function's array; HostOnly for what computes itself."""
    if not isinstance(given, lazyloom.Tensor) and computes_itself(given):
        raise dt.HostOnly(f"{type_name(given)} objects compute functions of arrays themselves")
    return value_of(given)


def value_of(given: Any, dtype: DType | None = None) -> Any:
    """A Value from anything array-like, cast if a dtype is given."""
    return as_value(operand(given), dtype)


def param(given: Any, dtype: DType) -> Any:
    """A Value or Scalar of that dtype: numbers stay parameters."""
    x = operand(given)
    if isinstance(x, lazyloom.Value):
        return as_value(x, dtype)
    if isinstance(x, lazyloom.Scalar):
        return x if x.type.dtype is dtype else dt.unchecked_scalar(x.number, dtype)
    return dt.scalar(x, dtype)


def full_value(shape: tuple[int, ...], number: Any, dtype: DType) -> Any:
    """A value of that shape filled with a number (recorded, not a boundary)."""
    return lazyloom.record("full", (dt.scalar(number, dtype),), {"shape": shape})
