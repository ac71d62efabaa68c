"""Host numbers that are inputs of a captured call, and operations on them.

While such a call is recorded, each number that may change is a :class:`Fed`, which notes how it is
used. Arithmetic with other numbers gives numbers that are recomputed from the new ones,
comparisons are conditions that must come out the same, and a number that is a run-time parameter
of an operation is replaced by the new one. Any other use spoils it: it is then a constant of the
call.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from threading import get_ident
from typing import Any, Final

#: computes a number from those that are fed
Derive = Callable[[list[float]], Any]

#: says whether the result of an operator at a place, a code object and an offset, may be fed too
place_is_known: Final[list[Callable[[Any, int], bool]]] = []
#: classes whose operators take a number as a run-time parameter
operand_classes: Final[list[type]] = []


class Feeding:
    """The numbers that one recorded call is fed.

    Attributes:
        conditions: comparisons that the call made, with their outcomes.
        numbers: the numbers behind run-time parameters, by identity of the Python number.
        spoiled: the use of a number that cannot be repeated, "" if there is none.
        seen: whether the program's own code sees the numbers, not only the library's.
        mappings: stand-ins for dicts, by identity: the dict, and its fed numbers by key.
    """

    def __init__(self) -> None:
        self.conditions: list[tuple[Derive, bool]] = []
        self.numbers: dict[int, Fed] = {}
        self.spoiled: str = ""
        self.seen: bool = False
        self.mappings: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}

    def spoil(self, use: str) -> None:
        self.spoiled = self.spoiled or use

    def hold(self, values: list[float]) -> bool:
        """Return True if all comparisons have the same outcome for these numbers."""
        return all(derive(values) is outcome for derive, outcome in self.conditions)


#: by thread
_feedings: Final[dict[int, Feeding]] = {}


def begin(feeding: Feeding) -> None:
    """Let :func:`fed_items` return fed numbers in this thread."""
    _feedings[get_ident()] = feeding


def end() -> None:
    """End what :func:`begin` began."""
    _feedings.pop(get_ident(), None)


def fed_items(mappings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The dicts with :class:`Fed` numbers where a captured call is fed them; if none, the list.

    For code that reads numbers of the host out of dicts and uses them as operands, as optimizers
    do: every use that it makes of these numbers is noted.
    """
    feeding = _feedings.get(get_ident()) if _feedings else None
    if feeding is None:
        return mappings
    items = []
    changed = False
    for mapping in mappings:
        entry = feeding.mappings.get(id(mapping))
        if entry is not None:
            now = dict(mapping)
            for key, (was, stand_in) in entry[1].items():
                if now.get(key) is not was:
                    feeding.spoil(f"{key} changes in the call")
                    continue
                now[key] = stand_in
            mapping = now
            changed = True
        items.append(mapping)
    return items if changed else mappings


class Fed:
    """A number that notes how it is used.

    Not a float, so that operators of C classes (complex numbers, time spans) defer to its own.
    """

    __slots__ = ("feeding", "derive", "plain", "bakes")
    #: makes NumPy's scalars and arrays defer to its operators
    __array_ufunc__ = None

    feeding: Feeding
    derive: Derive
    #: the number as an object of its own, by which it is recognized in a :class:`Scalar`
    plain: float
    #: true if it was an operand that would be structure if it were 0, 1 or -1
    bakes: bool

    def given(self, bake: bool) -> float:
        """The number as a run-time parameter; noted by its identity."""
        self.bakes = self.bakes or bake
        self.feeding.numbers[id(self.plain)] = self
        return self.plain

    def spoil(self, use: str) -> None:
        """Note a use that keeps it from being fed."""
        self.feeding.spoil(use)

    def __bool__(self) -> bool:
        return bool(_compared(self, operator.ne, 0.0))

    def __neg__(self) -> Any:
        return _negative(self)


def fed(value: float, feeding: Feeding, derive: Derive) -> Fed:
    """A fed number of a call, which ``derive`` computes from the numbers that are fed."""
    number = Fed()
    number.feeding, number.derive, number.bakes = feeding, derive, False
    number.plain = float.__mul__(value, 1.0)
    return number


def source(value: float, feeding: Feeding, number: int) -> Fed:
    """The fed number of a call at that index among all its fed numbers."""
    return fed(value, feeding, lambda values: values[number])


def number_of(x: Any) -> Any:
    """A number for a :class:`Scalar`: a fed one unchanged, any other as a float."""
    return x if type(x) is Fed else float(x)


def plain(x: Any) -> Any:
    """A number for code that does not know fed numbers; anything else unchanged."""
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
    """The result computed from a fed number: a fed one too, where its place allows that."""
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
