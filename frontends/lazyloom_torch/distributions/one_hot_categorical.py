"""Categories as vectors with a one in their place."""

from __future__ import annotations

from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor

from . import constraints
from .categorical import Categorical
from .distribution import Distribution


class OneHotCategorical(Distribution):
    """Vectors that are 1 in the place of a category and 0 elsewhere."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        self._categorical = Categorical(probs, logits, validate_args=validate_args)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:],
                         validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(OneHotCategorical, _instance)
        new._categorical = self._categorical.expand(torch.Size(batch_shape))
        super(OneHotCategorical, new).__init__(batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def probs(self) -> Tensor:
        """Probabilities, of sum 1."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """Logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def mean(self) -> Tensor:
        return self._categorical.probs

    @property
    def mode(self) -> Tensor:
        return _one_hot(self._categorical.mode, self.probs)

    @property
    def variance(self) -> Tensor:
        return self._categorical.probs * (1 - self._categorical.probs)

    @property
    def param_shape(self) -> torch.Size:
        """The shape of what was given."""
        return self._categorical.param_shape

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return _one_hot(self._categorical.sample(sample_shape), self.probs.detach())

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self.event_shape[0]
        values = torch.eye(n, dtype=self._param.dtype)
        values = values.view((n, *[1] * len(self.batch_shape), n))
        return values.expand((n, *self.batch_shape, n)) if expand else values


def _one_hot(places: Tensor, like: Tensor) -> Tensor:
    return torch.nn.functional.one_hot(places, like.shape[-1]).to(like.dtype)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot vectors whose gradient is that of the probabilities."""

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        found = self.sample(sample_shape)
        probs = self._categorical.probs
        return found + (probs - probs.detach())
