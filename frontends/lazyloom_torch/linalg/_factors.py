"""Factorisations of matrices and eigenvalues."""
# ruff: noqa: N803, N806  (PyTorch's names)

from __future__ import annotations

from typing import Any

from .. import _dtypes
from .._functions.creation import arange, eye
from .._functions.shaping import tril, triu
from .._tensor import Tensor
from ..return_types import named
from ._arguments import (
    FailedLinAlgError,
    check_inexact,
    finite,
    matrix,
    on_tape_of,
    op,
    unless,
    zero_pivot,
)

_Cholesky = named("linalg_cholesky_ex", "L", "info")
_LU = named("linalg_lu", "P", "L", "U")
_Factors = named("linalg_lu_factor", "LU", "pivots")
_FactorsInfo = named("linalg_lu_factor_ex", "LU", "pivots", "info")
_QR = named("linalg_qr", "Q", "R")
_Eig = named("linalg_eig", "eigenvalues", "eigenvectors")
_Eigh = named("linalg_eigh", "eigenvalues", "eigenvectors")
_SVD = named("linalg_svd", "U", "S", "Vh")


def raised(of: str, info: Tensor, text: str) -> None:
    """Read ``info``, as ``check_errors`` asks, and raise LinAlgError if it is not 0."""
    if bool((info != 0).any()):
        raise FailedLinAlgError(f"linalg.{of}: {text}", op=of)


def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """The Cholesky factor, and the order of the first minor that is not positive (int32).

    Where that is not 0 the factor is NaN. ``check_errors`` reads it and raises LinAlgError.
    """
    A = matrix("cholesky_ex", A, True)
    info = op("cholesky_failure", A, upper=bool(upper))
    if check_errors:
        raised("cholesky_ex", info, "The input is not positive-definite.")
    return _Cholesky(op("cholesky", A, upper=bool(upper)), info)


def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """The lower (or upper) factor of Hermitian positive definite matrices.

    What depends on it raises LinAlgError when it is read if a matrix is not positive definite.
    """
    A = matrix("cholesky", A, True)
    found = op("cholesky", A, upper=bool(upper))
    flag = op("cholesky_failure", A, upper=bool(upper))
    return unless(flag, "cholesky", "cholesky", found)[0]


def _check_pivot(name: str, pivot: bool) -> None:
    if not pivot:
        raise RuntimeError(
            f"linalg.{name}: LU without pivoting is not implemented on the CPU; leave pivot=True")


def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """LU, its pivots (counted from 1) and the place of the first zero pivot (0: none); int32."""
    A = matrix("lu_factor_ex", A)
    _check_pivot("lu_factor", pivot)
    factors, pivots = op("lu_factor", A)
    info = zero_pivot(factors)
    if check_errors:
        raised("lu_factor_ex", info, "The input is singular: U has a zero on the diagonal.")
    return _FactorsInfo(factors, pivots + 1, info)


def lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """L and U in one matrix, and int32 pivots, counted from 1."""
    A = matrix("lu_factor", A)
    _check_pivot("lu_factor", pivot)
    factors, pivots = op("lu_factor", A)
    return _Factors(factors, pivots + 1)


def permutation(pivots: Tensor, size: int) -> Tensor:
    """Which row each row of ``L @ U`` is of the matrix that was factorised; int32."""
    made: Tensor = op("pivots_to_permutation", pivots - 1, size=size)
    return made


def permutation_matrix(pivots: Tensor, size: int, dtype: Any) -> Tensor:
    """The P with ``A = P @ L @ U``."""
    rows = arange(size, dtype=_dtypes.int32).unsqueeze(-1)
    return (rows == permutation(pivots, size).unsqueeze(-2)).to(dtype)


def triangles(factors: Tensor) -> tuple[Tensor, Tensor]:
    """L with ones on its diagonal and U, from the matrix that holds both."""
    k = min(factors.tensor_type.shape[-2:])
    lower = tril(factors.narrow(-1, 0, k), -1)
    lower = lower + eye(*lower.tensor_type.shape[-2:], dtype=lower.dtype)
    return lower, triu(factors.narrow(-2, 0, k))


def lu(A: Tensor, *, pivot: bool = True) -> Any:
    """P, L and U with ``A = P @ L @ U``."""
    A = matrix("lu", A)
    _check_pivot("lu", pivot)
    factors, pivots = op("lu_factor", A)
    permutation = permutation_matrix(pivots + 1, A.tensor_type.shape[-2], A.dtype)
    return _LU(permutation, *triangles(factors))


