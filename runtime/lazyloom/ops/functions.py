"""Powers, exponentials, logarithms, trigonometry and special functions, element by element.

Operands broadcast by NumPy's rules and share one dtype. float16 and bfloat16 compute
in float32 where a formula has several steps. Complex operands with a zero, infinite or NaN part
are handled as C99's Annex G says, see ``complex_edges``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import complex_edges, quotients, rules
from ._helpers import (
    broadcast,
    constant,
    convert,
    differentiated,
    expm1_of_real,
    in_float32,
    in_float64,
    is_inexact,
    kind,
    signbit,
    widened,
)
from ._jax import jax, jnp, lax
from .incomplete_gamma import incomplete_gamma
from .kinds import Array, Integer, T
from .samples import Elementwise
from .spec import op
from .traits import Derivative, Execution

# Powers, exponentials and logarithms


@op(rules.elementwise, T="number", source="array API pow", reference="numpy.power",
    samples=Elementwise(low=0.2), tolerance=8.0, execution=Execution(usual=True))
def power(x: T, y: T) -> Array:
    """x ** y.

    Integers wrap; a negative integer exponent gives the quotient 1 / x**-y rounded
    towards zero, and 0 for x = 0.
    """
    x, y = broadcast(x, y)
    if kind(x) == "c":
        return complex_edges.power(x, y)
    return _real_power(x, y) if is_inexact(x) else _integer_power(x, y)


def _real_power(x: Any, y: Any) -> Any:
    """lax.pow, where 0 ** 0 has the derivatives of a constant and 0 ** y those of a limit."""
    power = jax.custom_jvp(lax.pow)

    def rule(primals: Any, tangents: Any) -> Any:
        x, y = primals
        dx, dy = tangents
        zero, value = constant(x, 0), power(x, y)
        total = zero
        if type(dx) is not jax.custom_derivatives.SymbolicZero:
            factor = lax.mul(y, power(x, lax.sub(y, constant(y, 1))))
            total = lax.mul(dx, lax.select(lax.eq(y, zero), zero, factor))
        if type(dy) is not jax.custom_derivatives.SymbolicZero:
            still = lax.bitwise_and(lax.eq(x, zero), lax.ge(y, zero))
            factor = lax.mul(value, lax.log(lax.select(still, constant(x, 1), x)))
            total = lax.add(total, lax.mul(dy, lax.select(still, zero, factor)))
        return value, total

    power.defjvp(rule, symbolic_zeros=True)
    return power(x, y)


def _integer_power(x: Any, y: Any) -> Any:
    # Squaring over all bits of the exponent: an odd base has powers of any period.
    zero, one = constant(x, 0), constant(x, 1)

    def pending(state: tuple[Any, Any, Any]) -> Any:
        return lax.reduce_or(lax.gt(state[1], zero), range(x.ndim))

    def step(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        base, exponent, product = state
        odd = lax.eq(lax.bitwise_and(exponent, one), one)
        product = lax.select(odd, lax.mul(product, base), product)
        return lax.mul(base, base), lax.shift_right_logical(exponent, one), product

    if kind(x) == "u":
        return lax.while_loop(pending, step, (x, y, one))[2]
    product = lax.while_loop(pending, step, (x, lax.max(y, zero), one))[2]
    odd = lax.eq(lax.bitwise_and(y, one), one)
    unit = lax.select(lax.eq(x, one), one, lax.select(
        lax.eq(x, constant(x, -1)), lax.select(odd, constant(x, -1), one), zero))
    return lax.select(lax.lt(y, zero), unit, product)


@op(rules.integral_power, T="number", source="repeated multiplication",
    samples=Elementwise({"exponent": 2}, {"exponent": 0}, {"exponent": 1}, {"exponent": 3},
                        {"exponent": 7}), tolerance=4.0)
def integer_power(x: T, *, exponent: int) -> Array:
    """x ** exponent for an integer known beforehand, by repeated multiplication.

    ArgumentError for a negative exponent of an integer operand.
    """
    return lax.integer_pow(x, exponent)


@op(rules.elementwise, T="inexact", source="array API sqrt", reference="numpy.sqrt",
    samples=Elementwise(low=0.2), tolerance=2.0)
def sqrt(x: T) -> Array:
    """Square root; NaN for negative real x. The gradient at 0 is infinite."""
    return complex_edges.sqrt(x) if kind(x) == "c" else lax.sqrt(x)


@op(rules.elementwise, T="inexact", source="XLA rsqrt", samples=Elementwise(low=0.2),
    tolerance=4.0)
def rsqrt(x: T) -> Array:
    """1 / sqrt(x)."""
    return lax.rsqrt(x)


@op(rules.elementwise, T="floating", source="C99 cbrt", reference="numpy.cbrt",
    samples=Elementwise(low=0.2), tolerance=2.0)
def cbrt(x: T) -> Array:
    """The real cube root, of the sign of x."""
    return lax.cbrt(x)


@op(rules.elementwise, T="inexact", source="array API exp", reference="numpy.exp", tolerance=4.0)
def exp(x: T) -> Array:
    """e ** x."""
    return complex_edges.exp(x) if kind(x) == "c" else lax.exp(x)


@op(rules.elementwise, T="inexact", source="C99 exp2", reference="numpy.exp2", tolerance=4.0)
def exp2(x: T) -> Array:
    """2 ** x; exact where x is an integer and the result is normal."""
    return complex_edges.exp2(x) if kind(x) == "c" else in_float32(_power_of_two, x)


def _float_layout(x: Any) -> tuple[Any, int, int]:
    """The integer dtype of a float's size, the bits of its mantissa, the bias of its exponent."""
    return (jnp.int64, 52, 1023) if x.dtype == jnp.float64 else (jnp.int32, 23, 127)


