"""The multinomial distribution."""

from __future__ import annotations

from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor

from . import constraints
from .binomial import Binomial
from .categorical import Categorical
from .distribution import Distribution
from .utils import broadcast_all


class Multinomial(Distribution):
    """How often each category comes up in ``total_count`` draws."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None,
                 validate_args: Any = None) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs, logits, validate_args=validate_args)
        self._binomial = Binomial(total_count, self.probs, validate_args=False)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:],
                         validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Multinomial, _instance)
        batch_shape = torch.Size(batch_shape)
        new.total_count = self.total_count
        new._categorical = self._categorical.expand(batch_shape)
        new._binomial = Binomial(self.total_count, new._categorical.probs, validate_args=False)
        super(Multinomial, new).__init__(batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        """Counts of a sum of ``total_count`` at most."""
        return constraints.multinomial(self.total_count)

    @property
    def logits(self) -> Tensor:
        """Logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """Probabilities, of sum 1."""
        return self._categorical.probs

    @property
    def param_shape(self) -> torch.Size:
        """The shape of what was given."""
        return self._categorical.param_shape

    def sample(self, sample_shape: Any = ()) -> Tensor:
        drawn = self._categorical.sample((self.total_count, *sample_shape))
        n = self.event_shape[0]
        counts = (drawn.unsqueeze(-1) == torch.arange(n)).sum(0)
        return counts.to(self.probs.dtype)

    def entropy(self) -> Tensor:
        n = torch.tensor(float(self.total_count), dtype=self.probs.dtype)
        found = n * self._categorical.entropy() - torch.lgamma(n + 1)
        support = self._binomial.enumerate_support(expand=False)[1:]
        weights = torch.exp(self._binomial.log_prob(support))
        return found + (weights * torch.lgamma(support + 1)).sum([0, -1])

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        ways = torch.lgamma(value.sum(-1) + 1) - torch.lgamma(value + 1).sum(-1)
        # a category that cannot come up has not come up
        logits = torch.where((value == 0) & (logits == -float("inf")), 0.0, logits)
        return ways + (logits * value).sum(-1)
