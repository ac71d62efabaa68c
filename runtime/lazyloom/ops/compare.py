"""Comparison, logic and bitwise ops."""

from __future__ import annotations

from typing import Any

from . import rules
from ._helpers import broadcast, constant, is_inexact, kind
from ._helpers import isnan as _is_nan
from ._jax import jnp, lax
from .kinds import AnyType, Array, T
from .spec import op
from .traits import NOT_DIFFERENTIABLE, Execution

# Comparison: a NaN equals nothing and is not ordered


@op(rules.comparison, T="any", source="array API equal", reference="numpy.equal",
    derivative=NOT_DIFFERENTIABLE, execution=Execution(usual=True))
def equal(x: T, y: T) -> Array:
    """x == y."""
    return lax.eq(*broadcast(x, y))


@op(rules.comparison, T="any", source="array API not_equal", reference="numpy.not_equal",
    derivative=NOT_DIFFERENTIABLE, execution=Execution(usual=True))
def not_equal(x: T, y: T) -> Array:
    """x != y."""
    return lax.ne(*broadcast(x, y))


@op(rules.comparison, T="ordered", source="array API less", reference="numpy.less",
    derivative=NOT_DIFFERENTIABLE, execution=Execution(usual=True))
def less(x: T, y: T) -> Array:
    """x < y."""
    return lax.lt(*broadcast(x, y))


@op(rules.comparison, T="ordered", source="array API less_equal", reference="numpy.less_equal",
    derivative=NOT_DIFFERENTIABLE, execution=Execution(usual=True))
def less_equal(x: T, y: T) -> Array:
    """x <= y."""
    return lax.le(*broadcast(x, y))


@op(rules.comparison, T="ordered", source="array API greater", reference="numpy.greater",
    derivative=NOT_DIFFERENTIABLE, execution=Execution(usual=True))
def greater(x: T, y: T) -> Array:
    """x > y."""
    return lax.gt(*broadcast(x, y))


@op(rules.comparison, T="ordered", source="array API greater_equal",
    reference="numpy.greater_equal", derivative=NOT_DIFFERENTIABLE, execution=Execution(usual=True))
def greater_equal(x: T, y: T) -> Array:
    """x >= y."""
    return lax.ge(*broadcast(x, y))


# Logic: everything but zero is true, including NaN; the operands' dtypes may differ


def truth(x: Any) -> Any:
    """The array as bool: true where an element differs from zero."""
    return x if kind(x) == "b" else lax.ne(x, constant(x, 0))


@op(rules.comparison, source="array API logical_and", reference="numpy.logical_and",
    derivative=NOT_DIFFERENTIABLE)
def logical_and(x: AnyType, y: AnyType) -> Array:
    """Whether x and y are both not zero."""
    return lax.bitwise_and(*broadcast(truth(x), truth(y)))


@op(rules.comparison, source="array API logical_or", reference="numpy.logical_or",
    derivative=NOT_DIFFERENTIABLE)
def logical_or(x: AnyType, y: AnyType) -> Array:
    """Whether x or y is not zero."""
    return lax.bitwise_or(*broadcast(truth(x), truth(y)))


@op(rules.comparison, source="array API logical_xor", reference="numpy.logical_xor",
    derivative=NOT_DIFFERENTIABLE)
def logical_xor(x: AnyType, y: AnyType) -> Array:
    """Whether exactly one of x and y is not zero."""
    return lax.bitwise_xor(*broadcast(truth(x), truth(y)))


@op(rules.predicate, source="array API logical_not", reference="numpy.logical_not",
    derivative=NOT_DIFFERENTIABLE)
def logical_not(x: AnyType) -> Array:
    """Whether x is zero."""
    return lax.bitwise_not(truth(x))


# Predicates


def _either_part(test: Any, x: Any) -> Any:
    if kind(x) == "c":
        return lax.bitwise_or(test(lax.real(x)), test(lax.imag(x)))
    return test(x)


@op(rules.predicate, T="any", source="array API isnan", reference="numpy.isnan",
    derivative=NOT_DIFFERENTIABLE)
