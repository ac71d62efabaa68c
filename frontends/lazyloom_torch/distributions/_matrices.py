"""Families of vectors and matrices that are given by a covariance or a correlation."""

from __future__ import annotations

import math
from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Size, Tensor

from .._samples import gamma
from . import constraints
from ._positive import Beta
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .utils import broadcast_all, derived, diagonal_of, formula, is_number, lazy_property
from .utils import standard_normal as normal

_LOG_2PI = math.log(2 * math.pi)


def half_log_det(factor: Tensor) -> Tensor:
    """Half of the logarithm of the determinant of ``factor @ factor.T``."""
    return diagonal_of(factor).log().sum(-1)


def whitened_square(factor: Tensor, columns: Tensor) -> Tensor:
    """``|inv(factor) @ columns|**2`` for lower triangular factors, batches broadcast."""
    if factor.ndim == 2:  # one for all: all columns are those of one matrix
        rows = columns.movedim(-2, 0)
        found = torch.linalg.solve_triangular(factor, rows.flatten(1), upper=False)
        return found.square().reshape(rows.shape).sum((0, -1))
    batch = torch.broadcast_shapes(factor.shape[:-2], columns.shape[:-2])
    factor, columns = (m.expand((*batch, -1, -1)) for m in (factor, columns))
    return torch.linalg.solve_triangular(factor, columns, upper=False).square().sum((-2, -1))


def precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The Cholesky factor of the inverse of a precision matrix.

    With the rows and columns of the precision in the other order, its factor is the inverse of
    the one that is looked for, transposed and in that order.
    """
    turned = torch.linalg.cholesky(precision.flip(-2, -1))
    one = torch.eye(precision.shape[-1], dtype=precision.dtype)
    return torch.linalg.solve_triangular(turned.flip(-2, -1).mT, one, upper=False)


_TO_FACTOR = {"covariance_matrix": torch.linalg.cholesky, "scale_tril": lambda factor: factor,
              "precision_matrix": precision_to_scale_tril}


class _ByCovariance(Distribution):
    """A family given by a covariance, its inverse or its Cholesky factor; it computes with the
    last, whose batch may be smaller than that of the distribution."""

    arg_constraints: Any = {
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky}
    has_rsample = True
    _unbroadcasted_scale_tril: Tensor
    scale_tril = lazy_property(lambda d: d._full(d._unbroadcasted_scale_tril))
    covariance_matrix = lazy_property(lambda d: d._full(
        d._unbroadcasted_scale_tril @ d._unbroadcasted_scale_tril.mT))
    precision_matrix = lazy_property(lambda d: d._full(
        torch.cholesky_inverse(d._unbroadcasted_scale_tril)))
    _half_log_det = derived(lambda d: half_log_det(d._unbroadcasted_scale_tril))
    _full = formula(lambda d, m: m.expand((*d._batch_shape, *m.shape[-2:])))

    def _take(self, *matrices: Any) -> Tensor:
        """The matrix that was given, of the three in the order of the arguments."""
        given = {n: m for n, m in zip(_ByCovariance.arg_constraints, matrices) if m is not None}
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril "
                             "may be specified.")
        ((self._given, matrix),) = given.items()
        if matrix.ndim < 2:
            raise ValueError(f"{self._given} must be at least two-dimensional, with optional "
                             "leading batch dimensions")
        found: Tensor = matrix
        return found


class _NormalVectors(Distribution):
    """What follows from the mean and from ``_root``, a matrix M with the covariance ``M @ M.T``,
    ``_half_log_det`` and ``_quadratic(columns)``, the trace of ``columns.T @ inv(cov) @ columns``.
    """

    support: Any = constraints.real_vector
    has_rsample = True
    mean: Any = derived(lambda d: d.loc)
    mode: Any = derived(lambda d: d.loc)
    _log_prob: Any = formula(lambda d, value: -d._half_log_det - (
        d._event_shape[0] * _LOG_2PI + d._quadratic((value - d.loc).unsqueeze(-1))) / 2)
    _entropy: Any = formula(lambda d: (
        d._event_shape[0] * (1 + _LOG_2PI) / 2 + d._half_log_det).expand(d._batch_shape))


class MultivariateNormal(_ByCovariance, _NormalVectors):
    """Vectors of normal numbers with a covariance.

    It is given as ``covariance_matrix``, as its inverse ``precision_matrix`` or as its Cholesky
    factor ``scale_tril``.
    """

    arg_constraints = {"loc": constraints.real_vector, **_ByCovariance.arg_constraints}
    variance = derived(lambda d: d._unbroadcasted_scale_tril.square().sum(-1).expand(d.loc.shape))

    def __init__(self, loc: Tensor, covariance_matrix: Any = None, precision_matrix: Any = None,
                 scale_tril: Any = None, validate_args: Any = None) -> None:
        matrix = self._take(covariance_matrix, precision_matrix, scale_tril)
        if loc.ndim == 0:
            raise ValueError("loc must be at least one-dimensional.")
        batch = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.loc = loc.expand((*batch, -1))
        setattr(self, self._given, matrix.expand((*batch, -1, -1)))
        super().__init__(batch, loc.shape[-1:], validate_args)
        self._unbroadcasted_scale_tril = _TO_FACTOR[self._given](matrix)

    _root = derived(lambda d: d._unbroadcasted_scale_tril)
    _quadratic = formula(lambda d, columns: whitened_square(d._root, columns))
    _draw = formula(lambda d, shape: (
        d.loc + (d._root @ normal(shape, d.loc.dtype).unsqueeze(-1)).squeeze(-1)))


class LowRankMultivariateNormal(_NormalVectors):
    """Vectors of normal numbers with the covariance ``cov_factor @ cov_factor.T + diag(cov_diag)``.

    A factor of k columns makes it computations of k by k matrices, by Woodbury's identity with
    the capacitance ``I + cov_factor.T @ inv(diag) @ cov_factor``.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1)}

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor,
                 validate_args: Any = None) -> None:
        if loc.ndim == 0:
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
        self.loc, self.cov_diag = (x.expand((*batch, n)) for x in (loc, cov_diag))
        self.cov_factor = cov_factor.expand((*batch, -1, -1))
        super().__init__(batch, (n,), validate_args)
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        one = torch.eye(cov_factor.shape[-1], dtype=cov_factor.dtype)
        self._capacitance_tril = torch.linalg.cholesky(self._scaled() @ cov_factor + one)

    def _scaled(self) -> Tensor:
        """``cov_factor.T @ inv(diag)``."""
        return self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)

    _root = derived(lambda d: torch.cat([d.cov_factor, torch.diag_embed(d.cov_diag.sqrt())], -1))
    _half_log_det = derived(lambda d: half_log_det(d._capacitance_tril) + (
        d._unbroadcasted_cov_diag.log().sum(-1) / 2))
    _quadratic = formula(lambda d, columns: (
        columns.square() / d._unbroadcasted_cov_diag.unsqueeze(-1)).sum((-2, -1)) - (
            whitened_square(d._capacitance_tril, d._scaled() @ columns)))
    variance = lazy_property(lambda d: d.cov_factor.square().sum(-1) + d.cov_diag)
    covariance_matrix = lazy_property(
        lambda d: d.cov_factor @ d.cov_factor.mT + torch.diag_embed(d.cov_diag))
    scale_tril = lazy_property(lambda d: torch.linalg.cholesky(d.covariance_matrix))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        inner = torch.linalg.solve_triangular(self._capacitance_tril, self._scaled(), upper=False)
        return torch.diag_embed(1 / self.cov_diag) - inner.mT @ inner

    def _draw(self, shape: Size) -> Tensor:
        factor, kind = self._unbroadcasted_cov_factor, self.loc.dtype
        shared = normal((*shape[:-1], factor.shape[-1]), kind).unsqueeze(-1)
        own = normal(shape, kind) * self._unbroadcasted_cov_diag.sqrt()
        return self.loc + (factor @ shared).squeeze(-1) + own


