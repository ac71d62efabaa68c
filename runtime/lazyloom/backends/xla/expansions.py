"""Expansions of elementwise functions that XLA computes with an error over 4 ulp.

The compiler of jaxlib 0.10 is 128 units off with ``log1p`` and ``atanh`` of float64 near -0.41, 24
and 495 with ``sinh`` and ``cosh`` of large float32 and float64, 6 with ``tanh`` and 490 with
``erfc`` of float64, 64 and 500,000 with ``erf_inv`` of float32 and float64. It halves x for
``asin``, which of the least numbers is zero, and gives in ``atan2`` an angle of the other sign for
a subnormal y, and none for two subnormal numbers. In a product of complex numbers it adds one
product of parts before that is rounded or has overflowed, so that another one that has makes an
infinity of what is not a number.

Subnormal numbers are zeros, but not to integers made of their bits: XLA's ``power`` and ``cbrt``
make garbage of them, C's ``logf``, which it calls for a few float32 values, their logarithm, and
LLVM compares with 0 by the bits what was bfloat16, and where the same number is asked whether it is
infinite (``x == 0 or isinf(x)`` is one instruction that looks at the class). The logarithm of a
complex number has an angle, which two subnormal parts have not. These steps get their operand with
a -0.0 added that the compiler does not know, which makes zeros of them; so does what C's ``fmod``
gives, which knows no mode of the processor.

A mean that an op takes off gets that -0.0, too, so that it is rounded once: XLA multiplies the sum
by 1/n, and LLVM takes the product off rounded in one loop and unrounded in the next, so that the
two loops would have different numbers.

XLA computes what takes long (``divide``, ``log``, ``exponential``) once for all who use it, and the
rest once for each of them. So a function that may stand in a long chain depends on x through such a
step alone (``log1p``, ``atanh``, ``tanh``, ``cosh``): else a chain whose last value has two users
is computed from its beginning again at each of its steps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from ...host import error_functions
from .kept_values import unknown_zero
from .stablehlo_text import extents_of

_STATEMENT: Final = re.compile(
    r"^ *(%(\w+)) = (?:stablehlo|chlo)\.(\w+) (%\w+(?:#\d+)?) : "
    r"tensor<([0-9x]*)(bf16|f32|f64)>(?: -> \S+)?$")
_OF_TWO: Final = re.compile(
    r"^ *(%(\w+)) = stablehlo\.(atan2|power|remainder) (%\w+(?:#\d+)?), (%\w+(?:#\d+)?) : "
    r"tensor<([0-9x]*)(bf16|f32|f64)>$")
_COMPLEX: Final = re.compile(
    r"^ *(%(\w+)) = stablehlo\.(\w+) (%\w+(?:#\d+)?) : "
    r"(tensor<[0-9x]*complex<(?:f32|f64)>>)$")
_WIDENED: Final = re.compile(
    r"^ *(%\w+) = stablehlo\.convert %\w+(?:#\d+)? : "
    r"\(tensor<[0-9x]*bf16>\) -> tensor<[0-9x]*f32>$")
_COMPARED: Final = re.compile(
    r"^ *(%(\w+)) = stablehlo\.compare (\w+), (%\w+(?:#\d+)?), (%\w+(?:#\d+)?), *FLOAT : "
    r"\((tensor<([0-9x]*)(bf16|f32|f64)>), \S+\) -> (\S+)$")
_IS_FINITE: Final = re.compile(
    r"^ *(%(\w+)) = stablehlo\.is_finite (%\w+(?:#\d+)?) : "
    r"\(tensor<([0-9x]*)(f32|f64)>\) -> \S+$")
_INFINITY: Final = re.compile(
    r"^ *(%\w+) = stablehlo\.constant dense<0x[7F]F[8F]0+> : tensor<[0-9x]*f(?:32|64)>$")
_ZERO_OF_BFLOAT16: Final = re.compile(
    r"^ *(%\w+) = stablehlo\.constant dense<0\.0+e\+00> : tensor<bf16>$")
_IS_ZERO: Final = re.compile(
    r"^( *)(%\w+) = stablehlo\.compare EQ, (%\w+), (%\w+), FLOAT : "
    r"(\(tensor<bf16>, tensor<bf16>\) -> tensor<i1>)$")
_SPREAD: Final = re.compile(r"^ *(%\w+) = stablehlo\.broadcast_in_dim (%\w+), ")
_TRUTH: Final = re.compile(
    r"^ *(%(\w+)) = stablehlo\.convert (%\w+(?:#\d+)?) : "
    r"\((tensor<([0-9x]*)(bf16|f32)>)\) -> (tensor<[0-9x]*i1>)$")
_REDUCE: Final = re.compile(
    r"^ *(%(\w+)) = (stablehlo\.reduce\(.* : \((tensor<[^,>]*>), tensor<[^,>]*>\) -> "
    r"(tensor<[0-9x]*(?:f32|f64)>))$")
_SUM: Final = re.compile(
    r"^ *(%\w+) = stablehlo\.(?:reduce\(.*applies stablehlo\.add |"
    r"(?:broadcast_in_dim|reshape|convert) (%\w+)\b)")
_MEAN: Final = re.compile(
    r"^ *(%(\w+)) = stablehlo\.divide (%\w+), (%\w+) : (tensor<[0-9x]*(?:f32|f64)>)$")
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
        self._zero: str = ""

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
        if not self._zero:
            self._zero = f"%{self.prefix}_{len(self.lines)}"
            self.lines.extend(unknown_zero(self._zero, self.type))
        return self._zero

    def plus_unknown_zero(self, x: str) -> str:
        """x, or a zero of its sign where it is subnormal.

        Behind a barrier: an x that is known to be 0.0 the simplifier takes for the -0.0.
        """
        return self.of("add", self.of("optimization_barrier", x), self.unknown_zero())

    def converted(self, x: str, before: str, after: str) -> str:
        return self._add(f"convert {x} : ({before}) -> {after}")

    def number(self, value: str) -> str:
        return self._add(f"constant dense<{value}> : {self.type}")

    def of(self, step: str, *operands: str) -> str:
        return self._add(f"{step} {', '.join(operands)} : {self.type}")

    def of_one(self, step: str, x: str) -> str:
        if step != "atan":
            return self.of(step, x)
        name = f"%{self.prefix}_{len(self.lines)}"
        self.lines.append(f"    {name} = chlo.{step} {x} : {self.type} -> {self.type}")
        return name

    def _truth(self) -> str:
        return self.type[: -len("f64>")] + "i1>"

    def compare(self, how: str, a: str, b: str) -> str:
        return self._add(f"compare {how}, {a}, {b}, FLOAT : ({self.type}, {self.type}) -> "
                         f"{self._truth()}")

    def is_finite(self, x: str) -> str:
        return self._add(f"is_finite {x} : ({self.type}) -> {self._truth()}")

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


def _power(w: _Writer, x: str, y: str) -> str:
    """Of zeros in the place of subnormal numbers."""
    return w.of("power", w.plus_unknown_zero(x), w.plus_unknown_zero(y))


def _remainder(w: _Writer, x: str, y: str) -> str:
    """By a zero in the place of a subnormal number, and such a zero itself: C's has neither."""
    return w.plus_unknown_zero(w.of("remainder", x, w.plus_unknown_zero(y)))


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


