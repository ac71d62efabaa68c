"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor

from . import constraints
from .exp_family import ExponentialFamily
from .utils import gamma


class Dirichlet(ExponentialFamily):
    """Points of a simplex of density ~ the product of ``x_i**(concentration_i - 1)``."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters = {"concentration": 1}

    def __init__(self, concentration: Tensor, validate_args: Any = None) -> None:
        if concentration.ndim < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:],
                         validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        found = gamma(self.concentration.expand(self._extended_shape(sample_shape)))
        found = found / found.sum(-1, True)
        limits = torch.finfo(found.dtype)
        return found.clamp(min=limits.tiny, max=1 - limits.eps / 2)

    def _log_density(self, value: Tensor) -> Tensor:
        a = self.concentration
        return (torch.xlogy(a - 1.0, value).sum(-1) + torch.lgamma(a.sum(-1))
                - torch.lgamma(a).sum(-1))

    def log_prob(self, value: Tensor) -> Tensor:
        return self._log_density(self._validate_sample(value))

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0.0)
        found = above / above.sum(-1, True)
        # where every corner is a mode, that of the largest concentration
        corners = (self.concentration < 1).all(-1, keepdim=True)
        largest = torch.nn.functional.one_hot(
            self.concentration.argmax(-1), self.concentration.shape[-1]).to(found.dtype)
        return torch.where(corners, largest, found)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        k = self.concentration.shape[-1]
        total = self.concentration.sum(-1)
        return (torch.lgamma(self.concentration).sum(-1) - torch.lgamma(total)
                - (k - total) * torch.digamma(total)
                - ((self.concentration - 1.0) * torch.digamma(self.concentration)).sum(-1))

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return x.lgamma().sum(-1) - torch.lgamma(x.sum(-1))
