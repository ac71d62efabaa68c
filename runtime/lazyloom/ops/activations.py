"""Activation functions, as PyTorch defines them.

At kinks and at NaN the gradient is PyTorch's too: 0 where a relu or a hard limit starts.
"""

from __future__ import annotations

import math
from typing import Any

from . import rules
from ._helpers import (
    broadcast,
    constant,
    differentiated,
    expm1_of_real,
    flat_at_nan,
    in_float32,
    log1p_exp,
    logistic,
    modulus,
    with_tangent,
)
from ._jax import lax
from .kinds import Array, T
from .samples import Elementwise
from .spec import op

_SELU_ALPHA = 1.6732632423543772
_SELU_SCALE = 1.0507009873554805


@op(rules.elementwise, T="inexact", source="logistic function", tolerance=4.0)
def sigmoid(x: T) -> Array:
    """1 / (1 + exp(-x))."""
    return logistic(x)


@op(rules.elementwise, T="floating", source="PyTorch logsigmoid",
    reference="scipy.special.log_expit", tolerance=4.0)
def log_sigmoid(x: T) -> Array:
    """log(sigmoid(x)) without underflow."""

    return in_float32(lambda x: lax.neg(log1p_exp(lax.neg(x))), x)


@op(rules.elementwise, T="floating", source="PyTorch softplus",
    samples=Elementwise({}, {"beta": 2.0}, {"threshold": 1.0}), tolerance=4.0)
def softplus(x: T, *, beta: float = 1.0, threshold: float = 20.0) -> Array:
    """log(1 + exp(beta * x)) / beta, and x itself where beta * x > threshold."""

    def definition(x: Any) -> Any:
        scaled = lax.mul(x, constant(x, beta)) if beta != 1.0 else x
        soft = log1p_exp(scaled)
        soft = lax.div(soft, constant(x, beta)) if beta != 1.0 else soft
        return lax.select(lax.gt(scaled, constant(x, threshold)), x, soft)

    return in_float32(definition, x)


@op(rules.elementwise, T="real", source="rectified linear unit")
def relu(x: T) -> Array:
    """max(x, 0), NaN for NaN. The gradient at 0 is 0."""
    zero = constant(x, 0)
    return lax.select(lax.le(x, zero), zero, x)


def _limited(x: Any, low: float, high: float) -> Any:
    """x in [low, high], NaN for NaN, with gradient 0 at the limits and at NaN."""

    def inside(x: Any, value: Any, dx: Any) -> Any:
        within = lax.bitwise_and(lax.gt(x, constant(x, low)), lax.lt(x, constant(x, high)))
        return lax.select(within, dx, constant(dx, 0))

    @with_tangent(inside)
    def limited(x: Any) -> Any:
        x = lax.select(lax.le(x, constant(x, low)), constant(x, low), x)
        return lax.select(lax.ge(x, constant(x, high)), constant(x, high), x)

    return limited(x)


@op(rules.elementwise, T="floating", source="PyTorch relu6", samples=Elementwise(high=8.0))
def relu6(x: T) -> Array:
    """x limited to [0, 6]. The gradient at the limits is 0."""
    return _limited(x, 0.0, 6.0)


@op(rules.elementwise, T="floating", source="PyTorch hardtanh",
    samples=Elementwise({}, {"min": -2.0, "max": 0.5}))
def hardtanh(x: T, *, min: float = -1.0, max: float = 1.0) -> Array:
    """x limited to [min, max]. The gradient at the limits is 0."""
    return _limited(x, min, max)


@op(rules.elementwise, T="floating", source="PyTorch hardsigmoid",
    samples=Elementwise(low=-5.0, high=5.0), tolerance=2.0)
def hardsigmoid(x: T) -> Array:
    """relu6(x + 3) / 6."""
    return in_float32(_hardsigmoid, x)


def _hardsigmoid(x: Any) -> Any:
    return lax.mul(_limited(lax.add(x, constant(x, 3)), 0.0, 6.0), constant(x, 1.0 / 6.0))


@op(rules.elementwise, T="floating", source="PyTorch hardswish",
    samples=Elementwise(low=-5.0, high=5.0), tolerance=2.0)
def hardswish(x: T) -> Array:
    """x * relu6(x + 3) / 6. The gradient is 0 up to -3, and 1 from 3 on and at NaN."""
    return in_float32(_hardswish, x)


def _slope_of_hardswish(x: Any, value: Any) -> Any:
    between = lax.add(lax.mul(x, constant(x, 1.0 / 3.0)), constant(x, 0.5))
    above = lax.select(lax.lt(x, constant(x, 3)), between, constant(x, 1))
    return lax.select(lax.le(x, constant(x, -3)), constant(x, 0), above)


@differentiated(_slope_of_hardswish)
def _hardswish(x: Any) -> Any:
    return lax.mul(x, _hardsigmoid(x))


@op(rules.approximated, T="floating", source="arXiv 1606.08415; PyTorch gelu",
    samples=Elementwise({}, {"approximate": "tanh"}), tolerance=8.0)
def gelu(x: T, *, approximate: str = "none") -> Array:
    """x times the normal distribution function of x; ``approximate`` "none" or "tanh".

    "none" computes it by erf, "tanh" by 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x**3))).
    """
    return in_float32(_gelu_tanh if approximate == "tanh" else _gelu_erf, x)


def _gelu_erf(x: Any) -> Any:
    # erfc keeps the relative accuracy of the left tail, which 1 + erf loses.
    tail = lax.erfc(lax.mul(x, constant(x, -math.sqrt(0.5))))
    return lax.mul(lax.mul(x, constant(x, 0.5)), tail)


