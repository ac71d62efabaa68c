"""Helpers of several op definitions, in ``jax.lax`` terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ..dtypes import DType
from ._jax import jax, jnp, lax


def broadcast(*xs: Any) -> tuple[Any, ...]:
    """The arrays, broadcast to their common shape; dtypes stay as they are."""
    shape = xs[0].shape
    if all(x.shape == shape for x in xs):
        return xs
    shape = jnp.broadcast_shapes(*[x.shape for x in xs])
    return tuple([broadcast_to(x, shape) for x in xs])


def broadcast_to(x: Any, shape: Sequence[int]) -> Any:
    """The array, broadcast to that shape; the derivative adds up in float32 at least."""
    if x.shape == tuple(shape):
        return x
    if is_half(x):
        # the sum that transposes this: XLA would round each addition, one element at a time
        return convert(broadcast_to(widened(x), shape), x.dtype)
    offset = len(shape) - x.ndim
    if any(d == 1 and shape[offset + i] != 1 for i, d in enumerate(x.shape)):
        kept = [i for i, d in enumerate(x.shape) if d == shape[offset + i]]
        x = lax.reshape(x, [x.shape[i] for i in kept])
        return lax.broadcast_in_dim(x, shape, [offset + i for i in kept])
    return lax.broadcast_in_dim(x, shape, range(offset, len(shape)))


def divided(x: Any, y: Any) -> Any:
    """x / y, broadcast, rounded once, as in IEEE 754.

    XLA rewrites a quotient by an operand that it recognizes as broadcast into the product with the
    reciprocal, which rounds twice; the barrier, which it removes before it fuses, prevents that.
    """
    original = y
    x, y = broadcast(x, y)
    if y is not original and is_inexact(y):
        y = lax.optimization_barrier(y)
    return lax.div(x, y)


def divided_by(x: Any, number: float) -> Any:
    """The floating-point or complex array divided by a Python number, rounded once."""
    return lax.div(x, lax.optimization_barrier(constant(x, number)))


def constant(x: Any, value: Any) -> Any:
    """An array like x filled with a Python number."""
    return lax.full_like(x, value)


def kind(x: Any) -> str:
    """The kind of the array's dtype: one of "b", "i", "u", "f", "c"."""
    if x.dtype.name == "bfloat16":
        return "f"
    return str(x.dtype.kind)


def is_inexact(x: Any) -> bool:
    return kind(x) in "fc"


def is_half(x: Any) -> bool:
    """Return True if the dtype has fewer bits than float32."""
    return kind(x) == "f" and x.dtype.itemsize == 2


def widened(x: Any) -> Any:
    """The array as float32 if it is float16 or bfloat16, else itself."""
    return lax.convert_element_type(x, jnp.float32) if is_half(x) else x


def in_float32(f: Callable[..., Any], *xs: Any) -> Any:
    """``f(*xs)``, computed in float32 if the arrays are float16 or bfloat16."""
    if not is_half(xs[0]):
        return f(*xs)
    result = f(*[lax.convert_element_type(x, jnp.float32) for x in xs])
    return lax.convert_element_type(result, xs[0].dtype)


def logistic(x: Any) -> Any:
    """1 / (1 + exp(-x)), whose exponential float16 cannot hold where the result is 1.5e-5."""
    return in_float32(lax.logistic, x)


def in_float64(f: Callable[..., Any], *xs: Any) -> Any:
    """``f(*xs)``, computed in float64, in the dtype of the arrays."""
    return convert(f(*[convert(x, jnp.float64) for x in xs]), xs[0].dtype)


def convert(x: Any, dtype: DType | Any) -> Any:
    """``convert_element_type`` to a DType or a NumPy dtype."""
    return lax.convert_element_type(x, dtype.numpy if isinstance(dtype, DType) else dtype)