def _erfc(w: _Writer, x: str) -> str:
    """exp(-x * x) C(t) / (1 + 2 x), by :mod:`.error_functions`; XLA rounds x * x.

    x is a number whose square is exact, and a rest, of whose exponential three terms are enough.
    """
    single = w.type.replace("f64>", "f32>")
    one, two, three = w.number("1.0"), w.number("2.0"), w.number("3.0")
    size = w.of("minimum", w.of("abs", x), w.number("27.0"))
    t = w.of("divide", w.of("subtract", size, three), w.of("add", size, three))
    short = w.converted(w.converted(size, w.type, single), single, w.type)
    power = w.of("exponential", w.of("negate", w.of("multiply", short, short)))
    rest = w.of("multiply", w.of("subtract", short, size), w.of("add", short, size))
    more = w.of("multiply", rest, w.of("add", w.number("0.5"), w.of(
        "multiply", w.number("0.16666666666666666"), rest)))
    power = w.of("multiply", power, w.of("add", one, w.of(
        "multiply", rest, w.of("add", one, more))))
    # even and odd powers apart: two chains of steps, neither of which waits for the other
    square, c = w.of("multiply", t, t), error_functions.COMPLEMENT
    series = w.of("add", w.of("multiply", _polynomial(w, square, c[::2]), t),
                  _polynomial(w, square, c[1::2]))
    found = w.of("divide", w.of("multiply", power, series),
                 w.of("add", one, w.of("add", size, size)))
    return w.select(w.compare("LT", x, w.number("0.0")), w.of("subtract", two, found), found)


