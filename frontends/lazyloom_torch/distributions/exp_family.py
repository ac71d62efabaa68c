"""Exponential families: the entropy from the log normalizer."""

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
    def _natural_params(self) -> Any:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError

    def _means(self) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """F, theta and the mean of t, which is the gradient of F."""
        theta = [p.detach().requires_grad_() for p in self._natural_params]
        with torch.enable_grad():
            normalizer = self._log_normalizer(*theta)
            means = torch.autograd.grad(normalizer.sum(), theta, create_graph=True)
        return normalizer, theta, list(means)

    def _entropy(self) -> Tensor:
        """``F - <theta, grad F> - mean k``."""
        carrier = self._mean_carrier_measure
        normalizer, theta, means = self._means()
        return normalizer - carrier - inner_product(theta, means, normalizer.ndim)


def inner_product(xs: list[Tensor], ys: list[Tensor], ndim: int) -> Tensor:
    """The sum of the products over all but the first ``ndim`` dimensions, pair by pair."""
    found: Tensor = sum(
        sum_rightmost(x * y, x.ndim - ndim) for x, y in zip(xs, ys))
    return found
