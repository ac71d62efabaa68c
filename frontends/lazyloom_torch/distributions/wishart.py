"""The Wishart distribution."""

from __future__ import annotations

import math
from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor

from . import constraints
from .exp_family import ExponentialFamily
from .multivariate_normal import precision_to_scale_tril
from .utils import gamma, is_number, lazy_property, standard_normal


class Wishart(ExponentialFamily):
    """Positive definite matrices: sums of ``df`` outer products of normal vectors.

    Their covariance is given as ``covariance_matrix``, ``precision_matrix`` or ``scale_tril``.
    Samples are Bartlett's decomposition.
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters = {"df": 0, "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2}

    @property
    def arg_constraints(self) -> Any:
        """``df`` is larger than the size of the matrices, less one."""
        return {"covariance_matrix": constraints.positive_definite,
                "precision_matrix": constraints.positive_definite,
                "scale_tril": constraints.lower_cholesky,
                "df": constraints.greater_than(self.event_shape[-1] - 1)}

    def __init__(self, df: Any, covariance_matrix: Any = None, precision_matrix: Any = None,
                 scale_tril: Any = None, validate_args: Any = None) -> None:
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix,
                 "scale_tril": scale_tril}
        given = {k: v for k, v in given.items() if v is not None}
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril "
                             "may be specified.")
        ((name, matrix),) = given.items()
        if matrix.ndim < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading "
                             "batch dimensions")
        number = df if is_number(df) else None
        df = torch.as_tensor(df, dtype=matrix.dtype)
        batch = torch.broadcast_shapes(df.shape, matrix.shape[:-2])
        event = matrix.shape[-2:]
        self.df = df.expand(batch)
        if number is not None:
            self.df._number = number
        setattr(self, name, matrix.expand((*batch, *event)))
        super().__init__(batch, event, validate_args=validate_args)
        if scale_tril is not None:
            self._unbroadcasted_scale_tril = scale_tril
        elif covariance_matrix is not None:
            self._unbroadcasted_scale_tril = torch.linalg.cholesky(covariance_matrix)
        else:
            self._unbroadcasted_scale_tril = precision_to_scale_tril(precision_matrix)

    def _expand_into(self, new: Any, batch_shape: Any) -> None:
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril

    def _matrix_shape(self) -> tuple[int, ...]:
        return (*self._batch_shape, *self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance."""
        return self._unbroadcasted_scale_tril.expand(self._matrix_shape())

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance of the vectors."""
        factor = self._unbroadcasted_scale_tril
        return torch.matmul(factor, factor.mT).expand(self._matrix_shape())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return torch.cholesky_inverse(self._unbroadcasted_scale_tril).expand(self._matrix_shape())

    @property
    def mean(self) -> Tensor:
        return self.df.reshape((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        n = self._event_shape[-1]
        factor = torch.where(self.df - n - 1 <= 0, float("nan"), self.df - n - 1)
        return factor.reshape((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df.reshape((*self._batch_shape, 1, 1)) * (v.pow(2) + products)

    def rsample(self, sample_shape: Any = (), max_try_correction: Any = None) -> Tensor:
        shape = self._extended_shape(sample_shape)
        n = self._event_shape[-1]
        kind = self.df.dtype
        half = (self.df.unsqueeze(-1) - torch.arange(n, dtype=kind)) / 2
        # chi numbers on the diagonal, normal ones below it
        chi = (2 * gamma(half.expand(shape[:-1]))).sqrt()
        noise = standard_normal(shape, kind).tril(-1) + torch.diag_embed(chi)
        root = torch.matmul(self._unbroadcasted_scale_tril, noise)
        return torch.matmul(root, root.mT)

    def _log_det(self) -> Tensor:
        """The logarithm of the determinant of the covariance."""
        return 2 * self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        value = self._validate_sample(value)
        nu, p = self.df, self._event_shape[-1]
        inner = torch.cholesky_solve(value, self._unbroadcasted_scale_tril)
        trace = inner.diagonal(dim1=-2, dim2=-1).sum(-1)
        return (-nu * (p * math.log(2) + self._log_det()) / 2 - torch.mvlgamma(nu / 2, p)
                + (nu - p - 1) / 2 * torch.linalg.slogdet(value).logabsdet - trace / 2)

    def entropy(self) -> Tensor:
        nu, p = self.df, self._event_shape[-1]
        digammas = torch.digamma((nu.unsqueeze(-1) - torch.arange(p, dtype=nu.dtype)) / 2).sum(-1)
        return ((p + 1) / 2 * (p * math.log(2) + self._log_det()) + torch.mvlgamma(nu / 2, p)
                - (nu - p - 1) / 2 * digammas + nu * p / 2)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (-self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2)

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        p = self._event_shape[-1]
        degrees = y + (p + 1) / 2
        return degrees * (-torch.linalg.slogdet(-2 * x).logabsdet + p * math.log(2)) + (
            torch.mvlgamma(degrees, p))
