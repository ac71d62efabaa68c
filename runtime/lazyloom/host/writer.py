"""What the text of a host kernel is written with: values, constants and lines."""

from __future__ import annotations

import functools
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ..dtypes import ALL

#: elements of a constant that is computed once, when the kernel is loaded
CONSTANT: Final = 1 << 14
#: so many numbers at most are added to one sum one by one
SERIAL: Final = 128
#: elements from which an array is let go of before the kernel ends
LARGE: Final = 1 << 14


_IDENTIFIER: Final = re.compile(r"\w+")
_FUNCTION: Final = re.compile(r"    def (\w+)\(")
_MADE: Final = re.compile(r"    ((?:v\d+, ?)*v?\d*) = ")
#: what the text calls values: operands, constants, those that lines make
NAME: Final = re.compile(r"\b[abv]\d+\b")
_WORD: Final = re.compile(r"[a-z]")
#: the sign of powers in the text of extents; that of exclusive or has spaces around
_POWER: Final = re.compile(r"(?<=[\w)])\^(?=\d)")


class Unsupported(Exception):
    """A step that has no host kernel; the text says which, and why."""


def extent(n: Any) -> Any:
    """A number of a trace: an int, or a symbol's expression, whose text computes it."""
    return int(n) if isinstance(n, (int, np.integer)) else n


def powers(text: str) -> str:
    """A text of extents in Python."""
    return _POWER.sub("**", text)


def extents(numbers: Any) -> tuple[Any, ...]:
    """NumPy's integers among them have another text."""
    return tuple(map(extent, numbers))


def common(shapes: Iterable[tuple[Any, ...]]) -> tuple[Any, ...]:
    """What shapes broadcast to, each axis 1 or as long as in the others."""
    found: list[Any] = []
    for shape in shapes:
        found[:0] = [1] * (len(shape) - len(found))
        for d in range(-len(shape), 0):
            if shape[d] != 1:
                found[d] = shape[d]
    return tuple(found)


class Expr(NamedTuple):
    """A value in the text.

    Attributes:
        text: the expression to refer to it by, a name.
        shape, dtype: what the traced function says it is.
        actual: the shape of the array, which broadcasts against ``shape``: what is equal along an
            axis is not spread out before something needs it.

    Extents may be symbols' expressions (see :mod:`.extents`).
        shared: its memory may be an operand's or a constant's.
    """

    text: str
    shape: tuple[int, ...]
    actual: tuple[int, ...]
    dtype: Any
    shared: bool

    @property
    def size(self) -> int:
        return math.prod(self.shape)


class PartwiseValue(NamedTuple):
    """How a value is made, if each part of it along an axis is made of the same part of operands.

    Attributes:
        name: its name.
        kind: "elementwise"; "reduce" over ``axes``; "reshape" or "broadcast" of the one operand.
        operands: what it is made of.
        actual, dtype: of its array.
        axes: what is summed.
    """

    name: str
    kind: str
    operands: tuple[Expr, ...]
    actual: tuple[int, ...]
    dtype: Any
    axes: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """Elements of the largest array of the line."""
        return max(math.prod(self.actual), *(math.prod(x.actual) for x in self.operands))


class FreshNames:
    """Fresh names, and what is computed once for all calls of a kernel."""

    __slots__ = (
        "count", "constants", "known", "generator", "large", "numbers", "zeros", "ones", "made",
        "parts", "symbolic", "conditions",
    )  # fmt: skip

    def __init__(self) -> None:
        #: the functions of the generator whose keys were met
        self.generator: Any = None
        #: names of large arrays, which are let go of after their last use
        self.large: set[str] = set()
        #: values that are known numbers, by name
        self.numbers: dict[str, int] = {}
        #: names of constants that are 0 (not -0.0), and 1
        self.zeros: set[str] = set()
        self.ones: set[str] = set()
        #: how values are made that may be made in blocks, by name
        self.made: dict[str, PartwiseValue] = {}
        #: how many there would be if it were known that arrays are large
        self.parts: int = 0
        #: whether extents may be symbols
        self.symbolic = False
        #: what has to hold of the symbols for the text to be right
        self.conditions: list[str] = []
        self.count = 0
        self.constants: list[str] = []
        self.known: dict[Any, str] = {}

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def at_most(self, n: Any, most: int) -> bool:
        """Whether an extent is at most that; where it has symbols, JAX asks for a condition."""
        return bool(n <= most)

    def constant(self, expression: str) -> str:
        name = self.known.get(expression)
        if name is None:
            name = self.known[expression] = self.fresh("k")
            self.constants.append(f"{name} = {expression}")
        return name


