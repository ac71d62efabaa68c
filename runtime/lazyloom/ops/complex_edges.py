"""Complex functions at their edges: signed zeros, infinities and NaN as in C99's Annex G.

XLA's complex functions are accurate inside the plane, but most drop the sign of a zero, which
decides the side of a branch cut (the root of -1 - 0i is -i), and give NaN for many infinite
operands. Each function here is XLA's with those values corrected; derivatives do not go through
the corrections. If Annex G leaves a sign unspecified, it is NumPy's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ._helpers import constant, isnan, signbit
from ._jax import jax, lax

#: from the parts of the operand and of XLA's result to the parts of the right result
Edges = Callable[[Any, Any, Any, Any], tuple[Any, Any]]


def _corrected(function: Any, edges: Edges, x: Any, derivative: Any = None) -> Any:
    """``function(x)`` with its parts corrected; ``derivative(x, result)`` if not XLA's."""

    def value(x: Any) -> Any:
        plain = function(x)
        return lax.complex(*edges(lax.real(x), lax.imag(x), lax.real(plain), lax.imag(plain)))

    def rule(primals: Any, tangents: Any) -> Any:
        (x,), (dx,) = primals, tangents
        result = corrected(x)
        if derivative is not None:
            return result, lax.mul(dx, derivative(x, result))
        return result, jax.jvp(function, (x,), (dx,))[1]

    corrected = jax.custom_jvp(value)
    corrected.defjvp(rule)
    return corrected(x)


def _signed(size: Any, negative: Any) -> Any:
    size = lax.abs(size)
    return lax.select(negative, lax.neg(size), size)


def _with_sign(size: Any, x: Any) -> Any:
    """The modulus of ``size`` with the sign of ``x``."""
    return _signed(size, signbit(x))


def _and(*conditions: Any) -> Any:
    result = conditions[0]
    for c in conditions[1:]:
        result = lax.bitwise_and(result, c)
    return result


def _or(*conditions: Any) -> Any:
    result = conditions[0]
    for c in conditions[1:]:
        result = lax.bitwise_or(result, c)
    return result


def _is(x: Any, number: float) -> Any:
    return lax.eq(x, constant(x, number))


def _infinite(x: Any) -> Any:
    return _is(lax.abs(x), math.inf)


def _where(condition: Any, x: Any, y: Any) -> Any:
    x = constant(y, x) if isinstance(x, float) else x
    return lax.select(condition, x, y)


def _rotated(function: Any, x: Any) -> Any:
    """``i f(-i x)``: a trigonometric function from the hyperbolic one, both odd."""
    value = function(lax.complex(lax.imag(x), lax.neg(lax.real(x))))
    return lax.complex(lax.neg(lax.imag(value)), lax.real(value))


# Exponentials and logarithms


def exp(x: Any) -> Any:
    def edges(a: Any, b: Any, re: Any, im: Any) -> tuple[Any, Any]:
        unknown = lax.bitwise_not(lax.is_finite(b))
        up, down = _and(_is(a, math.inf), unknown), _and(_is(a, -math.inf), unknown)
        re = _where(up, math.inf, _where(down, 0.0, re))
        im = _where(down, _with_sign(constant(b, 0), b), _where(_is(b, 0), b, im))
        return re, im

    return _corrected(lax.exp, edges, x)


def expm1(x: Any) -> Any:
    def edges(a: Any, b: Any, re: Any, im: Any) -> tuple[Any, Any]:
        unknown = lax.bitwise_not(lax.is_finite(b))
        up, down = _and(_is(a, math.inf), unknown), _and(_is(a, -math.inf), unknown)
        re = _where(_is(b, 0), lax.expm1(a), re)
        re = _where(up, math.inf, _where(down, -1.0, re))
        im = _where(down, _with_sign(constant(b, 0), b), _where(_is(b, 0), b, im))
        return re, im

    return _corrected(lax.expm1, edges, x)


def exp2(x: Any) -> Any:
    ln2 = constant(lax.real(x), math.log(2.0))
    return exp(lax.complex(lax.mul(lax.real(x), ln2), lax.mul(lax.imag(x), ln2)))


def _of_modulus(a: Any, b: Any, re: Any, im: Any) -> tuple[Any, Any]:
    # a number with an infinite part has an infinite modulus, whatever the other part is
    return _where(_or(_infinite(a), _infinite(b)), math.inf, re), _with_sign(im, b)


def log(x: Any) -> Any:
    return _corrected(lax.log, _of_modulus, x)


def log1p(x: Any) -> Any:
    return _corrected(lax.log1p, _of_modulus, x)


def sqrt(x: Any) -> Any:
    def edges(a: Any, b: Any, re: Any, im: Any) -> tuple[Any, Any]:
        tall = _infinite(b)
        right, left = _and(_is(a, math.inf), isnan(b)), _and(_is(a, -math.inf), isnan(b))
        re = _where(_or(tall, right), math.inf, re)
        im = _where(tall, b, _where(left, math.inf, _with_sign(im, b)))
        return re, im

    def derivative(x: Any, root: Any) -> Any:
        return lax.div(constant(root, 0.5), root)

    return _corrected(lax.sqrt, edges, x, derivative)


