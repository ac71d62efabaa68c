"""What a shadow makes of the steps of a definition that compute each element by itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import scipy.special

from .shades import (
    BFLOAT16,
    FUNCTION,
    SIMPLE,
    Shade,
    decision,
    flushed,
    is_inexact,
    joined,
    limits,
    pointwise,
    ranged,
    shade_of,
    wide,
)

Rule = Callable[[Any, "list[Shade]", Any], "Shade | None"]


def _in_double(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of SciPy, which knows no long double."""

    def call(*xs: Any) -> Any:
        return np.asarray(f(*(np.asarray(x, np.float64) for x in xs)))

    return call


def _power(x: Any, y: Any) -> Any:
    """Of float_power: power takes roots for the exponent 0.5, which are not IEEE's powers."""
    return np.float_power(*np.broadcast_arrays(np.atleast_1d(x), y)).reshape(
        np.broadcast_shapes(np.shape(x), np.shape(y)))


def _digamma(x: Any) -> Any:
    """Reflected with the exact distance from the pole, which SciPy's psi rounds.

    At a pole the limits of both sides differ: there it is NaN, but at 0, whose sign tells.
    """
    x = np.asarray(x, np.float64)
    below = x < 0
    reflected = np.where(below, 1 - x, 1.0)
    with np.errstate(all="ignore"):
        found = np.where(below, scipy.special.psi(reflected) - np.pi / np.tan(
            np.pi * (x - np.rint(x))), scipy.special.psi(np.where(below, 1.0, x)))
    return np.where(below & (x == np.rint(x)), np.nan, found)


def _complex_product(x: Any, y: Any) -> Any:
    """Of four products of parts, each of which is infinite where it alone is too large."""
    kind = np.complex64 if x.dtype == np.complex128 else np.complex128
    at = limits(kind)

    def product(p: Any, q: Any) -> Any:
        found = p * q
        return np.where(np.abs(found) >= at.rounded, np.copysign(p.dtype.type(np.inf), found),
                        found)

    real = product(x.real, y.real) - product(x.imag, y.imag)
    found = np.empty(real.shape, x.dtype)
    found.real, found.imag = real, product(x.real, y.imag) + product(x.imag, y.real)
    return found


def _complex_power(x: Any, y: int) -> Any:
    """Repeated multiplication, by the bits of the exponent."""
    found = None
    while y:
        if y & 1:
            found = x if found is None else _complex_product(found, x)
        y >>= 1
        x = _complex_product(x, x) if y else x
    return np.ones_like(x) if found is None else found


def _erf_inv(x: Any) -> Any:
    # SciPy's erfinv is 6 units off near 1, from which the distance is exact
    size = np.abs(x)
    far = np.copysign(scipy.special.erfcinv(1 - np.where(size <= 1, size, np.nan)), x)
    return np.where(x == 0, x, np.where(size > 0.5, far, scipy.special.erfinv(x)))


def _lgamma(x: Any) -> Any:
    return np.where(np.isinf(x), np.inf, scipy.special.gammaln(x))


