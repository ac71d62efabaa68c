"""Functions that XLA makes of others less exactly than 4 units in the last place, made otherwise.

The compiler of jaxlib 0.10 is 128 units off with ``log1p`` and ``atanh`` of float64 near -0.41, 24
and 495 with ``sinh`` and ``cosh`` of large float32 and float64, 6 with ``tanh`` of float64. It
halves x for ``asin``, which of the least numbers is zero, and gives in ``atan2`` an
angle of the other sign for a subnormal y, and none for two subnormal numbers. In a product of
complex numbers it adds one product of parts before that is rounded or has overflowed, so that
another one that has makes an infinity of what is not a number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from .kept_values import unknown_zero

_STATEMENT: Final = re.compile(
    r"^ *(%(\w+)) = (?:stablehlo|chlo)\.(log_plus_one|asin|atanh|sinh|cosh|tanh) (%\w+(?:#\d+)?) : "
    r"(tensor<[0-9x]*(f32|f64)>)(?: -> \S+)?$")
_ATAN2: Final = re.compile(
    r"^ *(%(\w+)) = stablehlo\.atan2 (%\w+(?:#\d+)?), (%\w+(?:#\d+)?) : "
    r"(tensor<[0-9x]*f(?:32|64)>)$")
_PRODUCT: Final = re.compile(
    r"^ *(%(\w+)) = (?:stablehlo\.multiply (%\w+(?:#\d+)?), (%\w+(?:#\d+)?)|"
    r"chlo\.square (%\w+(?:#\d+)?)) : (tensor<([0-9x]*)complex<(f32|f64)>>)(?: -> \S+)?$")


class _Writer:
    """Statements on numbers of one type, with names of their own."""

    def __init__(self, prefix: str, type_: str) -> None:
        self.prefix: Final = prefix
        self.type: Final = type_
        self.double: Final = type_.endswith("f64>")
        self.lines: Final[list[str]] = []

    def _add(self, text: str) -> str:
        name = f"%{self.prefix}_{len(self.lines)}"
        self.lines.append(f"    {name} = stablehlo.{text}")
        return name

    def part(self, name: str, x: str, complex_type: str) -> str:
        return self._add(f"{name} {x} : ({complex_type}) -> {self.type}")

    def joined(self, real: str, imag: str, complex_type: str) -> str:
        return self._add(f"complex {real}, {imag} : {complex_type}")

    def unknown_zero(self) -> str:
        """A -0.0 that the compiler does not know."""
        name = f"%{self.prefix}_{len(self.lines)}"
        self.lines.extend(unknown_zero(name, self.type))
        return name

    def number(self, value: str) -> str:
        return self._add(f"constant dense<{value}> : {self.type}")

    def of(self, step: str, *operands: str) -> str:
        return self._add(f"{step} {', '.join(operands)} : {self.type}")

    def _truth(self) -> str:
        return self.type[: -len("f64>")] + "i1>"

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


def _asin(w: _Writer, x: str) -> str:
    """The angle at the leg x of a triangle whose hypotenuse is 1."""
    one = w.number("1.0")
    other = w.of("multiply", w.of("subtract", one, x), w.of("add", one, x))
    return w.of("atan2", x, w.of("sqrt", other))


def _flushed(w: _Writer, x: str) -> str:
    """x, or a zero of its sign where it is subnormal."""
    least = w.number("2.2250738585072014e-308" if w.double else "1.1754943508222875e-38")
    small = w.compare("LT", w.of("abs", x), least)
    return w.select(small, w.of("multiply", x, w.number("0.0")), x)


def _atan2(w: _Writer, y: str, x: str) -> str:
    """Of zeros in the place of subnormal numbers, which XLA takes for them in some steps alone."""
    return w.of("atan2", _flushed(w, y), _flushed(w, x))


def _complex_product(w: _Writer, x: str, y: str, type_: str) -> str:
    """Of four products of parts, each of which is rounded before it is added."""
    zero = w.unknown_zero()
    a, b, c, d = [w.part(name, z, type_) for z in (x, y) for name in ("real", "imag")]

    def product(p: str, q: str) -> str:
        return w.of("add", w.of("optimization_barrier", w.of("multiply", p, q)), zero)

    real = w.of("subtract", product(a, c), product(b, d))
    return w.joined(real, w.of("add", product(a, d), product(b, c)), type_)


def _atanh(w: _Writer, x: str) -> str:
    """Half of log1p(2 |x| / (1 - |x|)), with the sign of x."""
    size = w.of("abs", x)
    ratio = w.of("divide", w.of("add", size, size), w.of("subtract", w.number("1.0"), size))
    half = w.of("multiply", _log1p(w, ratio), w.number("0.5"))
    return w.of("multiply", half, w.of("sign", x))


def _half_exponential(w: _Writer, size: str) -> str:
    """exp(size) / 2, where that is a number: of what is near the largest, from a half's square."""
    half = w.number("0.5")
    large = w.compare("GT", size, w.number("700.0" if w.double else "80.0"))
    found = w.of("exponential", w.select(large, w.of("multiply", size, half), size))
    halved = w.of("multiply", found, half)
    return w.select(large, w.of("multiply", halved, found), halved)


