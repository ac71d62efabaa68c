"""Batch dimensions as dimensions of events."""

from __future__ import annotations

from typing import Any

from lazyloom_torch import Tensor

from . import constraints
from .distribution import Distribution
from .utils import delegated, derived, sum_rightmost


class Independent(Distribution):
    """A distribution the last ``reinterpreted_batch_ndims`` batch dimensions of which belong to
    its events."""

    arg_constraints: Any = {}
    mean, mode, variance = (delegated(f"base_dist.{n}") for n in ("mean", "mode", "variance"))
    has_rsample = delegated("base_dist.has_rsample")
    has_enumerate_support = derived(
        lambda d: not d.reinterpreted_batch_ndims and d.base_dist.has_enumerate_support)

    def __init__(self, base_distribution: Distribution, reinterpreted_batch_ndims: int,
                 validate_args: Any = None) -> None:
        batch = base_distribution.batch_shape
        left = len(batch) - reinterpreted_batch_ndims
        if left < 0:
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {len(batch)}")
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__(batch[:left], batch[left:] + base_distribution.event_shape, validate_args)

    def _expand_into(self, new: Any, batch_shape: Any) -> None:
        inner = self._event_shape[:self.reinterpreted_batch_ndims]
        new.base_dist = self.base_dist.expand(batch_shape + inner)

    @constraints.dependent_property
    def support(self) -> Any:
        """That of the base, for all elements of an event."""
        n = self.reinterpreted_batch_ndims
        return constraints.independent(self.base_dist.support, n) if n else self.base_dist.support

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        each = self.base_dist.log_prob(value)
        return sum_rightmost(each, self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        each = self.base_dist.entropy()
        return sum_rightmost(each, self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
