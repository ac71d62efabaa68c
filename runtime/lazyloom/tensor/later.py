"""Numbers that the host has, and that no op has taken yet: elements, and what is computed of them.

``x[i]`` of data that exist is such a number, and so are ``x[i] - y[j]`` and ``x[i] > 0.5``. A read
looks up and computes on the host what it needs, in a tenth of the time that the ops would take.
An op that takes the number has all that leads to it recorded, as if that had been done at once.
"""

from __future__ import annotations

from typing import Any, Final, cast, final

from .. import foreign, settings
from ..compiled import mypyc_attr
from ..counters import counters
from ..dtypes import DType
from ..dtypes import bool_ as _bool
from ..dtypes import float32 as _float32
from ..evaluate.elements import is_watched, number_leaf
from ..evaluate.reading import element_number
from ..hooks import hooks
from ..trace import graph
from ..trace.graph import Value
from ..trace.recording import record_number, record_one, record_two
from ..trace.scalars import Scalar
from ..trace.source import user_site
from ..types import TensorType, scalar_type
from .elements import element_value, starts_of
from .operators import (
    ABSOLUTE,
    ADD,
    DIVIDE,
    EQUAL,
    FLOATS,
    GREATER,
    GREATER_EQUAL,
    INTS,
    LESS,
    LESS_EQUAL,
    MULTIPLY,
    NEGATIVE,
    NOT_EQUAL,
    SQUARE,
    SUBTRACT,
    Operators,
)

#: the operator of a number that is an element
ELEMENT: Final = -1
#: what is computed in more steps is computed at once
DEEPEST: Final = 12
#: floating-point numbers below are zero where ops compute, by dtype's bytes
_NORMAL: Final = {4: 2.0**-126, 8: 2.0**-1022}
#: float64 numbers from this on are no float32 numbers
_LARGE: Final = 2.0**128 - 2.0**103


@mypyc_attr(acyclic=True, free_list_len=1)
@final
class Later:
    """A number of the host's.

    Attributes:
        type: dtype and placement.
        number: it, once it was looked up or computed.
        operator: that of the two operands, or :data:`ELEMENT`.
        whole, place: of an element the data, until it is looked up, and its position in them.
        a, b, given: the operands: ``b``, or else the Python number ``given``, is the other one.
        reverse: the other one comes first.
        rules: those that the operator was found in.
        depth: how many steps lead to it.
        value: it as a value, once it was recorded.
    """

    __slots__ = ("type", "number", "operator", "whole", "place", "a", "b", "given", "reverse",
                 "rules", "depth", "value")  # fmt: skip

    def __init__(self, type: TensorType, operator: int, rules: Operators | None) -> None:
        self.type: Final = type
        self.operator: Final = operator
        self.rules: Final = rules
        self.number: Any = None
        self.whole: Value | None = None
        self.place: int = 0
        self.a: Later | None = None
        self.b: Later | None = None
        self.given: Any = None
        self.reverse: bool = False
        self.depth: int = 0
        self.value: Value | None = None


def element_of(whole: Value, place: int, type: TensorType) -> Later:
    """The element of existing data at ``place`` in row-major order.

    It keeps the data until it is read; of data that elements were written to it is a number at
    once.
    """
    found = Later(type, ELEMENT, None)
    node = whole.node
    buffer = None if node.buffers is None else node.buffers[whole.index]
    if buffer is not None and buffer.written and not settings.forbids_reads():
        # each write makes another copy of the data, which it would keep
        number = element_number(whole, place)
        if number == number:
            found.number = number
            return found
    found.whole = whole
    found.place = place
    return found


def combined(
    rules: Operators, a: Later, b: Later | None, given: Any, number: int, reverse: bool
) -> Later | None:
    """The result of an operator on such numbers, or on one and a Python number.

    None where the host does not do what the op would.
    """
    dtype = a.type.dtype
    kind = dtype.kind
    if foreign.inside[0] or graph.trace.mapping or is_watched():
        return None
    comparing = number in _COMPARED
    if kind == "f":
        if dtype.itemsize < 4:
            return None
    elif kind not in "iub" or not comparing and (kind == "b" or number == DIVIDE):
        return None
    if b is not None:
        if b.type is not a.type:
            return None
    elif number not in _UNARY:
        if type(given) is float:
            if kind != "f":
                return None
        elif type(given) is not int or kind == "b" or not holds(dtype, given):
            return None
        if kind == "f":
            if number < NEGATIVE and not rules.numbers[number][dtype.index] & (
                FLOATS if type(given) is float else INTS
            ):
                return None
            given = float(given)
    if number <= NEGATIVE and rules.specs[number][dtype.index] is None:
        return None
    found = Later(scalar_type(_bool) if comparing else a.type, number, rules)
    found.a = a
    found.b = b
    found.given = given
    found.reverse = reverse
    found.depth = 1 + (a.depth if b is None or a.depth > b.depth else b.depth)
    if found.depth > DEEPEST:
        if settings.forbids_reads():
            return None
        known = number_of(found)
        if known is None or known != known:
            return None
        found.depth = 0
    return found


_UNARY: Final = frozenset((NEGATIVE, SQUARE, ABSOLUTE))
_COMPARED: Final = frozenset((LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, NOT_EQUAL))


