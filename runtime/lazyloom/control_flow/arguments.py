"""Arguments of loops and branches: trees of tensors and numbers, and functions."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ..dtypes import DType, as_dtype
from ..errors import ArgumentError, LoomError, ShapeError, type_name
from ..tensor.host import from_host
from ..tensor.tensor import Tensor
from ..tensor.wrapping import wrap_as
from ..trace.graph import Value
from ..trace.recording import record
from ..trace.scalars import Scalar
from ..types import TensorType, scalar_type, whole_type

_NUMBERS: Final = (bool, int, float, complex)
#: a number of one kind may become one of these kinds
_KINDS: Final = {"b": "biufc", "i": "iufc", "f": "fc", "c": "c"}


def described(f: Any, role: str) -> str:
    """How messages describe a function: its name, and where it is defined."""
    if not callable(f):
        raise ArgumentError(f"{role} is a {type_name(f)}, expected a function")
    f = inspect.unwrap(f)
    name = getattr(f, "__name__", type(f).__name__)
    # for a callable object, the method
    code = f.__code__ if hasattr(f, "__code__") else getattr(
        getattr(f, "__call__", None), "__code__", None)  # noqa: B004
    where = f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else ""
    return f"function {name}{where}"


class Leaves:
    """The leaves of the tensors and numbers that a loop receives.

    A number takes the dtype of the loop's result for it, as in JAX: see :meth:`promote`.

    Attributes:
        like: the tensor whose frontend decides the class of results for numbers.
        types: a type for each leaf.
    """

    def __init__(self, function: str, name: str, leaves: Sequence[Any], like: Any) -> None:
        self.function: Final = function
        self.like: Final = like
        self.types: Final[list[TensorType]] = []
        self._given: Final[list[Any]] = []
        for number, x in enumerate(leaves):
            entry = as_leaf(x, f"{function}: leaf {number} of {name}", like)
            self._given.append(entry)
            self.types.append(
                entry.type if isinstance(entry, Scalar) else whole_type(entry.value.type))

    def tensor(self, number: int, value: Value) -> Any:
        """A tensor with the contents ``value``, of the class of a leaf."""
        entry = self._given[number]
        return wrap_as(self.like if isinstance(entry, Scalar) else entry, value)

    def promote(self, result_types: Sequence[TensorType]) -> bool:
        """Let numbers take the dtypes of the loop's results; return True if any changed."""
        changed = False
        for i, (x, t) in enumerate(zip(self._given, result_types, strict=True)):
            if isinstance(x, Scalar) and t.shape == () and t is not x.type and (
                t.dtype.kind in _KINDS[_kind(x.number)]
            ):
                self._given[i] = Scalar(x.number, t.dtype)
                self.types[i] = t
                changed = True
        return changed

    def values(self) -> list[Value]:
        """The leaves as values."""
        return [as_value(x) for x in self._given]


def as_value(x: Any) -> Value:
    """The value of a tensor, a Value or a Scalar."""
    if isinstance(x, Scalar):
        full: Value = record("full", [x], {"shape": ()})
        return full
    if isinstance(x, Value):
        return x
    value: Value = x.value
    return value


def as_leaf(x: Any, name: str, like: Any) -> Any:
    """A leaf as a tensor, or a number as a Scalar. Raises ArgumentError for anything else."""
    if isinstance(x, Tensor):
        return x
    if like is None:
        raise ArgumentError(
            f"{name} is a {type_name(x)}, expected a tensor, as no tensor is among the arguments")
    if isinstance(x, _NUMBERS):
        return Scalar(x, _dtype_of(x, like))
    if isinstance(x, (np.ndarray, np.generic)):
        return wrap_as(like, from_host(x))
    raise ArgumentError(f"{name} is a {type_name(x)}, expected a tensor or a number")


def first_tensor(function: str, leaves: Sequence[Any]) -> Tensor:
    """The first inexact tensor, else the first tensor. Raises ArgumentError if there is none."""
    tensors = [x for x in leaves if isinstance(x, Tensor)]
    for t in tensors:
        if t.tensor_type.dtype.is_inexact:
            return t
    if not tensors:
        raise ArgumentError(
            f"{function}: no tensor is among the arguments, expected at least one, of whose "
            "frontend the results are to be")
    return tensors[0]


def as_result(x: Any, name: str, expected: TensorType | None, like: Any) -> Value | Scalar:
    """A function's result as a value; a number as a Scalar of the expected type, if it fits."""
    if isinstance(x, Tensor):
        return x.value
    if isinstance(x, _NUMBERS) and expected is not None and expected.shape == () and (
        expected.dtype.kind in _KINDS[_kind(x)]
    ):
        try:
            return Scalar(x, expected.dtype)
        except LoomError as error:
            raise ArgumentError(f"{name}: {error}") from None
    x_as_leaf = as_leaf(x, name, like)
    return x_as_leaf if isinstance(x_as_leaf, Scalar) else as_value(x_as_leaf)


def fit(
    function: str, label: str, source: str, types: Sequence[TensorType],
    expected: Sequence[TensorType],
) -> None:  # fmt: skip
    """Raise ShapeError or ArgumentError if a carry has another type than before."""
    for number, (f, t) in enumerate(zip(types, expected, strict=True)):
        if f is not t:
            error = ShapeError if f.shape != t.shape else ArgumentError
            raise error(
                f"{function}: leaf {number} of {label} is a {f.text}, expected {t.text} as in "
                f"{source}; {'reshape' if f.shape != t.shape else 'cast'} it")


def _kind(x: Any) -> str:
    return "b" if isinstance(x, bool) else "i" if isinstance(x, int) else (
        "f" if isinstance(x, float) else "c")


def _dtype_of(x: Any, like: Any) -> DType:
    """The dtype of a number: a float takes the real dtype of ``like``, if that is inexact."""
    dtype: DType = like.tensor_type.dtype
    if isinstance(x, float) and dtype.is_inexact:
        return dtype.real
    return as_dtype(type(x))


def scalar_types(numbers: Sequence[Any], like: Any) -> list[TensorType]:
    """The types of numbers."""
    return [scalar_type(_dtype_of(x, like)) for x in numbers]
