"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor

from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .utils import broadcast_all, draw, lazy_property, logits_to_probs, probs_to_logits


class NegativeBinomial(Distribution):
    """How many trials succeed, each with probability ``probs``, before ``total_count`` fail."""

    arg_constraints = {"total_count": constraints.greater_than_eq(0),
                       "probs": constraints.half_open_interval(0.0, 1.0),
                       "logits": constraints.real}
    support = constraints.nonnegative_integer
    _parameters = {"total_count": 0, "probs": 0, "logits": 0}

    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None,
                 validate_args: Any = None) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        if probs is not None:
            self.total_count, self.probs = broadcast_all(total_count, probs)
            self._param = self.probs
        else:
            self.total_count, self.logits = broadcast_all(total_count, logits)
            self._param = self.logits
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(self._param.shape, validate_args=validate_args)

    def _expand_into(self, new: Any, batch_shape: Any) -> None:
        new._param = new.__dict__["probs" if "probs" in self.__dict__ else "logits"]

    @property
    def mean(self) -> Tensor:
        return self.total_count * torch.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / torch.sigmoid(-self.logits)

    @lazy_property
    def logits(self) -> Tensor:
        """Log odds of success."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities of success."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> torch.Size:
        """The shape of what was given."""
        return self._param.shape

    @lazy_property
    def _gamma(self) -> Gamma:
        return Gamma(self.total_count, torch.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with torch.no_grad():
            rate = self._gamma.sample(sample_shape)
            return draw("random_poisson", [rate], rate.shape).to(rate.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._validate_sample(value)
        weight = (self.total_count * torch.nn.functional.logsigmoid(-self.logits)
                  + value * torch.nn.functional.logsigmoid(self.logits))
        total = self.total_count + value
        ways = -torch.lgamma(total) + torch.lgamma(1.0 + value) + torch.lgamma(self.total_count)
        return weight - torch.where(total == 0.0, 0.0, ways)
