"""Multivariate normal numbers with a covariance of low rank."""

from __future__ import annotations

import math
from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor

from . import constraints
from .distribution import Distribution
from .multivariate_normal import batch_mahalanobis
from .utils import lazy_property, standard_normal


class LowRankMultivariateNormal(Distribution):
    """Vectors of normal numbers with the covariance ``cov_factor @ cov_factor.T + diag(cov_diag)``.

    A factor of k columns makes it computations of k by k matrices.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1)}
    support = constraints.real_vector
    has_rsample = True
    _parameters = {"loc": 1, "cov_diag": 1, "cov_factor": 2, "covariance_matrix": 2,
                   "scale_tril": 2, "precision_matrix": 2}

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor,
                 validate_args: Any = None) -> None:
        if loc.ndim < 1:
            raise ValueError("loc must be at least one-dimensional.")
        n = loc.shape[-1]
        if cov_factor.ndim < 2 or cov_factor.shape[-2] != n:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {n} x m")
        if cov_diag.shape[-1:] != (n,):
            raise ValueError(f"cov_diag must be a batch of vectors with shape {(n,)}")
        try:
            batch = torch.broadcast_shapes(
                loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, "
                f"cov_diag {cov_diag.shape}") from error
        self.loc = loc.expand((*batch, n))
        self.cov_diag = cov_diag.expand((*batch, n))
        self.cov_factor = cov_factor.expand((*batch, *cov_factor.shape[-2:]))
        super().__init__(batch, (n,), validate_args=validate_args)
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _capacitance(cov_factor, cov_diag)

    def _expand_into(self, new: Any, batch_shape: Any) -> None:
        for name in ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril"):
            setattr(new, name, getattr(self, name))

    def _matrix_shape(self) -> tuple[int, ...]:
        return (*self._batch_shape, *self._event_shape, *self._event_shape)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:  # type: ignore[override]
        """The diagonal of the covariance."""
        found = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return found.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance."""
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        inner = torch.matmul(scaled, scaled.mT) + torch.eye(
            self._event_shape[0], dtype=root.dtype)
        return (root * torch.linalg.cholesky(inner)).expand(self._matrix_shape())

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_cov_factor
        found = torch.matmul(factor, factor.mT) + torch.diag_embed(self._unbroadcasted_cov_diag)
        return found.expand(self._matrix_shape())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance, by Woodbury's identity."""
        diag = self._unbroadcasted_cov_diag
        scaled = self._unbroadcasted_cov_factor.mT / diag.unsqueeze(-2)
        a = torch.linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        found = torch.diag_embed(diag.reciprocal()) - torch.matmul(a.mT, a)
        return found.expand(self._matrix_shape())

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        factor = self._unbroadcasted_cov_factor
        low = standard_normal((*shape[:-1], factor.shape[-1]), self.loc.dtype)
        own = standard_normal(shape, self.loc.dtype)
        return (self.loc + torch.matmul(factor, low.unsqueeze(-1)).squeeze(-1)
                + self._unbroadcasted_cov_diag.sqrt() * own)

    def _log_det(self) -> Tensor:
        inner = self._capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return 2 * inner + self._unbroadcasted_cov_diag.log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._validate_sample(value)
        distance = mahalanobis(self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag,
                               value - self.loc, self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_det() + distance)

    def entropy(self) -> Tensor:
        found = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._log_det())
        return found.expand(self._batch_shape)


def _capacitance(factor: Tensor, diag: Tensor) -> Tensor:
    """The Cholesky factor of ``I + factor.T @ inv(diag) @ factor``."""
    scaled = factor.mT / diag.unsqueeze(-2)
    one = torch.eye(factor.shape[-1], dtype=factor.dtype)
    return torch.linalg.cholesky(torch.matmul(scaled, factor) + one)


def mahalanobis(factor: Tensor, diag: Tensor, x: Tensor, capacitance: Tensor) -> Tensor:
    """``x @ inv(factor @ factor.T + diag) @ x``, by Woodbury's identity."""
    scaled = factor.mT / diag.unsqueeze(-2)
    inner = torch.matmul(scaled, x.unsqueeze(-1)).squeeze(-1)
    return (x.pow(2) / diag).sum(-1) - batch_mahalanobis(capacitance, inner)
