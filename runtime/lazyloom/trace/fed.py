"""Host numbers that are inputs of a captured call, and operations on them.

While such a call is recorded, each number that may change is a :class:`Fed`, which notes what is
done with it. Arithmetic with other numbers gives numbers that are worked out again from the new
ones, comparisons are conditions that have to come out alike, and as a run-time parameter of an
operation it is replaced by the new one. Whatever else is done with it spoils it: it is then a
constant of the call.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from threading import get_ident
from typing import Any, Final

#: works a number out of those that are fed
Derive = Callable[[list[float]], Any]

#: tells of an operator's place, a code object and an offset, whether its result may be fed, too
place_is_known: Final[list[Callable[[Any, int], bool]]] = []
#: classes whose operators take a number as a run-time parameter
operand_classes: Final[list[type]] = []


class Feeding:
    """The numbers that one recorded call is fed.

    Attributes:
        conditions: comparisons that the call made, with how they came out.
        numbers: what run-time parameters were made of, by identity of the Python number.
        spoiled: what was done with one that cannot be done again, "" if nothing.
        seen: whether the program's own code sees the numbers, not the library's alone.
        mappings: stand-ins for dicts, by identity: the dict, and its fed numbers by key.
    """

    def __init__(self) -> None:
        self.conditions: list[tuple[Derive, bool]] = []
        self.numbers: dict[int, Fed] = {}
        self.spoiled: str = ""
        self.seen: bool = False
        self.mappings: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}

    def spoil(self, what: str) -> None:
        self.spoiled = self.spoiled or what

    def hold(self, values: list[float]) -> bool:
        """Whether all comparisons come out as they did, given these numbers."""
        return all(derive(values) is outcome for derive, outcome in self.conditions)


#: by thread
_feedings: Final[dict[int, Feeding]] = {}


def begin(feeding: Feeding) -> None:
    """Let this thread's :func:`fed_items` give what is fed."""
    _feedings[get_ident()] = feeding


def end() -> None:
    """End what :func:`begin` began."""
    _feedings.pop(get_ident(), None)


