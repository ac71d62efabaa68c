"""The multivariate normal distribution."""

from __future__ import annotations

import math
from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor

from . import constraints
from .distribution import Distribution
from .utils import lazy_property, standard_normal


def batch_mahalanobis(factor: Tensor, x: Tensor) -> Tensor:
    """``|inv(factor) @ x|**2`` for lower triangular factors, batches broadcast."""
    n = x.shape[-1]
    shape = torch.broadcast_shapes(factor.shape[:-2], x.shape[:-1])
    if factor.ndim == 2:
        # one factor for all: the vectors are columns of one matrix
        columns = x.reshape(-1, n).mT
        found = torch.linalg.solve_triangular(factor, columns, upper=False)
        return found.pow(2).sum(0).reshape(shape)
    found = torch.linalg.solve_triangular(
        factor, x.expand((*shape, n)).unsqueeze(-1), upper=False)
    return found.pow(2).sum(-2).squeeze(-1)


def precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The Cholesky factor of the inverse of a precision matrix."""
    turned = torch.linalg.cholesky(torch.flip(precision, (-2, -1)))
    upper = torch.flip(turned, (-2, -1)).mT
    one = torch.eye(precision.shape[-1], dtype=precision.dtype)
    return torch.linalg.solve_triangular(upper, one, upper=False)


class MultivariateNormal(Distribution):
    """Vectors of normal numbers with a covariance.

    It is given as ``covariance_matrix``, as its inverse ``precision_matrix`` or as its Cholesky
    factor ``scale_tril``; the last is what is computed with.
    """

    arg_constraints = {
        "loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky}
    support = constraints.real_vector
    has_rsample = True
    _parameters = {"loc": 1, "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2}

    def __init__(self, loc: Tensor, covariance_matrix: Any = None, precision_matrix: Any = None,
                 scale_tril: Any = None, validate_args: Any = None) -> None:
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix,
                 "scale_tril": scale_tril}
        given = {k: v for k, v in given.items() if v is not None}
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril "
                             "may be specified.")
        if loc.ndim < 1:
            raise ValueError("loc must be at least one-dimensional.")
        ((name, matrix),) = given.items()
        if matrix.ndim < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading "
                             "batch dimensions")
        batch = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.loc = loc.expand((*batch, loc.shape[-1]))
        setattr(self, name, matrix.expand((*batch, *matrix.shape[-2:])))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        if scale_tril is not None:
            self._unbroadcasted_scale_tril = scale_tril
        elif covariance_matrix is not None:
            self._unbroadcasted_scale_tril = torch.linalg.cholesky(covariance_matrix)
        else:
            self._unbroadcasted_scale_tril = precision_to_scale_tril(precision_matrix)

    def _expand_into(self, new: Any, batch_shape: Any) -> None:
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril

    def _matrix_shape(self) -> tuple[int, ...]:
        return (*self._batch_shape, *self._event_shape, *self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance."""
        return self._unbroadcasted_scale_tril.expand(self._matrix_shape())

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_scale_tril
        return torch.matmul(factor, factor.mT).expand(self._matrix_shape())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return torch.cholesky_inverse(self._unbroadcasted_scale_tril).expand(self._matrix_shape())

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        found = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return found.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        eps = standard_normal(self._extended_shape(sample_shape), self.loc.dtype)
        factor = self._unbroadcasted_scale_tril
        return self.loc + torch.matmul(factor, eps.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._validate_sample(value)
        factor = self._unbroadcasted_scale_tril
        distance = batch_mahalanobis(factor, value - self.loc)
        half_log_det = factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - half_log_det

    def entropy(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        half_log_det = factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        found = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + half_log_det
        return found.expand(self._batch_shape)
