"""What a frontend's operators mean, so that the common case stays in the core.

The operators of :class:`~lazyloom.tensor.tensor.Tensor` use the :class:`Operators` of the tensor's
class. If those name an op for the operands' dtype, and the operands are plain tensors of one
dtype or a tensor and a Python number, the op is recorded at once; the frontend's own general
function handles everything else, including errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, final

from ..dtypes import ALL, DType
from ..errors import ArgumentError
from ..ops.spec import lookup
from ..settings import WITHOUT
from ..trace.specs import Spec, spec_of

ADD: Final = 0
SUBTRACT: Final = 1
MULTIPLY: Final = 2
DIVIDE: Final = 3
MATMUL: Final = 4
LESS: Final = 5
LESS_EQUAL: Final = 6
GREATER: Final = 7
GREATER_EQUAL: Final = 8
NEGATIVE: Final = 9
#: of these the core knows what they are of numbers that the host has
EQUAL: Final = 10
NOT_EQUAL: Final = 11
SQUARE: Final = 12
ABSOLUTE: Final = 13

#: the operators that the core knows, by number
NAMES: Final = ("add", "sub", "mul", "truediv", "matmul", "lt", "le", "gt", "ge", "neg")

#: which Python numbers may be the other operand
FLOATS: Final = 1
INTS: Final = 2


@final
class Operators:
    """The operators of one frontend.

    Args:
        result: the class of results with dimensions.
        result_0d: the class of 0-d results.
        general: the frontend's function for each of ``NAMES``, taking the operands in order; it
            may return NotImplemented.
        general_in_place: likewise for the augmented assignments of the first five; they
            return the target.
        short_in_place: whether a plain target may be written without asking the frontend.
        get_item: the frontend's function for ``x[index]``, taking both.
        element: the class of elements that an index of ints names, where these are no views; None
            where they are, or where the frontend's function is always to be asked.
        further: the functions for ``==``, ``!=``, ``x**2`` and ``abs(x)``, where ``element`` is
            given.
        to_float, truth: the frontend's functions for ``float(x)`` and ``bool(x)``, for tensors
            with dimensions, and for complex ones.
    """

    __slots__ = (
        "result", "result_0d", "general", "general_in_place", "short_in_place", "get_item",
        "element", "to_float", "truth", "further", "specs", "numbers",
    )  # fmt: skip

    def __init__(
        self, result: Any, result_0d: Any, general: Sequence[Callable[..., Any]],
        general_in_place: Sequence[Callable[..., Any]], short_in_place: bool,
        get_item: Callable[..., Any] | None = None, element: Any = None,
        to_float: Callable[..., Any] | None = None, truth: Callable[..., Any] | None = None,
        further: Sequence[Callable[..., Any]] = (),
    ) -> None:  # fmt: skip
        if len(general) != len(NAMES) or len(general_in_place) != MATMUL + 1:
            raise ArgumentError(
                f"{len(general)} operators and {len(general_in_place)} augmented ones were given, "
                f"expected {len(NAMES)} and {MATMUL + 1}")
        self.result: Any = result
        self.result_0d: Any = result_0d
        self.general: list[Any] = list(general)
        self.general_in_place: list[Any] = list(general_in_place)
        self.short_in_place: bool = short_in_place
        self.get_item: Any = get_item
        self.element: Any = None if "host_numbers" in WITHOUT else element
        self.to_float: Any = to_float
        self.truth: Any = truth
        self.further: list[Any] = list(further)
        size = 1 + max([d.index for d in ALL])
        #: the spec by operator and dtype number, None where the general function decides
        self.specs: list[list[Spec | None]] = []
        self.numbers: list[list[int]] = []
        for _ in NAMES:
            row: list[Spec | None] = [None] * size
            self.specs.append(row)
            self.numbers.append([0] * size)

    def define(self, name: str, dtype: DType, op: str, numbers: int = 0) -> None:
        """Define an operator on two operands of that dtype as one call of an op, without casts.

        Args:
            name: one of ``NAMES``.
            numbers: ``FLOATS`` or ``INTS`` or both: the Python numbers that take that dtype as
                the other operand, an int as a float if it is a floating-point dtype.

        Raises ArgumentError for an unknown operator, UnknownOpError for an unknown op.
        """
        if name not in NAMES:
            raise ArgumentError(f"operator {name!r} is not known, expected one of {NAMES}")
        number = NAMES.index(name)
        self.specs[number][dtype.index] = spec_of(lookup(op), None, 1 if number == NEGATIVE else 2)
        self.numbers[number][dtype.index] = numbers


@final
class _Newest:
    """The class that was looked up last: programs use one kind of tensor for a long time."""

    __slots__ = ("cls", "operators")

    def __init__(self, cls: Any, operators: Operators | None) -> None:
        self.cls: Final[Any] = cls
        self.operators: Final[Operators | None] = operators


@final
class _Registry:
    """The operators that were set, and those found for subclasses."""

    __slots__ = ("given", "found", "newest")

    def __init__(self) -> None:
        self.given: dict[Any, Operators] = {}
        self.found: dict[Any, Operators | None] = {}
        self.newest: _Newest = _Newest(None, None)


_registry: Final = _Registry()


def set_operators(cls: type, operators: Operators) -> None:
    """Give a class of tensors, and those derived from it, its operators."""
    _registry.given[cls] = operators
    _registry.found = {}
    _registry.newest = _Newest(None, None)


def operators_of(cls: Any) -> Operators | None:
    """The operators of a class of tensors, or None."""
    newest = _registry.newest
    if newest.cls is cls:
        return newest.operators
    operators: Operators | None = None
    if cls in _registry.found:
        operators = _registry.found[cls]
    else:
        for base in cls.__mro__:
            if base in _registry.given:
                operators = _registry.given[base]
                break
        _registry.found[cls] = operators
    _registry.newest = _Newest(cls, operators)
    return operators
