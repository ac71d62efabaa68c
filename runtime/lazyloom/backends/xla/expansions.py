"""Expansions of elementwise functions that XLA computes with an error over 4 ulp.

The compiler of jaxlib 0.10 is off by 128 units for ``log1p`` and ``atanh`` of float64 near -0.41,
by 24 and 495 for ``sinh`` and ``cosh`` of large float32 and float64, by 6 for ``tanh`` and 490 for
``erfc`` of float64, by 64 and 500,000 for ``erf_inv`` of float32 and float64. It halves x for
``asin``, which makes the smallest numbers zero, and gives in ``atan2`` an angle of the other sign
for a subnormal y, and none for two subnormal numbers. In a product of complex numbers it adds one
product of parts before that is rounded or has overflowed; if the other one has overflowed, the
result is infinite instead of NaN.

Subnormal numbers are zeros, but not where their bits are used as integers: XLA's ``power`` and
``cbrt`` turn them into garbage, C's ``logf``, which it calls for a few float32 values, takes their
logarithm, and LLVM compares with 0 by the bits what was bfloat16, and also where the same number is
tested for infinity (``x == 0 or isinf(x)`` is one instruction that tests the class). The logarithm
of a complex number has an angle, which two subnormal parts lack. These steps get their operand plus
a -0.0 that the compiler does not know, which turns subnormal numbers into zeros; so does the result
of C's ``fmod``, which ignores the processor's mode.

A mean that an op subtracts gets that -0.0, too, so that it is rounded once: XLA multiplies the sum
by 1/n, and LLVM subtracts the product rounded in one loop and unrounded in the next, so that the
two loops would have different numbers.

XLA computes expensive steps (``divide``, ``log``, ``exponential``) once for all users, and the
others once for each user. So a function that may be part of a long chain depends on x only through
such a step (``log1p``, ``atanh``, ``tanh``, ``cosh``): otherwise a chain whose last value has two
users is computed again from its beginning at each of its steps.
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
        """Return the name of a -0.0 that the compiler does not know."""
        if not self._zero:
            self._zero = f"%{self.prefix}_{len(self.lines)}"
            self.lines.extend(unknown_zero(self._zero, self.type))
        return self._zero

    def plus_unknown_zero(self, x: str) -> str:
        """Return x, or a zero of its sign where it is subnormal.

        Behind a barrier: the simplifier would replace an x that is known to be 0.0 by the -0.0.
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
    # the logarithm is that of e, 1, where the result is x itself
    logarithm = w.of("log", w.select(least, w.number("2.718281828459045"), u))
    part = x if factor is None else w.of("multiply", x, factor)
    return w.of("multiply", logarithm, w.of("divide", part, divisor))


def _asin(w: _Writer, x: str) -> str:
    """The angle at the leg x of a triangle whose hypotenuse is 1."""
    one = w.number("1.0")
    other = w.of("multiply", w.of("subtract", one, x), w.of("add", one, x))
    return w.of("atan2", x, w.of("sqrt", other))


def _flushed(w: _Writer, x: str) -> str:
    """Return x, or a zero of its sign where it is subnormal."""
    least = w.number("2.2250738585072014e-308" if w.double else "1.1754943508222875e-38")
    small = w.compare("LT", w.of("abs", x), least)
    return w.select(small, w.of("multiply", x, w.number("0.0")), x)


def _atan2(w: _Writer, y: str, x: str) -> str:
    """atan2 with zeros in place of subnormal numbers, which XLA treats as zeros only in some steps.
    """
    return w.of("atan2", _flushed(w, y), _flushed(w, x))


def _power(w: _Writer, x: str, y: str) -> str:
    """power with zeros in place of subnormal numbers."""
    return w.of("power", w.plus_unknown_zero(x), w.plus_unknown_zero(y))


def _remainder(w: _Writer, x: str, y: str) -> str:
    """remainder with zeros in place of a subnormal divisor or result, which C's does not flush."""
    return w.plus_unknown_zero(w.of("remainder", x, w.plus_unknown_zero(y)))


