"""A reader of StableHLO as JAX and :mod:`.assemble` write it: its functions, statements and types.

A line holds one statement: its results, the step's name, operands and attributes, and after
a colon the types. The statements of a region are on lines of their own.
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
        names: the names of its results.
        kind: the step's name, without its dialect; "call" for a function call.
        called: the function that is called, else "".
        operands: the names of values in it.
        type: the type of its result; for several, the types as written.
        text: the text after the step's name.
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
        """The types after the colon: of operands and result, or one that all have."""
        return tuple([m[0] for m in _TENSOR.finditer(self.text.rpartition(" : ")[2])])

    def numbers(self, attribute: str) -> list[list[int]]:
        """Return the lists of numbers that are an attribute's value; [] without the attribute."""
        match = re.search(rf"\b{attribute} = (\[[\d, -]*\](?: x \[[\d, -]*\])*)", self.text)
        return [numbers_in(part) for part in match[1].split(" x ")] if match else []


class StableHloFunction(NamedTuple):
    """A function: its name, the names of its parameters, its statements, and its results."""

    name: str
    parameters: tuple[str, ...]
    statements: tuple[Statement, ...]
    results: tuple[str, ...]


def statement_of(line: str, number: int = 0) -> Statement | None:
    """Return the statement on a line; None if there is none that has a result."""
    match = _STATEMENT.match(line)
    if match is None:
        return None
    _, result, count, kind, call, called, rest = match.groups()
    names = tuple([f"{result}#{k}" for k in range(int(count))]) if count else (result,)
    head, _, types = rest.rpartition(" : ")
    head = head or rest
    type_ = types.rpartition("-> ")[2].strip()
    if kind == "select":  # the type of its condition comes first
        type_ = type_.rpartition(", ")[2]
    return Statement(number, names, call or kind, called or "", tuple(_NAME.findall(head)), type_,
                     rest)


def functions(lines: Sequence[str]) -> Iterator[StableHloFunction]:
    """Yield the functions of a module's text."""
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
        statement = statement_of(line, number)
        if statement is not None:
            statements.append(statement)


def rewritten(
    text: str, kind: str, written: Callable[[str], Iterable[str] | None]
) -> str:
    """Return the text with each line that has a step of a kind rewritten.

    ``written`` takes the line and returns the lines that replace it; None leaves it as it is.
    """
    step = f"stablehlo.{kind}"
    if step not in text:
        return text
    lines: list[str] = []
    for line in text.split("\n"):
        replacement = written(line) if step in line else None
        lines += [line] if replacement is None else replacement
    return "\n".join(lines)


def numbers_in(text: str) -> list[int]:
    """Return the integers of a list, which is empty for no dimensions."""
    return [int(n) for n in re.findall(r"-?\d+", text)]


def extents_of(type_: str) -> list[int]:
    """Return the extents of a tensor's type."""
    return [int(n) for n in re.findall(r"(\d+)x", type_.partition("complex")[0])]


def with_extents(type_: str, extents: Sequence[int]) -> str:
    """Return a tensor's type with other extents."""
    element = re.sub(r"^tensor<(\d+x)*", "", type_)
    return f"tensor<{''.join([f'{extent}x' for extent in extents])}{element}"


def fractional(type_: str) -> str:
    """Return the element type of a tensor's type, "" if its elements are no fractional numbers."""
    match = _NUMBER.search(type_)
    return match[1] if match else ""