def _times_power_of_two(x: Any, exponent: Any, factors: int) -> Any:
    """x * 2**exponent, by this many factors that are normal powers of two."""
    _, mantissa, bias = _float_layout(x)
    for _ in range(factors):
        part = lax.clamp(constant(exponent, 1 - bias), exponent, constant(exponent, bias))
        exponent = lax.sub(exponent, part)
        scale = lax.shift_left(lax.add(part, constant(part, bias)), constant(part, mantissa))
        x = lax.mul(x, lax.bitcast_convert_type(scale, x.dtype))
    return x


def _power_of_two(x: Any) -> Any:
    # XLA takes the exponential of x log(2), which is off by units that grow with x.
    bits, _, bias = _float_layout(x)
    whole = lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
    whole = lax.clamp(constant(x, -2.0 * bias), whole, constant(x, 2.0 * bias))
    rest = lax.exp(lax.mul(lax.sub(x, whole), constant(x, math.log(2.0))))
    return _times_power_of_two(rest, convert(whole, bits), 2)


@op(rules.elementwise, T="inexact", source="array API expm1", reference="numpy.expm1",
    tolerance=4.0)
def expm1(x: T) -> Array:
    """e ** x - 1, accurate near 0."""
    return complex_edges.expm1(x) if kind(x) == "c" else expm1_of_real(x)


@op(rules.elementwise, T="inexact", source="array API log", reference="numpy.log",
    samples=Elementwise(low=0.2), tolerance=4.0)
def log(x: T) -> Array:
    """Natural logarithm; -inf at 0, NaN for negative real x."""
    return complex_edges.log(x) if kind(x) == "c" else lax.log(x)


def _log_over(x: Any, base: float) -> Any:
    def scaled(x: Any) -> Any:
        return lax.div(x, constant(x, math.log(base)))

    if kind(x) != "c":
        return in_float32(lambda x: scaled(lax.log(x)), x)
    # Scale each part by itself: dividing an infinite real part by a complex number gives NaN.
    logarithm = complex_edges.log(x)
    return lax.complex(scaled(lax.real(logarithm)), scaled(lax.imag(logarithm)))


@op(rules.elementwise, T="inexact", source="array API log2", reference="numpy.log2",
    samples=Elementwise(low=0.2), tolerance=4.0)
def log2(x: T) -> Array:
    """Logarithm to base 2."""
    return _log_over(x, 2.0)


@op(rules.elementwise, T="inexact", source="array API log10", reference="numpy.log10",
    samples=Elementwise(low=0.2), tolerance=4.0)
def log10(x: T) -> Array:
    """Logarithm to base 10."""
    return _log_over(x, 10.0)


@op(rules.elementwise, T="inexact", source="array API log1p", reference="numpy.log1p",
    samples=Elementwise(low=-0.8), tolerance=4.0)
