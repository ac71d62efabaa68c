"""Elementwise arithmetic, rounding, complex parts and choices.

Operands broadcast by NumPy's rules and share one dtype. Integers wrap. Gradients
at ties and kinks are stated where they are a choice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ..dtypes import float32, float64
from . import complex_edges, rules
from ._helpers import (
    broadcast,
    constant,
    convert,
    divided,
    divided_by,
    flat_at_nan,
    in_float32,
    is_inexact,
    isnan,
    kind,
    modulus,
    signbit,
    widened,
)
from ._jax import jax, jnp, lax
from .kinds import Array, Bool, T
from .samples import Elementwise, Sample
from .spec import OpDef, op
from .traits import NOT_DIFFERENTIABLE, Access, Derivative, Execution

# Arithmetic


@op(rules.elementwise, T="any", source="array API add", reference="numpy.add",
    derivative=Derivative(linear="x y"), execution=Execution(usual=True))
def add(x: T, y: T) -> Array:
    """x + y. For bool, logical or, as in NumPy."""
    x, y = broadcast(x, y)
    return lax.bitwise_or(x, y) if kind(x) == "b" else lax.add(x, y)


@op(rules.elementwise, T="number", source="array API subtract", reference="numpy.subtract",
    derivative=Derivative(linear="x y"), execution=Execution(usual=True))
def subtract(x: T, y: T) -> Array:
    """x - y."""
    return lax.sub(*broadcast(x, y))


@op(rules.elementwise, T="any", source="array API multiply", reference="numpy.multiply",
    derivative=Derivative(multilinear="x y"), execution=Execution(usual=True))
def multiply(x: T, y: T) -> Array:
    """x * y. For bool, logical and, as in NumPy."""
    x, y = broadcast(x, y)
    return lax.bitwise_and(x, y) if kind(x) == "b" else lax.mul(x, y)


@op(rules.elementwise, T="inexact", source="array API divide", reference="numpy.divide",
    tolerance=4.0, derivative=Derivative(linear="x"), execution=Execution(usual=True))
def divide(x: T, y: T) -> Array:
    """x / y, of floating-point or complex operands; by IEEE 754 for a zero y."""
    return complex_edges.divide(*broadcast(x, y)) if kind(x) == "c" else divided(x, y)


def _integer_division(x: Any, y: Any) -> tuple[Any, Any, Any]:
    """Quotient and remainder rounded towards zero, 0 where y is 0, and y with 1 for 0."""
    zero = lax.eq(y, constant(y, 0))
    safe = lax.select(zero, constant(y, 1), y)
    quotient = lax.select(zero, constant(x, 0), lax.div(x, safe))
    return quotient, lax.select(zero, constant(x, 0), lax.rem(x, safe)), safe


def _signs_differ(remainder: Any, y: Any) -> Any:
    zero = constant(y, 0)
    return lax.bitwise_and(
        lax.ne(remainder, zero), lax.ne(lax.lt(remainder, zero), lax.lt(y, zero)))


def _with_sign_of(x: Any, y: Any) -> Any:
    return lax.select(lax.eq(signbit(x), signbit(y)), x, lax.neg(x))


@op(rules.elementwise, T="real", source="array API floor_divide; signs and zeros as NumPy",
    reference="numpy.floor_divide",
    derivative=Derivative(piecewise_linear="x y", constant_derivative="x y"))
def floor_divide(x: T, y: T) -> Array:
    """x // y, rounded down.

    For integers, division by zero gives 0 and the smallest integer by -1 wraps to
    itself. For floating-point operands, division by zero gives x / y. The gradient
    is zero.
    """
    x, y = broadcast(x, y)
    if not is_inexact(x):
        quotient, remainder_, safe = _integer_division(x, y)
        if kind(x) == "u":
            return quotient
        return lax.select(
            _signs_differ(remainder_, safe), lax.sub(quotient, constant(x, 1)), quotient)
    return in_float32(_float_floor_divide, lax.stop_gradient(x), lax.stop_gradient(y))


def _float_floor_divide(x: Any, y: Any) -> Any:
    # x - rem is a multiple of y up to rounding, so the quotient is within half of an
    # integer; x / y itself may round up to the next one.
    rem = lax.rem(x, y)
    quotient = lax.div(lax.sub(x, rem), y)
    quotient = lax.select(_signs_differ(rem, y), lax.sub(quotient, constant(x, 1)), quotient)
    down = lax.floor(quotient)
    nearest = lax.select(
        lax.gt(lax.sub(quotient, down), constant(x, 0.5)), lax.add(down, constant(x, 1)), down)
    ratio = lax.div(x, y)
    zero = constant(x, 0)
    nearest = lax.select(lax.eq(quotient, zero), _with_sign_of(zero, ratio), nearest)
    return lax.select(lax.eq(y, zero), ratio, nearest)


@op(rules.elementwise, T="real", source="array API remainder", reference="numpy.remainder",
    derivative=Derivative(constant_derivative="x"))
def remainder(x: T, y: T) -> Array:
    """x % y with the sign of y, as Python's.

    Integers give 0 where y is 0, floating-point operands NaN.
    """
    x, y = broadcast(x, y)
    if not is_inexact(x):
        _, rem, safe = _integer_division(x, y)
        return rem if kind(x) == "u" else lax.select(
            _signs_differ(rem, safe), lax.add(rem, safe), rem)

    return in_float32(_float_remainder, x, y)


def _float_remainder(x: Any, y: Any) -> Any:
    """x - y * floor(x / y), with derivatives 1 and -floor(x / y)."""

    def definition(x: Any, y: Any) -> Any:
        rem = lax.rem(x, y)
        rem = lax.select(lax.eq(rem, constant(x, 0)), _with_sign_of(rem, y), rem)
        return lax.select(_signs_differ(rem, y), lax.add(rem, y), rem)

    def rule(primals: Any, tangents: Any) -> Any:
        (x, y), (dx, dy) = primals, tangents
        quotient = _float_floor_divide(lax.stop_gradient(x), lax.stop_gradient(y))
        return _float_remainder(x, y), lax.sub(dx, lax.mul(dy, quotient))

    function = jax.custom_jvp(definition)
    function.defjvp(rule)
    return function(x, y)


@op(rules.elementwise, T="real", source="C99 fmod", reference="numpy.fmod",
    derivative=Derivative(constant_derivative="x"))
def fmod(x: T, y: T) -> Array:
    """The remainder of x / y with the sign of x. Integers give 0 where y is 0."""
    x, y = broadcast(x, y)
    return in_float32(lax.rem, x, y) if is_inexact(x) else _integer_division(x, y)[1]


@op(rules.elementwise, T="number", source="array API negative", reference="numpy.negative",
    derivative=Derivative(linear="x"))
def negative(x: T) -> Array:
    """-x; unsigned integers wrap."""
    return lax.neg(x)


@op(rules.elementwise, T="number", source="array API positive", reference="numpy.positive",
    derivative=Derivative(linear="x"), access=Access(data_movement=True))
def positive(x: T) -> Array:
    """+x, which is x."""
    return x


@op(rules.real_part, T="number", source="array API abs", reference="numpy.abs")
def abs_(x: T) -> Array:
    """|x|; complex operands give their modulus, of the real dtype.

    The smallest integer wraps to itself. The gradient at 0 and at NaN is 0.
    """
    return modulus(x)


@op(rules.elementwise, T="number", source="array API sign", reference="numpy.sign",
    derivative=Derivative(piecewise_linear="x"))
def sign(x: T) -> Array:
    """-1, 0 or 1; x / |x| for complex operands, NaN for NaN; 0 for -0.0."""
    if kind(x) == "f":
        zero = constant(x, 0)
        return lax.select(lax.eq(x, zero), zero, lax.sign(x))
    if kind(x) != "c":
        return lax.sign(x)
    # lax.sign has derivative zero, which is right for real operands only.
    size = modulus(x)
    zero = lax.eq(size, constant(size, 0))
    safe = lax.select(zero, constant(size, 1), size)
    quotient = lax.complex(_direction(lax.real(x), lax.imag(x), safe),
                           _direction(lax.imag(x), lax.real(x), safe))
    return lax.select(zero, constant(x, 0), quotient)


def _direction(part: Any, other: Any, size: Any) -> Any:
    """One part of x / |x|; an infinity along an axis stays on that axis."""
    infinity = constant(part, math.inf)
    infinite = lax.eq(lax.abs(part), infinity)
    both = lax.bitwise_and(infinite, lax.eq(lax.abs(other), infinity))
    along = lax.bitwise_and(lax.eq(size, infinity), lax.bitwise_not(both))
    unit = lax.select(infinite, lax.sign(part), constant(part, 0))
    return lax.select(along, unit, lax.div(part, size))


@op(rules.elementwise, T="number", source="array API square", reference="numpy.square")
def square(x: T) -> Array:
    """x * x."""
    return lax.square(x)


@op(rules.elementwise, T="inexact", source="array API reciprocal", reference="numpy.reciprocal",
    samples=Elementwise(low=0.3), tolerance=4.0)
def reciprocal(x: T) -> Array:
    """1 / x."""
    return complex_edges.reciprocal(x) if kind(x) == "c" else lax.div(constant(x, 1), x)


def _larger(f: Any, before: Any) -> Any:
    """``lax.max`` or ``lax.min``, given its order, with a gradient also where an operand is NaN."""
    chosen = jax.custom_jvp(f)

    def rule(primals: Any, tangents: Any) -> Any:
        (x, y), (dx, dy) = primals, tangents
        both = lax.add(dx, dy)
        tied = lax.select(lax.eq(x, y), lax.mul(both, constant(both, 0.5)), both)
        return chosen(x, y), lax.select(before(x, y), dx, lax.select(before(y, x), dy, tied))

    chosen.defjvp(rule)
    return chosen


def _first_of(f: Any, at_least: Any) -> Any:
    """A function of two arrays that gives one of them, the first one where they tie."""
    chosen = jax.custom_jvp(f)

    def rule(primals: Any, tangents: Any) -> Any:
        (x, y), (dx, dy) = primals, tangents
        first = lax.bitwise_or(at_least(x, y), isnan(y))
        return chosen(x, y), lax.select(first, dx, dy)

    chosen.defjvp(rule)
    return chosen


@op(rules.elementwise, T="ordered", source="array API maximum", reference="numpy.maximum",
    derivative=Derivative(piecewise_linear="x y"), execution=Execution(usual=True))
def maximum(x: T, y: T) -> Array:
    """The larger of x and y; NaN if either is. At ties each gets half of the gradient, with a NaN
    each gets all of it."""
    x, y = broadcast(x, y)
    if is_inexact(x):
        return _larger(lax.max, lax.gt)(x, y)
    # XLA merges two limits into a clamp, which some of its code generators lack for bools
    return (lax.bitwise_or if kind(x) == "b" else lax.max)(x, y)


@op(rules.elementwise, T="ordered", source="array API minimum", reference="numpy.minimum",
    derivative=Derivative(piecewise_linear="x y"), execution=Execution(usual=True))
def minimum(x: T, y: T) -> Array:
    """The smaller of x and y; NaN if either is. At ties each gets half of the gradient, with a NaN
    each gets all of it."""
    x, y = broadcast(x, y)
    if is_inexact(x):
        return _larger(lax.min, lax.lt)(x, y)
    return (lax.bitwise_and if kind(x) == "b" else lax.min)(x, y)


def _without_nan(x: Any, y: Any) -> tuple[Any, Any]:
    if not is_inexact(x):
        return x, y
    return lax.select(isnan(x), y, x), lax.select(isnan(y), x, y)


@op(rules.elementwise, T="ordered", source="C99 fmax", reference="numpy.fmax",
    derivative=Derivative(piecewise_linear="x y"))
def fmax(x: T, y: T) -> Array:
    """The larger of x and y; the other one where one of them is NaN. At ties x has the
    gradient."""
    x, y = broadcast(x, y)
    if is_inexact(x):
        return _first_of(lambda x, y: lax.max(*_without_nan(x, y)), lax.ge)(x, y)
    return lax.max(x, y)


@op(rules.elementwise, T="ordered", source="C99 fmin", reference="numpy.fmin",
    derivative=Derivative(piecewise_linear="x y"))
def fmin(x: T, y: T) -> Array:
    """The smaller of x and y; the other one where one of them is NaN. At ties x has the
    gradient."""
    x, y = broadcast(x, y)
    if is_inexact(x):
        return _first_of(lambda x, y: lax.min(*_without_nan(x, y)), lax.le)(x, y)
    return lax.min(x, y)


@op(rules.elementwise, T="floating", source="C99 hypot", reference="numpy.hypot", tolerance=2.0)
def hypot(x: T, y: T) -> Array:
    """sqrt(x*x + y*y) without overflow, infinite if x or y is. The gradient at (0, 0) is 0, and
    where the result is infinite."""

    def definition(x: Any, y: Any) -> Any:
        infinity = constant(x, math.inf)
        infinite = lax.eq(lax.max(*_without_nan(lax.abs(x), lax.abs(y))), infinity)
        # the unselected side has a gradient, too, which must not be NaN
        x, y = [lax.select(infinite, constant(v, 1), v) for v in (x, y)]
        return lax.select(infinite, infinity, modulus(lax.complex(x, y)))

    return in_float32(definition, *broadcast(x, y))


@op(rules.elementwise, T="floating", source="C99 copysign", reference="numpy.copysign")
def copysign(x: T, y: T) -> Array:
    """The magnitude of x with the sign of y, zeros included. The gradient is 0 where x is."""
    x, y = broadcast(x, y)
    zero = lax.eq(x, constant(x, 0))
    return _with_sign_of(lax.select(zero, lax.stop_gradient(x), x), y)


@op(rules.elementwise, T="floating", source="C99 nextafter", reference="numpy.nextafter",
    derivative=NOT_DIFFERENTIABLE, tolerance=0.0)
def nextafter(x: T, y: T) -> Array:
    """The next number after x in the direction of y."""
    return lax.nextafter(*broadcast(x, y))


@op(rules.elementwise, T="floating", source="NumPy heaviside", reference="numpy.heaviside")
def heaviside(x: T, y: T) -> Array:
    """0 for negative x, 1 for positive x, y where x is 0, NaN for NaN."""
    x, y = broadcast(x, y)
    zero = constant(x, 0)
    step = lax.select(lax.gt(x, zero), constant(x, 1), lax.select(isnan(x), x, zero))
    return lax.select(lax.eq(x, zero), y, step)


@op(rules.elementwise, T="integer", source="NumPy gcd", reference="numpy.gcd",
    derivative=NOT_DIFFERENTIABLE)
def gcd(x: T, y: T) -> Array:
    """The greatest common divisor of |x| and |y|; gcd(0, 0) is 0."""
    return _gcd(*broadcast(x, y))


def _gcd(x: Any, y: Any) -> Any:
    def pending(pair: tuple[Any, Any]) -> Any:
        return lax.reduce_or(lax.ne(pair[1], constant(y, 0)), range(y.ndim))

    def step(pair: tuple[Any, Any]) -> tuple[Any, Any]:
        a, b = pair
        done = lax.eq(b, constant(b, 0))
        return lax.select(done, a, b), lax.select(
            done, b, lax.rem(a, lax.select(done, constant(b, 1), b)))

    return abs_(lax.while_loop(pending, step, (abs_(x), abs_(y)))[0])


@op(rules.elementwise, T="integer", source="NumPy lcm", reference="numpy.lcm",
    derivative=NOT_DIFFERENTIABLE)
def lcm(x: T, y: T) -> Array:
    """The least common multiple of |x| and |y|; 0 if either is 0."""
    x, y = broadcast(x, y)
    x, y = abs_(x), abs_(y)
    divisor = _gcd(x, y)
    divisor = lax.select(lax.eq(divisor, constant(x, 0)), constant(x, 1), divisor)
    return lax.mul(lax.div(x, divisor), y)


# Rounding: the gradients are zero


@op(rules.elementwise, T="real", source="array API floor", reference="numpy.floor",
    derivative=Derivative(piecewise_linear="x", constant_derivative="x"))
def floor(x: T) -> Array:
    """The largest integer not above x."""
    return lax.floor(x) if is_inexact(x) else x


@op(rules.elementwise, T="real", source="array API ceil", reference="numpy.ceil",
    derivative=Derivative(piecewise_linear="x", constant_derivative="x"))
def ceil(x: T) -> Array:
    """The smallest integer not below x."""
    return lax.ceil(x) if is_inexact(x) else x


@op(rules.elementwise, T="real", source="array API trunc", reference="numpy.trunc",
    derivative=Derivative(piecewise_linear="x", constant_derivative="x"))
def trunc(x: T) -> Array:
    """x rounded towards zero."""
    if not is_inexact(x):
        return x
    return lax.select(lax.lt(x, constant(x, 0)), lax.ceil(x), lax.floor(x))


@op(rules.elementwise, T="number", source="array API round; decimals as NumPy",
    samples=Elementwise({}, {"decimals": 1}, {"decimals": -1}, {"decimals": 3}, low=-60.0,
                        high=60.0),
    derivative=Derivative(piecewise_linear="x", constant_derivative="x"))
def round_(x: T, *, decimals: int = 0) -> Array:
    """x rounded to ``decimals`` decimal places, halves to the even neighbour.

    Negative ``decimals`` round to tens, hundreds, ... Complex parts round on their own.
    """
    # a power of ten beyond the range of every dtype stands for all larger ones
    decimals = max(-_BEYOND, min(decimals, _BEYOND))
    if kind(x) == "c":
        return lax.complex(_round(lax.real(x), decimals), _round(lax.imag(x), decimals))
    if is_inexact(x):
        return _round(x, decimals)
    if decimals >= 0:
        return x
    if 10 ** -decimals > 4 * jnp.iinfo(x.dtype).max:
        return constant(x, 0)
    unit = constant(convert(x, jnp.int64 if kind(x) == "i" else jnp.uint64), 10 ** -decimals)
    return convert(_round_to_multiple(convert(x, unit.dtype), unit), x.dtype)


#: 10.0 to this power is infinite
_BEYOND = 309


def _round(x: Any, decimals: int) -> Any:
    even = lax.RoundingMethod.TO_NEAREST_EVEN
    if decimals == 0:
        return lax.round(x, even)
    wide = widened(x)
    factor = 10.0 ** abs(decimals) if abs(decimals) < _BEYOND else math.inf
    scale = constant(wide, factor)
    if decimals > 0:
        shifted = lax.round(lax.mul(wide, scale), even)
        return convert(divided_by(shifted, factor), x.dtype)
    return convert(lax.mul(lax.round(divided_by(wide, factor), even), scale), x.dtype)


def _round_to_multiple(x: Any, unit: Any) -> Any:
    low = lax.rem(x, unit)
    if kind(x) == "i":
        low = lax.select(lax.lt(low, constant(x, 0)), lax.add(low, unit), low)
    down = lax.sub(x, low)
    rest = lax.sub(unit, low)
    odd = lax.ne(lax.rem(lax.div(down, unit), constant(x, 2)), constant(x, 0))
    up = lax.bitwise_or(lax.gt(low, rest), lax.bitwise_and(lax.eq(low, rest), odd))
    return lax.select(up, lax.add(down, unit), down)


# Complex parts


@op(rules.real_part, T="number", source="array API real", reference="numpy.real",
    derivative=Derivative(linear="x"))
def real(x: T) -> Array:
    """The real part, of the real dtype; x itself if it is real."""
    return lax.real(x) if kind(x) == "c" else x


@op(rules.real_part, T="number", source="array API imag", reference="numpy.imag",
    derivative=Derivative(linear="x"))
def imag(x: T) -> Array:
    """The imaginary part, of the real dtype; 0 if x is real."""
    return lax.imag(x) if kind(x) == "c" else constant(x, 0)


@op(rules.elementwise, T="number", source="array API conj", reference="numpy.conj",
    derivative=Derivative(linear="x"))
def conj(x: T) -> Array:
    """The complex conjugate; x itself if it is real."""
    return lax.conj(x) if kind(x) == "c" else x


@op(rules.real_part, T="inexact", source="NumPy angle", reference="numpy.angle", tolerance=4.0,
    samples=Elementwise(low=0.2))
def angle(x: T) -> Array:
    """The argument of x in radians; 0 or pi for real x, whose gradient is 0. So is that at 0."""
    if kind(x) == "c":
        real, imag = lax.real(x), lax.imag(x)
        zero = constant(real, 0)
        nothing = lax.bitwise_and(lax.eq(real, zero), lax.eq(imag, zero))
        # at zero, the angle is 0 or pi by the sign of the real part
        aside = lax.select(signbit(real), constant(real, -1), constant(real, 1))
        at_zero = lax.atan2(lax.stop_gradient(imag), aside)
        right = lax.select(nothing, constant(real, 1), real)
        return lax.select(nothing, at_zero, lax.atan2(imag, right))
    x = lax.stop_gradient(x)
    by_sign = lax.select(signbit(x), constant(x, math.pi), constant(x, 0))
    return lax.select(isnan(x), x, by_sign)


def _complex_samples(op: OpDef) -> Iterator[Sample]:
    for d in (float32, float64):
        for sample in Elementwise()(op):
            if sample.operands[0] is not None and sample.operands[0].dtype == d.numpy:
                yield sample


@op(rules.complex_pair, T="floating", source="C11 CMPLX", samples=_complex_samples,
    derivative=Derivative(linear="real imag"))
def complex_(real: T, imag: T) -> Array:
    """real + i imag, complex64 of float32 or complex128 of float64 operands."""
    return lax.complex(*broadcast(real, imag))


# Combinations that have a name in both frontends


@op(rules.elementwise, T="number", source="PyTorch addcmul",
    derivative=Derivative(linear=("x y", "x z", "x value")))
def addcmul(x: T, y: T, z: T, value: T = None) -> Array:
    """x + value * y * z; value is 1 if absent."""
    product = lax.mul(*broadcast(y, z))
    if value is not None:
        product = lax.mul(*broadcast(product, value))
    return lax.add(*broadcast(x, product))


@op(rules.elementwise, T="inexact", source="PyTorch addcdiv", samples=Elementwise(low=0.3),
    tolerance=4.0, derivative=Derivative(linear=("x y", "x value")))
def addcdiv(x: T, y: T, z: T, value: T = None) -> Array:
    """x + value * y / z; value is 1 if absent."""
    ratio = lax.div(*broadcast(y, z))
    if value is not None:
        ratio = lax.mul(*broadcast(ratio, value))
    return lax.add(*broadcast(x, ratio))


@op(rules.elementwise, T="inexact", source="PyTorch lerp", tolerance=4.0,
    derivative=Derivative(linear="x y"))
def lerp(x: T, y: T, weight: T) -> Array:
    """x + weight * (y - x), computed from the nearer end so that weight 1 gives y."""
    x, y, weight = broadcast(x, y, weight)
    gap = lax.sub(y, x)
    near_x = lax.add(x, lax.mul(weight, gap))
    near_y = lax.sub(y, lax.mul(gap, lax.sub(constant(x, 1), weight)))
    size = lax.abs(weight) if kind(x) == "c" else weight
    return lax.select(lax.lt(size, constant(size, 0.5)), near_x, near_y)


@op(rules.elementwise, T="ordered", source="array API clip",
    derivative=Derivative(piecewise_linear="x min max"))
def clip(x: T, min: T = None, max: T = None) -> Array:
    """x limited to [min, max], NaN where any is; max where min > max.

    At ties with a limit the gradient goes to x, which has none where it is NaN.
    """
    if is_inexact(x):
        x = flat_at_nan(x)
    present = [v for v in (x, min, max) if v is not None]
    shapes = iter(broadcast(*present))
    x = next(shapes)
    if min is not None:
        min = next(shapes)
        x = lax.select(_beyond(lax.lt, x, min), min, x)
    if max is not None:
        max = next(shapes)
        x = lax.select(_beyond(lax.gt, x, max), max, x)
    return x


def _beyond(compare: Any, x: Any, limit: Any) -> Any:
    beyond = compare(x, limit)
    if not is_inexact(x):
        return beyond
    return lax.bitwise_and(lax.bitwise_or(beyond, isnan(limit)), lax.eq(x, x))


@op(rules.elementwise, T="any", source="array API where, of broadcast operands",
    derivative=Derivative(linear="x y"), execution=Execution(usual=True))
def where(condition: Bool, x: T, y: T) -> Array:
    """x where condition, y elsewhere. Each gets the gradient only where it was taken."""
    return lax.select(*broadcast(condition, x, y))


@op(rules.elementwise, T="inexact", source="NumPy nan_to_num",
    samples=Elementwise({}, {"nan": 1.5, "posinf": 7.0, "neginf": -7.0}),
    derivative=Derivative(piecewise_linear="x"))
def nan_to_num(
    x: T, *, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Array:
    """x with NaN and infinities replaced; infinities by the largest numbers for None.

    Parts of complex operands are replaced on their own.
    """
    if kind(x) == "c":
        return lax.complex(_finite(lax.real(x), nan, posinf, neginf),
                           _finite(lax.imag(x), nan, posinf, neginf))
    return _finite(x, nan, posinf, neginf)


def _finite(x: Any, nan: float, posinf: float | None, neginf: float | None) -> Any:
    limits = jnp.finfo(x.dtype)
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    replaced = lax.select(isnan(x), constant(x, nan), x)
    replaced = lax.select(lax.eq(x, constant(x, math.inf)), constant(x, high), replaced)
    return lax.select(lax.eq(x, constant(x, -math.inf)), constant(x, low), replaced)
