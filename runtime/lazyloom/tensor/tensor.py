"""Tensors: what a program computes with, by operators, indices and reads."""

from __future__ import annotations

import operator
from typing import Any, Final, cast

from ..compiled import ALONE, COMPILED, mypyc_attr
from ..errors import ArgumentError, LoomError
from ..evaluate.elements import element
from ..evaluate.overwritten import written_over
from ..evaluate.reading import read_element
from ..trace.fed import Fed, plain
from ..trace.graph import PENDING, Value, trace
from ..trace.recording import record_number, record_one, record_two
from ..trace.scalars import Scalar
from .contents import (
    Contents,
    current,
    element_source,
    exchange,
    hold,
    hold_later,
    was_read,
    write_lock,
    write_locked,
    write_own,
)
from .elements import element_place, element_type
from .later import Later, combined, element_of, read_later
from .operators import (
    ADD,
    DIVIDE,
    FLOATS,
    GREATER,
    GREATER_EQUAL,
    INTS,
    LESS,
    LESS_EQUAL,
    MATMUL,
    MULTIPLY,
    NEGATIVE,
    SUBTRACT,
    Operators,
    operators_of,
)
from .storage import writers

_ALONE: Final[bool] = ALONE


@mypyc_attr(allow_interpreted_subclasses=True)
class Tensor(Contents):
    """A mutable n-dimensional array that may share storage with others.

    ``Tensor(value)`` owns a new storage with these contents. Frontends subclass it; what they use
    besides the attributes is in :mod:`lazyloom.frontend`.

    Example:

        >>> class Array(lazyloom.Tensor):
        ...     pass
        >>> x = Array(lazyloom.from_host([0.0, 0.0]))
        >>> y = lazyloom.apply("exp", [x])
        >>> type(y) is Array, y.read()
        (True, array([1., 1.]))
    """

    __slots__ = ()

    def __init__(self, value: Value) -> None:
        if not isinstance(value, Value):
            raise ArgumentError(
                f"a tensor was made of a {type(value).__name__}, expected a Value; use "
                "lazyloom.from_host for host data")
        hold(self, value)

    def read(self) -> Any:
        """The data as a fresh NumPy array; evaluates what is pending.

        Raises ExecutionError if computing it failed.
        """
        return self.value.read()

    def read_number(self) -> Any:
        """The only element as a Python number, as NumPy's ``item`` gives it; like :meth:`read`.

        Raises ArgumentError for a tensor of several elements, or of none.
        """
        if self.tensor_type.size != 1:
            raise ArgumentError(
                f"read_number: a tensor of shape {self.tensor_type.shape} was given, expected one "
                "element")
        later = self._later
        if later is not None:
            number = read_later(later)
            if number is not None:
                if self._value is not None:
                    was_read(self, later)
                return number
        elif self.view_steps:
            source = element_source(self, 0)
            if source is not None:
                return read_element(source[0], source[1])
        value = current(self)
        if value.node.state == PENDING and not value.requires_grad:
            found = element(value)
            if found is not None:
                exchange(self, value.node, found)
                value = found
        return value.read_number()

    # Indices and conversions, of which the common case stays in the core, too.

    def __getitem__(self, index: Any) -> Any:
        rules = operators_of(type(self))
        if rules is None or rules.get_item is None:
            raise TypeError(f"{type(self).__name__!r} object is not subscriptable")
        if rules.element is not None:
            if type(index) is not int:
                index = known_index(index)
            place = element_place(index, self.tensor_type.shape)
            if place >= 0:
                source = element_source(self, place)
                if source is not None:
                    found: Tensor = _new(rules.element)
                    whole, place = source
                    hold_later(found, element_of(whole, place, element_type(whole.type)))
                    return found
        return rules.get_item(self, index)

    def __float__(self) -> float:
        t = self.tensor_type
        if not t.shape and not t.dtype.is_complex:
            return float(self.read_number())
        rules = operators_of(type(self))
        if rules is None or rules.to_float is None:
            raise TypeError(
                f"float() argument must be a number or have one element, not {t.text}")
        number: float = rules.to_float(self)
        return number

    def __bool__(self) -> bool:
        rules = operators_of(type(self))
        if rules is None:
            return True
        if not self.tensor_type.shape or rules.truth is None:
            return bool(self.read_number())
        return bool(rules.truth(self))

    # The operators. Frontends define what they mean with lazyloom.frontend.

    def __add__(self, other: object) -> Any:
        return _operate(self, other, ADD)

    def __radd__(self, other: object) -> Any:
        return _operate_reversed(self, other, ADD)

    def __iadd__(self, other: object) -> Any:
        result = _operate_in_place(self, other, ADD)
        if result is NotImplemented:
            # a class derived from a compiled one has this as the += of sequences too, whose result
            # Python accepts whatever it is
            return operator.add(self, other)
        return result

    def __sub__(self, other: object) -> Any:
        return _operate(self, other, SUBTRACT)

    def __rsub__(self, other: object) -> Any:
        return _operate_reversed(self, other, SUBTRACT)

    def __isub__(self, other: object) -> Any:
        return _operate_in_place(self, other, SUBTRACT)

    def __mul__(self, other: object) -> Any:
        return _operate(self, other, MULTIPLY)

    def __rmul__(self, other: object) -> Any:
        return _operate_reversed(self, other, MULTIPLY)

    def __imul__(self, other: object) -> Any:
        return _operate_in_place(self, other, MULTIPLY)

    def __truediv__(self, other: object) -> Any:
        return _operate(self, other, DIVIDE)

    def __rtruediv__(self, other: object) -> Any:
        return _operate_reversed(self, other, DIVIDE)

    def __itruediv__(self, other: object) -> Any:
        return _operate_in_place(self, other, DIVIDE)

    def __matmul__(self, other: object) -> Any:
        return _operate(self, other, MATMUL)

    def __rmatmul__(self, other: object) -> Any:
        return _operate_reversed(self, other, MATMUL)

    def __imatmul__(self, other: object) -> Any:
        return _operate_in_place(self, other, MATMUL)

    def __lt__(self, other: object) -> Any:
        return _operate(self, other, LESS)

    def __le__(self, other: object) -> Any:
        return _operate(self, other, LESS_EQUAL)

    def __gt__(self, other: object) -> Any:
        return _operate(self, other, GREATER)

    def __ge__(self, other: object) -> Any:
        return _operate(self, other, GREATER_EQUAL)

    def __neg__(self) -> Any:
        rules = operators_of(type(self))
        if rules is None:
            raise TypeError(f"bad operand type for unary -: {type(self).__name__!r}")
        if self._later is not None:
            found = _of_numbers(rules, self, None, NEGATIVE, False)
            if found is not None:
                return found
        spec = rules.specs[NEGATIVE][self.tensor_type.dtype.index]
        if self.slow_path or spec is None:
            return rules.general[NEGATIVE](self)
        return wrapped(rules, record_one(spec, current(self)))