def log1p(x: T) -> Array:
    """log(1 + x), accurate near 0."""
    return complex_edges.log1p(x) if kind(x) == "c" else lax.log1p(x)


def _with_shares(f: Callable[[Any, Any], Any], scale: float) -> Any:
    """A logarithm of a sum of exponentials, whose derivatives are the parts of the sum."""
    function = jax.custom_jvp(f)

    def rule(primals: Any, tangents: Any) -> Any:
        (x, y), (dx, dy) = primals, tangents
        gap = lax.mul(_gap(x, y), constant(x, scale))
        share = lax.logistic(gap)
        rest = lax.logistic(lax.neg(gap))
        return function(x, y), lax.add(lax.mul(dx, share), lax.mul(dy, rest))

    function.defjvp(rule)
    return function


def _gap(x: Any, y: Any) -> Any:
    # Equal infinities have no difference; 0 keeps both the value and the gradient right.
    gap = lax.sub(x, y)
    equal = lax.bitwise_and(lax.eq(x, y), lax.ne(gap, gap))
    return lax.select(equal, constant(x, 0), gap)


def _log_add(x: Any, y: Any) -> Any:
    return lax.add(lax.max(x, y), lax.log1p(lax.exp(lax.neg(lax.abs(_gap(x, y))))))


@op(rules.elementwise, T="floating", source="array API logaddexp", reference="numpy.logaddexp",
    tolerance=4.0)
def logaddexp(x: T, y: T) -> Array:
    """log(exp(x) + exp(y)) without overflow."""
    return in_float32(_with_shares(_log_add, 1.0), *broadcast(x, y))


@op(rules.elementwise, T="floating", source="NumPy logaddexp2", reference="numpy.logaddexp2",
    tolerance=4.0)
def logaddexp2(x: T, y: T) -> Array:
    """log2(2**x + 2**y) without overflow."""

    def scaled(x: Any, y: Any) -> Any:
        ln2 = constant(x, math.log(2.0))
        gap = _gap(x, y)
        tail = lax.div(lax.log1p(lax.exp(lax.neg(lax.abs(lax.mul(gap, ln2))))), ln2)
        # exactly one more than each of two equal numbers
        tail = lax.select(lax.eq(gap, constant(x, 0)), constant(x, 1), tail)
        return lax.add(lax.max(x, y), tail)

    return in_float32(_with_shares(scaled, math.log(2.0)), *broadcast(x, y))


def _times_log(x: Any, y: Any, edge: float, function: Any) -> Any:
    # Where x is 0 the product is 0 even if the logarithm is infinite; the gradient of x is
    # kept where the logarithm is finite.
    bad = lax.bitwise_or(lax.le(y, constant(y, edge)), lax.eq(y, constant(y, math.inf)))
    bad = lax.bitwise_and(bad, lax.eq(x, constant(x, 0)))
    return lax.mul(x, function(lax.select(bad, constant(y, edge + 1.0), y)))


def _slope_of_logit(x: Any, value: Any) -> Any:
    slope = lax.div(constant(x, 1), lax.mul(x, lax.sub(constant(x, 1), x)))
    outside = lax.bitwise_or(lax.lt(x, constant(x, 0)), lax.gt(x, constant(x, 1)))
    return lax.select(outside, constant(x, math.nan), lax.abs(slope))


@differentiated(_slope_of_logit)
def _logit(x: Any) -> Any:
    return lax.log(lax.div(x, lax.sub(constant(x, 1), x)))


@op(rules.elementwise, T="floating", source="SciPy logit", reference="scipy.special.logit",
    samples=Elementwise(low=0.1, high=0.9), tolerance=8.0)
def logit(x: T) -> Array:
    """log(x / (1 - x)), infinite at 0 and 1, where the gradient is too; NaN outside of [0, 1]."""
    return in_float32(_logit, x)


@op(rules.elementwise, T="floating", source="SciPy xlogy", reference="scipy.special.xlogy",
    samples=Elementwise(low=0.2), tolerance=4.0, derivative=Derivative(piecewise_linear="x"))
def xlogy(x: T, y: T) -> Array:
    """x * log(y), and 0 where x is 0 and y is not NaN. There the gradient stays finite."""
    x, y = broadcast(x, y)
    return in_float32(lambda x, y: _times_log(x, y, 0.0, lax.log), x, y)


