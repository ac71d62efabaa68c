"""The categorical distribution."""

from __future__ import annotations

from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor

from . import constraints
from .distribution import Distribution
from .utils import draw, lazy_property, logits_to_probs, probs_to_logits


class Categorical(Distribution):
    """One of the numbers 0 to K - 1, with weights in the last dimension of ``probs``, or of
    ``logits`` (their logarithms)."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _parameters = {"probs": 1, "logits": 1}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        if probs is not None:
            if probs.ndim < 1:
                raise ValueError("`probs` parameter must be at least one-dimensional.")
            self.probs = probs / probs.sum(-1, keepdim=True)
            self._param = self.probs
        else:
            if logits.ndim < 1:
                raise ValueError("`logits` parameter must be at least one-dimensional.")
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
            self._param = self.logits
        self._num_events = self._param.shape[-1]
        super().__init__(self._param.shape[:-1], validate_args=validate_args)

    def _expand_into(self, new: Any, batch_shape: Any) -> None:
        new._param = new.__dict__["probs" if "probs" in self.__dict__ else "logits"]
        new._num_events = self._num_events

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """The numbers of the categories."""
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Tensor:
        """Logarithms of the probabilities."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities, of sum 1."""
        return logits_to_probs(self.logits)

    @property
    def param_shape(self) -> torch.Size:
        """The shape of what was given."""
        return self._param.shape

    @property
    def mean(self) -> Tensor:
        return torch.full(self._extended_shape(), float("nan"), dtype=self.probs.dtype)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        return torch.full(self._extended_shape(), float("nan"), dtype=self.probs.dtype)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with torch.no_grad():
            shape = self._extended_shape(sample_shape)
            # exact weights, zeros too: the logits of probabilities are kept off 0
            weights = self.logits if "logits" in self.__dict__ and self._param is not (
                self.__dict__.get("probs")) else torch.log(self.probs)
            return draw("random_categorical", [weights], shape).to(torch.int64)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._validate_sample(value).long().unsqueeze(-1)
        shape = torch.broadcast_shapes(value.shape[:-1], self.logits.shape[:-1])
        logits = self.logits.expand((*shape, self._num_events))
        return logits.gather(-1, value.expand((*shape, 1))).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = torch.clamp(self.logits, min=torch.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(torch.arange(self._num_events, dtype=torch.long), expand)
