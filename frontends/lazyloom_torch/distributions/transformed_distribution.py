"""Distributions of what maps make of the values of others."""

from __future__ import annotations

import math
from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Size, Tensor

from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import delegated, formula, sum_rightmost


class TransformedDistribution(Distribution):
    """The values of a distribution after one map or several."""

    arg_constraints: Any = {}
    has_rsample: Any = delegated("base_dist.has_rsample")

    def __init__(self, base_distribution: Distribution, transforms: Any,
                 validate_args: Any = None) -> None:
        self._map(base_distribution, transforms)
        super().__init__(self._batch_shape, self._event_shape, validate_args)

    def _map(self, base: Distribution, transforms: Any) -> None:
        """Take a distribution and what maps its values; tells the shapes that follow."""
        listed = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(listed, list) or not all(isinstance(t, Transform) for t in listed):
            raise ValueError(
                f"transforms must be a Transform or list of Transforms but was {transforms}")
        self.transforms = list(listed)
        whole = ComposeTransform(self.transforms)
        needed, own = whole.domain.event_dim, len(base.event_shape)
        shape = base.batch_shape + base.event_shape
        if len(shape) < needed:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {needed}, but got "
                f"{shape}.")
        forward = Size(whole.forward_shape(shape))
        before = Size(whole.inverse_shape(forward))  # larger where a map has a larger batch
        if before != shape:
            base = base.expand(before[:len(before) - own])
        self.base_dist = Independent(base, needed - own) if needed > own else base
        cut = len(forward) - whole.codomain.event_dim - max(own - needed, 0)
        self._batch_shape, self._event_shape = forward[:cut], forward[cut:]

    def _expand_into(self, new: Any, batch_shape: Any) -> None:
        whole = ComposeTransform(self.transforms)
        shape = Size(whole.inverse_shape(batch_shape + self._event_shape))
        new.base_dist = self.base_dist.expand(
            shape[:len(shape) - len(self.base_dist.event_shape)])

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        """What the last map gives."""
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        missing = len(self._event_shape) - found.event_dim
        return constraints.independent(found, missing) if missing > 0 else found

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with torch.no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._forward(self.base_dist.rsample(sample_shape))

    def _forward(self, x: Tensor) -> Tensor:
        for t in self.transforms:
            x = t(x)
        return x

    def _log_prob(self, value: Tensor) -> Tensor:
        dims = len(self._event_shape)
        slopes: Any = 0.0
        for t in reversed(self.transforms):
            x = t.inv(value)
            slope = t.log_abs_det_jacobian(x, value)
            slopes = slopes + sum_rightmost(slope, dims - t.codomain.event_dim)
            dims += t.domain.event_dim - t.codomain.event_dim
            value = x
        density = self.base_dist.log_prob(value)
        return sum_rightmost(density, dims - len(self.base_dist.event_shape)) - slopes

    def _turned(self, probability: Tensor) -> Tensor:
        """A probability, or the other one where the maps fall."""
        sign = math.prod(t.sign for t in self.transforms)
        if isinstance(sign, int) and sign == 1:
            return probability
        return 0.5 + sign * (probability - 0.5)

    def _cdf(self, value: Tensor) -> Tensor:
        for t in reversed(self.transforms):
            value = t.inv(value)
        return self._turned(self.base_dist.cdf(value))

    _icdf = formula(lambda d, value: d._forward(d.base_dist.icdf(d._turned(value))))