@op(rules.elementwise, T="floating", source="SciPy xlog1py", reference="scipy.special.xlog1py",
    samples=Elementwise(low=-0.8), tolerance=4.0, derivative=Derivative(piecewise_linear="x"))
def xlog1py(x: T, y: T) -> Array:
    """x * log1p(y), and 0 where x is 0 and y is not NaN. There the gradient stays finite."""
    x, y = broadcast(x, y)
    return in_float32(lambda x, y: _times_log(x, y, -1.0, lax.log1p), x, y)


@op(rules.elementwise, T="floating", source="C99 ldexp", reference="numpy.ldexp",
    derivative=Derivative(linear="x"))
def ldexp(x: T, exponent: Integer) -> Array:
    """x * 2**exponent, exact unless the result overflows or underflows."""
    x, exponent = broadcast(x, exponent)
    wide = widened(x)
    bits, _, bias = _float_layout(wide)
    # Three factors, each a normal power of two, cover the range from the smallest subnormal
    # number to the largest; beyond that the result is 0 or infinite anyway.
    bounded = convert(lax.clamp(constant(exponent, max(-3 * bias, jnp.iinfo(exponent.dtype).min)),
                                exponent,
                                constant(exponent, min(3 * bias, jnp.iinfo(exponent.dtype).max))),
                      bits)
    return convert(_times_power_of_two(wide, bounded, 3), x.dtype)


# Trigonometry


@op(rules.elementwise, T="inexact", source="array API sin", reference="numpy.sin", tolerance=4.0)
def sin(x: T) -> Array:
    """Sine of x in radians."""
    return complex_edges.sin(x) if kind(x) == "c" else lax.sin(x)


@op(rules.elementwise, T="inexact", source="array API cos", reference="numpy.cos", tolerance=4.0)
def cos(x: T) -> Array:
    """Cosine of x in radians."""
    return complex_edges.cos(x) if kind(x) == "c" else lax.cos(x)


@op(rules.elementwise, T="inexact", source="array API tan", reference="numpy.tan",
    samples=Elementwise(low=-1.2, high=1.2), tolerance=4.0)
def tan(x: T) -> Array:
    """Tangent of x in radians."""
    return complex_edges.tan(x) if kind(x) == "c" else lax.tan(x)


@op(rules.elementwise, T="inexact", source="array API asin", reference="numpy.arcsin",
    samples=Elementwise(low=-0.9, high=0.9), tolerance=4.0)
def asin(x: T) -> Array:
    """Inverse sine, in radians; NaN outside [-1, 1] for real x."""
    return complex_edges.asin(x) if kind(x) == "c" else in_float32(lax.asin, x)


@op(rules.elementwise, T="inexact", source="array API acos", reference="numpy.arccos",
    samples=Elementwise(low=-0.9, high=0.9), tolerance=4.0)
def acos(x: T) -> Array:
    """Inverse cosine, in radians; NaN outside [-1, 1] for real x."""
    return complex_edges.acos(x) if kind(x) == "c" else lax.acos(x)


@op(rules.elementwise, T="inexact", source="array API atan", reference="numpy.arctan",
    tolerance=4.0)
def atan(x: T) -> Array:
    """Inverse tangent, in radians."""
    return complex_edges.atan(x) if kind(x) == "c" else lax.atan(x)


@op(rules.elementwise, T="floating", source="array API atan2", reference="numpy.arctan2",
    tolerance=4.0)
def atan2(y: T, x: T) -> Array:
    """The angle of the point (x, y), in radians. The gradient at (0, 0) is 0."""
    y, x = broadcast(y, x)
    zero = constant(x, 0)
    origin = lax.bitwise_and(lax.eq(x, zero), lax.eq(y, zero))
    # at the origin, the angle is 0 or pi by the sign of x, as in the standard
    aside = lax.select(signbit(x), constant(x, -1), constant(x, 1))
    return lax.atan2(lax.select(origin, lax.stop_gradient(y), y), lax.select(origin, aside, x))


@op(rules.elementwise, T="inexact", source="array API sinh", reference="numpy.sinh", tolerance=4.0)
def sinh(x: T) -> Array:
    """Hyperbolic sine."""
    return complex_edges.sinh(x) if kind(x) == "c" else lax.sinh(x)