def _erf_inv(w: _Writer, x: str) -> str:
    """x P(w), by :mod:`.error_functions`; XLA's w is the logarithm of a number that was rounded."""
    one = w.number("1.0")
    size = w.of("negate", w.of("log", w.of(
        "multiply", w.of("subtract", one, x), w.of("add", one, x))))
    root = w.of("sqrt", size)
    if w.double:
        near, between = w.compare("LT", size, w.number("6.25")), w.compare(
            "LT", size, w.number("16.0"))
        centre = w.select(between, w.number("3.25"), w.number("5.05"))
        at = w.select(near, w.of("subtract", size, w.number("3.125")),
                      w.of("subtract", root, centre))
    else:
        near = w.compare("LT", size, w.number("5.0"))
        at = w.select(near, w.of("subtract", size, w.number("2.5")),
                      w.of("subtract", root, w.number("3.0")))
    found = ""
    for numbers in zip(*(error_functions.INVERSE_DOUBLE if w.double
                          else error_functions.INVERSE_SINGLE), strict=True):
        a, *rest = [w.number(repr(c)) for c in numbers]
        c = w.select(near, a, w.select(between, *rest) if w.double else rest[0])
        found = w.of("add", w.of("multiply", found, at), c) if found else c
    infinity = w.number("0x7FF0000000000000" if w.double else "0x7F800000")
    ends = w.compare("EQ", w.of("abs", x), one)
    return w.of("multiply", x, w.select(ends, infinity, found))


#: of each step, what it is made of, and whether of float32, too
_EXPANSIONS: Final[dict[str, tuple[Callable[[_Writer, str], str], bool]]] = {
    "log_plus_one": (_log1p, False), "atanh": (_atanh, False), "tanh": (_tanh, False),
    "asin": (_asin, True), "sinh": (_sinh, True), "cosh": (_cosh, True),
    "erfc": (_erfc, False), "erf_inv": (_erf_inv, True),
}  # fmt: skip

_OF_TWO_NUMBERS: Final = {"atan2": _atan2, "power": _power, "remainder": _remainder}

#: what would make a subnormal number of one, or worse: of float32 and bfloat16, and of float64
_FLUSHED: Final = frozenset((
    "log", "log_plus_one", "cbrt", "sine", "tan", "tanh", "asin", "atan", "exponential_minus_one"))
_FLUSHED_DOUBLE: Final = frozenset((
    "log_plus_one", "sine", "tan", "asin", "atan", "exponential_minus_one"))

#: of complex numbers, of whose parts XLA makes an angle
_FLUSHED_COMPLEX: Final = frozenset(("log", "log_plus_one"))


def expanded(text: str) -> str:
    """The functions of an op with these steps written out.

    Not in regions, which XLA knows as they are, but for the zeros of bfloat16 in a sort.
    """
    return "\n".join(_lines(text))


def _lines(text: str) -> Iterator[str]:
    region = False
    zeros: set[str] = set()
    #: float32 that was bfloat16
    widened: set[str] = set()
    infinite: set[str] = set()
    sums: set[str] = set()
    takes_off = "stablehlo.subtract" in text
    for line in text.split("\n"):
        if "func.func" in line:
            widened.clear()
            infinite.clear()
            sums.clear()
        region = (region or "^bb0(" in line) and "stablehlo.return" not in line
        if region:
            yield _in_region(line, zeros)
            continue
        was_narrow = _WIDENED.match(line)
        if was_narrow is not None:
            widened.add(was_narrow[1])
        infinity, spread = _INFINITY.match(line), _SPREAD.match(line)
        if infinity is not None:
            infinite.add(infinity[1])
        elif spread is not None and spread[2] in infinite:
            infinite.add(spread[1])
        summed = _SUM.match(line) if takes_off else None
        if summed is not None and (summed[2] is None or summed[2] in sums):
            sums.add(summed[1])
        mean = _MEAN.match(line) if sums else None
        if mean is not None and mean[3] in sums:
            result, name, x, y, type_ = mean.groups()
            w = _Writer(f"own{name}", type_)
            yield from _ending(w, w.plus_unknown_zero(w.of("divide", x, y)), result)
            continue
        known_bits = _is_finite(line) or _known_bits(line, widened, infinite)
        if known_bits:
            yield from known_bits
            continue
        of_two = _OF_TWO.match(line)
        if of_two is not None:
            yield from _of_two(*of_two.groups())
            continue
        of_nothing = _REDUCE.match(line)
        if of_nothing is not None and 0 in extents_of(of_nothing[4]):
            yield from _of_nothing(*of_nothing.groups())
            continue
        of_parts = _PRODUCT.match(line)
        if of_parts is not None:
            result, name, x, y, base, type_, extents, element = of_parts.groups()
            w = _Writer(f"own{name}", f"tensor<{extents}{element}>")
            yield from _ending(w, _complex_product(w, x or base, y or base, type_), result)
            continue
        of_complex = _COMPLEX.match(line)
        if of_complex is not None and of_complex[3] in _FLUSHED_COMPLEX:
            result, name, step, x, type_ = of_complex.groups()
            w = _Writer(f"own{name}", type_)
            yield from _ending(w, w.of(step, w.plus_unknown_zero(x)), result)
            continue
        found = _STATEMENT.match(line)
        own = _of_one(*found.groups()) if found is not None else []
        yield from own or [line]


