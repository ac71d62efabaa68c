"""The von Mises distribution."""

from __future__ import annotations

import math
from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, draw, lazy_property


class VonMises(Distribution):
    """Angles around ``loc`` with density ~ ``exp(concentration * cos(x - loc))``."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _parameters = {"loc": 0, "concentration": 0}

    def __init__(self, loc: Any, concentration: Any, validate_args: Any = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._validate_sample(value)
        # log I0 from the scaled function, which does not overflow
        normalizer = torch.special.i0e(self.concentration).log() + self.concentration
        return (self.concentration * torch.cos(value - self.loc) - math.log(2 * math.pi)
                - normalizer)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with torch.no_grad():
            shape = self._extended_shape(sample_shape)
            x = draw("random_von_mises", [self.concentration.expand(shape)], shape)
            return (x + math.pi + self.loc) % (2 * math.pi) - math.pi

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The circular variance, ``1 - I1(concentration) / I0(concentration)``."""
        return 1 - torch.special.i1e(self.concentration) / torch.special.i0e(self.concentration)
