"""Running sums, products and extrema along an axis.

``reverse`` runs from the end. float16 and bfloat16 accumulate in float32 and are rounded once. Host
kernels rely on it: they keep both as float32 and round where the definition converts
(:mod:`lazyloom.host.writer`). So do the tolerances: each rounded step would add to the error.
"""

from __future__ import annotations

import math
from typing import Any

from . import rules
from ._helpers import constant, convert, is_inexact, isnan, kind, widened
from ._jax import jax, jnp, lax
from .kinds import Array, T
from .spec import op
from .traits import HEAVY, Derivative


def _along(scan: Any, x: Any, axis: int, reverse: bool) -> Any:
    return convert(scan(widened(x), axis=axis % x.ndim, reverse=reverse), x.dtype)


@op(rules.cumulative, T="number", source="array API cumulative_sum", execution=HEAVY, tolerance=8.0,
    derivative=Derivative(linear="x"))
def cumsum(x: T, *, axis: int, reverse: bool = False) -> Array:
    """The sums of the elements up to each one; integers wrap."""
    return _along(lax.cumsum, x, axis, reverse)


@op(rules.cumulative, T="number", source="array API cumulative_prod", execution=HEAVY,
    tolerance=8.0)
def cumprod(x: T, *, axis: int, reverse: bool = False) -> Array:
    """The products of the elements up to each one; integers wrap.

    The gradient is right where elements are 0, second derivatives where at most one is.
    """
    if not is_inexact(x):
        return _along(lax.cumprod, x, axis, reverse)
    return _along(_products, x, axis, reverse)


def _products(x: Any, *, axis: int, reverse: bool) -> Any:
    """Running products; differentiated, XLA compiles them far faster than ``lax.cumprod``.

    Up to the first zero, the derivative by an element is product / element. From the first zero
    on, only the derivative by that zero remains: the product without it.
    """

    def rule(primals: Any, tangents: Any) -> Any:
        (x,), (dx,) = primals, tangents
        whole = products(x)
        zero = lax.eq(x, constant(x, 0))
        count = lax.cumsum(convert(zero, jnp.int64), axis=axis, reverse=reverse)
        first = lax.bitwise_and(zero, lax.eq(count, constant(count, 1)))
        none = constant(x, 0)
        relative = lax.select(zero, none, lax.div(dx, lax.select(zero, constant(x, 1), x)))
        before = lax.mul(whole, lax.cumsum(relative, axis=axis, reverse=reverse))
        without = products(lax.select(first, constant(x, 1), x))
        at_first = lax.cumsum(lax.select(first, dx, none), axis=axis, reverse=reverse)
        return whole, lax.add(before, lax.mul(without, at_first))

    products = jax.custom_jvp(lambda x: lax.cumprod(x, axis=axis, reverse=reverse))
    products.defjvp(rule)
    return products(x)


def _extremum(scan: Any, x: Any, axis: int, reverse: bool) -> Any:
    """A running extremum; its derivative is that of the element that set it."""
    axis %= x.ndim
    if kind(x) == "b":
        return convert(scan(convert(x, jnp.uint8), axis=axis, reverse=reverse), x.dtype)
    if not is_inexact(x):
        return scan(x, axis=axis, reverse=reverse)

    def rule(primals: Any, tangents: Any) -> Any:
        (x,), (dx,) = primals, tangents
        extremum = running(x)
        sets = lax.bitwise_or(lax.eq(x, extremum), isnan(x))
        position = lax.broadcasted_iota(jnp.int64, x.shape, axis)
        if reverse:
            beyond = constant(position, x.shape[axis])
            source = lax.cummin(lax.select(sets, position, beyond), axis=axis, reverse=True)
        else:
            source = lax.cummax(lax.select(sets, position, constant(position, 0)), axis=axis)
        return extremum, jnp.take_along_axis(dx, source, axis, mode="clip")

    running = jax.custom_jvp(lambda x: scan(x, axis=axis, reverse=reverse))
    running.defjvp(rule)
    return running(x)


@op(rules.cumulative, T="ordered", source="NumPy maximum.accumulate", execution=HEAVY)
def cummax(x: T, *, axis: int, reverse: bool = False) -> Array:
    """The largest element up to each one; NaN from the first NaN on.

    The gradient goes to the latest of the elements that tie.
    """
    return _extremum(lax.cummax, x, axis, reverse)


@op(rules.cumulative, T="ordered", source="NumPy minimum.accumulate", execution=HEAVY)
def cummin(x: T, *, axis: int, reverse: bool = False) -> Array:
    """The smallest element up to each one; NaN from the first NaN on.

    The gradient goes to the latest of the elements that tie.
    """
    return _extremum(lax.cummin, x, axis, reverse)


def _log_sums(x: Any, *, axis: int, reverse: bool) -> Any:
    if kind(x) != "c":
        # from an infinity on, the sums are infinite, whatever the finite elements are
        infinity = constant(x, math.inf)
        infinite = lax.eq(lax.cummax(lax.stop_gradient(x), axis=axis, reverse=reverse), infinity)
        finite = lax.select(lax.eq(x, infinity), constant(x, 0), x)
        sums = lax.cumlogsumexp(finite, axis=axis, reverse=reverse)
        return lax.select(infinite, infinity, sums)

    def added(a: Any, b: Any) -> Any:
        top = lax.stop_gradient(lax.max(lax.real(a), lax.real(b)))
        # Subtracting an infinite maximum from itself gives NaN; with 0, exp gives the infinity.
        top = convert(lax.select(lax.is_finite(top), top, constant(top, 0)), x.dtype)
        return lax.add(lax.log(lax.add(lax.exp(lax.sub(a, top)), lax.exp(lax.sub(b, top)))), top)

    return lax.associative_scan(added, x, axis=axis, reverse=reverse)


@op(rules.cumulative, T="inexact", source="PyTorch logcumsumexp", execution=HEAVY,
    derivative=Derivative(residuals=True), tolerance=8.0)
def logcumsumexp(x: T, *, axis: int, reverse: bool = False) -> Array:
    """log(cumsum(exp(x))) without overflow, with the principal logarithm."""
    return _along(_log_sums, x, axis, reverse)
