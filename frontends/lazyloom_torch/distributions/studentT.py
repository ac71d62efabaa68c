"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, gamma, standard_normal


class StudentT(Distribution):
    """``loc + scale * t`` with t of ``df`` degrees of freedom."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real,
                       "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _parameters = {"df": 0, "loc": 0, "scale": 0}

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: Any = None
                 ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return torch.where(self.df <= 1, float("nan"), self.loc)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        found = self.scale.pow(2) * self.df / (self.df - 2)
        found = torch.where(self.df > 2, found, float("inf"))
        return torch.where(self.df <= 1, float("nan"), found)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        x = standard_normal(shape, self.df.dtype)
        z = 2 * gamma((self.df / 2).expand(shape))
        return self.loc + self.scale * x * torch.rsqrt(z / self.df)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._validate_sample(value)
        y = (value - self.loc) / self.scale
        z = (self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi)
             + torch.lgamma(0.5 * self.df) - torch.lgamma(0.5 * (self.df + 1.0)))
        return -0.5 * (self.df + 1.0) * torch.log1p(y**2.0 / self.df) - z

    def entropy(self) -> Tensor:
        beta = (torch.lgamma(0.5 * self.df) + math.lgamma(0.5)
                - torch.lgamma(0.5 * (self.df + 1)))
        return (self.scale.log() + 0.5 * (self.df + 1) * (
            torch.digamma(0.5 * (self.df + 1)) - torch.digamma(0.5 * self.df))
            + 0.5 * self.df.log() + beta)