#: looked up once
_new: Final[Any] = Tensor.__new__


def wrapped(rules: Operators, value: Value) -> Any:
    tensor: Tensor = _new(rules.result if value.node.types[0].shape else rules.result_0d)
    hold(tensor, value)
    return tensor


def _short(rules: Operators, a: Tensor, b: object, number: int, reverse: bool) -> Value | None:
    """The result of an operator in the common case; None where the frontend has to decide."""
    if a.slow_path:
        return None
    index = a.tensor_type.dtype.index
    spec = rules.specs[number][index]
    if spec is None:
        return None
    try:
        if isinstance(b, Tensor):
            if b.slow_path or b.tensor_type.dtype is not a.tensor_type.dtype or (
                type(b) is not type(a) and operators_of(type(b)) is not rules
            ):
                return None
            return record_two(spec, current(a), current(b))
        kind = type(b)
        if kind is float:
            if rules.numbers[number][index] & FLOATS:
                return record_number(
                    spec, current(a), Scalar(cast(float, b), a.tensor_type.dtype), reverse)
        elif kind is int:
            if rules.numbers[number][index] & INTS:
                return record_number(
                    spec, current(a), Scalar(float(cast(int, b)), a.tensor_type.dtype), reverse)
        elif kind is Fed and rules.numbers[number][index] & FLOATS:
            return record_number(
                spec, current(a), Scalar(cast(Any, b), a.tensor_type.dtype), reverse)
    except (LoomError, OverflowError):
        # the general function raises the error of the frontend's library
        pass
    return None


