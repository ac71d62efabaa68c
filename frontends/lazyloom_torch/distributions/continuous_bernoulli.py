"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor
from lazyloom_torch.nn.functional import binary_cross_entropy_with_logits

from . import constraints
from .exp_family import ExponentialFamily
from .utils import (
    broadcast_all,
    clamp_probs,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
    uniform,
)


class ContinuousBernoulli(ExponentialFamily):
    """Numbers between 0 and 1 of density ~ ``probs**x * (1 - probs)**(1 - x)``.

    Between the numbers ``lims`` of probs, around 1/2, a Taylor series is used.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters = {"probs": 0, "logits": 0}

    def __init__(self, probs: Any = None, logits: Any = None, lims: Any = (0.499, 0.501),
                 validate_args: Any = None) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self._lims = lims
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
            self._param = self.probs
        else:
            (self.logits,) = broadcast_all(logits)
            self._param = self.logits
        super().__init__(self._param.shape, validate_args=validate_args)
        if probs is not None:
            number = getattr(self._param, "_number", None)
            self.probs = clamp_probs(self.probs)
            if number is None:
                self._param = self.probs

    def _expand_into(self, new: Any, batch_shape: Any) -> None:
        new._param = new.__dict__["probs" if "probs" in self.__dict__ else "logits"]
        new._lims = self._lims

    def _outside(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Tensor:
        return torch.where(self._outside(), self.probs, self._lims[0])

    def _cont_bern_log_norm(self) -> Tensor:
        cut = self._cut_probs()
        below = torch.where(cut <= 0.5, cut, 0.0)
        above = torch.where(cut >= 0.5, cut, 1.0)
        exact = torch.log(torch.abs(torch.log1p(-cut) - torch.log(cut))) - torch.where(
            cut <= 0.5, torch.log1p(-2.0 * below), torch.log(2.0 * above - 1.0))
        x = torch.pow(self.probs - 0.5, 2)
        near = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return torch.where(self._outside(), exact, near)

    @lazy_property
    def logits(self) -> Tensor:
        """Log odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """The parameter between 0 and 1."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    @property
    def param_shape(self) -> torch.Size:
        """The shape of what was given."""
        return self._param.shape

    @property
    def mean(self) -> Tensor:
        cut = self._cut_probs()
        exact = cut / (2.0 * cut - 1.0) + 1.0 / (torch.log1p(-cut) - torch.log(cut))
        x = self.probs - 0.5
        near = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * torch.pow(x, 2)) * x
        return torch.where(self._outside(), exact, near)

    @property
    def stddev(self) -> Tensor:
        return torch.sqrt(self.variance)

    @property
    def variance(self) -> Tensor:
        cut = self._cut_probs()
        exact = cut * (cut - 1.0) / torch.pow(1.0 - 2.0 * cut, 2) + 1.0 / torch.pow(
            torch.log1p(-cut) - torch.log(cut), 2)
        x = torch.pow(self.probs - 0.5, 2)
        near = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return torch.where(self._outside(), exact, near)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.icdf(uniform(self._extended_shape(sample_shape), self.probs.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(
            logits, value, reduction="none") + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        value = self._validate_sample(value)
        cut = self._cut_probs()
        exact = (torch.pow(cut, value) * torch.pow(1.0 - cut, 1.0 - value) + cut - 1.0) / (
            2.0 * cut - 1.0)
        found = torch.where(self._outside(), exact, value)
        return torch.where(value <= 0.0, 0.0, torch.where(value >= 1.0, 1.0, found))

    def icdf(self, value: Tensor) -> Tensor:
        cut = self._cut_probs()
        exact = (torch.log1p(-cut + value * (2.0 * cut - 1.0)) - torch.log1p(-cut)) / (
            torch.log(cut) - torch.log1p(-cut))
        return torch.where(self._outside(), exact, value)

    def entropy(self) -> Tensor:
        failing = torch.log1p(-self.probs)
        log_odds = torch.log(self.probs) - failing
        return self.mean * -log_odds - self._cont_bern_log_norm() - failing

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        outside = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = torch.where(outside, x, self._lims[0] - 0.5)
        exact = torch.log(torch.abs(torch.special.expm1(cut))) - torch.log(torch.abs(cut))
        near = 0.5 * x + torch.pow(x, 2) / 24.0 - torch.pow(x, 4) / 2880.0
        return torch.where(outside, exact, near)
