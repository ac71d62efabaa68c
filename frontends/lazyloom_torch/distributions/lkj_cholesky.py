"""Cholesky factors of random correlation matrices."""

from __future__ import annotations

import math
from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor

from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all, standard_normal


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices of density ~ ``det**(concentration - 1)``.

    The onion method of Lewandowski, Kurowicka and Joe (2009), section 3.2.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _parameters = {"concentration": 0}

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: Any = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found "
                             f"dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args=validate_args)
        self._beta = self._row_lengths(self.concentration)

    def _row_lengths(self, concentration: Tensor) -> Beta:
        kind = concentration.dtype
        marginal = concentration + 0.5 * (self.dim - 2)
        offset = torch.cat([torch.zeros(1, dtype=kind), torch.arange(self.dim - 1, dtype=kind)])
        return Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset, validate_args=False)

    def _expand_into(self, new: Any, batch_shape: Any) -> None:
        new.dim = self.dim
        new._beta = self._beta.expand((*batch_shape, self.dim))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with torch.no_grad():
            y = self._beta.sample(sample_shape).unsqueeze(-1)
            u = standard_normal(self._extended_shape(sample_shape), y.dtype).tril(-1)
            length = u.norm(dim=-1, keepdim=True)
            direction = u / torch.where(length == 0, 1.0, length)
            w = torch.sqrt(y) * direction
            tiny = torch.finfo(w.dtype).tiny
            left = torch.clamp(1 - torch.sum(w**2, dim=-1), min=tiny).sqrt()
            return w + torch.diag_embed(left)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = torch.arange(2, self.dim + 1, dtype=self.concentration.dtype)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        weight = torch.sum(order * diagonal.log(), dim=-1)
        n = self.dim - 1
        alpha = self.concentration + 0.5 * n
        below = torch.lgamma(alpha) * n
        above = torch.mvlgamma(alpha - 0.5, n)
        return weight - (0.5 * n * math.log(math.pi) + above - below)
