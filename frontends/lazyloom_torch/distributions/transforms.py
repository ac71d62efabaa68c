"""Invertible maps: ``torch.distributions.transforms``."""

from __future__ import annotations

import math
from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Size
from lazyloom_torch.nn.functional import softplus

from . import constraints
from ._transform import (
    CatTransform,
    ComposeTransform,
    CumulativeDistributionTransform,
    IndependentTransform,
    StackTransform,
    Transform,
    identity_transform,
    with_more,
)
from ._transform import _InverseTransform as _InverseTransform
from ._vector_transforms import (
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SoftmaxTransform,
    StickBreakingTransform,
    log_slope_of_tanh,
)
from .utils import broadcast_all, derived, formula, inside_unit, is_number, sum_rightmost


class _Pointwise(Transform):
    """A rising map of each number on its own, without parameters."""

    bijective, sign = True, 1
    domain: Any = constraints.real
    _equal_by = ()


class ExpTransform(_Pointwise):
    """``exp(x)``."""

    codomain = constraints.positive
    _call = formula(lambda t, x: x.exp())
    _inverse = formula(lambda t, y: y.log())
    _slope = formula(lambda t, x, y: x)


class SigmoidTransform(_Pointwise):
    """``1 / (1 + exp(-x))``."""

    codomain = constraints.unit_interval
    _call = formula(lambda t, x: inside_unit(x.sigmoid()))
    _inverse = formula(lambda t, y: torch.logit(inside_unit(y)))
    _slope = formula(lambda t, x, y: -softplus(-x) - softplus(x))


class SoftplusTransform(_Pointwise):
    """``log(1 + exp(x))``."""

    codomain = constraints.positive
    _call = formula(lambda t, x: softplus(x))
    _inverse = formula(lambda t, y: y + (-torch.expm1(-y)).log())
    _slope = formula(lambda t, x, y: -softplus(-x))


class TanhTransform(_Pointwise):
    """``tanh(x)``; stabler than its inverse near 1."""

    codomain = constraints.interval(-1.0, 1.0)
    _call = formula(lambda t, x: x.tanh())
    _inverse = formula(lambda t, y: y.atanh())
    _slope = formula(lambda t, x, y: log_slope_of_tanh(x))


class AbsTransform(Transform):
    """``|x|``; its inverse is the positive branch."""

    domain, codomain = constraints.real, constraints.positive
    _equal_by = ()
    _call = formula(lambda t, x: x.abs())
    _inverse = formula(lambda t, y: y)


class PowerTransform(Transform):
    """``x ** exponent`` of positive numbers."""

    bijective = True
    sign = derived(lambda t: t.exponent.sign())
    domain = codomain = constraints.positive
    _equal_by = ("exponent",)
    _call = formula(lambda t, x: x**t.exponent)
    _inverse = formula(lambda t, y: y ** (1 / t.exponent))
    _slope = formula(lambda t, x, y: (t.exponent * y / x).abs().log())

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        (self.exponent,) = broadcast_all(exponent)


class AffineTransform(Transform):
    """``loc + scale * x``, for values of ``event_dim`` dimensions."""

    bijective = True
    sign = derived(lambda t: (t.scale > 0) - (t.scale < 0) if is_number(t.scale) else (
        t.scale.sign()))
    event_dim: Any = 0
    domain = codomain = derived(lambda t: with_more(constraints.real, t.event_dim))
    _equal_by = ("loc", "scale")
    _call = formula(lambda t, x: t.loc + t.scale * x)
    _inverse = formula(lambda t, y: (y - t.loc) / t.scale)

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self.event_dim = loc, scale, event_dim

    def _slope(self, x: Any, y: Any) -> Any:
        slope = torch.full_like(x, math.log(abs(self.scale))) if is_number(self.scale) else (
            self.scale.abs().log())
        slope = slope.expand(torch.broadcast_shapes(slope.shape, x.shape))
        return sum_rightmost(slope, self.event_dim)


class ReshapeTransform(Transform):
    """Values of one shape as values of another."""

    bijective = True
    domain = derived(lambda t: constraints.independent(constraints.real, len(t.in_shape)))
    codomain = derived(lambda t: constraints.independent(constraints.real, len(t.out_shape)))
    forward_shape = formula(lambda t, shape: _swapped(shape, t.in_shape, t.out_shape))
    inverse_shape = formula(lambda t, shape: _swapped(shape, t.out_shape, t.in_shape))
    _call = formula(lambda t, x: x.reshape(t.forward_shape(x.shape)))
    _inverse = formula(lambda t, y: y.reshape(t.inverse_shape(y.shape)))
    _slope = formula(lambda t, x, y: x.new_zeros(_swapped(x.shape, t.in_shape, ())))

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size)


def _swapped(shape: Any, before: Any, after: Any) -> Any:
    """A shape with another end."""
    batch = len(shape) - len(before)
    if batch < 0 or tuple(shape[batch:]) != before:
        raise ValueError(f"Shape mismatch: expected {tuple(before)} at the end of "
                         f"{tuple(shape)}")
    return (*shape[:batch], *after)


__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform",
    "LowerCholeskyTransform", "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform",
    "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StackTransform",
    "StickBreakingTransform", "TanhTransform", "Transform", "identity_transform",
]  # fmt: skip