@op(rules.elementwise, T="inexact", source="array API cosh", reference="numpy.cosh", tolerance=4.0)
def cosh(x: T) -> Array:
    """Hyperbolic cosine."""
    return complex_edges.cosh(x) if kind(x) == "c" else lax.cosh(x)


@op(rules.elementwise, T="inexact", source="array API tanh", reference="numpy.tanh", tolerance=4.0)
def tanh(x: T) -> Array:
    """Hyperbolic tangent."""
    return complex_edges.tanh(x) if kind(x) == "c" else lax.tanh(x)


@op(rules.elementwise, T="inexact", source="array API asinh", reference="numpy.arcsinh",
    tolerance=4.0)
def asinh(x: T) -> Array:
    """Inverse hyperbolic sine."""
    return complex_edges.asinh(x) if kind(x) == "c" else lax.asinh(x)


@op(rules.elementwise, T="inexact", source="array API acosh", reference="numpy.arccosh",
    samples=Elementwise(low=1.2, high=3.5), tolerance=4.0)
def acosh(x: T) -> Array:
    """Inverse hyperbolic cosine; NaN below 1 for real x."""
    return complex_edges.acosh(x) if kind(x) == "c" else in_float32(lax.acosh, x)


@op(rules.elementwise, T="inexact", source="array API atanh", reference="numpy.arctanh",
    samples=Elementwise(low=-0.8, high=0.8), tolerance=16.0)
def atanh(x: T) -> Array:
    """Inverse hyperbolic tangent; NaN outside [-1, 1] for real x."""
    return complex_edges.atanh(x) if kind(x) == "c" else lax.atanh(x)


# Special functions


@op(rules.elementwise, T="floating", source="C99 erf", reference="scipy.special.erf",
    tolerance=4.0)
def erf(x: T) -> Array:
    """The error function."""
    return lax.erf(x)


@op(rules.elementwise, T="floating", source="C99 erfc", reference="scipy.special.erfc",
    tolerance=8.0)
def erfc(x: T) -> Array:
    """1 - erf(x), accurate for large x."""
    return lax.erfc(x)


@op(rules.elementwise, T="floating", source="SciPy erfinv", reference="scipy.special.erfinv",
    samples=Elementwise(low=-0.9, high=0.9), tolerance=8.0)
def erfinv(x: T) -> Array:
    """The inverse of erf; infinite at -1 and 1."""
    return lax.erf_inv(x)


@op(rules.elementwise, T="floating", source="C99 lgamma",
    samples=Elementwise(low=0.3, high=5.0), tolerance=8.0)
def lgamma(x: T) -> Array:
    """The logarithm of the absolute value of the gamma function."""
    return in_float64(differentiated(lambda x, value: _polygamma(x, 0))(lax.lgamma), x)


@op(rules.elementwise, T="floating", source="SciPy psi", reference="scipy.special.psi",
    samples=Elementwise(low=0.3, high=5.0), tolerance=8.0)
def digamma(x: T) -> Array:
    """The derivative of lgamma; infinite at 0, with the sign of -x."""
    return in_float64(lambda x: _polygamma(x, 0), x)


@op(rules.elementwise, T="floating", source="SciPy polygamma",
    samples=Elementwise({"order": 1}, {"order": 0}, {"order": 3}, low=0.5, high=5.0,
                        special=False), tolerance=16.0)
def polygamma(x: T, *, order: int) -> Array:
    """Derivative number ``order`` of digamma; infinite at 0 and, of order 1 and more, at the
    negative integers."""
    return in_float64(lambda x: _polygamma(x, order), x)


def _polygamma(x: Any, order: int) -> Any:
    # XLA's derivatives are right for positive arguments only
    slope = differentiated(lambda x, value: _polygamma(x, order + 1))
    return slope(_digamma if order == 0 else functools.partial(_reflected, order=order))(x)


def _digamma(x: Any) -> Any:
    pole = lax.eq(x, constant(x, 0))
    return lax.select(pole, lax.div(constant(x, -1), x), lax.digamma(x))


#: the Bernoulli numbers of even index, from 2 on
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510,
              43867 / 798, -174611 / 330, 854513 / 138, -236364091 / 2730)  # fmt: skip


