"""Distributions of what maps make of the values of others."""

from __future__ import annotations

from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor

from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import sum_rightmost


class TransformedDistribution(Distribution):
    """The values of a distribution after one map or several."""

    arg_constraints: Any = {}

    def __init__(self, base_distribution: Distribution, transforms: Any,
                 validate_args: Any = None) -> None:
        if isinstance(transforms, Transform):
            transforms = [transforms]
        elif not isinstance(transforms, list) or not all(
                isinstance(t, Transform) for t in transforms):
            raise ValueError(
                f"transforms must be a Transform or list of Transforms but was {transforms}")
        self.transforms = list(transforms)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        event_dim = len(base_distribution.event_shape)
        chain = ComposeTransform(self.transforms)
        if len(shape) < chain.domain.event_dim:
            raise ValueError(
                f"base_distribution needs to have shape with size at least "
                f"{chain.domain.event_dim}, but got {shape}.")
        forward = torch.Size(chain.forward_shape(shape))
        expanded = torch.Size(chain.inverse_shape(forward))
        if tuple(shape) != tuple(expanded):
            base_distribution = base_distribution.expand(
                expanded[:len(expanded) - event_dim])
        grown = chain.domain.event_dim - event_dim
        if grown > 0:
            base_distribution = Independent(base_distribution, grown)
        self.base_dist = base_distribution
        event_dim = chain.codomain.event_dim + max(event_dim - chain.domain.event_dim, 0)
        cut = len(forward) - event_dim
        super().__init__(forward[:cut], forward[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(TransformedDistribution, _instance)
        batch_shape = torch.Size(batch_shape)
        shape = batch_shape + self.event_shape
        for t in reversed(self.transforms):
            shape = torch.Size(t.inverse_shape(shape))
        new.base_dist = self.base_dist.expand(
            shape[:len(shape) - len(self.base_dist.event_shape)])
        new.transforms = self.transforms
        self._expand_into(new, batch_shape)
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        """What the last map gives."""
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        missing = len(self.event_shape) - found.event_dim
        return constraints.independent(found, missing) if missing > 0 else found

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with torch.no_grad():
            x = self.base_dist.sample(sample_shape)
            for t in self.transforms:
                x = t(x)
            return x

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        x = self.base_dist.rsample(sample_shape)
        for t in self.transforms:
            x = t(x)
        return x

    def log_prob(self, value: Tensor) -> Tensor:
        y = self._validate_sample(value)
        event_dim = len(self.event_shape)
        found: Any = 0.0
        for t in reversed(self.transforms):
            x = t.inv(y)
            event_dim += t.domain.event_dim - t.codomain.event_dim
            found = found - sum_rightmost(
                t.log_abs_det_jacobian(x, y), event_dim - t.domain.event_dim)
            y = x
        return found + sum_rightmost(
            self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def _rising(self, value: Tensor) -> Tensor:
        """A probability, or the other one where the maps fall."""
        sign: Any = 1
        for t in self.transforms:
            sign = sign * t.sign
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        value = self._validate_sample(value)
        for t in reversed(self.transforms):
            value = t.inv(value)
        return self._rising(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        value = self.base_dist.icdf(self._rising(value))
        for t in self.transforms:
            value = t(value)
        return value