def _of_numbers(rules: Operators, a: Tensor, b: object, number: int, reverse: bool) -> Any:
    """The result of an operator on numbers that the host has; None where it has to be recorded."""
    one = a._later
    other: Later | None = None
    if rules.element is None or one is None or a.slow_path:
        return None
    if isinstance(b, Tensor):
        other = b._later
        if other is None or b.slow_path or type(b) is not type(a):
            return None
        b = None
    later = combined(rules, one, other, b, number, reverse)
    if later is None:
        return None
    made: Tensor = _new(rules.result_0d)
    hold_later(made, later)
    return made


def known_index(index: Any) -> Any:
    """An index with Python ints in place of integers that the host has."""
    if isinstance(index, Tensor):
        return _known(index)
    if type(index) is tuple:
        items: tuple[Any, ...] = index
        for item in items:
            if isinstance(item, Tensor):
                return tuple([_known(i) if isinstance(i, Tensor) else i for i in items])
    return index


def _known(index: Tensor) -> Any:
    later = index._later
    if later is not None and later.type.dtype.kind in "iu":
        number = read_later(later)
        if number is not None:
            return number
    return index


def of_numbers(a: Tensor, b: object, number: int) -> Any:
    """The result of an operator that frontends define themselves on numbers that the host has.

    ``number`` is EQUAL, NOT_EQUAL, SQUARE or ABSOLUTE, and ``b`` the other operand, None for the
    last two. None where any is no such number, and the operator has to be recorded.
    """
    rules = operators_of(type(a))
    return None if rules is None or a._later is None else _of_numbers(rules, a, b, number, False)


def _operate(a: Tensor, b: object, number: int) -> Any:
    rules = operators_of(type(a))
    if rules is None:
        return NotImplemented
    if a._later is not None:
        found = _of_numbers(rules, a, b, number, False)
        if found is not None:
            return found
    value = _short(rules, a, b, number, False)
    if value is None:
        if type(b) is Fed:
            b = plain(b)
        return rules.general[number](a, b)
    return wrapped(rules, value)


def _operate_reversed(a: Tensor, b: object, number: int) -> Any:
    """``b`` operator ``a``, where ``b`` is not a tensor or does not implement it."""
    rules = operators_of(type(a))
    if rules is None:
        return NotImplemented
    if not isinstance(b, Tensor):
        if a._later is not None:
            found = _of_numbers(rules, a, b, number, True)
            if found is not None:
                return found
        value = _short(rules, a, b, number, True)
        if value is not None:
            return wrapped(rules, value)
    if type(b) is Fed:
        b = plain(b)
    return rules.general[number](b, a)


def _operate_in_place(a: Tensor, b: object, number: int) -> Any:
    rules = operators_of(type(a))
    if rules is None:
        return NotImplemented
    contents = a._value
    if rules.short_in_place and contents is not None:
        if _ALONE and writers.alone():
            # if another thread has requested a lock before the write, or the contents have changed,
            # the operation is repeated under the lock
            value = _short(rules, a, b, number, False)
            if value is None or value.node.types[0] is not a.tensor_type:
                return rules.general_in_place[number](a, plain(b) if type(b) is Fed else b)
            if not (trace.mapping or a.detached):
                overwritten = written_over(contents, a._overwritten)
                if not writers.several and write_own(a, contents, value, overwritten):
                    return a
        lock = write_lock(a)
        if COMPILED:
            lock.acquire()
            try:
                written = _short_in_place(rules, a, b, number)
            finally:
                lock.release()
        else:
            with lock:
                written = _short_in_place(rules, a, b, number)
        if written:
            return a
    if type(b) is Fed:
        b = plain(b)
    return rules.general_in_place[number](a, b)


def _short_in_place(rules: Operators, a: Tensor, b: object, number: int) -> bool:
    """Run an augmented assignment under the lock in the common case; return False if it is not."""
    value = _short(rules, a, b, number, False)
    if value is None or value.node.types[0] is not a.tensor_type:
        return False
    if trace.mapping:
        a._refuse_outside()
    write_locked(a, value.detach() if a.detached and value.requires_grad else value)
    return True
