"""The uniform distribution."""

from __future__ import annotations

from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, checked, uniform


class Uniform(Distribution):
    """Numbers of ``[low, high)``, each as probable as another."""

    has_rsample = True
    _parameters = {"low": 0, "high": 0}

    @property
    def arg_constraints(self) -> Any:
        """Both are real; that low is below high is looked at apart."""
        return {"low": constraints.real, "high": constraints.real}

    def __init__(self, low: Any, high: Any, validate_args: Any = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        numbers = [getattr(t, "_number", None) for t in (self.low, self.high)]
        super().__init__(self.low.shape, validate_args=validate_args)
        if self._validate_args:
            text = "Uniform is not defined when low >= high"
            if None not in numbers:
                if not numbers[0] < numbers[1]:
                    raise ValueError(f"{text}: {numbers[0]} and {numbers[1]}")
            else:
                self.low = checked(self.low, self.low < self.high, text)

    @property
    def mean(self) -> Tensor:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        return float("nan") * self.high

    @property
    def stddev(self) -> Tensor:
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low).pow(2) / 12

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """From ``low`` to ``high``."""
        return constraints.interval(self.low, self.high)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        u = uniform(self._extended_shape(sample_shape), self.low.dtype)
        return self.low + u * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._validate_sample(value)
        inside = (self.low.le(value) & self.high.gt(value)).to(self.low.dtype)
        return torch.log(inside) - torch.log(self.high - self.low)

    def cdf(self, value: Tensor) -> Tensor:
        value = self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return torch.log(self.high - self.low)
