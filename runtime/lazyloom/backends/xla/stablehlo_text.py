"""StableHLO as JAX and :mod:`.assemble` write it: its functions, statements and types, read.

One statement stands on a line: its results, the step's name, operands and attributes, and behind
a colon the types. The statements of a region stand on lines of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

_STATEMENT: Final = re.compile(
    r'^( *)(%[\w$.-]+)(?::(\d+))? = (?:"?(?:stablehlo|chlo)\.(\w+)"?|(?:func\.)?(call) @([\w.$-]+))'
    r"(.*)$")
_NAME: Final = re.compile(r"%[\w$.-]+(?:#\d+)?")
_FUNCTION: Final = re.compile(r"^ *func\.func [^@]*@([\w.$-]+)\((.*)$")
_RETURN: Final = re.compile(r"^ *(?:func\.)?return (.*)$")
_PARAMETER: Final = re.compile(r"%arg\d+")
_NUMBER: Final = re.compile(r"x?(bf16|f16|f32|f64|complex<f32>|complex<f64>)>$")
_TENSOR: Final = re.compile(r"tensor<((?:\d+x)*)([^<>]*(?:<[^<>]*>)?[^<>]*)>")


class Statement(NamedTuple):
    """A statement.

    Attributes:
        line: the number of its line.
        names: of its results.
        kind: the step's name, without its dialect; "call" of a function's call.
        called: the function that is called, else "".
        operands: the names of values in it.
        type: of its result; of several, as they stand there.
        text: what comes behind the step's name.
    """

    line: int
    names: tuple[str, ...]
    kind: str
    called: str
    operands: tuple[str, ...]
    type: str
    text: str

    @property
    def types(self) -> tuple[str, ...]:
        """The types behind the colon: of operands and result, or one that all have."""
        return tuple([m[0] for m in _TENSOR.finditer(self.text.rpartition(" : ")[2])])

    def numbers(self, attribute: str) -> list[list[int]]:
        """The lists of numbers that are the value of an attribute; [] where it has none."""
        found = re.search(rf"\b{attribute} = (\[[\d, -]*\](?: x \[[\d, -]*\])*)", self.text)
        return [numbers_in(part) for part in found[1].split(" x ")] if found else []


class StableHloFunction(NamedTuple):
    """A function: its name, the names of its parameters, its statements, and what it returns."""

    name: str
    parameters: tuple[str, ...]
    statements: tuple[Statement, ...]
    results: tuple[str, ...]


def statement_of(line: str, number: int = 0) -> Statement | None:
    """The statement on a line; None where there is none that has a result."""
    found = _STATEMENT.match(line)
    if found is None:
        return None
    _, result, count, kind, call, called, rest = found.groups()
    names = tuple([f"{result}#{k}" for k in range(int(count))]) if count else (result,)
    given, _, types = rest.rpartition(" : ")
    given = given or rest
    type_ = types.rpartition("-> ")[2].strip()
    if kind == "select":  # that of its condition stands before
        type_ = type_.rpartition(", ")[2]
    return Statement(number, names, call or kind, called or "", tuple(_NAME.findall(given)), type_,
                     rest)


def functions(lines: Sequence[str]) -> Iterator[StableHloFunction]:
    """The functions of a module's text."""
    name = ""
    parameters: tuple[str, ...] = ()
    statements: list[Statement] = []
    for number, line in enumerate(lines):
        begun = _FUNCTION.match(line)
        if begun:
            name, statements = begun[1], []
            parameters = tuple(_PARAMETER.findall(begun[2].partition(") ->")[0]))
            continue
        returned = _RETURN.match(line)
        if returned and name:
            yield StableHloFunction(name, parameters, tuple(statements),
                           tuple(_NAME.findall(returned[1].partition(" : ")[0])))
            name = ""
            continue
        found = statement_of(line, number)
        if found is not None:
            statements.append(found)


def rewritten(
    text: str, kind: str, written: Callable[[str], Iterable[str] | None]
) -> str:
    """The text with what is written for each line that has a step of that kind.

    ``written`` takes the line and gives the ones in its place; None leaves it as it is.
    """
    step = f"stablehlo.{kind}"
    if step not in text:
        return text
    lines: list[str] = []
    for line in text.split("\n"):
        found = written(line) if step in line else None
        lines += [line] if found is None else found
    return "\n".join(lines)


def numbers_in(text: str) -> list[int]:
    """The integers of a list, which is empty for no dimensions."""
    return [int(n) for n in re.findall(r"-?\d+", text)]


def extents_of(type_: str) -> list[int]:
    """The extents of a tensor's type."""
    return [int(n) for n in re.findall(r"(\d+)x", type_.partition("complex")[0])]


def with_extents(type_: str, extents: Sequence[int]) -> str:
    """A tensor's type with other extents."""
    element = re.sub(r"^tensor<(\d+x)*", "", type_)
    return f"tensor<{''.join([f'{extent}x' for extent in extents])}{element}"


def fractional(type_: str) -> str:
    """The element type of a tensor's type, "" where it is none of numbers with a fraction."""
    found = _NUMBER.search(type_)
    return found[1] if found else ""