def _integer_zeta(q: Any, s: int) -> Any:
    """The Hurwitz zeta function of positive q and an integer s above 1 (DLMF 25.11.5, by the
    Euler-Maclaurin formula); integer powers compile to a few products, those of lax.zeta do not."""
    near = 10
    total = lax.integer_pow(q, -s)
    for k in range(1, near):
        total = total + lax.integer_pow(q + float(k), -s)
    step = 1.0 / (q + float(near))
    tail = constant(q, 0.0)
    for j in range(len(_BERNOULLI), 0, -1):
        rising = math.prod(range(s, s + 2 * j - 1))
        tail = tail * (step * step) + _BERNOULLI[j - 1] * (rising / math.factorial(2 * j))
    tail = (1.0 / (s - 1) + step * 0.5) + step * step * tail
    return total + lax.integer_pow(step, s - 1) * tail


def _reflected(x: Any, order: int) -> Any:
    """polygamma of x, from that of 1 - x where x is negative (DLMF 5.15.6)."""
    below = lax.lt(x, constant(x, 0))
    value = _integer_zeta(lax.select(below, constant(x, 1) - x, x), order + 1)
    # order! is infinite from 171 on
    value = value * (float(math.factorial(order)) if order < 171 else math.inf)
    value = value if order % 2 else -value
    # derivatives of pi cot(pi x) are polynomials in cot(pi x)
    terms = np.polynomial.Polynomial([0.0, math.pi])
    for _ in range(order):
        terms = terms.deriv() * np.polynomial.Polynomial([-math.pi, 0.0, -math.pi])
    turn = (x - lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)) * math.pi
    pole = lax.bitwise_and(lax.eq(turn, constant(x, 0)), lax.le(x, constant(x, 0)))
    turn = lax.select(lax.bitwise_and(below, lax.bitwise_not(pole)), turn, constant(x, 1))
    cotangent, wave = lax.cos(turn) / lax.sin(turn), constant(x, 0)
    for c in reversed(terms.coef):
        wave = wave * cotangent + float(c)
    reflected = (value if order % 2 == 0 else -value) - wave
    infinite = constant(x, math.inf if order % 2 else -math.inf)
    return lax.select(pole, infinite, lax.select(below, reflected, value))


@op(rules.elementwise, T="floating", source="SciPy gammainc", reference="scipy.special.gammainc",
    samples=Elementwise(low=0.5, high=4.0, special=False), tolerance=32.0)
def gammainc(a: T, x: T) -> Array:
    """The regularised lower incomplete gamma function, for a and x from 0 on."""
    return in_float32(lambda a, x: incomplete_gamma(a, x, upper=False), *broadcast(a, x))


@op(rules.elementwise, T="floating", source="SciPy gammaincc", reference="scipy.special.gammaincc",
    samples=Elementwise(low=0.5, high=4.0, special=False), tolerance=32.0)
def gammaincc(a: T, x: T) -> Array:
    """1 - gammainc(a, x), accurate where it is small."""
    return in_float32(lambda a, x: incomplete_gamma(a, x, upper=True), *broadcast(a, x))


@op(rules.elementwise, T="floating", source="SciPy betainc", reference="scipy.special.betainc",
    derivative=Derivative(differentiable=("x",)),
    samples=Elementwise(low=0.1, high=0.9, special=False), tolerance=32.0)
def betainc(a: T, b: T, x: T) -> Array:
    """The regularised incomplete beta function, for positive a and b and x in [0, 1]."""
    return in_float32(lax.betainc, *broadcast(a, b, x))


@op(rules.elementwise, T="floating", source="SciPy i0e", reference="scipy.special.i0e",
    tolerance=8.0)
def bessel_i0e(x: T) -> Array:
    """exp(-|x|) times the modified Bessel function of the first kind of order 0."""
    return in_float32(quotients.bessel_i0e, x)


@op(rules.elementwise, T="floating", source="SciPy i1e", reference="scipy.special.i1e",
    tolerance=8.0)
def bessel_i1e(x: T) -> Array:
    """exp(-|x|) times the modified Bessel function of the first kind of order 1."""
    return in_float32(quotients.bessel_i1e, x)


@op(rules.elementwise, T="inexact", source="NumPy sinc", reference="numpy.sinc", tolerance=8.0)
def sinc(x: T) -> Array:
    """sin(pi x) / (pi x), 1 at 0."""
    return in_float32(lambda x: quotients.sine_over(lax.mul(x, constant(x, math.pi))), x)
