"""Host numbers that are inputs of a captured call.

A number is fed once it has changed between calls, if the recorded call shows that it is only an
operand (:mod:`lazyloom.trace.fed`): a number in a dict that library code reads for its operands and
nothing else can read, such as an optimizer's learning rate; and an argument or a variable of an
enclosing function that the program's code uses only in arithmetic
(:mod:`lazyloom.capture.consumed`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import CodeType, FunctionType, MethodType
from typing import Any, Final

from ..interrupts import Deferred
from ..tensor.tensor import Tensor
from ..trace import fed
from ..trace.scalars import Scalar
from .arguments import VALUE, Argument
from .consumed import result_is_operand, variable_is_operand
from .guards import AnyNumber, Attributes, Cell, ContainerGuard, DictItems, is_number, same
from .state import Code, Snapshot, is_library
from .template import FedNumber

fed.operand_classes.append(Tensor)
fed.place_is_known.append(result_is_operand)


class Readers:
    """Library objects that read numbers from their dicts by
    :func:`lazyloom.frontend.fed_items`.

    Args:
        cls: their class.
        attribute: the attribute that holds the list of dicts.
        functions: the functions that name this attribute and read numbers only by ``fed_items``.
    """

    def __init__(
        self, cls: type, attribute: str, functions: Iterable[Callable[..., Any]]
    ) -> None:  # fmt: skip
        self.cls = cls
        self.attribute = attribute
        self.codes: frozenset[CodeType] = frozenset(f.__code__ for f in functions)

    def why_others(self, owner: Any, before: Snapshot, code: Code) -> str:
        """Return why other code may read the numbers of ``owner``, "" if none can."""
        if not is_library_class(type(owner)):
            return f"{type(owner).__qualname__} is a class of the program"
        if any(callable(x) and name.startswith("_") for name, x in vars(owner).items()):
            return "it has methods of its own"
        if code.dynamic or self.attribute in code.names or any(
            isinstance(names, tuple) and self.attribute in names
            for seen in code.seen for names in seen.co_consts
        ):
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
    """Return True if a class belongs to Lazyloom or a frontend."""
    step = getattr(cls, "__init__", None)
    code = getattr(step, "__code__", None)
    return code is not None and is_library(code.co_filename) and (
        cls.__module__.split(".")[0] in ("lazyloom", "lazyloom_torch", "lazyloom_numpy"))


class NumberPlace:
    """Where a number is found.

    Attributes:
        name: identifies the place.
        label: its name in messages.
    """

    name: tuple[Any, ...]
    label: str

    def read(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the number; the caller knows that there is one."""
        raise AssertionError("a place says how it is read")


