"""Functions that XLA makes of others less exactly than 4 units in the last place, made otherwise.

The compiler of jaxlib 0.10 is 128 units off with ``log1p`` and ``atanh`` of float64 near -0.41.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

_STATEMENT: Final = re.compile(
    r"^ *(%(\w+)) = (?:stablehlo|chlo)\.(log_plus_one|atanh) (%\w+(?:#\d+)?) : "
    r"(tensor<[0-9x]*f64>)(?: -> \S+)?$")


class _Writer:
    """Statements on numbers of one type, with names of their own."""

    def __init__(self, prefix: str, type_: str) -> None:
        self.prefix: Final = prefix
        self.type: Final = type_
        self.lines: Final[list[str]] = []

    def _add(self, text: str) -> str:
        name = f"%{self.prefix}_{len(self.lines)}"
        self.lines.append(f"    {name} = stablehlo.{text}")
        return name

    def number(self, value: str) -> str:
        return self._add(f"constant dense<{value}> : {self.type}")

    def of(self, step: str, *operands: str) -> str:
        return self._add(f"{step} {', '.join(operands)} : {self.type}")

    def _truth(self) -> str:
        return self.type.replace("f64>", "i1>")

    def compare(self, how: str, a: str, b: str) -> str:
        return self._add(f"compare {how}, {a}, {b}, FLOAT : ({self.type}, {self.type}) -> "
                         f"{self._truth()}")

    def both(self, a: str, b: str) -> str:
        return self._add(f"and {a}, {b} : {self._truth()}")

    def select(self, which: str, a: str, b: str) -> str:
        return self._add(f"select {which}, {a}, {b} : {self._truth()}, {self.type}")


def _log1p(w: _Writer, x: str) -> str:
    """log(u) and what u = 1 + x was rounded by; Goldberg, What Every Computer Scientist, 1991."""
    one, zero = w.number("1.0"), w.number("0.0")
    u = w.of("add", x, one)
    rest = w.of("subtract", x, w.of("subtract", u, one))
    # from there on it is nothing, or there is no such number
    there = w.both(w.compare("LT", x, w.number("1.0e30")), w.compare("GT", x, w.number("-1.0")))
    correction = w.select(there, w.of("divide", rest, u), zero)
    found = w.of("add", w.of("log", u), correction)
    return w.select(w.compare("EQ", u, one), rest, found)


def _atanh(w: _Writer, x: str) -> str:
    """Half of log1p(2 |x| / (1 - |x|)), with the sign of x."""
    size = w.of("abs", x)
    ratio = w.of("divide", w.of("add", size, size), w.of("subtract", w.number("1.0"), size))
    half = w.of("multiply", _log1p(w, ratio), w.number("0.5"))
    return w.of("multiply", half, w.of("sign", x))


_EXPANSIONS: Final[dict[str, Callable[[_Writer, str], str]]] = {
    "log_plus_one": _log1p, "atanh": _atanh}


def expanded(text: str) -> str:
    """The functions of an op with these steps written out."""
    return "\n".join(_lines(text))


def _lines(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        found = _STATEMENT.match(line)
        if found is None:
            yield line
            continue
        result, name, step, x, type_ = found.groups()
        w = _Writer(f"own{name}", type_)
        value = _EXPANSIONS[step](w, x)
        yield from w.lines[:-1]
        # the last one is the result
        yield w.lines[-1].replace(f"{value} =", f"{result} =", 1)
