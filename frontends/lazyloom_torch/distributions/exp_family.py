"""Distributions of an exponential family: the entropy from the log normalizer."""

from __future__ import annotations

from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor

from .distribution import Distribution
from .utils import sum_rightmost


class ExponentialFamily(Distribution):
    """Densities ``exp(<t(x), theta> - F(theta) + k(x))``.

    A subclass gives theta as ``_natural_params``, F as ``_log_normalizer`` and the mean of k as
    ``_mean_carrier_measure``; entropy and divergences follow by differentiation of F.
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy, ``F - <theta, grad F> - mean k``."""
        result = -self._mean_carrier_measure
        params = [p.detach().requires_grad_() for p in self._natural_params]
        with torch.enable_grad():
            normalizer = self._log_normalizer(*params)
            slopes = torch.autograd.grad(normalizer.sum(), params, create_graph=True)
        result = result + normalizer
        for p, slope in zip(params, slopes):
            result = result - sum_rightmost(p * slope, result_dims(p, normalizer))
        return result


def result_dims(parameter: Tensor, normalizer: Tensor) -> int:
    """How many last dimensions of a natural parameter belong to one event."""
    return parameter.ndim - normalizer.ndim
