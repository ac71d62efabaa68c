"""The Kumaraswamy distribution."""

from __future__ import annotations

from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor

from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant


def _moment(a: Tensor, b: Tensor, n: int) -> Tensor:
    """The mean of ``x**n``."""
    part = 1 + n / a
    return torch.exp(torch.lgamma(part) + torch.lgamma(b) - torch.lgamma(part + b)) * b


class Kumaraswamy(TransformedDistribution):
    """Numbers between 0 and 1 with the cdf ``1 - (1 - x**a)**b``."""

    arg_constraints = {"concentration1": constraints.positive,
                       "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: Any = None
                 ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(torch.zeros_like(self.concentration0),
                       torch.ones_like(self.concentration0), validate_args=False)
        transforms = [PowerTransform(self.concentration0.reciprocal()),
                      AffineTransform(loc=1.0, scale=-1.0),
                      PowerTransform(self.concentration1.reciprocal())]
        super().__init__(base, transforms, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Kumaraswamy, _instance)
        new.concentration1 = self.concentration1.expand(batch_shape)
        new.concentration0 = self.concentration0.expand(batch_shape)
        return super().expand(batch_shape, new)

    @property
    def mean(self) -> Tensor:
        return _moment(self.concentration1, self.concentration0, 1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        inner = a.reciprocal() * ((a - 1).log() - (a * b - 1).log())
        exists = (a >= 1) & (b >= 1) & ~((a == 1) & (b == 1))
        return torch.where(exists, inner.exp(), float("nan"))

    @property
    def variance(self) -> Tensor:
        return _moment(self.concentration1, self.concentration0, 2) - self.mean.pow(2)

    def entropy(self) -> Tensor:
        one = 1 - self.concentration1.reciprocal()
        zero = 1 - self.concentration0.reciprocal()
        harmonic = torch.digamma(self.concentration0 + 1) + euler_constant
        return (zero + one * harmonic - torch.log(self.concentration1)
                - torch.log(self.concentration0))