def _gelu_tanh(x: Any) -> Any:
    cube = lax.mul(lax.mul(x, x), x)
    inner = lax.mul(constant(x, math.sqrt(2.0 / math.pi)),
                    lax.add(x, lax.mul(constant(x, 0.044715), cube)))
    half = lax.mul(x, constant(x, 0.5))
    return lax.add(half, lax.mul(half, lax.tanh(inner)))


@op(rules.elementwise, T="floating", source="arXiv 1702.03118; PyTorch silu", tolerance=4.0)
def silu(x: T) -> Array:
    """x * sigmoid(x)."""
    return in_float32(lambda x: lax.mul(x, logistic(x)), x)


def _elu(x: Any, alpha: float, rate: float) -> Any:
    """x above 0, alpha * (exp(x * rate) - 1) below."""
    zero = constant(x, 0)
    under = lax.le(x, zero)  # false for NaN, whose gradient is that of x
    # The unused side must not overflow: its gradient would be infinity times zero. With 0 there,
    # it would be a minimum, which may change the sign of -0.0.
    below = lax.select(under, x, constant(x, -1))
    below = lax.mul(below, constant(x, rate)) if rate != 1.0 else below
    curve = expm1_of_real(below)
    curve = lax.mul(curve, constant(x, alpha)) if alpha != 1.0 else curve
    return lax.select(under, curve, x)


@op(rules.elementwise, T="floating", source="arXiv 1511.07289; PyTorch elu",
    samples=Elementwise({}, {"alpha": 0.5}), tolerance=4.0)
def elu(x: T, *, alpha: float = 1.0) -> Array:
    """x for x > 0, alpha * (exp(x) - 1) elsewhere."""
    return in_float32(lambda x: _elu(x, alpha, 1.0), x)


@op(rules.elementwise, T="floating", source="arXiv 1704.07483; PyTorch celu",
    samples=Elementwise({}, {"alpha": 0.5}), tolerance=4.0)
def celu(x: T, *, alpha: float = 1.0) -> Array:
    """x for x > 0, alpha * (exp(x / alpha) - 1) elsewhere."""
    return in_float32(lambda x: _elu(x, alpha, 1.0 / alpha), x)


@op(rules.elementwise, T="floating", source="arXiv 1706.02515; PyTorch selu", tolerance=4.0)
def selu(x: T) -> Array:
    """1.0507... * elu(x, 1.6733...)."""
    return in_float32(
        lambda x: lax.mul(_elu(x, _SELU_ALPHA, 1.0), constant(x, _SELU_SCALE)), x)


@op(rules.elementwise, T="floating", source="PyTorch leaky_relu",
    samples=Elementwise({}, {"negative_slope": 0.2}))
def leaky_relu(x: T, *, negative_slope: float = 0.01) -> Array:
    """x for x > 0, negative_slope * x elsewhere."""
    return lax.select(lax.gt(x, constant(x, 0)), x, lax.mul(x, constant(x, negative_slope)))


@op(rules.elementwise, T="floating", source="arXiv 1502.01852")
def prelu(x: T, slope: T) -> Array:
    """x for x > 0, slope * x elsewhere; the slope is an operand and gets a gradient."""
    x, slope = broadcast(x, slope)
    return lax.select(lax.gt(x, constant(x, 0)), x, lax.mul(x, slope))


@op(rules.elementwise, T="floating", source="arXiv 1908.08681; PyTorch mish", tolerance=8.0)
def mish(x: T) -> Array:
    """x * tanh(log(1 + exp(x)))."""

    return in_float32(lambda x: lax.mul(x, lax.tanh(log1p_exp(x))), x)


@op(rules.elementwise, T="floating", source="PyTorch softsign", tolerance=2.0)
def softsign(x: T) -> Array:
    """x / (1 + |x|)."""
    return lax.div(x, lax.add(modulus(x), constant(x, 1)))


@op(rules.elementwise, T="floating", source="PyTorch tanhshrink", tolerance=8.0)
def tanhshrink(x: T) -> Array:
    """x - tanh(x)."""
    return in_float32(lambda x: lax.sub(x, lax.tanh(x)), x)


@op(rules.elementwise, T="floating", source="PyTorch softshrink",
    samples=Elementwise({}, {"lambd": 1.0}))
def softshrink(x: T, *, lambd: float = 0.5) -> Array:
    """x moved towards 0 by lambd, 0 within lambd of it; NaN, of gradient 0, for NaN."""
    x = flat_at_nan(x)
    shift = constant(x, lambd)
    outside = lax.select(lax.gt(x, shift), lax.sub(x, shift), lax.add(x, shift))
    return lax.select(lax.le(lax.abs(x), shift), constant(x, 0), outside)


@op(rules.elementwise, T="floating", source="PyTorch hardshrink",
    samples=Elementwise({}, {"lambd": 1.0}))
def hardshrink(x: T, *, lambd: float = 0.5) -> Array:
    """x, but 0 where |x| <= lambd. The gradient at NaN is 0."""
    x = flat_at_nan(x)
    return lax.select(lax.le(lax.abs(x), constant(x, lambd)), constant(x, 0), x)


@op(rules.elementwise, T="floating", source="PyTorch threshold",
    samples=Elementwise({"threshold": 0.5, "value": -1.0}, {"threshold": -1.0, "value": 0.0}))
def threshold(x: T, *, threshold: float, value: float) -> Array:
    """x, but ``value`` where x <= threshold."""
    return lax.select(lax.le(x, constant(x, threshold)), constant(x, value), x)
