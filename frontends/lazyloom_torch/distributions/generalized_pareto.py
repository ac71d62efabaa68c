"""The generalised Pareto distribution."""

from __future__ import annotations

from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, uniform


class GeneralizedPareto(Distribution):
    """Excesses over the threshold ``loc``, of the tail index ``concentration``."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive,
                       "concentration": constraints.real}
    has_rsample = True
    _parameters = {"loc": 0, "scale": 0, "concentration": 0}

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: Any = None
                 ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """From ``loc`` to infinity, or to ``loc - scale / concentration``."""
        end = self.loc - self.scale / self.concentration
        upper = torch.where(self.concentration < 0, end, float("inf"))
        return constraints.interval(self.loc, upper)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.icdf(uniform(self._extended_shape(sample_shape), self.loc.dtype))

    def _flat(self) -> Tensor:
        return torch.isclose(self.concentration, torch.zeros_like(self.concentration))

    def _safe(self) -> Tensor:
        return torch.where(self._flat(), 1.0, self.concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._validate_sample(value)
        y = (value - self.loc) / self.scale
        k = self._safe()
        steep = -torch.log(self.scale) - (1.0 / k + 1.0) * torch.log1p(k * y)
        return torch.where(self._flat(), -y - torch.log(self.scale), steep)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of values above this one."""
        value = self._validate_sample(value)
        y = (value - self.loc) / self.scale
        k = self._safe()
        return torch.where(self._flat(), -y, -torch.log1p(k * y) / k)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of :meth:`cdf`."""
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value: Tensor) -> Tensor:
        return torch.exp(self.log_cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        k = self._safe()
        rest = torch.log1p(-value)
        steep = self.loc + self.scale * torch.expm1(-k * rest) / k
        return torch.where(self._flat(), self.loc - self.scale * rest, steep)

    @property
    def mean(self) -> Tensor:
        k = self.concentration
        valid = k < 1
        found = self.loc + self.scale / (1 - torch.where(valid, k, 0.5))
        return torch.where(valid, found, float("inf"))

    @property
    def variance(self) -> Tensor:
        k = self.concentration
        valid = k < 0.5
        kept = torch.where(valid, k, 0.25)
        found = self.scale**2 / ((1 - kept) ** 2 * (1 - 2 * kept))
        return torch.where(valid, found, float("inf"))

    def entropy(self) -> Tensor:
        return (torch.log(self.scale) + self.concentration + 1).expand(self._batch_shape)

    @property
    def mode(self) -> Tensor:
        return self.loc