def _cosh(w: _Writer, x: str) -> str:
    half = _half_exponential(w, w.of("abs", x))
    return w.of("add", half, w.of("divide", w.number("0.25"), half))


def _sinh(w: _Writer, x: str) -> str:
    """Below 1 its series, from there on of exponentials."""
    size, one = w.of("abs", x), w.number("1.0")
    half = _half_exponential(w, size)
    far = w.of("subtract", half, w.of("divide", w.number("0.25"), half))
    square, near = w.of("multiply", x, x), one
    for n in range(18 if w.double else 10, 0, -2):
        part = w.of("multiply", square, w.number(repr(1 / (n * (n + 1)))))
        near = w.of("add", w.of("multiply", part, near), one)
    return w.select(w.compare("LT", size, one), w.of("multiply", x, near),
                    w.of("multiply", far, w.of("sign", x)))


def _tanh(w: _Writer, x: str) -> str:
    """XLA's below 1, and from there on what is missing to 1."""
    size, one = w.of("abs", x), w.number("1.0")
    power = w.of("exponential", w.of("add", size, size))
    missing = w.of("divide", w.number("2.0"), w.of("add", power, one))
    far = w.of("multiply", w.of("subtract", one, missing), w.of("sign", x))
    return w.select(w.compare("LT", size, one), w.of("tanh", x), far)


#: of each step, what it is made of, and whether of float32, too
_EXPANSIONS: Final[dict[str, tuple[Callable[[_Writer, str], str], bool]]] = {
    "log_plus_one": (_log1p, False), "atanh": (_atanh, False), "tanh": (_tanh, False),
    "asin": (_asin, True), "sinh": (_sinh, True), "cosh": (_cosh, True),
}  # fmt: skip


def expanded(text: str) -> str:
    """The functions of an op with these steps written out, but in regions, which XLA knows so."""
    return "\n".join(_lines(text))


def _lines(text: str) -> Iterator[str]:
    region = False
    for line in text.split("\n"):
        region = (region or "^bb0(" in line) and "stablehlo.return" not in line
        if region:
            yield line
            continue
        of_two = _ATAN2.match(line)
        if of_two is not None:
            result, name, y, x, type_ = of_two.groups()
            w = _Writer(f"own{name}", type_)
            yield from _ending(w, _atan2(w, y, x), result)
            continue
        of_parts = _PRODUCT.match(line)
        if of_parts is not None:
            result, name, x, y, base, type_, extents, element = of_parts.groups()
            w = _Writer(f"own{name}", f"tensor<{extents}{element}>")
            yield from _ending(w, _complex_product(w, x or base, y or base, type_), result)
            continue
        found = _STATEMENT.match(line)
        make, single = _EXPANSIONS[found[3]] if found else (None, False)
        if found is None or make is None or not (single or found[6] == "f64"):
            yield line
            continue
        result, name, _, x, type_, _ = found.groups()
        w = _Writer(f"own{name}", type_)
        yield from _ending(w, make(w, x), result)


def _ending(w: _Writer, value: str, result: str) -> Iterator[str]:
    """The statements, of which the last one makes the result."""
    yield from w.lines[:-1]
    yield w.lines[-1].replace(f"{value} =", f"{result} =", 1)
