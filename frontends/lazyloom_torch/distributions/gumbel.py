"""The Gumbel distribution."""

from __future__ import annotations

import math
from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, draw, euler_constant


class Gumbel(Distribution):
    """Largest values: ``loc - scale * log(-log(u))`` of uniform u."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _parameters = {"loc": 0, "scale": 0}

    def __init__(self, loc: Any, scale: Any, validate_args: Any = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.loc + self.scale * draw("random_gumbel", [], shape, self.loc.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    def cdf(self, value: Tensor) -> Tensor:
        value = self._validate_sample(value)
        return torch.exp(-torch.exp((self.loc - value) / self.scale))

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc - self.scale * torch.log(-torch.log(value))

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
