"""The regularised incomplete gamma functions and their derivatives.

Below x = max(a, 1) the lower function is a series, above it the upper one is a continued
fraction. Both are computed from their last term to the first by one loop over one array, which
runs for as many terms as the most demanding element needs. Derivatives by ``a`` are those of the
loop.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ._helpers import constant, convert
from ._jax import jax, jnp, lax

#: enough for ``a`` up to 1e9 in float64; beyond that the result is less accurate
_MOST_TERMS = 2**18


def _terms(a: Any, x: Any, fraction: Any) -> Any:
    """The number of terms that the most demanding element needs; int32, 0-d.

    A bound fitted to the terms that the functions and their derivatives need.
    """
    digits = 2.0 - math.log(np.finfo(a.dtype).eps)
    from_zero = lax.min(lax.sqrt(2.0 * digits * a) + digits / 2, digits / lax.log((a + 1.0) / x))
    gap = lax.max(x - a, constant(x, np.finfo(a.dtype).tiny))
    near = lax.min(0.45 * lax.sqrt(digits * a), 0.5 * digits * (a / gap))
    count = lax.select(fraction, digits * digits / (12.0 * x) + near + digits / 2, from_zero) + 5.0
    count = lax.reduce_max(lax.min(count, constant(count, _MOST_TERMS)), range(count.ndim))
    return convert(count, jnp.int32)


def _part(a: Any, x: Any) -> tuple[Any, Any]:
    """The quotient of a function and x**a exp(-x) / gamma(a), and whether it is the upper one.

    For finite positive operands.
    """
    fraction = (x >= 1.0) & (x > a)
    one = constant(a, 1.0)

    def step(state: Any) -> Any:
        i, v = state
        k = constant(a, 1.0) * convert(i, a.dtype)
        above = lax.select(fraction, k * (k - a), x * (1.0 + v))
        return i - 1, above / lax.select(fraction, (x - a) + (2.0 * k + 1.0) - v, a + k)

    count = _terms(lax.stop_gradient(a), lax.stop_gradient(x), fraction)
    v = lax.while_loop(lambda state: state[0] > 0, step, (count, constant(a, 0.0)))[1]
    return (lax.select(fraction, one, 1.0 + v) / lax.select(fraction, (x - a) + 1.0 - v, a),
            fraction)


def _regular(a: Any, x: Any) -> Any:
    """True where both operands are positive and finite."""
    return (a > 0.0) & (x > 0.0) & lax.is_finite(a) & lax.is_finite(x)


def _regularised(a: Any, x: Any, upper: bool) -> Any:
    one = constant(a, 1.0)
    regular = _regular(a, x)
    safe, at = lax.select(regular, a, one), lax.select(regular, x, one)
    part, fraction = _part(safe, at)
    part = part * lax.exp(safe * lax.log(at) - at - lax.lgamma(safe))
    value = lax.select(fraction ^ upper, 1.0 - part, part)
    # the limits for a or x of 0 or infinity, if there is one
    low = ((x == 0.0) & (a > 0.0)) | ((a == math.inf) & lax.is_finite(x))
    valid = (a >= 0.0) & (x >= 0.0) & ~((a == 0.0) & (x == 0.0))
    limit = lax.select(low ^ upper, constant(a, 0.0), one)
    limit = lax.select(valid, limit, constant(a, math.nan))
    return lax.select(regular, value, limit)


def _density(a: Any, x: Any, upper: bool) -> Any:
    density = lax.exp(-x + (a - 1.0) * lax.log(x) - lax.lgamma(a))
    return -density if upper else density


def _in_a(f: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The derivative by ``a``, in forward mode through the loop, which has no reverse mode."""
    return lambda a, x: jax.jvp(lambda a: f(a, x), (a,), (constant(a, 1.0),))[1]


def _differentiated(
    f: Callable[[Any, Any], Any], in_x: Callable[[Any, Any], Any]
) -> Callable[[Any, Any], Any]:
    """f with derivatives of every order, given its derivative by x."""
    custom = jax.custom_jvp(f)
    function: Callable[[Any, Any], Any] = custom

    def rule(primals: Any, tangents: Any) -> tuple[Any, Any]:
        a, x = primals
        da, dx = tangents
        total = constant(a, 0.0)
        if type(da) is not jax.custom_derivatives.SymbolicZero:
            total = total + da * _differentiated(_in_a(f), _in_a(in_x))(a, x)
        if type(dx) is not jax.custom_derivatives.SymbolicZero:
            total = total + dx * in_x(a, x)
        return function(a, x), total

    custom.defjvp(rule, symbolic_zeros=True)
    return function


def incomplete_gamma(a: Any, x: Any, upper: bool) -> Any:
    """The regularised lower or upper incomplete gamma function of arrays of one shape.

    NaN where an operand is negative or NaN, or both are 0. (DLMF 8.11.4 and 8.9.2)
    """
    return _differentiated(functools.partial(_regularised, upper=upper),
                           functools.partial(_density, upper=upper))(a, x)


def gamma_number_derivative(a: Any, x: Any) -> Any:
    """The derivative by ``a`` of the gamma number x at which the lower function stays constant.

    0 for x = 0, NaN where an operand is negative or NaN, or ``a`` is 0.
    """
    one = constant(a, 1.0)
    regular = _regular(a, x)
    safe, at = lax.select(regular, a, one), lax.select(regular, x, one)
    part, slope, fraction = jax.jvp(
        lambda a: _part(a, at), (safe,), (one,), has_aux=True)
    derivative = at * ((lax.log(at) - lax.digamma(safe)) * part + slope)
    derivative = lax.select(fraction, derivative, -derivative)
    still = (x == 0.0) & (a > 0.0)
    return lax.select(
        regular, derivative, lax.select(still, constant(a, 0.0), constant(a, math.nan)))
