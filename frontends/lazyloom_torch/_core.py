"""Recording for this frontend: the runtime's calls, with PyTorch's exception classes."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import lazyloom
from lazyloom import Scalar, Value
from lazyloom.dtypes import DType
from lazyloom.errors import LoomError, type_name

from . import _errors

#: what a decorator is given and gives back
Function = TypeVar("Function", bound=Callable[..., Any])

_record = lazyloom.record
_source = lazyloom.source
_one = lazyloom.record_one
_two = lazyloom.record_two
_number = lazyloom.record_number
_spec = lazyloom.record_spec

#: an op with its attributes and number of operands, looked up once for all its calls
spec = lazyloom.spec


def record(op: str, operands: Sequence[Any], attributes: Mapping[str, Any] | None = None) -> Any:
    """Record one op; its Value, or a tuple of Values for an op of several results."""
    try:
        return _record(op, operands, attributes)
    except LoomError as error:
        raise _errors.as_torch(error) from None


def record_one(ready: lazyloom.Spec, x: Value) -> Value:
    """:func:`record` for a ready spec of one operand and one result."""
    try:
        return _one(ready, x)
    except LoomError as error:
        raise _errors.as_torch(error) from None


def record_two(ready: lazyloom.Spec, x: Value, y: Value) -> Value:
    """:func:`record` for a ready spec of two operands and one result."""
    try:
        return _two(ready, x, y)
    except LoomError as error:
        raise _errors.as_torch(error) from None


def record_number(
    ready: lazyloom.Spec, x: Value, number: Scalar, reverse: bool = False
) -> Value:
    """:func:`record_two` with a scalar as the second operand, or in ``reverse`` the first."""
    try:
        return _number(ready, x, number, reverse)
    except LoomError as error:
        raise _errors.as_torch(error) from None


def record_spec(ready: lazyloom.Spec, operands: Sequence[Any]) -> Any:
    """:func:`record` for a ready spec."""
    try:
        return _spec(ready, operands)
    except LoomError as error:
        raise _errors.as_torch(error) from None


def source(op: str, operands: Sequence[Any], attributes: Mapping[str, Any] | None = None) -> Any:
    """Record a creation op as the boundary of its own program."""
    try:
        return _source(op, operands, attributes)
    except LoomError as error:
        raise _errors.as_torch(error) from None


def cast(value: Value, to: DType) -> Value:
    """The value in another dtype, itself if it has that dtype."""
    if value.dtype is to:
        return value
    found: Value = record("cast", [value], {"dtype": to})
    return found


def scalar(number: Any, dtype: DType, *, bake: bool = True) -> Scalar:
    """A Python number as a run-time parameter of that dtype.

    With ``bake=False`` not even 0, 1 and -1 become part of the program's structure.
    """
    return Scalar(number, dtype, bake=bake)


def axis(dim: Any, ndim: int) -> int:
    """A dimension as an index from the front; IndexError if out of range, as PyTorch's."""
    if isinstance(dim, bool) or not hasattr(dim, "__index__"):
        raise TypeError(f"dim must be an int, not {type_name(dim)}")
    dim = dim.__index__()
    n = ndim if ndim > 0 else 1
    if not -n <= dim < n:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return int(dim + n if dim < 0 else dim)


def axes(dim: Any, ndim: int) -> tuple[int, ...]:
    """Dimensions given as one int or several, from the front, none twice."""
    if hasattr(dim, "__index__"):
        return (axis(dim, ndim),)
    found = tuple(axis(d, ndim) for d in dim)
    if len(set(found)) != len(found):
        raise RuntimeError(f"dim {list(dim)} names the same dimension twice")
    return found


def shape_of(sizes: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape meant by ``f(2, 3)`` or ``f((2, 3))``; TypeError for what is no int."""
    if len(sizes) == 1 and isinstance(sizes[0], Sequence):
        sizes = tuple(sizes[0])
    shape = []
    for d in sizes:
        if isinstance(d, bool) or not hasattr(d, "__index__"):
            raise TypeError(f"size must be ints, not {type_name(d)} ({d!r})")
        shape.append(d.__index__())
    return tuple(shape)


def starred(function: Callable[..., Any]) -> str:
    """The name of a function's ``*parameter``, by which it may be given as one sequence, or ""."""
    return next((n for n, p in inspect.signature(function).parameters.items()
                 if p.kind is p.VAR_POSITIONAL), "")


def sequence_by_name(function: Function) -> Function:
    """The function, called ``f(size=(2, 3))`` too where it is defined as ``f(*size)``."""
    name = starred(function)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if name in kwargs:
            if "input" in kwargs:
                args = (kwargs.pop("input"),)
            args = (*args, kwargs.pop(name))
        return function(*args, **kwargs)

    return typing.cast(Function, wrapper)


def check_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Raise RuntimeError for a negative size."""
    for d in shape:
        if d < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {d}: {list(shape)}")
    return shape


def numel(shape: Sequence[int]) -> int:
    """The number of elements."""
    n = 1
    for d in shape:
        n *= d
    return n


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The common shape; RuntimeError where there is none."""
    ndim = max((len(s) for s in shapes), default=0)
    result = [1] * ndim
    for s in shapes:
        for i, d in enumerate(s, ndim - len(s)):
            if d != 1 and d != result[i]:
                if result[i] != 1:
                    raise RuntimeError(
                        f"The size of tensor a ({result[i]}) must match the size of tensor b "
                        f"({d}) at non-singleton dimension {i}; shapes "
                        f"{', '.join(str(list(x)) for x in shapes)}")
                result[i] = d
    return tuple(result)