def qr(A: Tensor, mode: str = "reduced") -> Any:
    """Q and R; modes "reduced", "complete" and "r" (Q is empty)."""
    A = matrix("qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"linalg.qr received unrecognized mode '{mode}' but expected one of 'reduced' "
            "(default), 'r', or 'complete'")
    if mode == "r":
        A = A.detach()
    kind = "complete" if mode == "complete" else "reduced"
    found = op("qr", A, mode=kind) if A.numel() else [
        on_tape_of(A, x) for x in _empty_qr(A, kind)]
    return _QR(A.new_empty((0,)), found[1]) if mode == "r" else _QR(*found)


def _empty_qr(A: Tensor, mode: str) -> tuple[Tensor, Tensor]:
    *batch, m, n = A.tensor_type.shape
    k = min(m, n) if mode == "reduced" else m
    return (eye(m, k, dtype=A.dtype).expand(*batch, m, k).clone(), A.new_zeros((*batch, k, n)))


def householder_product(A: Tensor, tau: Tensor) -> Tensor:
    """The first n columns of a product of Householder reflections of (..., m, n), m >= n."""
    check_inexact("householder_product", A, tau)
    if A.ndim < 2:
        raise RuntimeError("torch.linalg.householder_product: input must have at least 2 "
                           f"dimensions, it has shape {list(A.shape)}")
    made: Tensor = op("householder_product", A, tau)
    return made


def eig(A: Tensor) -> Any:
    """Eigenvalues and eigenvectors (columns) of square matrices, complex."""
    A = matrix("eig", A, True)
    return _Eig(*finite("eig", A, *op("eig", A)))


def eigvals(A: Tensor) -> Tensor:
    """Eigenvalues of square matrices, complex."""
    A = matrix("eigvals", A, True)
    # the derivative of the values alone needs the vectors too
    found = op("eig", A)[0] if A.requires_grad else op("eigvals", A)
    return finite("eigvals", A, found)[0]


def _upper(name: str, UPLO: str) -> bool:
    if not isinstance(UPLO, str) or UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO!r}")
    return UPLO.upper() == "U"


def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """Ascending eigenvalues and eigenvectors of Hermitian matrices; one triangle is read."""
    A = matrix("eigh", A, True)
    return _Eigh(*finite("eigh", A, *op("eigh", A, upper=_upper("eigh", UPLO))))


def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """Ascending eigenvalues of Hermitian matrices; one triangle is read."""
    A = matrix("eigvalsh", A, True)
    return finite("eigvalsh", A, op("eigvalsh", A, upper=_upper("eigvalsh", UPLO)))[0]


def _check_driver(name: str, driver: Any) -> None:
    if driver is not None:
        raise RuntimeError(
            f"linalg.{name}: keyword argument `driver=` is only supported on CUDA inputs; leave it "
            "away")


def svd(A: Tensor, full_matrices: bool = True, *, driver: Any = None) -> Any:
    """U, S (descending) and Vh of the singular value decomposition.

    The columns of U and rows of Vh beyond the number of singular values have no gradient.
    """
    A = matrix("svd", A)
    _check_driver("svd", driver)
    return _SVD(*svd_of(A, full_matrices))


def svd_of(A: Tensor, full: bool) -> list[Tensor]:
    """U, S and Vh, whose readers get a LinAlgError if A is not finite."""
    m, n = A.tensor_type.shape[-2:]
    if not A.numel():
        batch, k = A.tensor_type.shape[:-2], min(m, n)
        u = eye(m, m if full else k, dtype=A.dtype)
        vh = eye(n if full else k, n, dtype=A.dtype)
        found = (u.expand(*batch, *u.shape), A.new_zeros((*batch, k), dtype=A.dtype.to_real()),
                 vh.expand(*batch, *vh.shape))
        return [on_tape_of(A, x).clone() for x in found]
    return finite("svd", A, *op("svd_full" if full and m != n else "svd", A))


def svdvals(A: Tensor, *, driver: Any = None) -> Tensor:
    """The singular values, descending."""
    A = matrix("svdvals", A)
    _check_driver("svdvals", driver)
    found: Tensor = op("svdvals", A)
    return finite("svdvals", A, found)[0] if A.numel() else found