# Hyperbolic and trigonometric functions


def sinh(x: Any) -> Any:
    def edges(a: Any, b: Any, re: Any, im: Any) -> tuple[Any, Any]:
        unknown = lax.bitwise_not(lax.is_finite(b))
        turned = _where(unknown, a, _signed(a, lax.bitwise_xor(signbit(a), signbit(lax.cos(b)))))
        re = _where(_is(b, 0), lax.sinh(a), _where(_is(a, 0), turned, re))
        re = _where(_and(_infinite(a), unknown), math.inf, re)
        return re, _where(_is(b, 0), b, im)

    return _corrected(lax.sinh, edges, x)


def cosh(x: Any) -> Any:
    def edges(a: Any, b: Any, re: Any, im: Any) -> tuple[Any, Any]:
        finite = lax.is_finite(b)
        re = _where(_and(_infinite(a), lax.bitwise_not(finite)), math.inf, re)
        # the imaginary part is sinh(a) sin(b), and has its sign if it is zero
        left = _and(signbit(a), lax.bitwise_not(isnan(a)))
        negative = _and(finite, lax.bitwise_xor(left, signbit(lax.sin(b))))
        im = _where(_or(_is(a, 0), _is(b, 0)), _signed(constant(b, 0), negative), im)
        return re, im

    return _corrected(lax.cosh, edges, x)


def tanh(x: Any) -> Any:
    def edges(a: Any, b: Any, re: Any, im: Any) -> tuple[Any, Any]:
        unknown = lax.bitwise_not(lax.is_finite(b))
        re = _where(_and(_is(a, 0), unknown), a, re)
        im = _where(_is(b, 0), b, im)
        im = _where(_and(_infinite(a), _infinite(b)), _with_sign(constant(b, 0), b), im)
        return re, im

    return _corrected(lax.tanh, edges, x)


def sin(x: Any) -> Any:
    return _rotated(sinh, x)


def cos(x: Any) -> Any:
    return cosh(lax.complex(lax.neg(lax.imag(x)), lax.real(x)))


def tan(x: Any) -> Any:
    # unlike the sine: where a sign is unspecified, this one is NumPy's
    value = tanh(lax.complex(lax.neg(lax.imag(x)), lax.real(x)))
    return lax.complex(lax.imag(value), lax.neg(lax.real(value)))


# Their inverses: even or odd in each part, so the signs are those of the operand


def asinh(x: Any) -> Any:
    def edges(a: Any, b: Any, re: Any, im: Any) -> tuple[Any, Any]:
        unknown = _or(isnan(a), isnan(b))
        far = _or(_infinite(a), _infinite(b))
        re = _where(unknown, _where(far, math.inf, constant(re, math.nan)), re)
        im = _where(unknown, _where(_is(b, 0), b, constant(im, math.nan)), im)
        return _where(isnan(a), re, _with_sign(re, a)), _with_sign(im, b)

    return _corrected(lax.asinh, edges, x)


def acosh(x: Any) -> Any:
    def edges(a: Any, b: Any, re: Any, im: Any) -> tuple[Any, Any]:
        unknown = _or(isnan(a), isnan(b))
        far = _or(_infinite(a), _infinite(b))
        re = _where(unknown, _where(far, math.inf, constant(re, math.nan)), re)
        im = _where(unknown, _where(_is(a, 0), math.pi / 2, constant(im, math.nan)), im)
        return re, _where(isnan(b), im, _with_sign(im, b))

    def derivative(x: Any, result: Any) -> Any:
        # the product of two roots has the function's branch cuts, the root of the product does not
        one = constant(x, 1)
        return lax.div(one, lax.mul(sqrt(lax.sub(x, one)), sqrt(lax.add(x, one))))

    return _corrected(lax.acosh, edges, x, derivative)


def atanh(x: Any) -> Any:
    def edges(a: Any, b: Any, re: Any, im: Any) -> tuple[Any, Any]:
        nan = constant(re, math.nan)
        unknown = _or(isnan(a), isnan(b))
        small = _or(_is(a, 0), _infinite(a), _infinite(b))
        re = _where(unknown, _where(small, 0.0, nan), re)
        im = _where(unknown, _where(_infinite(b), math.pi / 2, nan), im)
        return _where(isnan(a), re, _with_sign(re, a)), _with_sign(im, b)

    return _corrected(lax.atanh, edges, x)


def asin(x: Any) -> Any:
    return _rotated(asinh, x)


def atan(x: Any) -> Any:
    return _rotated(atanh, x)