def released(lines: list[str], large: set[str], kept: set[str]) -> list[str]:
    """The lines of a kernel, with large arrays that are not kept deleted after their last use."""
    # those of the kernel itself: what a loop's body makes ends with the body
    own = large.intersection(
        name for m in map(_MADE.match, lines) if m for name in NAME.findall(m[1]))
    last: dict[str, int] = {}
    #: by function of the kernel's own, in order: what its body uses
    uses: dict[str, set[str]] = {}
    inside: set[str] | None = None
    for number, line in enumerate(lines):
        function = _FUNCTION.match(line)
        if function is not None:
            inside = uses[function[1]] = set()
        elif not line.startswith("     "):
            inside = None
        for name in NAME.findall(line):
            if name in own:
                last[name] = number
                if inside is not None:
                    inside.add(name)
        for name in uses.keys() & _IDENTIFIER.findall(line):
            last[name] = number
            if inside is not None and function is None:
                inside.add(name)
    for function_name in reversed(uses):
        # what a function uses lasts as long as the function
        for name in uses[function_name]:
            last[name] = max(last[name], last[function_name])
    ends: dict[int, list[str]] = {}
    for name, number in last.items():
        if name not in kept and name not in uses:
            # inside a loop's body nothing ends
            while number + 1 < len(lines) and lines[number + 1].startswith("     "):
                number += 1
            ends.setdefault(number, []).append(name)
    found: list[str] = []
    for number, line in enumerate(lines):
        found.append(line)
        if number in ends:
            found.append(f"    del {', '.join(ends[number])}")
    return found