class Wishart(_ByCovariance, ExponentialFamily):
    """Positive definite matrices: sums of ``df`` outer products of normal vectors.

    Their covariance is given as ``covariance_matrix``, ``precision_matrix`` or ``scale_tril``.
    Samples are Bartlett's decomposition.
    """

    support = constraints.positive_definite
    _size = derived(lambda d: d._event_shape[-1])
    #: ``df`` beside matrices, and what it is above the size of the matrices plus one
    _count = derived(lambda d: d.df[..., None, None])
    _excess = derived(lambda d: d.df - d._size - 1)
    arg_constraints = derived(lambda d: {
        **_ByCovariance.arg_constraints, "df": constraints.greater_than(d._size - 1)})
    mean = derived(lambda d: d._count * d.covariance_matrix)
    mode = derived(lambda d: torch.where(
        d._excess > 0, d._excess, math.nan)[..., None, None] * d.covariance_matrix)
    _mean_carrier_measure = 0
    _natural_params = derived(lambda d: (-d.precision_matrix / 2, d._excess / 2))

    def __init__(self, df: Any, covariance_matrix: Any = None, precision_matrix: Any = None,
                 scale_tril: Any = None, validate_args: Any = None) -> None:
        matrix = self._take(covariance_matrix, precision_matrix, scale_tril)
        given: Any = torch.as_tensor(df, dtype=matrix.dtype)
        batch = torch.broadcast_shapes(given.shape, matrix.shape[:-2])
        self.df = given.expand(batch)
        if is_number(df):
            self.df._number = df
        setattr(self, self._given, matrix.expand((*batch, -1, -1)))
        super().__init__(batch, matrix.shape[-2:], validate_args)
        self._unbroadcasted_scale_tril = _TO_FACTOR[self._given](matrix)

    @property
    def variance(self) -> Tensor:
        own = diagonal_of(self.covariance_matrix)
        products = own.unsqueeze(-1) * own.unsqueeze(-2)
        return self._count * (self.covariance_matrix.square() + products)

    def rsample(self, sample_shape: Any = (), max_try_correction: Any = None) -> Tensor:
        return super().rsample(sample_shape)

    def _halves(self) -> Tensor:
        """``(df - i) / 2`` for each row i."""
        return (self.df.unsqueeze(-1) - torch.arange(self._size, dtype=self.df.dtype)) / 2

    def _draw(self, shape: Size) -> Tensor:
        # chi numbers on the diagonal, normal ones below it
        chi = (2 * gamma(self._halves().expand(shape[:-1]))).sqrt()
        noise = normal(shape, self.df.dtype).tril(-1) + torch.diag_embed(chi)
        root = self._unbroadcasted_scale_tril @ noise
        return root @ root.mT

    def _log_prob(self, value: Tensor) -> Tensor:
        trace = diagonal_of(torch.cholesky_solve(value, self._unbroadcasted_scale_tril)).sum(-1)
        log_det = torch.linalg.slogdet(value).logabsdet
        return (self._excess * log_det - trace - self.df * self._size * math.log(2)) / 2 - (
            self.df * self._half_log_det + torch.mvlgamma(self.df / 2, self._size))

    _entropy = formula(lambda d: (
        (d._size + 1) * (d._size * math.log(2) / 2 + d._half_log_det) + d.df * d._size / 2
        + torch.mvlgamma(d.df / 2, d._size) - d._excess / 2 * d._halves().digamma().sum(-1)))

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        p = self._size
        half = y + (p + 1) / 2
        log_det = torch.linalg.slogdet(-2 * x).logabsdet
        return half * (p * math.log(2) - log_det) + torch.mvlgamma(half, p)


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices of density ~ ``det**(concentration - 1)``.

    The onion method of Lewandowski, Kurowicka and Joe (2009), section 3.2.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: Any = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found "
                             f"dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)

    def _draw(self, shape: Size) -> Tensor:
        kind = self.concentration.dtype
        row = torch.arange(-1, self.dim - 1, dtype=kind).clamp(min=0)
        rest = self.concentration.unsqueeze(-1) + (self.dim - 2 - row) / 2
        # what the elements before the diagonal have of a row's square of 1, and their direction
        share = Beta(row + 0.5, rest, validate_args=False)._draw(shape[:-1]).unsqueeze(-1)
        below = normal(shape, kind).tril(-1)
        length = below.norm(dim=-1, keepdim=True)
        below = share.sqrt() * below / torch.where(length == 0, 1.0, length)
        left = (1 - below.square().sum(-1)).clamp(min=torch.finfo(kind).tiny)
        return below + torch.diag_embed(left.sqrt())

    def _log_prob(self, value: Tensor) -> Tensor:
        n = self.dim - 1
        order = 2 * (self.concentration.unsqueeze(-1) - 1) + torch.arange(
            n - 1, -1, -1, dtype=self.concentration.dtype)
        alpha = self.concentration + n / 2
        normalizer = n * math.log(math.pi) / 2 + torch.mvlgamma(alpha - 0.5, n) - (
            n * alpha.lgamma())
        return (order * diagonal_of(value)[..., 1:].log()).sum(-1) - normalizer


__all__ = [
    "LKJCholesky", "LowRankMultivariateNormal", "MultivariateNormal", "Wishart",
]  # fmt: skip
