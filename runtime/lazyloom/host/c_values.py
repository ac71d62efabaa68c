"""What the text of a C function is written with: values, loops and scratch memory."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

#: an extent: an int, or an expression of symbols, whose text computes it
Dim: TypeAlias = Any
Shape: TypeAlias = "tuple[Dim, ...]"

#: the C type of each dtype that there is code for
C_TYPES: Final = {
    "bool": "u8", "int32": "i32", "int64": "i64", "uint32": "u32", "uint64": "u64",
    "float32": "f32", "float64": "f64",
}  # fmt: skip
#: elements of a constant array that stand in the text
CONSTANT: Final = 64
#: lines that a function may have: what needs more takes the compiler seconds
LONGEST: Final = 1500

_POWER: Final = re.compile(r"(\b\w+)\^(\d+)")
_NUMBER: Final = re.compile(r"\d+")
#: what needs no parentheses in a product
_SINGLE: Final = re.compile(r"\w+|\(\w+\)")


class NoCode(Exception):
    """A step that has no C code; the text says which, and why."""


def dim_text(n: Dim) -> str:
    """An extent in C. Raises NoCode."""
    if isinstance(n, (int, np.integer)):
        return str(int(n))
    text = _POWER.sub(lambda m: "(" + "*".join([m[1]] * int(m[2])) + ")", str(n))
    if "^" in text or "non_negative" in text:
        raise NoCode(f"the extent {n}")
    return f"({text})"


def product(factors: Iterable[str]) -> str:
    """A product of texts, in which numbers are multiplied and sums are in parentheses."""
    number, others = 1, []
    for f in factors:
        if _NUMBER.fullmatch(f):
            number *= int(f)
        else:
            others.append(f if _SINGLE.fullmatch(f) else f"({f})")
    if number == 0 or not others:
        return str(number)
    return "*".join([str(number), *others] if number != 1 else others)


def total(terms: Iterable[str]) -> str:
    """A sum, without what is 0."""
    return " + ".join([t for t in terms if t != "0"]) or "0"


def size_text(shape: Shape) -> str:
    return product(map(dim_text, shape))


def same(a: Dim, b: Dim) -> bool:
    return str(a) == str(b)


def c_type(dtype: Any) -> str:
    """The C type of a dtype. Raises NoCode."""
    found = C_TYPES.get(str(dtype))
    if found is None:
        raise NoCode(f"dtype {dtype}")
    return found


class Axis(NamedTuple):
    """An operand's index along an axis: ``base + factor * index[axis]`` of what is made of it."""

    base: str = "0"
    factor: str = "1"
    axis: int | None = None

    def at(self, index: Sequence[str]) -> str:
        if self.axis is None:
            return self.base
        return total([self.base, product([self.factor, index[self.axis]])])


class InnerLoop:
    """The statements in the innermost loop of a nest; equal expressions are computed once."""

    def __init__(self, function: FunctionWriter) -> None:
        self.function: Final = function
        self.lines: Final[list[str]] = []
        #: of arrays that are nowhere, by their identities, the elements that were computed
        self.elements: Final[dict[tuple[int, tuple[str, ...]], str]] = {}
        self._known: Final[dict[tuple[str, str], str]] = {}

    def let(self, kind: str, expression: str) -> str:
        key = (kind, expression)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self.function.fresh("t")
            self.lines.append(f"const {kind} {found} = {expression};")
        return found


class CValue(ABC):
    """An array in the text.

    Attributes:
        shape, dtype: of the array.
        cost: about how many operations an element takes that is asked for.
        number: the branch that it stands for, where that is known while code is written.
    """

    cost = 0
    number: int | None = None

    def __init__(self, shape: Shape, dtype: Any) -> None:
        self.shape: Final = shape
        self.dtype: Final = np.dtype(dtype)
        self.kind: Final = c_type(self.dtype)

    @abstractmethod
    def at(self, body: InnerLoop, index: Sequence[str]) -> str:
        """The text of one element."""

    def mapped(self, shape: Shape, axes: Sequence[Axis]) -> CValue:
        """The array whose elements are this one's at an index for each of its axes."""
        return Lazy(shape, self.dtype,
                    lambda body, index: self.at(body, [a.at(index) for a in axes]), self.cost)


class Lazy(CValue):
    """An array that is nowhere: its elements are computed where they are used."""

    def __init__(
        self, shape: Shape, dtype: Any, element: Callable[[InnerLoop, Sequence[str]], str],
        cost: int
    ) -> None:
        super().__init__(shape, dtype)
        self._element: Final = element
        self.cost = cost

    def at(self, body: InnerLoop, index: Sequence[str]) -> str:
        return self._element(body, index)


class View(CValue):
    """An array in memory: ``name[offset + sum(index * strides)]``."""

    def __init__(
        self, shape: Shape, dtype: Any, name: str, offset: str, strides: Sequence[str]
    ) -> None:
        super().__init__(shape, dtype)
        self.name: Final = name
        self.offset: Final = offset
        self.strides: Final = tuple(strides)

    def at(self, body: InnerLoop, index: Sequence[str]) -> str:
        place = total([self.offset, *(product([i, s]) for i, s in zip(
            index, self.strides, strict=True))])
        return f"{self.name}[{place}]"

    def mapped(self, shape: Shape, axes: Sequence[Axis]) -> View:
        strides = ["0"] * len(shape)
        offset = [self.offset]
        for a, stride in zip(axes, self.strides, strict=True):
            offset.append(product([a.base, stride]))
            if a.axis is not None:
                strides[a.axis] = total([strides[a.axis], product([a.factor, stride])])
        return View(shape, self.dtype, self.name, total(offset), strides)