class Writer(ABC):
    """Writes the body of one function."""

    __slots__ = ("names", "lines", "indent", "made", "origins", "arrays")

    def __init__(self, names: FreshNames, indent: str = "    ") -> None:
        self.names: Final = names
        self.lines: list[str] = []
        self.indent: Final = indent
        #: what was assigned, by its expression
        self.made: dict[str, Expr] = {}
        #: what a value is only a reshape of, by its name
        self.origins: dict[str, Expr] = {}
        #: whether it is called with arrays in the places of its operands, which are numbers
        self.arrays = False

    @abstractmethod
    def body(self, jaxpr: Any, consts: Sequence[Any], operands: Sequence[Expr]) -> list[Expr]:
        """Write the steps of a traced function; its results."""

    def line(self, text: str) -> None:
        self.lines.append(self.indent + text)

    def let(
        self, expression: str, shape: Sequence[int], dtype: Any,
        actual: Sequence[int] | None = None, shared: bool = False, written: bool = False,
    ) -> Expr:
        """Assign an expression to a new name, unless that was done; not what is ``written`` to."""
        sizes = tuple(shape if actual is None else actual)
        known = None if written else self.made.get(expression)
        if known is not None and known.actual == sizes and known.dtype == dtype:
            return known._replace(shape=tuple(shape))
        name = self.names.fresh("v")
        self.line(f"{name} = {expression}")
        size = math.prod(shape)
        if dtype is not None and (not isinstance(size, int) or size >= LARGE):
            self.names.large.add(name)
        found = Expr(name, tuple(shape), sizes, dtype, shared)
        if not written:
            self.made[expression] = found
        return found

    def reshaped(self, value: Expr, actual: Sequence[int], shape: Sequence[int]) -> Expr:
        """The value with its array in another shape."""
        value = self.origins.get(value.text, value)
        sizes = tuple(actual)
        if value.actual == sizes:
            return value._replace(shape=tuple(shape))
        found = self.let(f"{value.text}.reshape({sizes})", shape, value.dtype, sizes, True)
        self.origins[found.text] = value
        return self.local(found, "reshape", [value])

    def index(self, parts: Sequence[str]) -> str:
        """The text of an index, each of whose parts is ``a:b`` or ``a:b:c``, no run-time values."""
        given = list(parts)
        while given and given[-1] == ":":
            given.pop()
        if not given:
            return "..."
        if any(map(_WORD.search, given)):
            # there are symbols in it
            return ", ".join(given)
        slices = ", ".join(
            f"slice({', '.join(n or 'None' for n in part.split(':'))})" if part != ":" else
            "slice(None)" for part in given)
        return self.names.constant(f"({slices},)")

    def local(
        self, value: Expr, kind: str, operands: Sequence[Expr], axes: tuple[int, ...] = ()
    ) -> Expr:
        """Say of a value that was just assigned how it is made."""
        if self.names.symbolic:
            # whether it is large is not known
            self.names.parts += kind in ("elementwise", "reduce")
            return value
        self.names.made[value.text] = PartwiseValue(
            value.text, kind, tuple(operands), value.actual, value.dtype, axes)
        return value

    def literal(self, number: Any, dtype: Any, shape: Sequence[int] = ()) -> Expr:
        """A constant whose elements are all equal."""
        array = np.asarray(number, dtype)
        bits = array.tobytes()
        name = self.names.constant(f"frombuffer({bits!r}, {dtype_text(dtype)})[0]")
        if not any(bits):
            self.names.zeros.add(name)
        elif array == 1:
            self.names.ones.add(name)
        return Expr(name, tuple(shape), (), np.dtype(dtype), True)

    def array(self, array: Any) -> Expr:
        """A constant array."""
        given = np.asarray(array)
        if given.dtype.name in NARROW:
            given = given.astype(np.float32)
        if given.ndim == 0:
            return self.literal(given, given.dtype)
        if given.size > CONSTANT:
            raise Unsupported(f"a constant of {given.size} elements")
        name = self.names.constant(
            f"frombuffer({given.tobytes()!r}, {dtype_text(given.dtype)}).reshape({given.shape})")
        return Expr(name, given.shape, given.shape, given.dtype, True)

    def full(self, value: Expr) -> Expr:
        """The value as an array of its whole shape (0-d ones may be NumPy's scalars)."""
        if value.actual == value.shape:
            return value
        if self.arrays:
            raise Unsupported("an array in the place of a number")
        return self.spread(value)

    def spread(self, value: Expr, written: bool = False) -> Expr:
        """A new array of the value's whole shape."""
        if value.text in self.names.zeros:
            text = f"zeros({value.shape}, {dtype_text(value.dtype)})"
        else:
            text = f"broadcast({value.text}, {value.shape})"
        found = self.let(text, value.shape, value.dtype, written=written)
        return found if written else self.local(found, "broadcast", [value])

    def own(self, value: Expr) -> Expr:
        """An array with the value's elements that may be written to."""
        if value.actual != value.shape:
            return self.spread(value, True)
        return self.let(f"array({value.text})", value.shape, value.dtype, written=True)

    def padded(self, value: Expr) -> Expr:
        """The value with an axis in its array for each axis that it has."""
        missing = len(value.shape) - len(value.actual)
        if not missing:
            return value
        actual = (1,) * missing + value.actual
        return self.reshaped(value, actual, value.shape)


_KINDS: Final = frozenset("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 "
                          "complex64 complex128".split())


#: kept so, and computed in float32, as XLA does; a kernel rounds what it gives
NARROW: Final = frozenset(("float16", "bfloat16"))


def is_narrow(aval: Any) -> bool:
    """Whether a traced value is of a dtype that is computed in a wider one."""
    return name_of(aval.dtype) in NARROW


def dtype_of(aval: Any) -> Any:
    """The NumPy dtype that a traced value has in a kernel; Unsupported for those without one."""
    name = name_of(aval.dtype)
    if name in NARROW:
        return np.dtype(np.float32)
    if name not in _KINDS:
        raise Unsupported(f"dtype {name}")
    return np.dtype(name)


@functools.lru_cache(maxsize=256)
def name_of(dtype: Any) -> str:
    """A traced value's dtype as text: NumPy makes it anew each time, in as long as a step takes."""
    return str(dtype)


def dtype_text(dtype: Any) -> str:
    """A dtype's name in the text."""
    return f"d_{np.dtype(dtype).name}"


DTYPES: Final = {f"d_{d.name}": d.numpy for d in ALL if d.name in _KINDS | NARROW}
