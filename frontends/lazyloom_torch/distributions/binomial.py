"""The binomial distribution."""

from __future__ import annotations

from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor

from . import constraints
from .distribution import Distribution
from .utils import (
    broadcast_all,
    checked,
    draw,
    is_number,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)


def _log_of_one_more(x: Tensor) -> Tensor:
    """``log(1 + exp(x))``, exact and with the right gradient at 0, too."""
    return -torch.nn.functional.logsigmoid(-x)


class Binomial(Distribution):
    """How many of ``total_count`` trials succeed, each with probability ``probs``."""

    arg_constraints = {"total_count": constraints.nonnegative_integer,
                       "probs": constraints.unit_interval, "logits": constraints.real}
    has_enumerate_support = True
    _parameters = {"total_count": 0, "probs": 0, "logits": 0}

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None,
                 validate_args: Any = None) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        #: the largest count, if it is known without looking at data
        self._most = int(total_count) if is_number(total_count) else None
        if probs is not None:
            self.total_count, self.probs = broadcast_all(total_count, probs)
            self._param = self.probs
        else:
            self.total_count, self.logits = broadcast_all(total_count, logits)
            self._param = self.logits
        self.total_count = _typed(self.total_count, self._param)
        super().__init__(self._param.shape, validate_args=validate_args)

    def _expand_into(self, new: Any, batch_shape: Any) -> None:
        new._param = new.__dict__["probs" if "probs" in self.__dict__ else "logits"]
        new._most = self._most

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """Whole numbers from 0 to ``total_count``."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

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

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with torch.no_grad():
            shape = self._extended_shape(sample_shape)
            found = draw("random_binomial", [
                self.total_count.expand(shape), self.probs.expand(shape)], shape)
            return found.to(self._param.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._validate_sample(value)
        ways = (torch.lgamma(self.total_count + 1) - torch.lgamma(value + 1)
                - torch.lgamma(self.total_count - value + 1))
        failing = self.total_count * _log_of_one_more(self.logits)
        return value * self.logits + ways - failing

    def entropy(self) -> Tensor:
        values = self.enumerate_support(expand=False)
        log_prob = self._unchecked().log_prob(values)
        return -(torch.exp(log_prob) * log_prob).sum(0)

    def _unchecked(self) -> Binomial:
        new: Binomial = self.expand(self.batch_shape)
        new._validate_args = False
        return new

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """0 to ``total_count``, which must be one number. Reads it if it is a tensor."""
        if self._most is None:
            self._most = int(self.total_count.max())
            self.total_count = checked(self.total_count, self.total_count == self._most, (
                "Inhomogeneous total count not supported by `enumerate_support`"))
        return self._enumerated(torch.arange(1 + self._most, dtype=self._param.dtype), expand)


def _typed(count: Tensor, like: Tensor) -> Tensor:
    """The count in the dtype of the parameters, with what is known of it."""
    found = count.to(like.dtype)
    if hasattr(count, "_number"):
        found._number = count._number
    return found