def fed_items(mappings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Dicts with the numbers that a captured call is fed as such; the list itself without any.

    For code that reads numbers of the host out of dicts and uses them as operands, as optimizers
    do: of what it does with these numbers nothing escapes.
    """
    feeding = _feedings.get(get_ident()) if _feedings else None
    if feeding is None:
        return mappings
    found = []
    changed = False
    for mapping in mappings:
        known = feeding.mappings.get(id(mapping))
        if known is not None:
            now = dict(mapping)
            for key, (was, stand_in) in known[1].items():
                if now.get(key) is not was:
                    feeding.spoil(f"{key} changes in the call")
                    continue
                now[key] = stand_in
            mapping = now
            changed = True
        found.append(mapping)
    return found if changed else mappings


class Fed:
    """A number that notes what is done with it.

    No float, so that operators of classes in C (complex numbers, time spans) leave it to its own.
    """

    __slots__ = ("feeding", "derive", "plain", "bakes")
    #: NumPy's scalars and arrays leave operators to it
    __array_ufunc__ = None

    feeding: Feeding
    derive: Derive
    #: the number as an object of its own, by which it is known again in a :class:`Scalar`
    plain: float
    #: whether it was an operand that would be structure if it were 0, 1 or -1
    bakes: bool

    def given(self, bake: bool) -> float:
        """The number, as a run-time parameter; noted by its identity."""
        self.bakes = self.bakes or bake
        self.feeding.numbers[id(self.plain)] = self
        return self.plain

    def spoil(self, what: str) -> None:
        """It cannot be fed: something else is done with it."""
        self.feeding.spoil(what)

    def __bool__(self) -> bool:
        return bool(_compared(self, operator.ne, 0.0))

    def __neg__(self) -> Any:
        return _negative(self)


def fed(value: float, feeding: Feeding, derive: Derive) -> Fed:
    """A number of a call that is fed it, worked out from the numbers that are fed."""
    made = Fed()
    made.feeding, made.derive, made.bakes = feeding, derive, False
    made.plain = float.__mul__(value, 1.0)
    return made


def source(value: float, feeding: Feeding, number: int) -> Fed:
    """The number of a call that is fed at that place among all that are."""
    return fed(value, feeding, lambda values: values[number])


def number_of(x: Any) -> Any:
    """A number that may be a fed one, for a :class:`Scalar`: any other as a float."""
    return x if type(x) is Fed else float(x)


def plain(x: Any) -> Any:
    """A number as code takes it that does not know fed ones; anything else as it is."""
    if type(x) is Fed:
        x.spoil("it is the operand of an operator that works it in")
        return x.plain
    return x


def _derive_of(x: Any) -> Derive:
    if type(x) is Fed:
        return x.derive
    return lambda values: x


def _plain(x: Any) -> Any:
    return x.plain if type(x) is Fed else x


def _known(number: Fed, other: Any) -> bool:
    return type(other) in (float, int) or type(other) is Fed and other.feeding is number.feeding


def _compared(number: Fed, compare: Callable[[Any, Any], Any], other: Any) -> Any:
    if isinstance(other, tuple(operand_classes)):
        return NotImplemented
    outcome = compare(number.plain, _plain(other))
    if not _known(number, other):
        number.spoil(f"it is compared with a {type(other).__name__}")
        return outcome
    left, right = _derive_of(number), _derive_of(other)
    number.feeding.conditions.append(
        (lambda values: compare(left(values), right(values)), outcome))
    return outcome


def _computed(
    number: Fed, compute: Callable[[Any, Any], Any], other: Any, reflected: bool
) -> Any:
    if isinstance(other, tuple(operand_classes)):
        return NotImplemented
    a, b = (other, number) if reflected else (number, other)
    value = compute(_plain(a), _plain(b))
    if not _known(number, other) or type(value) is not float:
        number.spoil(f"it is computed with, and a {type(other).__name__}")
        return value
    left, right = _derive_of(a), _derive_of(b)
    return _result(number, value, lambda values: compute(left(values), right(values)), 3)


def _result(number: Fed, value: float, derive: Derive, depth: int) -> Any:
    """What is computed from a number: one that follows it, where it can be followed."""
    if number.feeding.seen:
        frame = sys._getframe(depth)
        if not place_is_known[0](frame.f_code, frame.f_lasti):
            number.spoil("what is computed from it is no operand alone")
            return value
    return fed(value, number.feeding, derive)


def _negative(number: Fed) -> Any:
    derive = number.derive
    return _result(number, -number.plain, lambda values: -derive(values), 3)


def _comparison(compare: Callable[[Any, Any], Any]) -> Any:
    return lambda self, other: _compared(self, compare, other)


def _computation(compute: Callable[[Any, Any], Any], reflected: bool) -> Any:
    return lambda self, other: _computed(self, compute, other, reflected)


def _spoiling(name: str, method: Any) -> Any:
    def call(self: Fed, *args: Any, **kwargs: Any) -> Any:
        self.spoil(f"{name} is called of it")
        return method(self.plain, *args, **kwargs)

    call.__name__ = name
    return call


def _complete() -> None:
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(Fed, f"__{name}__", _comparison(getattr(operator, name)))
    for name in ("add", "sub", "mul", "truediv"):
        compute = getattr(operator, name)
        setattr(Fed, f"__{name}__", _computation(compute, False))
        setattr(Fed, f"__r{name}__", _computation(compute, True))
    kept = {"__new__", "__init__", "__class__", "__getattribute__", "__setattr__", "__delattr__",
            "__init_subclass__", "__subclasshook__", "__doc__", "__bool__", "__getformat__",
            "__setformat__", "fromhex", "from_number", "real", "imag", "__getstate__"}
    for name in dir(float):
        if name not in kept and name not in Fed.__dict__:
            setattr(Fed, name, _spoiling(name, getattr(float, name)))
    for name in ("real", "imag"):
        setattr(Fed, name, property(_spoiling(name, getattr(float, name).__get__)))


_complete()
