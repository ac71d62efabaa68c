"""Element types of this frontend: NumPy's own dtype objects, and NumPy's promotion.

Promotion asks NumPy itself (``numpy.ufunc.resolve_dtypes``, ``numpy.result_type``) once
per combination of types; the answers are memoised.
"""

from __future__ import annotations

import operator
from typing import Any, Final

import ml_dtypes
import numpy as onp

import lazyloom
from lazyloom.dtypes import ALL, DType, as_dtype

bfloat16: Final = ml_dtypes.bfloat16

#: the Python types that take the dtype of what they meet (NEP 50's weak scalars)
WEAK: Final = (int, float, complex)

#: the dtype that a weak scalar has when it meets nothing
DEFAULT_OF_WEAK: Final[dict[type, DType]] = {
    int: as_dtype(onp.int64), float: as_dtype(onp.float64), complex: as_dtype(onp.complex128),
    bool: as_dtype(onp.bool_),
}  # fmt: skip

BOOL: Final = as_dtype(onp.bool_)
INT64: Final = as_dtype(onp.int64)
FLOAT64: Final = as_dtype(onp.float64)

_INT_RANGE: Final[dict[DType, tuple[int, int]]] = {
    d: (int(onp.iinfo(d.numpy).min), int(onp.iinfo(d.numpy).max)) for d in ALL if d.kind in "iu"
}

_KIND_ORDER: Final = {"b": 0, "u": 1, "i": 2, "f": 4, "c": 5}


class UFuncTypeError(onp._core._exceptions.UFuncTypeError):  # type: ignore[name-defined,misc]
    """The operands' types, or the cast to the output's type, are not what a function takes.

    Also an instance of NumPy's error of that name, and so a TypeError.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)


AxisError = onp.exceptions.AxisError


class HostOnly(lazyloom.errors.DTypeError):
    """Something that a device cannot have or do; what NumPy can do, :mod:`.hosted` lets it do."""


def internal(given: Any) -> DType:
    """The runtime's dtype for a NumPy dtype-like; HostOnly for one that no device has."""
    try:
        return as_dtype(given)
    except lazyloom.errors.DTypeError:
        from .._absent import why_no_dtype  # for start-up time

        raise HostOnly(why_no_dtype(given)) from None


def in_range(number: Any, dtype: DType) -> bool:
    """Whether a Python int fits the integer dtype."""
    low, high = _INT_RANGE[dtype]
    return bool(low <= number <= high)


def scalar(number: Any, dtype: DType) -> Any:
    """The Python number as a run-time parameter of that dtype.

    Raises OverflowError for an int that an integer dtype cannot hold, as NumPy does.
    """
    kind = dtype.kind
    if kind == "f":
        return lazyloom.Scalar(float(number), dtype)
    if kind in "iu":
        number = int(number)
        if not in_range(number, dtype):
            raise OverflowError(f"Python integer {number} out of bounds for {dtype.name}")
        return lazyloom.Scalar(number, dtype)
    if kind == "c":
        return lazyloom.Scalar(complex(number), dtype)
    return lazyloom.Scalar(bool(number), dtype)


def unchecked_scalar(number: Any, dtype: DType) -> Any:
    """Like :func:`scalar`, from a NumPy scalar that is cast as ``astype`` casts."""
    with onp.errstate(all="ignore"):
        return scalar(onp.asarray(number).astype(dtype.numpy).item(), dtype)


def can_cast(source: DType, target: DType, casting: str) -> bool:
    """``numpy.can_cast`` for runtime dtypes; bfloat16 counts as a 16-bit float."""
    if source is target or casting == "unsafe":
        return True
    if casting in ("no", "equiv"):
        return False
    if onp.can_cast(source.numpy, target.numpy, casting):  # type: ignore[arg-type]
        return True
    if casting == "same_kind" and "bfloat16" in (source.name, target.name):
        return _KIND_ORDER[source.kind] <= _KIND_ORDER[target.kind]
    return False


_promoted: dict[Any, DType] = {}


def promote(*keys: Any) -> DType:
    """The common dtype of runtime dtypes and weak Python types (``int``, ``float``, ...)."""
    found = _promoted.get(keys)
    if found is None:
        strong = [k.numpy for k in keys if isinstance(k, DType)]
        weak = [k(0) for k in keys if not isinstance(k, DType)]
        if not strong:
            found = as_dtype(onp.result_type(*weak))
        else:
            try:
                found = as_dtype(onp.result_type(*strong, *weak))
            except TypeError:
                # a pair that ml_dtypes does not promote goes where its ufuncs go
                found = as_dtype(onp.add(*(onp.empty(0, d) for d in strong[:2])).dtype)
        _promoted[keys] = found
    return found


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype that the arguments promote to, as ``numpy.result_type``."""
    return promote(*map(_result_key, arrays_and_dtypes)).numpy


def promote_types(type1: Any, type2: Any) -> Any:
    """The smallest dtype to which both may be cast, as ``numpy.promote_types``."""
    return promote(internal(type1), internal(type2)).numpy


def _result_key(given: Any) -> Any:
    if isinstance(given, lazyloom.Tensor):
        return given.tensor_type.dtype
    if type(given) in WEAK:
        return type(given)
    if isinstance(given, (onp.ndarray, onp.generic)):
        return internal(given.dtype)
    if isinstance(given, bool):
        return BOOL
    return internal(given)


def min_scalar_type(a: Any) -> Any:
    """As ``numpy.min_scalar_type``; arrays answer with their dtype."""
    if isinstance(a, lazyloom.Tensor):
        return a.tensor_type.dtype.numpy
    return onp.min_scalar_type(a)


def common_type(*arrays: Any) -> Any:
    """The inexact scalar type that all arrays fit, as ``numpy.common_type``."""
    return onp.common_type(*(onp.empty(0, a.dtype) for a in arrays))


def can_cast_public(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Whether a cast is allowed, as ``numpy.can_cast``."""
    if isinstance(from_, lazyloom.Tensor):
        from_ = from_.tensor_type.dtype.numpy
    return onp.can_cast(from_, to, casting)  # type: ignore[arg-type]


def normalize_axis(axis: Any, ndim: int, argument: str = "axis") -> int:
    """The axis counted from the front; AxisError outside ``-ndim..ndim-1``."""
    position = operator.index(axis)
    if not -ndim <= position < ndim:
        raise AxisError(position, ndim, None if argument == "axis" else argument)
    return int(position % ndim)


def normalize_axes(axis: Any, ndim: int, argument: str = "axis") -> tuple[int, ...]:
    """A tuple of axes counted from the front, in the given order, without repetition."""
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = tuple(normalize_axis(a, ndim, argument) for a in given)
    if len(set(axes)) != len(axes):
        raise ValueError(f"repeated axis in `{argument}` argument: {axis}")
    return axes


def shape_tuple(shape: Any) -> tuple[int, ...]:
    """A shape given as an int or a sequence of ints."""
    sequence = isinstance(shape, lazyloom.Tensor) and bool(shape.tensor_type.shape)
    if hasattr(shape, "__index__") and not sequence:
        result: tuple[int, ...] = (operator.index(shape),)
    else:
        result = tuple(operator.index(n) for n in shape)
    if result and min(result) < 0:
        raise ValueError(f"negative dimensions are not allowed: shape {result}")
    check_dimensions(len(result))
    return result


def check_dimensions(count: int) -> None:
    """ValueError for more dimensions than NumPy's arrays, which are what is read, can have."""
    if count > 64:
        raise ValueError(
            f"maximum supported dimension for an ndarray is currently 64, found {count}")
