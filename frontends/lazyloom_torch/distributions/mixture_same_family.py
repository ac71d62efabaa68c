"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor

from . import constraints
from .categorical import Categorical
from .distribution import Distribution


class MixtureSameFamily(Distribution):
    """Values of one of the components, along the last batch dimension of one distribution, which
    a categorical distribution chooses."""

    arg_constraints: Any = {}
    has_rsample = False

    def __init__(self, mixture_distribution: Categorical, component_distribution: Distribution,
                 validate_args: Any = None) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of "
                             "torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution need to be an instance of "
                             "torch.distributions.Distribution")
        mixed, batch = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for a, b in zip(reversed(mixed), reversed(batch)):
            if a != 1 and b != 1 and a != b:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixed}) is not compatible with "
                    f"`component_distribution.batch_shape`({batch})")
        count = mixture_distribution.logits.shape[-1]
        if count != component_distribution.batch_shape[-1]:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` "
                f"({component_distribution.batch_shape[-1]})")
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = count
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(batch, component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        batch_shape = torch.Size(batch_shape)
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._component_distribution = self._component_distribution.expand(
            batch_shape + (self._num_component,))
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        super(MixtureSameFamily, new).__init__(batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        """That of every component."""
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """What chooses the component."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components, along the last batch dimension."""
        return self._component_distribution

    def _weights(self) -> Tensor:
        probs = self._mixture_distribution.probs
        return probs.reshape(probs.shape + (1,) * self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return (self._weights() * self._component_distribution.mean).sum(-1 - self._event_ndims)

    @property
    def variance(self) -> Tensor:
        at = -1 - self._event_ndims
        weights = self._weights()
        own = (weights * self._component_distribution.variance).sum(at)
        between = self._component_distribution.mean - self.mean.unsqueeze(at)
        return own + (weights * between.pow(2)).sum(at)

    def cdf(self, x: Tensor) -> Tensor:
        found = self._component_distribution.cdf(x.unsqueeze(-1 - self._event_ndims))
        return (found * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._validate_sample(value).unsqueeze(-1 - self._event_ndims)
        found = self._component_distribution.log_prob(value)
        weights = torch.log_softmax(self._mixture_distribution.logits, dim=-1)
        return torch.logsumexp(found + weights, dim=-1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with torch.no_grad():
            chosen = self._mixture_distribution.sample(sample_shape)
            at = len(chosen.shape)
            values = self._component_distribution.sample(sample_shape)
            event = tuple(self._event_shape)
            index = chosen.reshape(chosen.shape + (1,) * (len(event) + 1))
            index = index.expand((*values.shape[:at], 1, *event))
            return torch.gather(values, at, index).squeeze(at)

    def __repr__(self) -> str:
        return (f"MixtureSameFamily(\n  {self._mixture_distribution},\n  "
                f"{self._component_distribution})")
