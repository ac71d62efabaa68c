"""Quotients whose numerator vanishes at the pole, too: functions that are smooth there.

The derivatives of such quotients cancel near the pole: that of ``sin(x) / x`` is
``(cos(x) - sin(x) / x) / x``. There, power series or Chebyshev series replace them, whose
derivatives of all orders are right.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from . import series
from ._helpers import constant, differentiated, isnan, modulus
from ._jax import jax, lax

#: coefficients of sin(x) / x in x * x; for |x| below 1 they reach the precision of float64
_SINE = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(11))


def polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    """The polynomial with these coefficients, lowest first, by Horner's scheme."""
    total = constant(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = lax.add(lax.mul(total, x), constant(x, c))
    return total


def chebyshev(t: Any, coefficients: tuple[float, ...]) -> Any:
    """A Chebyshev series at t in [-1, 1], by Clenshaw's recurrence."""
    first = second = constant(t, 0.0)
    twice = t + t
    for c in reversed(coefficients[1:]):
        first, second = twice * first - second + c, first
    return t * first - second + coefficients[0]


def _near(x: Any, limit: float) -> tuple[Any, Any, Any]:
    """Where |x| is below a limit; x where it is, and x where it is not, each else the limit."""
    edge = constant(x, limit)
    near = lax.lt(modulus(x), modulus(edge))
    return near, lax.select(near, x, edge), lax.select(near, edge, x)


def _slope_of_sine_over(x: Any, value: Any) -> Any:
    near, small, large = _near(x, 1.0)
    odd = tuple(2.0 * k * c for k, c in enumerate(_SINE))[1:]
    below = lax.mul(small, polynomial(lax.mul(small, small), odd))
    return lax.select(near, below, lax.div(lax.sub(lax.cos(large), sine_over(large)), large))


@differentiated(_slope_of_sine_over)
def sine_over(x: Any) -> Any:
    """sin(x) / x, 1 at 0."""
    zero = lax.eq(x, constant(x, 0))
    one = constant(x, 1)
    return lax.select(zero, one, lax.div(lax.sin(x), lax.select(zero, one, x)))


def over(x: Any, numerator: Any, at_zero: float) -> Any:
    """A quotient by x with its limit at 0: for values, not for derivatives."""
    zero = lax.eq(x, constant(x, 0.0))
    quotient = numerator / lax.select(zero, constant(x, 1.0), x)
    return lax.select(zero, constant(x, at_zero), quotient)


def slope_by_series(
    x: Any, limit: float, series_of: Callable[[Any], Any], elsewhere: Callable[[Any], Any]
) -> Any:
    """The derivative of a function that is a series where |x| is below a limit; ``elsewhere``
    returns it for other x."""
    near, small, large = _near(x, limit)
    below = jax.jvp(series_of, (small,), (constant(x, 1.0),))[1]
    return lax.select(near, below, elsewhere(large))


def _i1_series(x: Any) -> Any:
    return chebyshev(x * x * 0.5 - 1.0, series.I1)


def _slope_of_i1_over(x: Any, value: Any) -> Any:
    return slope_by_series(x, 2.0, _i1_series, lambda x: (
        lax.exp(lax.abs(x)) * bessel_i0e(x) - 2.0 * bessel_i1_over(x)) / x)


@differentiated(_slope_of_i1_over)
def bessel_i1_over(x: Any) -> Any:
    """The modified Bessel function of order 1 over x."""
    return over(x, lax.exp(lax.abs(x)) * lax.bessel_i1e(x), 0.5)


@differentiated(lambda x, value: bessel_i1e(x) - lax.sign(x) * value)
def bessel_i0e(x: Any) -> Any:
    """exp(-|x|) times the modified Bessel function of order 0."""
    return lax.bessel_i0e(x)


def _slope_of_i1e_over(x: Any, value: Any) -> Any:
    return slope_by_series(x, 2.0, lambda x: lax.exp(-modulus(x)) * _i1_series(x), lambda x: (
        bessel_i0e(x) - lax.sign(x) * bessel_i1e(x) - 2.0 * _i1e_over(x)) / x)


@differentiated(_slope_of_i1e_over)
def _i1e_over(x: Any) -> Any:
    return over(x, lax.bessel_i1e(x), 0.5)


def or_half(x: Any, slope: Any) -> Any:
    """A slope that is 1/2 at 0, and at NaN, too, as in PyTorch."""
    return lax.select(isnan(x), constant(x, 0.5), slope)


@differentiated(
    lambda x, value: or_half(x, bessel_i0e(x) - lax.sign(x) * value - _i1e_over(x)))
def bessel_i1e(x: Any) -> Any:
    """exp(-|x|) times the modified Bessel function of order 1."""
    return lax.bessel_i1e(x)