class GroupPlace(NumberPlace):
    """A number under a key of a dict, or in a tuple there.

    Attributes:
        owner, readers: whose dict it is.
        items, key, index: the dict, the key, and the position in the tuple or None.
    """

    def __init__(
        self, owner: Any, readers: Readers, items: dict[str, Any], key: str, index: int | None
    ) -> None:
        self.owner = owner
        self.readers = readers
        self.items = items
        self.key = key
        self.index = index
        self.name = "group", id(items), key, index
        self.label = str(key)

    def read(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        value = self.items[self.key]
        return float(value if self.index is None else value[self.index])


class ArgumentPlace(NumberPlace):
    """A number that is an argument, by position or by name."""

    def __init__(self, key: int | str, label: str) -> None:
        self.key = key
        self.name = "argument", key
        self.label = label

    def read(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return float(args[self.key] if isinstance(self.key, int) else kwargs[self.key])


class CellPlace(NumberPlace):
    """A number that is a variable of an enclosing function."""

    def __init__(self, cell: Any, variable: str) -> None:
        self.cell = cell
        self.name = "cell", id(cell)
        self.label = variable

    def read(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return float(self.cell.cell_contents)


def group_checks(before: Snapshot) -> list[tuple[DictItems, Any, Readers]]:
    """Return the checks of dicts whose numbers can be fed, with the owner of each."""
    owners: dict[int, tuple[Any, Readers]] = {}
    for check in before.checks.values():
        if isinstance(check, Attributes):
            for readers in _readers:
                if isinstance(check.owner, readers.cls):
                    for group in getattr(check.owner, readers.attribute):
                        owners[id(group)] = check.owner, readers
    return [(check, *owners[id(check.items)]) for check in before.checks.values()
            if isinstance(check, DictItems) and id(check.items) in owners]  # fmt: skip


def changed_places(groups: list[tuple[DictItems, Any, Readers]]) -> list[NumberPlace]:
    """Return the places of numbers that have changed since the capture."""
    places: list[NumberPlace] = []
    for check, owner, readers in groups:
        for key, was in zip(check.keys, check.values):
            now = check.items.get(key)
            if isinstance(was, AnyNumber):
                was = was.value
            if same(now, was):
                continue
            if is_number(now, True) and is_number(was, True):
                places.append(GroupPlace(owner, readers, check.items, key, None))
            elif type(now) is tuple and type(was) is tuple and len(now) == len(was):
                places += [GroupPlace(owner, readers, check.items, key, k)
                          for k, (a, b) in enumerate(zip(was, now))
                          if is_number(a, True) and is_number(b, True) and not same(b, a)]
    return places


def changed_variables(
    checks: list[ContainerGuard], arguments: list[Argument], args: tuple[Any, ...],
    named: dict[str, Argument],
    kwargs: dict[str, Any],
) -> list[NumberPlace]:
    """Return the arguments and variables of enclosing functions whose numbers have changed."""
    places: list[NumberPlace] = []
    pairs: list[tuple[int | str, Argument, Any]] = [
        (k, a, x) for k, (a, x) in enumerate(zip(arguments, args))]
    pairs += [(name, a, kwargs[name]) for name, a in named.items() if name in kwargs]
    for key, argument, x in pairs:
        was = argument.value.value if isinstance(argument.value, AnyNumber) else argument.value
        if argument.kind == VALUE and is_number(x) and is_number(was) and not same(x, was):
            places.append(ArgumentPlace(key, argument.path))
    for check in checks:
        if isinstance(check, Cell):
            was, (now,) = check.values[0], check.now()[1]
            was = was.value if isinstance(was, AnyNumber) else was
            if is_number(now) and is_number(was) and not same(now, was):
                places.append(CellPlace(check.cell, check.name))
    return places


class Numbers:
    """The numbers that calls of a capture are fed: where they are read, and how they are used.

    Attributes:
        places: where each is read.
        feeding: the comparisons that must have the same outcome.
        made: for each run-time number, how it follows from them, and whether it may be structure.
    """

    def __init__(self, places: list[NumberPlace], feeding: fed.Feeding) -> None:
        self.places = places
        self.feeding = feeding
        self.made: list[fed.Fed] = []

    def read(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[float] | None:
        """Return the run-time numbers of a call; None if the call must be recorded."""
        values = [place.read(args, kwargs) for place in self.places]
        numbers: list[float] = []
        try:
            if not self.feeding.hold(values):
                return None
            for number in self.made:
                x = number.derive(values)
                if type(x) is not float or number.bakes and x in (0.0, 1.0, -1.0):
                    return None
                numbers.append(x)
        except ArithmeticError:
            return None
        return numbers

    def why(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """Return why the numbers cannot be fed; "" if they can."""
        if self.read(args, kwargs) is not None:
            return ""
        names = ", ".join(sorted({place.label for place in self.places}))
        return f"what is computed with depends on {names} otherwise than before"


class NumbersOfCall:
    """The numbers passed to a recorded call to see how it uses them.

    Attributes:
        args, kwargs: the arguments to call the function with.
        refused: the wanted places that are not fed, each with the reason.
        structural: True if they are not fed because of the values that they have this time.
    """

    def __init__(
        self, wanted: list[NumberPlace], before: Snapshot, code: Code, function: Any,
        args: tuple[Any, ...], kwargs: dict[str, Any], arguments: list[Argument],
        named: dict[str, Argument],
    ) -> None:  # fmt: skip
        self.feeding = fed.Feeding()
        self.args = args
        self.kwargs = kwargs
        self.places: list[NumberPlace] = []
        self.refused: list[tuple[NumberPlace, str]] = []
        self.made: list[fed.Fed] = []
        self.structural = False
        self._guards: list[tuple[Any, int, int | None]] = []
        self._cells: list[tuple[Any, Any, Any]] = []
        self._positions: dict[int, FedNumber] = {}
        self._before = before
        self._code = code
        groups = {id(check.items): check for check, _, _ in group_checks(before)}
        cells = {id(check.cell): check for check in before.checks.values()
                 if isinstance(check, Cell)}  # fmt: skip
        for place in wanted:
            if isinstance(place, GroupPlace):
                self._of_group(place, groups.get(id(place.items)))
            elif isinstance(place, ArgumentPlace):
                argument = arguments[place.key] if isinstance(place.key, int) and (
                    place.key < len(arguments)) else named.get(str(place.key))
                self._of_argument(place, argument, function)
            elif isinstance(place, CellPlace):
                self._of_cell(place, cells.get(id(place.cell)))

    def _of_group(self, place: GroupPlace, check: DictItems | None) -> None:
        if check is None or place.key not in place.items:
            return
        value = place.items[place.key]
        if place.index is None:
            if not is_number(value, True):
                return
        elif type(value) is not tuple or place.index >= len(value) or (
            not is_number(value[place.index], True)
        ):
            return
        why = place.readers.why_others(place.owner, self._before, self._code)
        if why:
            self.refused.append((place, why))
            return
        _, replacements = self.feeding.mappings.setdefault(id(place.items), (place.items, {}))
        number = fed.source(place.read((), {}), self.feeding, len(self.places))
        self.places.append(place)
        self._guards.append((check, check.keys.index(place.key), place.index))
        if place.index is None:
            replacements[place.key] = value, number
        else:
            parts = list(replacements[place.key][1] if place.key in replacements else value)
            parts[place.index] = number
            replacements[place.key] = value, tuple(parts)

    def _of_argument(self, place: ArgumentPlace, argument: Argument | None, function: Any) -> None:
        if argument is None or argument.kind != VALUE or not is_number(argument.value):
            return
        why = why_argument(function, place.key)
        if why:
            self.refused.append((place, why))
            return
        number = self._seen(place, argument.value)
        self._guards.append((argument, 0, None))
        if isinstance(place.key, int):
            self.args = (*self.args[: place.key], number, *self.args[place.key + 1:])
        else:
            self.kwargs = {**self.kwargs, place.key: number}

    def _of_cell(self, place: CellPlace, check: Cell | None) -> None:
        if check is None or not is_number(check.values[0]):
            return
        for code in self._code.seen:
            if place.label in code.co_freevars + code.co_cellvars and (
                not variable_is_operand(code, place.label)
            ):
                self.refused.append((place, f"{code.co_name} does more with it than arithmetic"))
                return
        if self._code.names & {"__closure__", "cell_contents"}:
            self.refused.append((place, "closures are taken apart"))
            return
        number = self._seen(place, check.values[0])
        self._guards.append((check, 0, None))
        self._cells.append((place.cell, check.values[0], number))

    def _seen(self, place: NumberPlace, value: Any) -> fed.Fed:
        self.feeding.seen = True
        number = fed.source(float(value), self.feeding, len(self.places))
        self.places.append(place)
        return number

    def begin(self) -> None:
        """Put the numbers in the places where they are read."""
        with Deferred(interpreted=True):
            fed.begin(self.feeding)
            for cell, _, number in self._cells:
                cell.cell_contents = number

    def end(self) -> None:
        """Put back what was there, unless the call put something else there."""
        with Deferred(interpreted=True):
            fed.end()
            for cell, before, number in self._cells:
                if cell.cell_contents is number:
                    cell.cell_contents = before

    def why_not(self, operators: bool) -> str:
        """Return why the numbers cannot be fed, "" if they can.

        ``operators`` says that operators of the program's own classes ran, which may have seen one.
        """
        if operators and self.feeding.seen:
            return "an operator of a class of the program's is called"
        if self.feeding.spoiled:
            return self.feeding.spoiled
        for place in self.places:
            if isinstance(place, GroupPlace):
                # it is now known which code ran in this call
                why = place.readers.why_others(place.owner, self._before, self._code)
                if why:
                    return why
        return ""

    def number_of(self, first: int) -> Callable[[Scalar], FedNumber | None]:
        """Return a function that gives what stands for each run-time number of the call; they are
        numbered from ``first``."""

        def number(scalar: Scalar) -> FedNumber | None:
            source = self.feeding.numbers.get(id(scalar.number))
            if source is None:
                return None
            if scalar.baked is not None:
                # it may be different in another call
                self.structural = True
                source.spoil("it is 0, 1 or -1, which are part of a program")
                return None
            fed_number = self._positions.get(id(scalar))
            if fed_number is None:
                fed_number = self._positions[id(scalar)] = FedNumber(
                    first + len(self.made), scalar.type.dtype, source.bakes)
                self.made.append(source)
            return fed_number

        return number

    def finish(self) -> Numbers:
        """Make the checks accept any number in these places."""
        indices: dict[tuple[int, int], tuple[Any, int, set[int]]] = {}
        for guard, at, index in self._guards:
            entry = indices.setdefault((id(guard), at), (guard, at, set()))
            if index is not None:
                entry[2].add(index)
        for guard, at, parts in indices.values():
            if isinstance(guard, Argument):
                guard.value = AnyNumber(guard.value, frozenset(), False)
            else:
                guard.values[at] = AnyNumber(
                    guard.values[at], frozenset(parts), not isinstance(guard, Cell))
        numbers = Numbers(self.places, self.feeding)
        numbers.made = self.made
        return numbers


def why_argument(function: Any, key: int | str) -> str:
    """Return why an argument cannot be a number that is fed, "" if it can."""
    skipped = 0
    if type(function) is MethodType:
        function, skipped = function.__func__, 1
    if type(function) is not FunctionType or is_library(function.__code__.co_filename):
        return "it is no argument of a function that is written in Python"
    code = function.__code__
    if isinstance(key, int):
        if key + skipped >= code.co_argcount:
            return "it is one of many arguments"
        key = code.co_varnames[key + skipped]
    elif key not in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        return "it is one of many arguments"
    if code.co_flags & 0x2A0:
        return "the function is a generator or coroutine"
    return "" if variable_is_operand(code, key) and key not in code.co_cellvars else (
        f"{code.co_name} does more with it than arithmetic")