def _complex_product(w: _Writer, x: str, y: str, type_: str) -> str:
    """The product from four products of parts, each rounded before it is added."""
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
    """True where exp(size) may be infinite though half of it is not."""
    return w.compare("GT", size, w.number("700.0" if w.double else "80.0"))


def _half_exponential(w: _Writer, size: str) -> str:
    """exp(size) / 2, where that is finite: near the largest number, from the square of exp(size/2).
    """
    half, large = w.number("0.5"), _is_large(w, size)
    exponential = w.of("exponential", w.select(large, w.of("multiply", size, half), size))
    halved = w.of("multiply", exponential, half)
    return w.select(large, w.of("multiply", halved, exponential), halved)


def _cosh(w: _Writer, x: str) -> str:
    """From exp(x) / 2, as a product of two exponentials near the largest number, else times exp(0).
    """
    size, half = w.of("abs", x), w.number("0.5")
    large = _is_large(w, size)
    part = w.of("multiply", size, half)
    exponential = w.of("exponential", w.select(large, part, size))
    again = w.of("exponential", w.select(large, part, w.number("0.0")))
    half = w.of("multiply", w.of("multiply", exponential, half), again)
    return w.of("add", half, w.of("divide", w.number("0.25"), half))


def _sinh(w: _Writer, x: str) -> str:
    """Below 1 its series, and exponentials from there on."""
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
    value = w.number(repr(coefficients[0]))
    for c in coefficients[1:]:
        value = w.of("add", w.of("multiply", value, x), w.number(repr(c)))
    return value


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
    """exp(-x * x) C(t) / (1 + 2 x), by :mod:`lazyloom.host.error_functions`; XLA rounds x * x.

    x is split into a number whose square is exact and a rest, whose exponential needs only three
    terms.
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
    # even and odd powers separately: two chains of steps that do not wait for each other
    square, c = w.of("multiply", t, t), error_functions.COMPLEMENT
    series = w.of("add", w.of("multiply", _polynomial(w, square, c[::2]), t),
                  _polynomial(w, square, c[1::2]))
    value = w.of("divide", w.of("multiply", power, series),
                 w.of("add", one, w.of("add", size, size)))
    return w.select(w.compare("LT", x, w.number("0.0")), w.of("subtract", two, value), value)


def _erf_inv(w: _Writer, x: str) -> str:
    """x P(w), by :mod:`lazyloom.host.error_functions`; XLA takes w of a rounded number."""
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
    value = ""
    for numbers in zip(*(error_functions.INVERSE_DOUBLE if w.double
                          else error_functions.INVERSE_SINGLE), strict=True):
        a, *rest = [w.number(repr(c)) for c in numbers]
        c = w.select(near, a, w.select(between, *rest) if w.double else rest[0])
        value = w.of("add", w.of("multiply", value, at), c) if value else c
    infinity = w.number("0x7FF0000000000000" if w.double else "0x7F800000")
    ends = w.compare("EQ", w.of("abs", x), one)
    return w.of("multiply", x, w.select(ends, infinity, value))


#: for each step, the function that writes it, and whether for float32, too
_EXPANSIONS: Final[dict[str, tuple[Callable[[_Writer, str], str], bool]]] = {
    "log_plus_one": (_log1p, False), "atanh": (_atanh, False), "tanh": (_tanh, False),
    "asin": (_asin, True), "sinh": (_sinh, True), "cosh": (_cosh, True),
    "erfc": (_erfc, False), "erf_inv": (_erf_inv, True),
}  # fmt: skip

_OF_TWO_NUMBERS: Final = {"atan2": _atan2, "power": _power, "remainder": _remainder}

#: steps that would turn a subnormal number into another or worse, for float32 and bfloat16, and for
#: float64
_FLUSHED: Final = frozenset((
    "log", "log_plus_one", "cbrt", "sine", "tan", "tanh", "asin", "atan", "exponential_minus_one"))
_FLUSHED_DOUBLE: Final = frozenset((
    "log_plus_one", "sine", "tan", "asin", "atan", "exponential_minus_one"))

#: steps on complex numbers for which XLA computes an angle from the parts
_FLUSHED_COMPLEX: Final = frozenset(("log", "log_plus_one"))


def expanded(text: str) -> str:
    """Return the functions of an op with these steps written out.

    Regions stay, as XLA recognizes their form, except for the zeros of bfloat16 in a sort.
    """
    return "\n".join(_lines(text))


def _lines(text: str) -> Iterator[str]:
    region = False
    zeros: set[str] = set()
    #: float32 values that were converted from bfloat16
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
        statement = _STATEMENT.match(line)
        expansion = _of_one(*statement.groups()) if statement is not None else []
        yield from expansion or [line]


def _in_region(line: str, zeros: set[str]) -> str:
    """Return a statement of a region; a test of bfloat16 for zero is written so that LLVM may use
    the bits.

    A sort does this test before it compares the bits itself.
    """
    constant = _ZERO_OF_BFLOAT16.match(line)
    if constant is not None:
        zeros.add(constant[1])
    is_zero = _IS_ZERO.match(line)
    if is_zero is None or is_zero[4] not in zeros:
        return line
    indent, result, x, _, types = is_zero.groups()
    prefix = f"%own{result[1:]}"
    return "\n".join((
        f"{indent}{prefix}_size = stablehlo.abs {x} : tensor<bf16>",
        f"{indent}{prefix}_least = stablehlo.constant dense<0x0080> : tensor<bf16>",
        f"{indent}{result} = stablehlo.compare LT, {prefix}_size, {prefix}_least, FLOAT : {types}"))


def _of_one(
    result: str, name: str, step: str, x: str, extents: str, element: str
) -> list[str]:
    """Write a function that has an expansion, or that takes no subnormal numbers; [] for others.

    bfloat16 is computed in float32, as by XLA.
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
    value = w.of_one(step, x) if make is None else make(w, x)
    if element == "bf16":
        value = w.converted(value, type_, kept)
    return list(_ending(w, value, result))