def acos(x: Any) -> Any:
    def edges(a: Any, b: Any, re: Any, im: Any) -> tuple[Any, Any]:
        nan = constant(re, math.nan)
        unknown = _or(isnan(a), isnan(b))
        far = _or(_infinite(a), _infinite(b))
        re = _where(unknown, _where(_is(a, 0), math.pi / 2, nan), re)
        im = _where(unknown, _where(far, math.inf, nan), im)
        below = _and(signbit(b), lax.bitwise_not(isnan(b)))
        return lax.abs(re), _signed(im, lax.bitwise_not(below))

    return _corrected(lax.acos, edges, x)


# Quotients and powers


def _of_two(value: Any, plain: Any, x: Any, y: Any) -> Any:
    """``value(x, y)`` with the derivative of ``plain``."""

    def rule(primals: Any, tangents: Any) -> Any:
        return corrected(*primals), jax.jvp(plain, primals, tangents)[1]

    corrected = jax.custom_jvp(value)
    corrected.defjvp(rule)
    return corrected(x, y)


def divide(x: Any, y: Any) -> Any:
    """x / y by Smith's method, which scales by the larger part of y."""
    return _of_two(_quotient, lax.div, x, y)


def _quotient(x: Any, y: Any) -> Any:
    a, b, c, d = lax.real(x), lax.imag(x), lax.real(y), lax.imag(y)
    wide = lax.ge(lax.abs(c), lax.abs(d))
    ratio = lax.select(wide, lax.div(d, c), lax.div(c, d))
    total = lax.select(wide, lax.add(c, lax.mul(d, ratio)), lax.add(d, lax.mul(c, ratio)))
    scale = lax.div(constant(total, 1), total)
    re = lax.select(wide, lax.add(a, lax.mul(b, ratio)), lax.add(lax.mul(a, ratio), b))
    im = lax.select(wide, lax.sub(b, lax.mul(a, ratio)), lax.sub(lax.mul(b, ratio), a))
    nothing = _and(_is(c, 0), _is(d, 0))
    size = lax.abs(c)
    re = _where(nothing, lax.div(a, size), lax.mul(re, scale))
    im = _where(nothing, lax.div(b, size), lax.mul(im, scale))
    return lax.complex(re, im)


def reciprocal(x: Any) -> Any:
    """1 / x like :func:`divide`, but NaN for 0."""

    def edges(a: Any, b: Any, re: Any, im: Any) -> tuple[Any, Any]:
        wide = lax.le(lax.abs(b), lax.abs(a))
        ratio = lax.select(wide, lax.div(b, a), lax.div(a, b))
        total = lax.select(wide, lax.add(a, lax.mul(b, ratio)), lax.add(lax.mul(a, ratio), b))
        one = constant(a, 1)
        first = lax.div(lax.select(wide, one, ratio), total)
        second = lax.div(lax.select(wide, lax.neg(ratio), lax.neg(one)), total)
        return first, second

    return _corrected(lambda x: lax.div(constant(x, 1), x), edges, x)


def power(x: Any, y: Any) -> Any:
    """x ** y: exp(y log(x)), or by multiplication for integers y below 100 in modulus."""
    return _of_two(_power, _plain_power, x, y)


def _plain_power(x: Any, y: Any) -> Any:
    # XLA computes the modulus of 0 ** (a + bi) but no angle; a modulus of 0 needs none.
    value = lax.pow(x, y)
    vanishes = lax.gt(lax.real(y), constant(lax.real(y), 0))
    vanishes = lax.bitwise_and(vanishes, lax.eq(x, constant(x, 0)))
    return lax.select(lax.bitwise_and(vanishes, isnan(value)), constant(x, 0), value)


def _power(x: Any, y: Any) -> Any:
    c, d = lax.real(y), lax.imag(y)
    whole = _and(_is(d, 0), lax.lt(lax.abs(c), constant(c, 100)), lax.eq(lax.floor(c), c))
    bits = lax.convert_element_type(lax.abs(_where(whole, c, constant(c, 0))), "int32")
    few = lax.lt(bits, constant(bits, 4))
    product, factor = constant(x, 1), x
    for bit in range(7):
        odd = lax.eq(lax.bitwise_and(bits, constant(bits, 1)), constant(bits, 1))
        times = lax.mul(product, factor)
        if bit < 2:  # small powers do not begin with 1 * x, which is NaN for an infinite x
            first = _and(few, lax.eq(product, constant(x, 1))) if bit else few
            times = lax.select(first, factor, times)
        product = lax.select(odd, times, product)
        factor, bits = lax.mul(factor, factor), lax.shift_right_logical(bits, constant(bits, 1))
    product = lax.select(_and(whole, lax.lt(c, constant(c, 0))),
                         _quotient(constant(x, 1), product), product)
    result = lax.select(whole, product, exp(lax.mul(y, log(x))))
    nan = lax.complex(constant(c, math.nan), constant(c, math.nan))
    at_zero = lax.select(lax.gt(c, constant(c, 0)), constant(x, 0), nan)
    result = lax.select(lax.eq(x, constant(x, 0)), at_zero, result)
    return lax.select(lax.eq(y, constant(y, 0)), constant(x, 1), result)
