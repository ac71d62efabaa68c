"""Running sums, products and extrema along an axis.

``reverse`` runs from the end. float16 and bfloat16 accumulate in float32.
"""

from __future__ import annotations

from typing import Any

from . import rules
from ._helpers import convert, kind, widened
from ._jax import jnp, lax
from .kinds import Array, T
from .spec import op


def _along(scan: Any, x: Any, axis: int, reverse: bool) -> Any:
    return convert(scan(widened(x), axis=axis % x.ndim, reverse=reverse), x.dtype)


@op(rules.cumulative, T="number", source="array API cumulative_sum", heavy=True, tolerance=8.0)
def cumsum(x: T, *, axis: int, reverse: bool = False) -> Array:
    """The sums of the elements up to each one; integers wrap."""
    return _along(lax.cumsum, x, axis, reverse)


@op(rules.cumulative, T="number", source="array API cumulative_prod", heavy=True, residuals=True,
    tolerance=8.0)
def cumprod(x: T, *, axis: int, reverse: bool = False) -> Array:
    """The products of the elements up to each one. The gradient is right at zeros."""
    return _along(lax.cumprod, x, axis, reverse)


def _extremum(scan: Any, x: Any, axis: int, reverse: bool) -> Any:
    if kind(x) == "b":
        return convert(scan(convert(x, jnp.uint8), axis=axis % x.ndim, reverse=reverse), x.dtype)
    return scan(x, axis=axis % x.ndim, reverse=reverse)


@op(rules.cumulative, T="ordered", source="NumPy maximum.accumulate", heavy=True, residuals=True)
def cummax(x: T, *, axis: int, reverse: bool = False) -> Array:
    """The largest element up to each one; NaN from the first NaN on."""
    return _extremum(lax.cummax, x, axis, reverse)


@op(rules.cumulative, T="ordered", source="NumPy minimum.accumulate", heavy=True, residuals=True)
def cummin(x: T, *, axis: int, reverse: bool = False) -> Array:
    """The smallest element up to each one; NaN from the first NaN on."""
    return _extremum(lax.cummin, x, axis, reverse)


@op(rules.cumulative, T="floating", source="PyTorch logcumsumexp", heavy=True, residuals=True,
    tolerance=8.0)
def logcumsumexp(x: T, *, axis: int, reverse: bool = False) -> Array:
    """log(cumsum(exp(x))) without overflow."""
    return _along(lax.cumlogsumexp, x, axis, reverse)