def signbit(x: Any) -> Any:
    """True where the sign bit of a floating-point array is set, for -0.0 and NaN too."""
    bits = {2: jnp.int16, 4: jnp.int32, 8: jnp.int64}[x.dtype.itemsize]
    pattern = lax.bitcast_convert_type(x, bits)
    return lax.lt(pattern, constant(pattern, 0))


def modulus(x: Any) -> Any:
    """|x|, with gradient 0 at 0 and at NaN, where real operands of ``lax.abs`` have 1 and -1.

    The same holds for higher derivatives; for complex operands ``lax.abs`` has others.
    """
    if kind(x) == "u":
        return x
    if kind(x) == "f":
        return _modulus_of_real(x)
    if kind(x) == "c":
        zero = constant(x, 0)
        x = lax.select(lax.eq(x, zero), zero, x)
        # an infinite part makes the modulus infinite, whatever the other one is
        size = lax.abs(x)
        infinity = constant(size, float("inf"))
        infinite = lax.bitwise_or(
            lax.eq(lax.abs(lax.real(x)), infinity), lax.eq(lax.abs(lax.imag(x)), infinity))
        return lax.select(infinite, infinity, size)
    return lax.abs(x)


def isnan(x: Any) -> Any:
    """Elementwise x != x, which no compiler may drop, since it is true for a NaN."""
    return lax.ne(x, x)


def all_axes(x: Any, axes: Sequence[int] | None) -> tuple[int, ...]:
    """The axes counted from 0; all for None."""
    if axes is None:
        return tuple(range(x.ndim))
    return tuple([a % x.ndim for a in axes])


def kept(x: Any, axes: Sequence[int], result: Any) -> Any:
    """A reduction's result with the reduced axes put back with size 1."""
    return lax.expand_dims(result, axes)


Function: TypeAlias = "Callable[[Any], Any]"


def with_tangent(tangent: Callable[[Any, Any, Any], Any]) -> Callable[[Function], Function]:
    """A decorator: the function of one array ``x`` with the tangent ``tangent(x, value, dx)``.

    One that selects loses an infinite ``dx`` where the slope is 0, as products do not.
    """

    def decorate(f: Function) -> Function:
        def function(x: Any) -> Any:
            custom = jax.custom_jvp(f)

            def rule(primals: Any, tangents: Any) -> Any:
                (x,), (dx,) = primals, tangents
                value = function(x)
                return value, tangent(x, value, dx)

            custom.defjvp(rule)
            return custom(x)

        return function

    return decorate


def differentiated(derivative: Callable[[Any, Any], Any]) -> Callable[[Function], Function]:
    """A decorator: the function of one array with the given derivative.

    The derivative is called with the array and the function's value.
    """
    return with_tangent(lambda x, value, dx: derivative(x, value) * dx)


def _signed(x: Any, value: Any, dx: Any) -> Any:
    zero = constant(x, 0)
    # at NaN a tangent that is NaN or infinite remains visible
    other = lax.select(lax.eq(x, x), constant(dx, 0), lax.mul(dx, constant(dx, 0)))
    positive = lax.select(lax.gt(x, zero), dx, other)
    return lax.select(lax.lt(x, zero), lax.neg(dx), positive)


@with_tangent(_signed)
def _modulus_of_real(x: Any) -> Any:
    return lax.abs(x)


@with_tangent(lambda x, value, dx: lax.select(lax.eq(x, x), dx, constant(dx, 0)))
def flat_at_nan(x: Any) -> Any:
    """x, with derivative 0 at NaN."""
    return x


@differentiated(lambda x, value: lax.exp(x))
def expm1_of_real(x: Any) -> Any:
    """exp(x) - 1, whose derivative is that of exp(x) also where exp(x) is tiny."""
    return lax.expm1(x)


@differentiated(lambda x, value: lax.logistic(x))
def log1p_exp(x: Any) -> Any:
    """log(1 + exp(x)) without overflow; its derivatives of all orders are right at 0, too."""
    tail = lax.log1p(lax.exp(lax.neg(lax.abs(x))))
    return lax.add(lax.max(x, constant(x, 0)), tail)
