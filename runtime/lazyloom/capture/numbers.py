"""Numbers of the host that a captured call is fed anew instead of being recorded again for each.

A number in a dict that library code reads for its operands, such as an optimizer's learning rate,
is fed once it has been seen to change, if the recorded call shows that it is such an operand and
nothing else (:mod:`lazyloom.trace.fed`), and if nobody but that code can read it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any, Final

import numpy as np

from ..tensor.tensor import Tensor
from ..trace import fed
from ..trace.scalars import Scalar
from .guards import AnyNumber, Attributes, Check, DictItems, is_number, same
from .state import Code, Snapshot, is_library
from .template import Number

fed.operand_classes.append(Tensor)


class Readers:
    """Library objects that read numbers out of dicts of theirs by :func:`lazyloom.frontend.fed_items`.

    Args:
        cls: their class.
        attribute: the attribute that holds the list of dicts.
        functions: those that name this attribute and read no number but by ``fed_items``.
    """

    def __init__(
        self, cls: type, attribute: str, functions: Iterable[Callable[..., Any]]
    ) -> None:  # fmt: skip
        self.cls = cls
        self.attribute = attribute
        self.codes: frozenset[CodeType] = frozenset(f.__code__ for f in functions)

    def why_others(self, owner: Any, before: Snapshot, code: Code) -> str:
        """Why others may read the numbers of one of them, "" if none can."""
        if not is_library_class(type(owner)):
            return f"{type(owner).__qualname__} is a class of the program"
        if any(callable(x) and name.startswith("_") for name, x in vars(owner).items()):
            return "it has methods of its own"
        if code.dynamic or self.attribute in code.names:
            return f"the program reads {self.attribute}"
        for other in code.library - self.codes:
            if self.attribute in other.co_names:
                return f"{other.co_qualname} reads {self.attribute}"
        groups = getattr(owner, self.attribute)
        if id(groups) in before.again or any(id(group) in before.again for group in groups):
            return f"{self.attribute} is held elsewhere, too"
        return ""


_readers: Final[list[Readers]] = []


def register_readers(readers: Readers) -> None:
    """Add a class of objects whose numbers can be fed."""
    _readers.append(readers)


def is_library_class(cls: type) -> bool:
    """Whether a class is written in Lazyloom or a frontend."""
    step = getattr(cls, "__init__", None)
    code = getattr(step, "__code__", None)
    return code is not None and is_library(code.co_filename) and (
        cls.__module__.split(".")[0] in ("lazyloom", "lazyloom_torch", "lazyloom_numpy"))


class Place:
    """Where a number stands: under a key of a dict, or in a tuple there.

    Attributes:
        owner, readers: whose dict it is.
        items, key, index: the dict, the key, and the place in the tuple or None.
    """

    def __init__(
        self, owner: Any, readers: Readers, items: dict[str, Any], key: str, index: int | None
    ) -> None:
        self.owner = owner
        self.readers = readers
        self.items = items
        self.key = key
        self.index = index

    @property
    def name(self) -> tuple[int, str, int | None]:
        return id(self.items), self.key, self.index

    def read(self) -> Any:
        """The number; the caller knows that there is one."""
        found = self.items[self.key]
        return float(found if self.index is None else found[self.index])


def group_checks(before: Snapshot) -> list[tuple[DictItems, Any, Readers]]:
    """The checks of dicts whose numbers can be fed, with the owner of each."""
    owners: dict[int, tuple[Any, Readers]] = {}
    for check in before.checks.values():
        if isinstance(check, Attributes):
            for readers in _readers:
                if isinstance(check.owner, readers.cls):
                    for group in getattr(check.owner, readers.attribute):
                        owners[id(group)] = check.owner, readers
    return [(check, *owners[id(check.items)]) for check in before.checks.values()
            if isinstance(check, DictItems) and id(check.items) in owners]  # fmt: skip


def changed_places(groups: list[tuple[DictItems, Any, Readers]]) -> list[Place]:
    """The numbers that are not what a capture was made with."""
    found: list[Place] = []
    for check, owner, readers in groups:
        for key, was in zip(check.keys, check.values):
            now = check.items.get(key)
            if isinstance(was, AnyNumber):
                was = was.value
            if same(now, was):
                continue
            if is_number(now) and is_number(was):
                found.append(Place(owner, readers, check.items, key, None))
            elif type(now) is tuple and type(was) is tuple and len(now) == len(was):
                found += [Place(owner, readers, check.items, key, k)
                          for k, (a, b) in enumerate(zip(was, now))
                          if is_number(a) and is_number(b) and not same(b, a)]
    return found


class Numbers:
    """The numbers that calls of a capture are fed: where they are read, and what is made of them.

    Attributes:
        places: where each is read.
        feeding: the comparisons that have to come out alike.
        made: of each run-time number, how it follows from them, and whether it may be structure.
    """

    def __init__(self, places: list[Place], feeding: fed.Feeding) -> None:
        self.places = places
        self.feeding = feeding
        self.made: list[fed.Fed] = []

    def read(self) -> list[float] | None:
        """The run-time numbers of a call; None where it has to be recorded."""
        values = [place.read() for place in self.places]
        found: list[float] = []
        try:
            if not self.feeding.hold(values):
                return None
            for number in self.made:
                x = number.derive(values)
                if type(x) is not float or number.bakes and x in (0.0, 1.0, -1.0):
                    return None
                found.append(x)
        except ArithmeticError:
            return None
        return found

    def why(self) -> str:
        """Why they cannot be fed; "" if they can."""
        if self.read() is not None:
            return ""
        names = ", ".join(sorted({place.key for place in self.places}))
        return f"what is computed with depends on {names} otherwise than before"


class NumbersOfCall:
    """The numbers that a recorded call is given to see what it does with them."""

    def __init__(self, wanted: list[Place], before: Snapshot) -> None:
        checks = {id(check.items): check for check, _, _ in group_checks(before)}
        self.feeding = fed.Feeding()
        self.places: list[Place] = []
        self.checks: list[DictItems] = []
        for place in wanted:
            check = checks.get(id(place.items))
            if check is None or place.key not in place.items:
                continue
            held = place.items[place.key]
            if place.index is not None:
                if type(held) is not tuple or place.index >= len(held):
                    continue
                if not is_number(held[place.index]):
                    continue
            elif not is_number(held):
                continue
            number = fed.source(place.read(), self.feeding, len(self.places))
            self.places.append(place)
            self.checks.append(check)
            _, own = self.feeding.mappings.setdefault(id(place.items), (place.items, {}))
            if place.index is None:
                own[place.key] = held, number
            else:
                parts = list(own[place.key][1] if place.key in own else held)
                parts[place.index] = number
                own[place.key] = held, tuple(parts)
        self.made: list[fed.Fed] = []
        self._positions: dict[int, Number] = {}

    def why_not(self, before: Snapshot, code: Code) -> str:
        """Why the numbers cannot be fed, "" if they can."""
        if self.feeding.spoiled:
            return self.feeding.spoiled
        for place in self.places:
            why = place.readers.why_others(place.owner, before, code)
            if why:
                return why
        return ""

    def number_of(self, first: int) -> Callable[[Scalar], Number | None]:
        """What stands for each run-time number of the call; they are numbered from ``first``."""

        def number(scalar: Scalar) -> Number | None:
            known = self.feeding.numbers.get(id(scalar.number))
            if known is None:
                return None
            if scalar.baked is not None:
                known.spoil("it is 0, 1 or -1")
                return None
            found = self._positions.get(id(scalar))
            if found is None:
                found = self._positions[id(scalar)] = Number(
                    first + len(self.made), scalar.type.dtype, known.bakes)
                self.made.append(known)
            return found

        return number

    def finish(self) -> Numbers:
        """Let the checks take any numbers there."""
        by_key: dict[tuple[int, str], tuple[Check, set[int | None]]] = {}
        for check, place in zip(self.checks, self.places):
            key = id(place.items), place.key
            by_key.setdefault(key, (check, set()))[1].add(place.index)
        for (_, name), (check, indices) in by_key.items():
            at = check.keys.index(name)
            check.values[at] = AnyNumber(check.values[at], frozenset(
                k for k in indices if k is not None))
        found = Numbers(self.places, self.feeding)
        found.made = self.made
        return found
