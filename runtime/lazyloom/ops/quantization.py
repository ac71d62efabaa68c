"""Quantisation: floating-point numbers as small integers with a scale, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import DType, int8, uint8
from ._helpers import broadcast_to, constant, convert, is_half, isnan, widened
from ._jax import jax, jnp, lax
from .cases import Cases, case, rough
from .kinds import Array, Integer, T
from .rules import quantization as rules
from .spec import op
from .traits import NOT_DIFFERENTIABLE, Derivative, Execution

_INT8 = np.array([-128, -3, 0, 5, 127, 1], np.int8)
_ZERO = np.array(3, np.int8)


@op(
    rules.quantize, T="floating", source="ONNX QuantizeLinear; torch.quantize_per_tensor",
    derivative=NOT_DIFFERENTIABLE, execution=Execution(rounds=True),
    samples=Cases(
        case((2, 3), np.array(0.01), _ZERO, dtype=int8),
        case((2, 3), np.array(0.25), dtype=int8), case((2, 3), np.array(0.01), dtype=uint8),
        case((), np.array(0.5), np.array(100, np.uint8), dtype=uint8),
        case((2, 3, 2), np.array([0.1, 0.02, 1.0]), np.array([0, 5, -7], np.int8), axis=1,
             dtype=int8),
        case((3, 2), np.array([0.1, 0.5]), axis=-1, dtype=int8),
        case((0, 2), np.array(0.5), dtype=int8),
        case(np.array([np.nan, np.inf, -np.inf, -0.0, 0.5, 1.5, 2.5, -0.5, 300.0]),
             np.array(1.0), np.array(2, np.int8), dtype=int8)),
)  # fmt: skip
def quantize(
    x: T, scale: T, zero_point: Integer = None, *, axis: int | None = None, dtype: DType
) -> Array:
    """x / scale, rounded, plus zero_point, as ``dtype``, int8 or uint8.

    The quotient is the product with 1 / scale, in float32 at least; halves go to the even
    number. What ``dtype`` does not hold becomes its nearest number, NaN the zero point. scale
    and zero_point (of ``dtype``, 0 if absent) are 0-d, or hold a number for each place along
    ``axis``. Raises ShapeError, DTypeError, ArgumentError.
    """
    v = widened(x)
    each = _along(widened(scale), v, axis)
    inverse = lax.div(constant(each, 1), each)
    rounded = lax.round(
        lax.mul(v, broadcast_to(inverse, v.shape)), lax.RoundingMethod.TO_NEAREST_EVEN)
    zero = _zero(zero_point, v, axis)
    limits = np.iinfo(dtype.numpy)
    limited = lax.clamp(_number(v, limits.min), lax.add(rounded, zero), _number(v, limits.max))
    return convert(lax.select(isnan(rounded), zero, limited), dtype)


@op(
    rules.dequantize, T="floating", source="ONNX DequantizeLinear",
    derivative=Derivative(differentiable=("scale",), linear="scale"),
    samples=Cases(
        case(_INT8, np.array(0.5), _ZERO), case(_INT8, np.array(0.25)),
        case(np.array([0, 7, 255], np.uint8), np.array(0.1), np.array(128, np.uint8)),
        case(np.array([-(2**31), 5, 2**31 - 1], np.int32), np.array(0.001)),
        case(_INT8.reshape(2, 3), np.array([0.1, 0.02, 1.0]), np.array([0, 5, -7], np.int8),
             axis=1),
        case(_INT8.reshape(1, 3, 2), np.array([0.1, 0.5]), axis=-1),
        case(np.zeros((0, 2), np.int8), np.array(0.5))),
)  # fmt: skip
def dequantize(
    x: Integer, scale: T, zero_point: Integer = None, *, axis: int | None = None
) -> Array:
    """(x - zero_point) * scale, in the dtype of scale; x is int8, uint8 or int32.

    scale and zero_point (of x's dtype, 0 if absent) are as for ``quantize``. The difference and
    the product are taken in float32 at least, and rounded each. The derivative is that by scale.
    Raises ShapeError, DTypeError.
    """
    wide = jnp.float32 if is_half(scale) else scale.dtype
    v = convert(x, wide)
    if zero_point is not None:
        v = lax.sub(v, _zero(zero_point, v, axis))
    product = lax.mul(v, broadcast_to(_along(convert(scale, wide), v, axis), v.shape))
    return convert(product, scale.dtype)


@op(
    rules.fake_quantize, T="floating", source="torch.fake_quantize_per_tensor_affine",
    derivative=Derivative(differentiable=("x",)),
    samples=Cases(
        rough((2, 3), np.array(0.1), np.array(0, np.int32), low=-16, high=15),
        rough((2, 3, 2), np.array([0.1, 0.02, 1.0]), np.array([0, 5, -7], np.int32), axis=1,
              low=-16, high=15),
        rough((0, 2), np.array(0.5), np.array(1, np.int32), low=0, high=255),
        rough((), np.array(0.3), np.array(9, np.int32), low=0, high=255)),
)  # fmt: skip
def fake_quantize(
    x: T, scale: T, zero_point: Integer, *, axis: int | None = None, low: int, high: int
) -> Array:
    """What x becomes by quantisation to the integers ``low`` to ``high`` and back.

    scale and zero_point, of any integer dtype, are as for ``quantize``. The cotangent passes
    where the integer, before it is limited, lies within the limits, and is 0 elsewhere (the
    straight-through estimator); scale has no derivative. Raises ShapeError, ArgumentError.
    """
    v = widened(x)
    each = broadcast_to(_along(widened(scale), v, axis), v.shape)
    zero = _zero(zero_point, v, axis)

    def integer(v: Array) -> Array:
        inverse = lax.div(constant(each, 1), each)
        return lax.add(
            lax.round(lax.mul(v, inverse), lax.RoundingMethod.TO_NEAREST_EVEN), zero)

    @jax.custom_jvp  # type: ignore[untyped-decorator]
    def f(v: Array) -> Array:
        limited = lax.clamp(_number(v, low), integer(v), _number(v, high))
        return lax.mul(lax.sub(limited, zero), each)

    @f.defjvp  # type: ignore[untyped-decorator]
    def f_jvp(primals: Any, tangents: Any) -> Any:
        (v,), (t,) = primals, tangents
        at = integer(v)
        inside = lax.bitwise_and(lax.ge(at, constant(at, low)), lax.le(at, constant(at, high)))
        return f(v), lax.mul(t, convert(inside, t.dtype))

    return convert(f(v), x.dtype)


def _number(x: Any, value: int) -> Any:
    """A 0-d number of x's dtype."""
    return lax.full((), value, x.dtype)


def _along(each: Any, x: Any, axis: int | None) -> Any:
    """One number, or one per place along an axis of x, in a shape that broadcasts to x's."""
    if axis is None:
        return each
    axis %= x.ndim
    return lax.reshape(each, [d if i == axis else 1 for i, d in enumerate(x.shape)])


def _zero(zero_point: Any, x: Any, axis: int | None) -> Any:
    """The zero point as floating-point numbers of x's shape."""
    if zero_point is None:
        return constant(x, 0)
    return broadcast_to(_along(convert(zero_point, x.dtype), x, axis), x.shape)