def _logistic(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _round(x: Any, even: bool) -> Any:
    if even:
        return np.rint(x)
    away = np.trunc(x + np.copysign(x.dtype.type(0.5), x))
    return np.where(np.abs(x) < 2**52, np.where(np.abs(x) < 0.5, np.copysign(x * 0, x), away), x)


#: functions, with the roundings that they may be off
_REAL: Final[dict[str, tuple[Callable[..., Any], float]]] = {
    **{name: (getattr(np, function), FUNCTION) for name, function in {
        "exp": "exp", "exp2": "exp2", "log": "log", "log1p": "log1p", "expm1": "expm1",
        "sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos",
        "atan": "arctan", "atan2": "arctan2", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
        "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "cbrt": "cbrt",
    }.items()},
    "pow": (_power, FUNCTION),
    "rsqrt": (lambda x: 1 / np.sqrt(x), FUNCTION),
    "logistic": (_logistic, FUNCTION),
    "sqrt": (np.sqrt, SIMPLE),
    "square": (lambda x: x * x, SIMPLE),
    "add": (np.add, SIMPLE), "add_any": (np.add, SIMPLE), "sub": (np.subtract, SIMPLE),
    "mul": (np.multiply, SIMPLE), "div": (np.divide, 1.5 * SIMPLE),
    "erf": (_in_double(scipy.special.erf), FUNCTION),
    "erfc": (_in_double(np.vectorize(math.erfc, otypes=[np.float64])), 16 * FUNCTION),
    # op by op of float64 it is 5 off
    "erf_inv": (_in_double(_erf_inv), 2 * FUNCTION),
    "lgamma": (_in_double(_lgamma), 4 * FUNCTION),
    "digamma": (_digamma, 4 * FUNCTION),
    "bessel_i0e": (_in_double(scipy.special.i0e), 4 * FUNCTION),
    # an odd function, of -0.0 too
    "bessel_i1e": (_in_double(lambda x: np.where(x == 0, x, scipy.special.i1e(x))), 4 * FUNCTION),
    "floor": (np.floor, 0), "ceil": (np.ceil, 0),
    "rem": (np.fmod, SIMPLE),
}  # fmt: skip
#: of complex numbers
_COMPLEX: Final[dict[str, Callable[..., Any]]] = {
    "exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos, "sqrt": np.sqrt, "tanh": np.tanh,
    "add": np.add, "add_any": np.add, "sub": np.subtract, "mul": _complex_product, "div": np.divide,
    "square": lambda x: _complex_product(x, x), "sinh": np.sinh, "cosh": np.cosh, "tan": np.tan,
    "log1p": np.log1p, "expm1": np.expm1, "pow": np.power, "rsqrt": lambda x: 1 / np.sqrt(x),
    "sign": lambda x: np.where(x == 0, x, x / np.abs(x)),
}  # fmt: skip
_COMPARE: Final[dict[str, Callable[..., Any]]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal,
}  # fmt: skip


def _integer_div(x: Any, y: Any) -> Any:
    """Towards zero; by zero -1 (all bits), and the least number by -1 itself, as XLA says."""
    zero = y == 0
    over = (y == -1) if x.dtype.kind == "i" else np.zeros_like(zero)
    safe = np.where(zero | over, 1, y)
    quotient = np.abs(x) // np.abs(safe) if x.dtype.kind == "i" else x // safe
    if x.dtype.kind == "i":
        least = x == np.iinfo(x.dtype).min
        # the absolute value of the least number is itself
        floor = x // safe
        towards = np.where((floor < 0) & (floor * safe != x), floor + 1, floor)
        quotient = np.where(least | (safe == np.iinfo(x.dtype).min), towards, np.where(
            (x < 0) != (safe < 0), -quotient, quotient))
    found = np.where(over, (0 - x).astype(x.dtype), quotient.astype(x.dtype))
    return np.where(zero, np.array(-1).astype(x.dtype) if x.dtype.kind == "i"
                    else np.iinfo(x.dtype).max, found).astype(x.dtype)


def _integer_rem(x: Any, y: Any) -> Any:
    zero = y == 0
    over = (y == -1) if x.dtype.kind == "i" else np.zeros_like(zero)
    safe = np.where(zero | over, 1, y)
    return np.where(zero, x, np.where(over, 0, np.fmod(x, safe))).astype(x.dtype)


def _shift(f: Callable[..., Any], beyond: Callable[[Any], Any]) -> Callable[..., Any]:
    def shift(x: Any, y: Any) -> Any:
        bits = x.dtype.itemsize * 8
        # a negative count is a large one without a sign
        inside = (y >= 0) & (y < bits)
        return np.where(inside, f(x, np.where(inside, y, 0)), beyond(x)).astype(x.dtype)

    return shift


def _logical(x: Any, y: Any) -> Any:
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    return np.right_shift(x.view(unsigned) if x.shape else x.astype(unsigned),
                          y.astype(unsigned)).astype(x.dtype)


def _none(x: Any) -> Any:
    return np.zeros_like(x)


def _power_of_integers(x: Any, y: Any) -> Any:
    found = np.ones(np.broadcast_shapes(x.shape, np.shape(y)), x.dtype)
    base, left = np.broadcast_to(x, found.shape).copy(), np.array(np.broadcast_to(y, found.shape))
    while (left > 0).any():
        found = np.where(left & 1, found * base, found).astype(x.dtype)
        base = (base * base).astype(x.dtype)
        left = np.where(left > 0, left >> 1, 0)
    return found


def _bits_set(x: Any) -> Any:
    """Of the number as it stands in memory; NumPy counts those of its absolute value."""
    return np.bitwise_count(x.view(f"u{x.dtype.itemsize}")).astype(x.dtype)


_INTEGER: Final[dict[str, Callable[..., Any]]] = {
    "add": np.add, "add_any": np.add, "sub": np.subtract, "mul": np.multiply,
    "div": _integer_div, "rem": _integer_rem, "neg": lambda x: (0 - x).astype(x.dtype),
    "max": np.maximum, "min": np.minimum, "sign": np.sign, "abs": np.abs,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert,
    "square": lambda x: x * x, "population_count": _bits_set,
    "shift_left": _shift(np.left_shift, _none),
    "shift_right_arithmetic": _shift(
        np.right_shift, lambda x: np.where(x < 0, -1, 0) if x.dtype.kind == "i" else _none(x)),
    "shift_right_logical": _shift(_logical, _none),
    "pow": _power_of_integers, **_COMPARE,
}  # fmt: skip


def rule(name: str, xs: Sequence[Shade], params: Any, aval: Any) -> Shade | None:
    """The result of an elementwise step; None if this is none that is known here."""
    own = _OWN.get(name)
    if own is not None:
        return own(params, list(xs), aval)
    if not any(is_inexact(x.dtype) for x in xs):
        sign = _sign_set(xs) if name == "lt" else None
        if sign is not None:
            return sign
        integer = _INTEGER.get(name)
        if integer is None:
            return None
        if xs[0].dtype == bool and name in ("and", "or"):
            return _truth(name, list(xs))
        if xs[0].dtype == bool and name in ("max", "min"):
            return _truth("or" if name == "max" else "and", list(xs))
        return decision(integer, xs, aval.dtype)
    if name in _COMPARE:
        found = decision(_COMPARE[name], xs)
        if name not in ("eq", "ne"):
            return Compared(found, xs[0], xs[1])
        if all(x.is_exact for x in xs):
            return found
        # the ends of intervals may lie on both sides of each other
        x, y = xs
        with np.errstate(all="ignore"):
            meet = (x.e + y.e > 0) & (np.abs(x.v - y.v) <= x.e + y.e)
        return Shade(bool, found.v, np.where(meet, np.inf, found.e))
    if xs[0].dtype.kind == "c":
        function = _COMPLEX.get(name)
        if function is None:
            return None
        if name in ("add", "sub", "add_any"):
            found = pointwise(function, xs, aval.dtype, 2 * SIMPLE)
            # a part that is a zero of either sign stays so
            bounded = np.logical_or.reduce([np.broadcast_to(x.e > 0, found.shape) for x in xs])
            return Shade(found.dtype, found.v, np.where(
                bounded, np.maximum(found.e, float(limits(aval.dtype).tiny)), found.e))
        found = pointwise(function, xs, aval.dtype, 4 * FUNCTION)
        # a part whose terms are too small is a zero of either sign
        at = limits(aval.dtype)
        e = np.maximum(found.e, float(at.tiny))
        if name in ("mul", "square") and at.flushes:
            e = e + 2 * float(at.least)
        return Shade(found.dtype, found.v, e)
    known = _REAL.get(name)
    if known is None:
        return None
    function, roundings = known
    found = pointwise(function, xs, aval.dtype, roundings)
    if name in ("sin", "cos", "tan"):
        # more than a part of a period: the ends of the interval say nothing
        far = xs[0].e > (0.5 if name == "tan" else 1.5)
        if name == "tan":
            # the pole may be inside the interval
            with np.errstate(all="ignore"):
                turns = [np.floor((xs[0].v + d * xs[0].e) / np.pi - 0.5) for d in (-1, 1)]
            far = far | ((turns[0] != turns[1]) & (xs[0].e > 0))
        found = Shade(found.dtype, found.v, np.where(
            far, np.inf if name == "tan" else np.fmax(found.e, 2), found.e))
    if name in ("mul", "div"):
        # by 1 or -1 nothing is computed
        for x, y in (xs, xs[::-1]) if name == "mul" else (xs,):
            kept = (np.abs(y.v) == 1) & (y.e == 0) & (x.v != 0) & (
                np.abs(x.v) < limits(x.dtype).least)
            if kept.any():
                found = Shade(found.dtype, np.where(kept, x.v * y.v, found.v),
                              np.where(kept, np.fmax(found.e, np.abs(x.v)), found.e))
    if name in ("digamma", "lgamma"):
        # a pole may be inside the interval
        x, e = xs[0].v, xs[0].e
        pole = (e > 0) & (x - e <= 0) & (np.floor(x + e) >= np.ceil(x - e))
        # near its zeros it is off by what its terms are
        found = Shade(found.dtype, found.v, np.where(pole, np.inf, np.where(
            np.isfinite(found.v) & (found.v != 0), found.e + 48 * limits(found.dtype).unit,
            found.e)))
    if name in ("mul", "square", "div"):
        # where it is fused into a sum, what is too large alone may not be so
        finite = np.ones(found.shape, bool)
        for x in xs:
            finite &= np.isfinite(x.v)
        found = Shade(found.dtype, found.v, np.where(
            np.isinf(found.v) & finite & (found.e == 0), 1.0, found.e))
    if name in ("add", "add_any", "sub"):
        unsure = np.zeros(found.shape, bool)
        for x in xs:
            unsure |= np.isinf(x.v) & (x.e > 0)
        found = Shade(found.dtype, found.v, np.where(unsure, np.inf, found.e))
        # a product that is subnormal counts where the sum is taken with it at once
        at = limits(found.dtype)
        size = np.abs(found.v).astype(np.float64)
        small = at.flushes and (size > 0) & (size < float(at.least) * 2.0**25)
        found = Shade(found.dtype, found.v, np.where(
            small & (found.e > 0), found.e + float(at.least), found.e))
    elif roundings > 2 * SIMPLE:
        # what a function computes on its way may be subnormal
        at = limits(found.dtype)
        size = np.abs(found.v).astype(np.float64)
        small = at.flushes and (size > 0) & (size < 8 * float(at.least))
        found = Shade(found.dtype, found.v, np.where(small, found.e + size, found.e))
    if name == "pow" and xs[1].e.any():
        # a negative base has powers at whole exponents alone, which the interval may have inside
        low, high = (np.nextafter((xs[1].v + d * xs[1].e).astype(np.float64), d * np.inf)
                     for d in (-1, 1))
        whole = (np.floor(high) >= np.ceil(low)) & (xs[1].e > 0)
        found = Shade(found.dtype, found.v, np.where(
            whole & (xs[0].v - xs[0].e <= 0), np.inf, found.e))
    if name == "pow":
        # negative powers of what may be zero
        crosses = (np.abs(xs[0].v) <= xs[0].e) & (xs[0].e > 0) & (xs[1].v - xs[1].e < 0)
        found = Shade(found.dtype, found.v, np.where(crosses, np.inf, found.e))
    if name == "rem":
        # the quotient may have another whole part: then so much less of the divisor is left
        x, y = xs
        with np.errstate(all="ignore"):
            size, by = np.abs(x.v), np.abs(y.v)
            low, high = (size - x.e) / (by + y.e), (size + x.e) / np.maximum(by - y.e, 0)
            unsure = ((x.e > 0) | (y.e > 0)) & ~(np.floor(low) == np.floor(high))
        found = Shade(found.dtype, found.v, np.where(unsure & np.isfinite(x.v), np.inf, found.e))
    if name == "div":
        crosses = (np.abs(xs[1].v) <= xs[1].e) & (xs[1].e > 0)
        found = Shade(found.dtype, found.v, np.where(crosses, np.inf, found.e))
    return found


class Compared(Shade):
    """Which of two numbers is larger, maybe together with other conditions.

    Attributes:
        of: the two numbers.
    """

    __slots__ = ("of",)

    def __init__(self, found: Shade, x: Shade, y: Shade) -> None:
        super().__init__(bool, found.v, found.e)
        self.of = x, y

    def chooses(self, cases: Sequence[Shade]) -> bool:
        """Whether it is between the numbers themselves, which takes one instruction."""
        return all(any(c.shape == x.shape and np.array_equal(c.v, x.v, equal_nan=True)
                       for x in self.of) for c in cases)


def _truth(name: str, xs: list[Shade]) -> Shade:
    found = _both_truths(name, xs)
    for x in xs:
        if isinstance(x, Compared) and x.shape == found.shape:
            return Compared(found, *x.of)
    return found


def _both_truths(name: str, xs: list[Shade]) -> Shade:
    x, y = xs
    f = np.logical_and if name == "and" else np.logical_or
    v = f(x.v, y.v)
    settles = name == "or"
    known = ((x.e == 0) & (x.v == settles)) | ((y.e == 0) & (y.v == settles))
    e = np.where(known, 0, np.where((x.e != 0) | (y.e != 0), np.inf, 0))
    return Shade(bool, np.where(known, settles, v), e)


def _sign_of_bits(f: Callable[[Any], Any]) -> Rule:
    """Steps that change nothing but the sign: they may or may not flush."""

    def apply(p: Any, xs: list[Shade], aval: Any) -> Shade:
        (x,) = xs
        if not is_inexact(x.dtype):
            return decision(_INTEGER["neg" if f is np.negative else "abs"], xs, aval.dtype)
        if x.dtype.kind == "c" and f is np.abs:
            return pointwise(f, xs, aval.dtype, 2 * FUNCTION)
        return _either(Shade(aval.dtype, f(x.v), x.e))

    return apply


def _either(x: Shade) -> Shade:
    """Subnormal numbers that a step may keep or flush."""
    if not is_inexact(x.dtype) or not limits(x.dtype).flushes:
        return x
    e = x.e
    for v in (x.v.real, x.v.imag) if x.dtype.kind == "c" else (x.v,):
        size = np.abs(v)
        small = (size > 0) & (size < limits(x.dtype).least)
        e = np.where(small, e + size.astype(np.float64), e)
    return Shade(x.dtype, x.v, e)


def _extreme(largest: bool) -> Rule:
    f = np.maximum if largest else np.minimum

    def apply(p: Any, xs: list[Shade], aval: Any) -> Shade:
        x, y = xs
        if not is_inexact(x.dtype):
            found = rule_of_integers("max" if largest else "min", xs, aval)
            return found
        with np.errstate(all="ignore"):
            v = f(x.v, y.v)
            e = np.broadcast_to(np.fmax(x.e, y.e), v.shape)
            # who is larger by more than both bounds has its own
            clear = np.abs(x.v - y.v) > (x.e + y.e)
            larger = (x.v > y.v) == largest
            e = np.where(clear, np.where(larger, x.e, y.e), e)
            nan = np.isnan(x.v) | np.isnan(y.v)
            e = np.where(nan & np.isfinite(e), 0, e)
            # of two zeros, or what counts as one, either is the larger, as it is or as a zero
            zeros = (flushed(x.v, x.dtype) == 0) & (flushed(y.v, y.dtype) == 0) & (
                (x.v != y.v) | (np.signbit(x.v) != np.signbit(y.v)))
            sizes = np.abs(x.v) + np.abs(y.v)
            e = np.where(zeros, np.fmax(e, sizes.astype(np.float64) + limits(x.dtype).tiny), e)
            v = np.where(zeros, np.where(np.abs(x.v) < np.abs(y.v), y.v, x.v), v)
            taint = joined(xs)
            e = np.where(np.isinf(taint) & ~clear, np.inf, e)
            e = np.where(np.isnan(taint), np.nan, e)
        return _either(Shade(aval.dtype, v, e))

    return apply


def rule_of_integers(name: str, xs: list[Shade], aval: Any) -> Shade:
    if xs[0].dtype == bool:
        return _truth("or" if name == "max" else "and", xs)
    return decision(_INTEGER[name], xs, aval.dtype)


def _clamp(p: Any, xs: list[Shade], aval: Any) -> Shade:
    low, x, high = xs
    found = _extreme(True)(p, [x, low], aval)
    return _extreme(False)(p, [found, high], aval)


def _select(p: Any, xs: list[Shade], aval: Any) -> Shade:
    which, *cases = xs
    number = which.v.astype(np.int64)
    v = np.choose(number, [np.broadcast_to(c.v, aval.shape) for c in cases]) if len(
        cases) <= 31 else None
    e = np.choose(number, [np.broadcast_to(c.e, aval.shape) for c in cases])
    unknown = np.broadcast_to(which.e != 0, aval.shape)
    if unknown.any():
        with np.errstate(all="ignore"):
            first = cases[0]
            spread = np.zeros(aval.shape)
            for c in cases[1:]:
                alike = (c.v == first.v) | ((c.v != c.v) & (first.v != first.v))
                apart = np.where(alike, 0, np.abs(np.subtract(
                    c.v, first.v, dtype=wide(aval.dtype) if is_inexact(aval.dtype)
                    else np.float64)).astype(np.float64))
                if not is_inexact(aval.dtype):
                    apart = np.where(apart > 0, np.inf, 0)
                else:
                    signs = (c.v == 0) & (first.v == 0) & (
                        np.signbit(c.v.real) != np.signbit(first.v.real))
                    apart = np.where(signs, limits(aval.dtype).tiny, apart)
                apart = np.where(np.isnan(apart), np.inf, apart)
                spread = np.fmax(spread, apart)
            widest = np.max([np.broadcast_to(c.e, aval.shape) for c in cases], axis=0)
            e = np.where(unknown, spread + widest, e)
    found = Shade(aval.dtype, v, e)
    # the larger or smaller of two numbers may be flushed
    return _either(found) if isinstance(which, Compared) and which.chooses(cases) else found


def _integer_pow(p: Any, xs: list[Shade], aval: Any) -> Shade:
    y = int(p["y"])
    if not is_inexact(aval.dtype):
        return decision(lambda x: _power_of_integers(x, np.full(x.shape, y)), xs, aval.dtype)
    roundings = SIMPLE * max(1, 2 * np.log2(max(2, abs(y)))) * (2 if y < 0 else 1)

    def power(x: Any) -> Any:
        with np.errstate(all="ignore"):
            if x.dtype.kind == "c":
                made = _complex_power(x, abs(y))
                return made if y >= 0 else 1 / made
            return x**y if y >= 0 else 1 / x ** (-y)

    found = pointwise(power, xs, aval.dtype, abs(y) * SIMPLE if abs(y) < 4 else roundings)
    if np.dtype(aval.dtype).kind == "c":
        at = limits(aval.dtype)
        e = np.maximum(found.e, float(at.tiny))
        if abs(y) > 1:
            # each product has two terms that may be too small
            with np.errstate(all="ignore"):
                size = np.fmax(1, np.abs(xs[0].v)).astype(np.float64)
                off = 2 * abs(y) * float(at.least) * size ** (abs(y) - 2)
                if y < 0:
                    off = off * np.abs(found.v).astype(np.float64) ** 2
            e = np.where(np.isfinite(off), e + off, e)
        found = Shade(found.dtype, found.v, e)
    if y < 0:
        crosses = (np.abs(xs[0].v) <= xs[0].e) & (xs[0].e > 0)
        found = Shade(found.dtype, found.v, np.where(crosses, np.inf, found.e))
    if y < 0 and aval.dtype != np.complex64:
        # a power that overflows before it is divided by
        with np.errstate(all="ignore"):
            power_first = ranged(flushed(xs[0].v, aval.dtype) ** (-y), aval.dtype)
        over = ~np.isfinite(power_first) | (power_first == 0)
        found = Shade(found.dtype, found.v, np.where(
            over & np.isfinite(xs[0].v) & (xs[0].v != 0), np.inf, found.e))
    return found


def _convert(p: Any, xs: list[Shade], aval: Any) -> Shade:
    (x,) = xs
    new = np.dtype(aval.dtype)
    if new == x.dtype:
        return x
    if new.kind == "b":
        return decision(lambda v: v != 0, xs)
    if x.dtype.kind == "c" and new.kind != "c":
        x = Shade(np.dtype(f"f{x.dtype.itemsize // 2}"), x.v.real, x.e)
    if not is_inexact(x.dtype):
        if not is_inexact(new):
            return Shade(new, x.v.astype(new), x.e)
        e = np.where(x.e != 0, np.inf, 0)
        v = x.v.astype(wide(new))
        found = pointwise(lambda y: y, [Shade(new, v)], new, 0)
        exact = found.rounded().astype(wide(new)) == v
        # correctly rounded, in every form
        return Shade(new, np.where(exact, v, found.rounded().astype(wide(new))), e)
    if not is_inexact(new):
        info = np.iinfo(new)

        def convert(v: Any) -> Any:
            towards = np.trunc(np.where(np.isnan(v), 0, v)).astype(np.longdouble)
            inside = (towards >= info.min) & (towards <= info.max)
            with np.errstate(all="ignore"):
                plain = np.where(inside, towards, 0).astype(new)
            return np.where(inside, plain, np.where(
                towards > 0, new.type(info.max), new.type(info.min)))

        return decision(convert, [x], new)
    narrower = limits(new).unit > limits(x.dtype).unit or (
        float(limits(new).largest) < float(limits(x.dtype).largest))
    found = pointwise(lambda v: v.astype(wide(new)), [x], new, SIMPLE if narrower else 0)
    if BFLOAT16 in (x.dtype, new) and limits(new).flushes:
        # it has the exponents of float32, to which it is moved
        size = np.abs(x.v).astype(np.float64)
        small = (size > 0) & (size < 2 * float(limits(new).least))
        moved = np.where(size < float(limits(new).least), x.v, found.v)
        return Shade(new, moved, np.where(small, np.fmax(found.e, size), found.e))
    return found


def _reduce_precision(p: Any, xs: list[Shade], aval: Any) -> Shade:
    return pointwise(lambda x: x, xs, aval.dtype, 2.0**p["exponent_bits"] * 0 + 2.0 ** (
        np.log2(1 / limits(aval.dtype).unit) - 1 - p["mantissa_bits"]))


def _part(name: str) -> Rule:
    def apply(p: Any, xs: list[Shade], aval: Any) -> Shade:
        return Shade(aval.dtype, getattr(xs[0].v, name), xs[0].e)

    return apply


def _make_complex(p: Any, xs: list[Shade], aval: Any) -> Shade:
    v = np.empty(aval.shape, wide(aval.dtype))
    v.real, v.imag = xs[0].v, xs[1].v
    return Shade(aval.dtype, v, np.hypot(xs[0].e, xs[1].e) if not (
        xs[0].is_exact and xs[1].is_exact) else None)


def _conj(p: Any, xs: list[Shade], aval: Any) -> Shade:
    if xs[0].dtype.kind != "c":
        return Shade(aval.dtype, xs[0].v.astype(wide(aval.dtype)), xs[0].e)
    return Shade(aval.dtype, np.conj(xs[0].v), xs[0].e)


def _sign(p: Any, xs: list[Shade], aval: Any) -> Shade:
    if xs[0].dtype.kind == "c":
        return pointwise(_COMPLEX["sign"], xs, aval.dtype, 4 * FUNCTION)
    if not is_inexact(aval.dtype):
        return decision(np.sign, xs, aval.dtype)
    return pointwise(
        lambda x: np.where(np.isnan(x), x, np.where(x == 0, x, np.sign(x))), xs, aval.dtype, 0)


def _nextafter(p: Any, xs: list[Shade], aval: Any) -> Shade:
    if not (xs[0].is_exact and xs[1].is_exact):
        return Shade(aval.dtype, np.broadcast_to(xs[0].v, aval.shape), np.inf)
    given = [x.rounded() for x in xs]
    if given[0].dtype.kind != "f":
        return Shade(aval.dtype, np.broadcast_to(xs[0].v, aval.shape), np.nan)
    small = [np.abs(x.v) < limits(aval.dtype).least for x in xs]
    found = shade_of(np.nextafter(*given))
    # zeros and what is subnormal may be taken for each other
    either = small[0] | small[1]
    at = limits(aval.dtype)
    return Shade(aval.dtype, np.where(either & (found.v == 0), at.tiny, found.v),
                 np.where(either, 2 * float(at.least), 0))


def _rounding(p: Any, xs: list[Shade], aval: Any) -> Shade:
    even = p["rounding_method"].name == "TO_NEAREST_EVEN"
    return pointwise(lambda x: _round(x, even), xs, aval.dtype, 0)


def _is_finite(p: Any, xs: list[Shade], aval: Any) -> Shade:
    (x,) = xs
    if not is_inexact(x.dtype):
        return Shade(bool, np.ones(x.shape, bool))
    return Shade(bool, np.isfinite(x.v), np.where(np.isfinite(x.e), 0, np.inf))


def _same(p: Any, xs: list[Shade], aval: Any) -> Shade:
    return xs[0]


class Bits(Shade):
    """The bits of numbers, as integers.

    Attributes:
        of: the numbers, whose sign may be known where their bits are not.
    """

    __slots__ = ("of",)

    def __init__(self, dtype: Any, of: Shade) -> None:
        super().__init__(dtype, of.rounded().view(np.dtype(dtype)), np.where(of.e != 0, np.inf, 0))
        self.of = of


def _bitcast(p: Any, xs: list[Shade], aval: Any) -> Shade | None:
    (x,) = xs
    new = np.dtype(aval.dtype)
    if new.itemsize != x.dtype.itemsize or "c" in (new.kind, x.dtype.kind):
        return None
    if is_inexact(x.dtype) and not is_inexact(new):
        return Bits(new, x)
    with np.errstate(all="ignore"):
        found = shade_of(np.ascontiguousarray(x.rounded()).view(new).reshape(x.shape))
    return Shade(new, found.v, np.where(x.e != 0, np.inf, 0))


def _sign_set(xs: Sequence[Shade]) -> Shade | None:
    """Bits compared with 0: whether a sign is set."""
    x, zero = xs
    if not isinstance(x, Bits) or zero.v.any() or not zero.is_exact:
        return None
    found = decision(np.signbit, [x.of])
    # a NaN has any sign, and a subnormal number that of the zero that it is taken for
    return Shade(bool, found.v, np.where(np.isnan(x.of.v), np.inf, found.e))


def _total_order(name: str) -> Rule:
    """Comparisons of an order in which NaN is the largest number; of zeros their sign tells."""

    def apply(p: Any, xs: list[Shade], aval: Any) -> Shade:
        if not is_inexact(xs[0].dtype):
            return decision(_COMPARE[name], xs)

        def compare(x: Any, y: Any) -> Any:
            nan_x, nan_y = np.isnan(x), np.isnan(y)
            less = np.where(nan_x | nan_y, ~nan_x & nan_y, (x < y) | (
                (x == y) & np.signbit(x) & ~np.signbit(y)))
            same = np.where(nan_x | nan_y, nan_x & nan_y, (x == y) & (
                np.signbit(x) == np.signbit(y)))
            return {"lt": less, "eq": same, "le": less | same}[name]

        return decision(compare, xs)

    return apply


_OWN: Final[dict[str, Rule]] = {
    "neg": _sign_of_bits(np.negative), "abs": _sign_of_bits(np.abs), "max": _extreme(True),
    "min": _extreme(False), "clamp": _clamp, "select_n": _select, "integer_pow": _integer_pow,
    "convert_element_type": _convert, "reduce_precision": _reduce_precision,
    "real": _part("real"), "imag": _part("imag"), "complex": _make_complex, "conj": _conj,
    "sign": _sign, "nextafter": _nextafter, "round": _rounding, "is_finite": _is_finite,
    "copy": _same, "copy_p": _same, "stop_gradient": _same, "optimization_barrier": _same,
    "bitcast_convert_type": _bitcast,
    "lt_to": _total_order("lt"), "le_to": _total_order("le"), "eq_to": _total_order("eq"),
}  # fmt: skip