def holds(dtype: DType, number: int) -> bool:
    """Whether a dtype has that number; of floating-point ones all have it nearly."""
    if dtype.kind == "f":
        return -(1 << 53) <= number <= 1 << 53
    bits = dtype.itemsize * 8
    if dtype.kind == "u":
        return 0 <= number < 1 << bits
    return -1 << (bits - 1) <= number < 1 << (bits - 1)


def read_later(later: Later) -> Any:
    """The number, which the user reads; None if it has to be recorded for that."""
    if settings.forbids_reads():
        return None
    observer: Any = hooks.observer
    waited = None if observer is None else observer.waits()
    number = number_of(later)
    if number is not None:
        if observer is not None:
            observer.read(waited, user_site(), None, later.type.dtype.itemsize)
        counters["reads"] += 1
        counters["bytes_read"] += later.type.dtype.itemsize
    return number


def number_of(later: Later) -> Any:
    """The number; None where the host does not compute what ops would."""
    number = later.number
    if number is None:
        whole = later.whole
        if whole is not None:
            number = element_number(whole, later.place)
            if number == number:
                # there are several kinds of NaN
                later.number = number
                later.whole = None
        elif later.operator != ELEMENT:
            number = _computed(later)
            if number is not None:
                later.number = number
                if number == number:
                    later.a = None
                    later.b = None
        else:
            # another thread has looked it up since it was asked for above
            number = later.number
    return number


def _computed(later: Later) -> Any:
    # in this order: another thread that is first lets go of the first one first
    b = later.b
    a = later.a
    if a is None:
        return later.number
    x = number_of(a)
    y = later.given if b is None else number_of(b)
    operator = later.operator
    unary = operator in _UNARY
    if x is None or y is None and not unary:
        return None
    dtype = a.type.dtype
    if dtype.kind == "f":
        if b is None and not unary and dtype is _float32:
            # as the op has it
            y = rounded(y)
            if y is None:
                return None
        if is_small(x, dtype.itemsize) or not unary and is_small(y, dtype.itemsize):
            return None
    if later.reverse:
        x, y = y, x
    if operator in _COMPARED:
        return _compared(operator, x, y)
    if operator == DIVIDE and y == 0:
        return None
    found = _arithmetic(operator, x, y)
    if dtype.kind != "f":
        return found if holds(dtype, found) else None
    if dtype is _float32:
        found = rounded(found)
        if found is None:
            return None
    return None if is_small(found, dtype.itemsize) else found


def rounded(x: Any) -> Any:
    """A Python number as float32 has it; None for a large one, which may be infinite."""
    return None if x >= _LARGE or x <= -_LARGE else float(_float32.numpy.type(x))


def is_small(x: Any, itemsize: int) -> bool:
    """Whether a number is so small that ops take it for zero, in floats of so many bytes."""
    number: float = float(x)
    normal = _NORMAL[itemsize]
    return -normal < number < normal and number != 0.0


def _compared(operator: int, x: Any, y: Any) -> bool:
    if operator == LESS:
        return bool(x < y)
    if operator == LESS_EQUAL:
        return bool(x <= y)
    if operator == GREATER:
        return bool(x > y)
    if operator == GREATER_EQUAL:
        return bool(x >= y)
    return bool(x == y) if operator == EQUAL else bool(x != y)


def _arithmetic(operator: int, x: Any, y: Any) -> Any:
    if operator == ADD:
        return x + y
    if operator == SUBTRACT:
        return x - y
    if operator == MULTIPLY:
        return x * y
    if operator == DIVIDE:
        return x / y
    if operator == SQUARE:
        return x * x
    return abs(x) if operator == ABSOLUTE else -x


def value_of(later: Later) -> Value:
    """The number as a value: what leads to it is recorded, if it has not been read."""
    found = later.value
    if found is None:
        number = later.number
        whole = later.whole
        if number is not None and number == number:
            found = number_leaf(number, later.type)
        elif whole is not None:
            found = element_value(whole, starts_of(later.place, whole.type.shape))
        else:
            found = _recorded(later)
        later.value = found
    return found


def settled(later: Later) -> Value | None:
    """The number as a value by itself, whatever it was recorded as; None if it was not read."""
    number = later.number
    if number is None or number != number:
        return None
    later.value = number_leaf(number, later.type)
    return later.value


def _recorded(later: Later) -> Value:
    b = later.b
    a = later.a
    rules = later.rules
    if a is None or rules is None:
        # another thread read it just now
        return number_leaf(later.number, later.type)
    operator = later.operator
    x = value_of(a)
    if operator <= NEGATIVE:
        spec = rules.specs[operator][a.type.dtype.index]
        assert spec is not None
        if operator == NEGATIVE:
            return record_one(spec, x)
        if b is not None:
            y = value_of(b)
            return record_two(spec, y, x) if later.reverse else record_two(spec, x, y)
        if a.type.dtype.kind == "f":
            return record_number(spec, x, Scalar(later.given, a.type.dtype), later.reverse)
    cls = rules.result_0d
    one = cls.from_value(x)
    if operator >= SQUARE:
        return cast(Value, rules.further[operator - EQUAL](one).value)
    other = later.given if b is None else cls.from_value(value_of(b))
    function = rules.general[operator] if operator <= NEGATIVE else (
        rules.further[operator - EQUAL])
    made: Any = function(other, one) if later.reverse else function(one, other)
    return cast(Value, made.value)
