"""Functions that XLA makes of others less exactly than 4 units in the last place, made otherwise.

The compiler of jaxlib 0.10 is 128 units off with ``log1p`` and ``atanh`` of float64 near -0.41, 24
and 495 with ``sinh`` and ``cosh`` of large float32 and float64, 6 with ``tanh`` of float64. It
halves x for ``asin``, which of the least numbers is zero, and gives in ``atan2`` an
angle of the other sign for a subnormal y, and none for two subnormal numbers. In a product of
complex numbers it adds one product of parts before that is rounded or has overflowed, so that
another one that has makes an infinity of what is not a number.

XLA computes what takes long (``divide``, ``log``, ``exponential``) once for all who use it, and the
rest once for each of them. So a function that may stand in a long chain depends on x through such a
step alone (``log1p``, ``atanh``, ``tanh``, ``cosh``): else a chain whose last value has two users
is computed from its beginning again at each of its steps.
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

    def either(self, a: str, b: str) -> str:
        return self._add(f"or {a}, {b} : {self._truth()}")

    def select(self, which: str, a: str, b: str) -> str:
        return self._add(f"select {which}, {a}, {b} : {self._truth()}, {self.type}")


def _log1p(w: _Writer, x: str, factor: str | None = None) -> str:
    """log(u) * (x / (u - 1)) with u = 1 + x, times a factor; Goldberg, What Every Computer
    Scientist, 1991."""
    one = w.number("1.0")
    u = w.of("add", x, one)
    least = w.compare("EQ", u, one)
    rounded = w.of("subtract", u, one)
    infinite = w.compare("EQ", rounded, w.number("0x7FF0000000000000"))
    divisor = w.select(w.either(least, infinite), one, rounded)
    # of e where that is x itself
    logarithm = w.of("log", w.select(least, w.number("2.718281828459045"), u))
    part = x if factor is None else w.of("multiply", x, factor)
    return w.of("multiply", logarithm, w.of("divide", part, divisor))


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
    return _log1p(w, ratio, w.of("multiply", w.of("sign", x), w.number("0.5")))


def _is_large(w: _Writer, size: str) -> str:
    """Whether exp(size) may be infinite though half of it is not."""
    return w.compare("GT", size, w.number("700.0" if w.double else "80.0"))


def _half_exponential(w: _Writer, size: str) -> str:
    """exp(size) / 2, where that is a number: of what is near the largest, from a half's square."""
    half, large = w.number("0.5"), _is_large(w, size)
    found = w.of("exponential", w.select(large, w.of("multiply", size, half), size))
    halved = w.of("multiply", found, half)
    return w.select(large, w.of("multiply", halved, found), halved)


def _cosh(w: _Writer, x: str) -> str:
    """Of exp(x) / 2: of what is near the largest, the product of two; of the rest, times exp(0)."""
    size, half = w.of("abs", x), w.number("0.5")
    large = _is_large(w, size)
    part = w.of("multiply", size, half)
    found = w.of("exponential", w.select(large, part, size))
    again = w.of("exponential", w.select(large, part, w.number("0.0")))
    half = w.of("multiply", w.of("multiply", found, half), again)
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


#: tanh(x) is about x P(x**2) / Q(x**2) below 1, by nine steps of its continued fraction
_TANH_P: Final = (1.0, 990.0, 135135.0, 4729725.0, 34459425.0)
_TANH_Q: Final = (45.0, 13860.0, 945945.0, 16216200.0, 34459425.0)


def _polynomial(w: _Writer, x: str, coefficients: tuple[float, ...]) -> str:
    found = w.number(repr(coefficients[0]))
    for c in coefficients[1:]:
        found = w.of("add", w.of("multiply", found, x), w.number(repr(c)))
    return found


def _tanh(w: _Writer, x: str) -> str:
    """A quotient of polynomials below 1, and of exponentials from there on."""
    size, one, square = w.of("abs", x), w.number("1.0"), w.of("multiply", x, x)
    limited = w.of("minimum", size, w.number("22.0"))
    power = w.of("exponential", w.of("add", limited, limited))
    far = w.of("multiply", w.of("subtract", power, one), w.of("sign", x))
    small = w.compare("LT", size, one)
    return w.of(
        "divide", w.select(small, w.of("multiply", x, _polynomial(w, square, _TANH_P)), far),
        w.select(small, _polynomial(w, square, _TANH_Q), w.of("add", power, one)))


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