def _of_two(
    result: str, name: str, step: str, x: str, y: str, extents: str, element: str
) -> Iterator[str]:
    """Write one of :data:`_OF_TWO_NUMBERS`; bfloat16 is computed in float32, as by XLA."""
    make = _OF_TWO_NUMBERS[step]
    if element != "bf16":
        w = _Writer(f"own{name}", f"tensor<{extents}{element}>")
        yield from _ending(w, make(w, x, y), result)
        return
    narrow, wide = f"tensor<{extents}bf16>", f"tensor<{extents}f32>"
    w = _Writer(f"own{name}", wide)
    value = make(w, w.converted(x, narrow, wide), w.converted(y, narrow, wide))
    yield from _ending(w, w.converted(value, wide, narrow), result)


def _of_nothing(result: str, name: str, reduction: str, _: str, type_: str) -> Iterator[str]:
    """Write the reduction of no elements as a number that the compiler does not know.

    From a known one, as 0 / 0 in a mean of nothing, LLVM makes a NaN while it compiles, and an
    exponential of that is an arbitrary number.
    """
    w = _Writer(f"own{name}", type_)
    w.lines.append(f"    %own{name}_r = {reduction}")
    yield from _ending(w, w.plus_unknown_zero(f"%own{name}_r"), result)


def _is_finite(line: str) -> list[str]:
    """Write a test whether a number is finite on another value than the one compared with 0."""
    statement = _IS_FINITE.match(line)
    if statement is None:
        return []
    result, name, x, extents, element = statement.groups()
    w = _Writer(f"own{name}", f"tensor<{extents}{element}>")
    return list(_ending(w, w.is_finite(w.plus_unknown_zero(x)), result))


def _known_bits(line: str, widened: set[str], infinite: set[str]) -> list[str]:
    """Write a comparison of what was bfloat16, or with infinity; [] for others.

    LLVM may compare such a value by its bits, and with 0 as well.
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
        value = w.converted(operands[0], wide, truths)
    else:
        value = w.compare(how, *operands)
    return list(_ending(w, value, result))


def _ending(w: _Writer, value: str, result: str) -> Iterator[str]:
    """Return the statements; the last one gives the result."""
    yield from w.lines[:-1]
    yield w.lines[-1].replace(f"{value} =", f"{result} =", 1)