def _in_region(line: str, zeros: set[str]) -> str:
    """A statement of a region; bfloat16 is asked for zero so that LLVM may look at its bits.

    As a sort asks, before it compares the bits itself.
    """
    constant = _ZERO_OF_BFLOAT16.match(line)
    if constant is not None:
        zeros.add(constant[1])
    asked = _IS_ZERO.match(line)
    if asked is None or asked[4] not in zeros:
        return line
    indent, result, x, _, types = asked.groups()
    own = f"%own{result[1:]}"
    return "\n".join((
        f"{indent}{own}_size = stablehlo.abs {x} : tensor<bf16>",
        f"{indent}{own}_least = stablehlo.constant dense<0x0080> : tensor<bf16>",
        f"{indent}{result} = stablehlo.compare LT, {own}_size, {own}_least, FLOAT : {types}"))


def _of_one(
    result: str, name: str, step: str, x: str, extents: str, element: str
) -> list[str]:
    """A function with an expansion, or one that takes no subnormal numbers; [] of others.

    Of bfloat16 as XLA computes it, in float32.
    """
    make, single = _EXPANSIONS.get(step, (None, False))
    if not single and element != "f64":
        make = None
    flushed = step in (_FLUSHED_DOUBLE if element == "f64" else _FLUSHED)
    if not flushed and (make is None or element == "bf16"):
        return []
    kept = f"tensor<{extents}{element}>"
    type_ = f"tensor<{extents}f32>" if element == "bf16" else kept
    w = _Writer(f"own{name}", type_)
    if element == "bf16":
        x = w.converted(x, kept, type_)
    if flushed:
        x = w.plus_unknown_zero(x)
    found = w.of_one(step, x) if make is None else make(w, x)
    if element == "bf16":
        found = w.converted(found, type_, kept)
    return list(_ending(w, found, result))


def _of_two(
    result: str, name: str, step: str, x: str, y: str, extents: str, element: str
) -> Iterator[str]:
    """One of :data:`_OF_TWO_NUMBERS`; of bfloat16 as XLA computes it, in float32."""
    make = _OF_TWO_NUMBERS[step]
    if element != "bf16":
        w = _Writer(f"own{name}", f"tensor<{extents}{element}>")
        yield from _ending(w, make(w, x, y), result)
        return
    narrow, wide = f"tensor<{extents}bf16>", f"tensor<{extents}f32>"
    w = _Writer(f"own{name}", wide)
    found = make(w, w.converted(x, narrow, wide), w.converted(y, narrow, wide))
    yield from _ending(w, w.converted(found, wide, narrow), result)


def _of_nothing(result: str, name: str, reduction: str, _: str, type_: str) -> Iterator[str]:
    """What is left of no elements, a number that the compiler does not know.

    Of one that it does, as 0 / 0 in a mean of nothing, LLVM makes a NaN while it compiles, and of
    that an exponential is any number.
    """
    w = _Writer(f"own{name}", type_)
    w.lines.append(f"    %own{name}_r = {reduction}")
    yield from _ending(w, w.plus_unknown_zero(f"%own{name}_r"), result)


def _is_finite(line: str) -> list[str]:
    """Whether a number is finite, asked of another value than what is compared with 0."""
    found = _IS_FINITE.match(line)
    if found is None:
        return []
    result, name, x, extents, element = found.groups()
    w = _Writer(f"own{name}", f"tensor<{extents}{element}>")
    return list(_ending(w, w.is_finite(w.plus_unknown_zero(x)), result))


def _known_bits(line: str, widened: set[str], infinite: set[str]) -> list[str]:
    """A comparison, if it is of what was bfloat16, or with infinity.

    LLVM may make one by the bits, with 0 as well, of what is the same value.
    """
    compared, truth = _COMPARED.match(line), _TRUTH.match(line)
    if compared is not None:
        result, name, how, x, y, type_, extents, element, truths = compared.groups()
    elif truth is not None:
        result, name, x, type_, extents, element, truths = truth.groups()
        y = ""
    else:
        return []
    of_narrow = element == "bf16" or element == "f32" and (x in widened or y in widened)
    if not of_narrow and x not in infinite and y not in infinite:
        return []
    wide = f"tensor<{extents}{'f64' if element == 'f64' else 'f32'}>"
    w = _Writer(f"own{name}", wide)
    operands = [w.converted(z, type_, wide) if element == "bf16" else z for z in (x, y) if z]
    operands = [z if z in infinite else w.plus_unknown_zero(z) for z in operands]
    if len(operands) == 1:
        found = w.converted(operands[0], wide, truths)
    else:
        found = w.compare(how, *operands)
    return list(_ending(w, found, result))


def _ending(w: _Writer, value: str, result: str) -> Iterator[str]:
    """The statements, of which the last one makes the result."""
    yield from w.lines[:-1]
    yield w.lines[-1].replace(f"{value} =", f"{result} =", 1)