class CArray(View):
    """An array whose elements lie one after the other, in row-major order."""

    def __init__(self, shape: Shape, dtype: Any, name: str) -> None:
        strides: list[str] = []
        for k in range(len(shape)):
            strides.append(product(map(dim_text, shape[k + 1 :])))
        super().__init__(shape, dtype, name, "0", strides)

    def reshaped(self, shape: Shape) -> CArray:
        return CArray(shape, self.dtype, self.name)


class FunctionWriter(ABC):
    """Writes one C function.

    Attributes:
        lines: the statements.
        scratch: the arrays that are neither operands nor results so far, by name.
        work: multiplications of products, as the text of a sum.
    """

    def __init__(self) -> None:
        self.lines: Final[list[str]] = []
        self.scratch: Final[dict[str, CArray]] = {}
        self.work: Final[list[str]] = []
        #: the functions of the generator whose keys were met
        self.generator: Any = None
        self._count = 0
        self._held: Final[dict[int, tuple[CValue, CArray]]] = {}

    @abstractmethod
    def body(
        self, jaxpr: Any, consts: Sequence[Any], operands: Sequence[CValue]
    ) -> list[CValue]:
        """Write the steps of a traced function; its results."""

    @abstractmethod
    def inner(self, jaxpr: Any, consts: Sequence[Any], xs: Sequence[CValue]) -> list[CValue]:
        """The same of a function that a step has in its parameters."""

    def fresh(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def line(self, text: str) -> None:
        if len(self.lines) >= LONGEST:
            raise NoCode(f"more than {LONGEST} lines")
        self.lines.append(text)

    def buffer(self, shape: Shape, dtype: Any) -> CArray:
        found = CArray(shape, dtype, self.fresh("v"))
        self.scratch[found.name] = found
        return found

    def scalar(self, kind: str, expression: str) -> str:
        """A variable of the function's own."""
        name = self.fresh("s")
        self.line(f"const {kind} {name} = {expression};")
        return name

    def element(self, value: CValue, index: Sequence[str]) -> str:
        """The text of one element, whose statements are written here."""
        body = InnerLoop(self)
        text = value.at(body, index)
        for line in body.lines:
            self.line(line)
        return text

    def index(self, expression: str) -> str:
        """An index that is used more than once."""
        return expression if re.fullmatch(r"\w+", expression) else self.scalar("i64", expression)

    def loops(self, shape: Shape, write: Callable[[InnerLoop, list[str]], None]) -> None:
        """A nest of loops over an array; ``write`` writes what is done at an index."""
        index = self.open(shape)
        body = InnerLoop(self)
        write(body, index)
        for text in body.lines:
            self.line(text)
        self.close(shape)

    def open(self, shape: Shape) -> list[str]:
        index: list[str] = []
        for n in shape:
            if same(n, 1):
                index.append("0")
                continue
            name = self.fresh("j")
            self.line(f"for (i64 {name} = 0; {name} < {dim_text(n)}; {name}++) {{")
            index.append(name)
        if all(i == "0" for i in index):
            self.line("{")
        return index

    def close(self, shape: Shape) -> None:
        self.line("}" * max(1, sum(not same(n, 1) for n in shape)))

    def store(self, target: View, value: CValue) -> None:
        """Write a value's elements to memory."""

        def write(body: InnerLoop, index: list[str]) -> None:
            text = value.at(body, index)
            body.lines.append(f"{target.at(body, index)} = {text};")

        self.loops(value.shape, write)

    def held(self, value: CValue) -> CArray:
        """The value in memory, its elements one after the other."""
        if isinstance(value, CArray):
            return value
        known = self._held.get(id(value))
        if known is not None:
            return known[1]
        found = self.buffer(value.shape, value.dtype)
        self.store(found, value)
        self._held[id(value)] = (value, found)
        return found

    def viewed(self, value: CValue) -> View:
        """The value in memory, in whatever order."""
        return value if isinstance(value, View) else self.held(value)


def number_text(number: Any, dtype: Any) -> str:
    """A number in C."""
    d = np.dtype(dtype)
    value = np.asarray(number, d)[()]
    kind = c_type(d)
    if d.kind == "f":
        if np.isnan(value):
            return f"(({kind})NAN)"
        if np.isinf(value):
            return f"(({kind}){'-' if value < 0 else ''}INFINITY)"
        text = float(value).hex() + ("f" if d == np.float32 else "")
        return f"({text})" if text.startswith("-") else text
    whole = int(value)
    if whole == np.iinfo(np.int64).min:
        return "INT64_MIN"
    suffix = ("U" if d.kind == "u" else "") + ("L" if d.itemsize == 8 else "")
    return f"(({kind}){whole}{suffix})"


def constant(number: Any, dtype: Any, shape: Shape = ()) -> CValue:
    """An array whose elements are all that number."""
    text = number_text(number, dtype)
    return Lazy(shape, dtype, lambda body, index: text, 0)


def array(function: FunctionWriter, given: Any) -> CValue:
    """A constant array. Raises NoCode."""
    found = np.asarray(given)
    c_type(found.dtype)
    if found.size == 1 or found.size and (found == found.flat[0]).all() and not (
        found.dtype.kind == "f" and not found.flat[0]
    ):
        return constant(found.flat[0], found.dtype, found.shape)
    if found.size > CONSTANT or not found.size:
        raise NoCode(f"a constant of {found.size} elements")
    name = function.fresh("k")
    numbers = ", ".join(number_text(x, found.dtype) for x in found.flat)
    function.line(f"static const {c_type(found.dtype)} {name}[] = {{{numbers}}};")
    return CArray(found.shape, found.dtype, name)