def isnan(x: T) -> Array:
    """Whether x, or a part of it, is NaN."""
    if not is_inexact(x):
        return lax.full_like(x, False, dtype=jnp.bool_)
    return _either_part(_is_nan, x)


@op(rules.predicate, T="any", source="array API isinf", reference="numpy.isinf",
    derivative=NOT_DIFFERENTIABLE)
def isinf(x: T) -> Array:
    """Whether x, or a part of it, is infinite."""
    if not is_inexact(x):
        return lax.full_like(x, False, dtype=jnp.bool_)
    return _either_part(lambda v: lax.eq(lax.abs(v), constant(v, float("inf"))), x)


@op(rules.predicate, T="any", source="array API isfinite", reference="numpy.isfinite",
    derivative=NOT_DIFFERENTIABLE)
def isfinite(x: T) -> Array:
    """Whether x, with all its parts, is neither infinite nor NaN."""
    if not is_inexact(x):
        return lax.full_like(x, True, dtype=jnp.bool_)
    if kind(x) == "c":
        return lax.bitwise_and(lax.is_finite(lax.real(x)), lax.is_finite(lax.imag(x)))
    return lax.is_finite(x)


@op(rules.predicate, T="real", source="array API signbit", derivative=NOT_DIFFERENTIABLE)
def signbit(x: T) -> Array:
    """Whether x is negative; for floating-point x its sign bit, of -0.0 and NaN too."""
    if is_inexact(x):
        x = lax.bitcast_convert_type(
            x, {2: jnp.int16, 4: jnp.int32, 8: jnp.int64}[x.dtype.itemsize])
    return lax.lt(x, constant(x, 0))


# Bits


@op(rules.elementwise, T="bitwise", source="array API bitwise_and", reference="numpy.bitwise_and",
    derivative=NOT_DIFFERENTIABLE)
def bitwise_and(x: T, y: T) -> Array:
    """x & y."""
    return lax.bitwise_and(*broadcast(x, y))


@op(rules.elementwise, T="bitwise", source="array API bitwise_or", reference="numpy.bitwise_or",
    derivative=NOT_DIFFERENTIABLE)
def bitwise_or(x: T, y: T) -> Array:
    """x | y."""
    return lax.bitwise_or(*broadcast(x, y))


@op(rules.elementwise, T="bitwise", source="array API bitwise_xor", reference="numpy.bitwise_xor",
    derivative=NOT_DIFFERENTIABLE)
def bitwise_xor(x: T, y: T) -> Array:
    """x ^ y."""
    return lax.bitwise_xor(*broadcast(x, y))


@op(rules.elementwise, T="bitwise", source="array API bitwise_invert",
    reference="numpy.bitwise_not", derivative=NOT_DIFFERENTIABLE)
def bitwise_not(x: T) -> Array:
    """All bits of x inverted; logical not for bool."""
    return lax.bitwise_not(x)


@op(rules.elementwise, T="integer", source="array API bitwise_left_shift; width as NumPy",
    reference="numpy.left_shift", derivative=NOT_DIFFERENTIABLE)
def shift_left(x: T, y: T) -> Array:
    """x << y; 0 where y is negative or not below the number of bits."""
    return lax.shift_left(*broadcast(x, y))


@op(rules.elementwise, T="integer", source="array API bitwise_right_shift; width as NumPy",
    reference="numpy.right_shift", derivative=NOT_DIFFERENTIABLE)
def shift_right(x: T, y: T) -> Array:
    """x >> y, keeping the sign; 0 or -1 where y is negative or not below the number of bits."""
    x, y = broadcast(x, y)
    if kind(x) == "u":
        return lax.shift_right_logical(x, y)
    return lax.shift_right_arithmetic(x, y)


@op(rules.elementwise, T="integer", source="C23 stdc_count_ones", derivative=NOT_DIFFERENTIABLE)
def population_count(x: T) -> Array:
    """The number of one bits of x in two's complement, of the dtype of x."""
    return lax.population_count(x)
