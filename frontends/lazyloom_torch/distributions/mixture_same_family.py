"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor

from . import constraints
from ._counts import Categorical
from .distribution import Distribution
from .utils import derived


class MixtureSameFamily(Distribution):
    """Values of one of the components, along the last batch dimension of one distribution, which
    a categorical distribution chooses."""

    arg_constraints: Any = {}
    mixture_distribution = derived(lambda d: d._mixture_distribution)
    component_distribution = derived(lambda d: d._component_distribution)

    def __init__(self, mixture_distribution: Categorical, component_distribution: Distribution,
                 validate_args: Any = None) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of "
                             "torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution need to be an instance of "
                             "torch.distributions.Distribution")
        chosen, (*batch, last) = mixture_distribution.batch_shape, (
            component_distribution.batch_shape)
        batch = torch.Size(batch)
        if any(1 != a != b != 1 for a, b in zip(reversed(chosen), reversed(batch))):
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({chosen}) is not compatible with "
                f"`component_distribution.batch_shape`({batch})")
        count = mixture_distribution.logits.shape[-1]
        if count != last:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({last})")
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = count
        super().__init__(batch, component_distribution.event_shape, validate_args)

    def _expand_into(self, new: Any, batch_shape: Any) -> None:
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._component_distribution = self._component_distribution.expand(
            (*batch_shape, self._num_component))

    support = constraints.dependent_property(
        lambda d: constraints.MixtureSameFamilyConstraint(d._component_distribution.support))
    _event_ndims = derived(lambda d: len(d._event_shape))
    #: the dimension of the components in values
    _at = derived(lambda d: -1 - d._event_ndims)

    def _average(self, of_components: Tensor) -> Tensor:
        """The mean of a quantity of the components, by their probabilities."""
        probs = self._mixture_distribution.probs
        ones = (1,) * self._event_ndims
        return (probs.reshape(probs.shape + ones) * of_components).sum(self._at)

    mean = derived(lambda d: d._average(d._component_distribution.mean))
    variance = derived(lambda d: (
        d._average(d._component_distribution.variance)
        + d._average((d._component_distribution.mean - d.mean.unsqueeze(d._at)).square())))

    def cdf(self, x: Tensor) -> Tensor:
        each = self._component_distribution.cdf(x.unsqueeze(self._at))
        return (self._mixture_distribution.probs * each).sum(-1)

    def _log_prob(self, value: Tensor) -> Tensor:
        each = self._component_distribution.log_prob(value.unsqueeze(self._at))
        return (each + self._mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with torch.no_grad():
            chosen = self._mixture_distribution.sample(sample_shape)
            values = self._component_distribution.sample(sample_shape)
            index = chosen.reshape(chosen.shape + (1,) * (self._event_ndims + 1))
            index = index.expand((*values.shape[:chosen.ndim], 1, *self._event_shape))
            return values.gather(chosen.ndim, index).squeeze(chosen.ndim)

    def __repr__(self) -> str:
        return (f"MixtureSameFamily(\n  {self._mixture_distribution},\n  "
                f"{self._component_distribution})")
