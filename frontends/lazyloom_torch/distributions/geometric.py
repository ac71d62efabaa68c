"""The geometric distribution."""

from __future__ import annotations

from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor
from lazyloom_torch.nn.functional import binary_cross_entropy_with_logits

from . import constraints
from .distribution import Distribution
from .utils import (
    broadcast_all,
    checked,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
    uniform,
)


class Geometric(Distribution):
    """How many trials fail before the first success, each with probability ``probs``."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    _parameters = {"probs": 0, "logits": 0}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        given = self.probs if probs is not None else self.logits
        super().__init__(given.shape, validate_args=validate_args)
        if self._validate_args and probs is not None:
            number = getattr(given, "_number", None)
            text = "Expected parameter probs of distribution Geometric to be positive"
            if number is not None and not number > 0:
                raise ValueError(f"{text}, but found the value {number!r}")
            if number is None:
                self.probs = checked(self.probs, self.probs > 0, text)

    @lazy_property
    def logits(self) -> Tensor:
        """Log odds of success."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities of success."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return torch.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with torch.no_grad():
            shape = self._extended_shape(sample_shape)
            u = uniform(shape, self.probs.dtype).clamp(min=torch.finfo(self.probs.dtype).tiny)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        probs = torch.where((probs == 1) & (value == 0), 0.0, probs)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(
            self.logits, self.probs, reduction="none") / self.probs
