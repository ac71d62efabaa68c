"""Which floating-point exceptions an operation met, told from its operands and result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ..dtypes import uint8
from ..types import TensorType
from . import rules
from ._helpers import broadcast, constant, is_inexact, isnan, kind
from ._jax import jnp, lax
from .cases import Cases, case
from .kinds import AnyType, Array
from .spec import OpDef, op
from .traits import NOT_DIFFERENTIABLE

DIVIDE: Final = 1
OVERFLOW: Final = 2
UNDERFLOW: Final = 4
INVALID: Final = 8

#: functions that are infinite at a finite operand
_DIVISIONS: Final = ("divide", "floor_divide", "remainder", "fmod", "divmod")
_LOGARITHMS: Final = ("log", "log2", "log10")
_POWERS: Final = ("power", "float_power")
#: functions whose results may be too small for their dtype; a result of 0 for 0 is exact
_SMALL: Final = ("multiply", "divide", "square", "ldexp", "reciprocal", *_POWERS)
_EXPONENTIALS: Final = ("exp", "exp2")


def status(
    entry: OpDef, types: Sequence[TensorType | None], attrs: Mapping[str, Any]
) -> tuple[TensorType, ...]:
    """A uint8 without dimensions; the operands broadcast to the result."""
    rules.broadcast_shapes(entry, types)
    return rules.one((), uint8)


def _either(test: Any, x: Any) -> Any:
    if kind(x) == "c":
        return lax.bitwise_or(test(lax.real(x)), test(lax.imag(x)))
    return test(x)


def _zero(x: Any) -> Any:
    return lax.eq(x, constant(x, 0))


def _any(conditions: list[Any], like: Any) -> Any:
    result = lax.full(like.shape, False, jnp.bool_)
    for c in conditions:
        result = lax.bitwise_or(result, c)
    return result


def _pole(function: str, xs: Sequence[Any]) -> Any:
    """True where the function is infinite at finite operands, or an integer is divided by 0."""
    if function in _DIVISIONS and len(xs) == 2:
        return _zero(xs[1])
    x = xs[0]
    if function in (*_LOGARITHMS, *_POWERS, "reciprocal"):
        return _zero(x)
    if function == "log1p":
        return lax.eq(x, constant(x, -1))
    if function == "arctanh":
        return lax.bitwise_or(lax.eq(x, constant(x, 1)), lax.eq(x, constant(x, -1)))
    return lax.full(x.shape, False, jnp.bool_)


def _of_integers(function: str, result: Any, xs: Sequence[Any]) -> tuple[Any, ...]:
    no = lax.full(result.shape, False, jnp.bool_)
    plain = function.removeprefix("scalar ")
    divide = _pole(plain, xs) if plain in (*_DIVISIONS, "reciprocal") else no
    over = no
    if kind(result) == "i" and plain in ("floor_divide", "divmod"):
        least = constant(xs[0], jnp.iinfo(xs[0].dtype).min)
        over = lax.bitwise_and(lax.eq(xs[0], least), lax.eq(xs[1], constant(xs[1], -1)))
    elif plain != function and len(xs) == 2 and plain in ("add", "subtract", "multiply"):
        over = _wrapped(plain, result, *xs)
    elif plain != function and plain in ("negative", "absolute"):
        least = jnp.iinfo(xs[0].dtype).min
        over = lax.eq(xs[0], constant(xs[0], least)) if least else (
            lax.ne(xs[0], constant(xs[0], 0)) if plain == "negative" else no)
    return divide, over, no, no


def _wrapped(function: str, result: Any, x: Any, y: Any) -> Any:
    """True where the result of integers is outside the range of their dtype."""
    zero = constant(x, 0)
    if function == "multiply":
        safe = lax.select(lax.eq(y, zero), constant(y, 1), y)
        wrong = lax.ne(lax.div(result, safe), x)
        if kind(x) == "i":
            least = constant(x, jnp.iinfo(x.dtype).min)
            wrong = lax.bitwise_or(wrong, lax.bitwise_and(
                lax.eq(y, constant(y, -1)), lax.eq(x, least)))
        return lax.bitwise_and(lax.ne(y, zero), wrong)
    if kind(x) == "u":
        return lax.lt(result, x) if function == "add" else lax.gt(result, x)
    same = lax.eq(lax.lt(x, zero), lax.lt(y, zero))
    changed = lax.ne(lax.lt(result, zero), lax.lt(x, zero))
    return lax.bitwise_and(changed, same if function == "add" else lax.bitwise_not(same))


def _of_cast(result: Any, x: Any) -> tuple[Any, ...]:
    no = lax.full(x.shape, False, jnp.bool_)
    if not is_inexact(x):
        return no, no, no, no
    if is_inexact(result):
        infinite = lax.bitwise_and(_either(_infinite, result), _either(lax.is_finite, x))
        return no, infinite, no, no
    if kind(result) not in "iu":
        return no, no, no, no
    x = lax.real(x) if kind(x) == "c" else x
    limits = jnp.iinfo(result.dtype)
    # powers of two, or infinite in the narrow dtypes
    low, high = constant(x, float(limits.min)), constant(x, float(limits.max) + 1.0)
    whole = lax.select(lax.lt(x, constant(x, 0)), lax.ceil(x), lax.floor(x))
    fits = lax.bitwise_and(lax.ge(whole, low), lax.lt(whole, high))
    return no, no, no, lax.bitwise_not(lax.bitwise_and(fits, lax.is_finite(x)))


def _infinite(x: Any) -> Any:
    return lax.eq(lax.abs(x), constant(x, float("inf")))


def _of_floats(function: str, result: Any, xs: Sequence[Any]) -> tuple[Any, ...]:
    no = lax.full(result.shape, False, jnp.bool_)
    floating = [x for x in xs if is_inexact(x)]
    from_nan = _any([_either(isnan, x) for x in floating], result)
    from_finite = lax.bitwise_not(_any(
        [_either(lambda v: lax.bitwise_not(lax.is_finite(v)), x) for x in floating], result))
    invalid = lax.bitwise_and(_either(isnan, result), lax.bitwise_not(from_nan))
    infinite = lax.bitwise_and(_either(_infinite, result), from_finite)
    at_pole = _pole(function, xs)
    divide = lax.bitwise_and(infinite, at_pole)
    over = lax.bitwise_and(infinite, lax.bitwise_not(at_pole))
    under = no
    if kind(result) == "f" and function in (*_SMALL, *_EXPONENTIALS):
        tiny = constant(result, jnp.finfo(result.dtype).tiny)
        under = lax.bitwise_and(lax.lt(lax.abs(result), tiny), from_finite)
        if function in _SMALL:
            factors = xs if function in ("multiply",) else xs[:1]
            under = lax.bitwise_and(under, lax.bitwise_not(_any(
                [_zero(x) for x in factors], result)))
    return divide, over, under, invalid


@op(status, source="IEEE 754 section 7; NumPy seterr", derivative=NOT_DIFFERENTIABLE,
    samples=Cases(
        case((2, 3), (2, 3), (3,), function="divide"),
        case(np.array([np.inf, 1.0, np.nan, 0.0]), np.array([1.0, np.inf, 0.0, 3.0]),
             np.array([0.0, 2.0, 0.0, 1e308]), function="divide"),
        case(np.array([np.inf, np.nan, 5.0]), np.array([800.0, np.nan, 2.0]), function="exp"),
        case(np.array([-np.inf, 0.0]), np.array([0.0, 1.0]), function="log"),
        case((0,), (0,), function="sqrt")))  # fmt: skip
def float_status(result: AnyType, *operands: AnyType, function: str) -> Array:
    """Which floating-point exceptions a function met: 1 divide by zero, 2 overflow, 4
    underflow, 8 invalid, added up, uint8.

    Told from the operands, which broadcast to the result's shape: a NaN that comes from no NaN
    is invalid, an infinity that comes from finite numbers is a division by zero where
    the function has a pole and an overflow elsewhere, and a result below the smallest normal number
    is an underflow where ``function`` can be inexact there. Integers know divisions by zero, and
    the one quotient that their dtype has not. ``function`` is NumPy's name, or "cast".
    """
    result, *xs = broadcast(result, *operands)
    if function == "cast":
        conditions = _of_cast(result, xs[0])
    elif is_inexact(result):
        conditions = _of_floats(function.removeprefix("scalar "), result, xs)
    elif kind(result) in "iu":
        conditions = _of_integers(function, result, xs)
    else:
        return lax.full((), 0, jnp.uint8)
    total = lax.full((), 0, jnp.uint8)
    for bit, condition in zip((DIVIDE, OVERFLOW, UNDERFLOW, INVALID), conditions, strict=True):
        here = lax.reduce_or(condition, range(condition.ndim))
        total = lax.bitwise_or(total, lax.select(here, jnp.uint8(bit), jnp.uint8(0)))
    return total
