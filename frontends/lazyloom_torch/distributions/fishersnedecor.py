"""The F distribution."""

from __future__ import annotations

from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor

from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .utils import broadcast_all


class FisherSnedecor(Distribution):
    """The ratio of two mean squares of ``df1`` and ``df2`` standard normal numbers."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _parameters = {"df1": 0, "df2": 0}

    def __init__(self, df1: Any, df2: Any, validate_args: Any = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1, validate_args=False)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2, validate_args=False)
        super().__init__(self.df1.shape, validate_args=validate_args)

    def _expand_into(self, new: Any, batch_shape: Any) -> None:
        new._gamma1 = self._gamma1.expand(batch_shape)
        new._gamma2 = self._gamma2.expand(batch_shape)

    @property
    def mean(self) -> Tensor:
        return torch.where(self.df2 <= 2, float("nan"), self.df2) / (self.df2 - 2)

    @property
    def mode(self) -> Tensor:
        found = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return torch.where(self.df1 <= 2, float("nan"), found)

    @property
    def variance(self) -> Tensor:
        df2 = torch.where(self.df2 <= 4, float("nan"), self.df2)
        return (2 * df2.pow(2) * (self.df1 + df2 - 2)
                / (self.df1 * (df2 - 2).pow(2) * (df2 - 4)))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        above, below = self._gamma1.rsample(sample_shape), self._gamma2.rsample(sample_shape)
        tiny = torch.finfo(below.dtype).tiny
        return (above / below.clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._validate_sample(value)
        ratio = self.df1 / self.df2
        a, b = self.df1 * 0.5, self.df2 * 0.5
        beta = torch.lgamma(a) + torch.lgamma(b) - torch.lgamma(a + b)
        return (a * ratio.log() + (a - 1) * torch.log(value)
                - (a + b) * torch.log1p(ratio * value) - beta)
