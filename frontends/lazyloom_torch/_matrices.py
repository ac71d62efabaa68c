"""Functions of matrices that PyTorch keeps outside ``torch.linalg``."""
# ruff: noqa: N803, N806  (PyTorch's names)

from __future__ import annotations

from typing import Any

from . import _dtypes, linalg
from ._core import axis, record
from ._errors import not_a_tensor
from ._functions import linear, pointwise, reductions
from ._functions.creation import eye
from ._functions.shaping import pad_value, tril, triu
from ._registry import declare
from ._tensor import Tensor, operand
from .linalg._arguments import check_inexact, check_matrix, check_square, one_batch, op
from .linalg._equations import triangular
from .linalg._factors import permutation_matrix, svd_of, triangles
from .random import randn
from .return_types import named

_wrap = Tensor.from_value
_SVD = named("svd", "U", "S", "V")
_QR = named("qr", "Q", "R")
_Geqrf = named("geqrf", "a", "tau")
_Unpacked = named("lu_unpack", "P", "L", "U")
_Triangular = named("triangular_solve", "solution", "cloned_coefficient")
_Slogdet = named("slogdet", "sign", "logabsdet")


def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """The Cholesky factor; ``torch.linalg.cholesky`` is the newer name."""
    return linalg.cholesky(input, upper=upper)


def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """X with ``A @ X = B``, from the Cholesky factor L of A (with ``upper``, U)."""
    check_inexact("cholesky_solve", B, L)
    check_square("cholesky_solve", L, "L")
    check_matrix("cholesky_solve", B, "B")
    if B.tensor_type.shape[-2] != L.tensor_type.shape[-1]:
        raise RuntimeError(
            f"cholesky_solve: Incompatible matrix sizes: each L is {L.shape[-2]} by {L.shape[-1]} "
            f"but each B is {B.shape[-2]} by {B.shape[-1]}")
    return _from_factor(B, L, upper)


def _from_factor(B: Tensor, L: Tensor, upper: bool) -> Tensor:
    half = triangular(L, B, upper=upper, transpose=upper, conjugate=upper)
    found = triangular(L, half, upper=upper, transpose=not upper, conjugate=not upper)
    if not L.requires_grad:
        return found
    # PyTorch's gradient is that of the product of all of L, whichever half was read
    half = _wrap(record("straight_through", [operand(L), operand((triu if upper else tril)(L))]))
    product = linear.matmul(half.mH, half) if upper else linear.matmul(half, half.mH)
    solved = op("solve", *one_batch(product, B))
    made: Tensor = _wrap(record("straight_through", [operand(solved), operand(found)]))
    return made


def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    """The inverse of A, from the Cholesky factor L of A (with ``upper``, U)."""
    check_inexact("cholesky_inverse", L)
    check_square("cholesky_inverse", L, "L")
    one = eye(L.shape[-1], dtype=L.dtype).expand(L.tensor_type.shape)
    return _from_factor(one, L, upper)


def inverse(input: Tensor) -> Tensor:
    """The inverse of square matrices; the same as ``torch.linalg.inv``."""
    return linalg.inv(input)


def det(input: Tensor) -> Tensor:
    """The determinant of square matrices; the same as ``torch.linalg.det``."""
    return linalg.det(input)


def slogdet(input: Tensor) -> Any:
    """Sign and logarithm of the determinant; the same as ``torch.linalg.slogdet``."""
    return _Slogdet(*linalg.slogdet(input))


def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; NaN where it is negative, -inf where it is 0."""
    check_inexact("logdet", input)
    check_square("logdet", input)
    sign, found = op("slogdet", input)
    if input.is_complex():
        return found + pointwise.log(sign)
    return pointwise.where(sign == -1.0, float("nan"), found)


def matrix_power(input: Tensor, n: int) -> Tensor:
    """A square matrix to an integer power; the same as ``torch.linalg.matrix_power``."""
    return linalg.matrix_power(input, n)


def matrix_exp(input: Tensor) -> Tensor:
    """The exponential of square matrices; the same as ``torch.linalg.matrix_exp``."""
    return linalg.matrix_exp(input)


def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudo-inverse; singular values below ``rcond`` times the largest count as 0."""
    return linalg.pinv(input, rcond)


def lu(A: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:
    """L and U in one matrix, int32 pivots counted from 1, and if asked for the infos."""
    factors, pivots, info = linalg.lu_factor_ex(A, pivot=pivot)
    return (factors, pivots, info) if get_infos else (factors, pivots)


def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """X with ``A @ X = b``, from A's :func:`lu`."""
    return linalg.lu_solve(LU_data, LU_pivots, b)


def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True,
              unpack_pivots: bool = True) -> Any:
    """P, L and U from what :func:`lu` gives; what is not asked for is empty."""
    check_matrix("lu_unpack", LU_data, "LU_data")
    if unpack_pivots and LU_pivots.dtype.name != "int32":
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 "
            f"dtype, not {LU_pivots.dtype!r}; give what torch.lu_factor gave")
    empty = LU_data.new_empty((0,))
    P = permutation_matrix(LU_pivots, LU_data.tensor_type.shape[-2], LU_data.dtype) if (
        unpack_pivots) else empty
    L, U = triangles(LU_data) if unpack_data else (empty, empty)
    return _Unpacked(P, L, U)


def triangular_solve(b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False,
                     unitriangular: bool = False) -> Any:
    """X with ``A @ X = b`` for triangular A (or its transpose), and a copy of A."""
    check_inexact("triangular_solve", b, A)
    check_square("triangular_solve", A)
    check_matrix("triangular_solve", b, "b")
    if b.tensor_type.shape[-2] != A.tensor_type.shape[-1]:
        raise RuntimeError(
            f"triangular_solve: Incompatible matrix sizes: each A is {A.shape[-2]} by "
            f"{A.shape[-1]} but each b is {b.shape[-2]} by {b.shape[-1]}")
    found = triangular(A, b, upper=upper, transpose=transpose, unit=unitriangular)
    return _Triangular(found, one_batch(A, b)[0].clone())


def qr(input: Tensor, some: bool = True) -> Any:
    """Q and R, reduced for ``some``."""
    return _QR(*linalg.qr(input, "reduced" if some else "complete"))


def geqrf(input: Tensor) -> Any:
    """The QR factors as LAPACK keeps them: R with Householder vectors below it, and tau."""
    check_inexact("geqrf", input)
    check_matrix("geqrf", input)
    h, tau = op("qr_raw", input.detach())
    return _Geqrf(h.mT.contiguous(), tau)


def orgqr(input: Tensor, tau: Tensor) -> Tensor:
    """The product of reflections; the same as ``torch.linalg.householder_product``."""
    return linalg.householder_product(input, tau)


def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False
          ) -> Tensor:
    """``Q @ other``, or ``other @ Q``, for the square Q of :func:`geqrf`, or its adjoint."""
    check_inexact("ormqr", input, tau, other)
    m, n = input.tensor_type.shape[-2:]
    if m > n:
        rest = (0,) * (input.ndim - 1)
        input = _wrap(pad_value(input._operand(), (*rest, 0), (*rest, m - n), 0))
    Q = linalg.householder_product(input, tau)
    Q = Q.mH if transpose else Q
    return linear.matmul(Q, other) if left else linear.matmul(other, Q)


def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """U, S and V (not its adjoint) of the singular value decomposition, reduced for ``some``."""
    check_inexact("svd", input)
    check_matrix("svd", input)
    if not compute_uv:
        m, n = input.tensor_type.shape[-2:]
        batch = input.tensor_type.shape[:-2]
        return _SVD(input.new_zeros((*batch, m, m)), linalg.svdvals(input),
                    input.new_zeros((*batch, n, n)))
    U, S, Vh = svd_of(input, not some)
    return _SVD(U, S, Vh.mH)


def _range(A: Tensor, q: int, niter: int, M: Tensor | None) -> Tensor:
    """An orthonormal basis of about the q largest directions of A (Halko et al. 2009, 4.4)."""
    def times(x: Tensor, y: Tensor) -> Tensor:
        found = linear.matmul(x, y)
        if M is not None:
            found = found - linear.matmul(M if x is A else M.mH, y)
        return found

    Q = linalg.qr(times(A, randn(A.shape[-1], q, dtype=A.dtype)))[0]
    adjoint = A.mH
    for _ in range(niter):
        Q = linalg.qr(times(adjoint, Q))[0]
        Q = linalg.qr(times(A, Q))[0]
    return Q


def svd_lowrank(A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
                ) -> Any:
    """About the q largest singular values of ``A - M`` with their vectors: U, S and V."""
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    m, n = A.tensor_type.shape[-2:]
    if not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than {min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    M = None if M is None else M.expand(A.tensor_type.shape)
    if m < n:
        U, S, V = svd_lowrank(A.mH, q, niter, None if M is None else M.mH)
        return V, S, U
    Q = _range(A, q, niter, M)
    B = linear.matmul(Q.mH, A if M is None else A - M)
    U, S, Vh = linalg.svd(B, full_matrices=False)
    return linear.matmul(Q, U), S, Vh.mH


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> Any:
    """About the q principal directions of the rows of A (columns of V), with U and S."""
    m, n = A.tensor_type.shape[-2:]
    if q is None:
        q = min(6, m, n)
    if not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than {min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    check_inexact("pca_lowrank", A)
    return svd_lowrank(A - reductions.mean(A, -2, True) if center else A, q, niter)


def norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False,
         dtype: Any = None) -> Tensor:
    """The norm of order p over dimensions, or of all elements; "nuc" for matrices."""
    if not isinstance(input, Tensor):
        raise not_a_tensor(input, "norm(): ")
    if p == "nuc":
        if dim is None:
            if input.ndim != 2:
                raise RuntimeError(f"norm: order 'nuc' is of matrices, got a {input.ndim}-D tensor")
            dim = (0, 1)
        return linalg.matrix_norm(input, "nuc", dim, keepdim, dtype=dtype)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"only valid string values are 'fro' and 'nuc', found {p!r}")
    return linalg.vector_norm(input, 2 if p in (None, "fro") else p, dim, keepdim, dtype=dtype)


def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """The slices along ``dim`` scaled down to a p-norm of at most ``maxnorm``."""
    if p <= 0:
        raise RuntimeError(f"renorm: non-positive-norm not supported, got p={p}")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if input.ndim < 2:
        raise RuntimeError(
            f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    if not input.tensor_type.dtype.is_inexact:
        raise RuntimeError(f"renorm: expected a floating-point or complex tensor, got "
                           f"{input.dtype!r}")
    at = axis(dim, input.ndim)
    others = tuple(d for d in range(input.ndim) if d != at)
    # a norm may be too large for half precision
    wide = input.float() if input.dtype.itemsize == 2 else input
    over = linalg.vector_norm(wide.detach(), p, others, True) > maxnorm
    # what stays as it is has no gradient by way of its norm, which may be NaN
    sizes = linalg.vector_norm(pointwise.where(over, wide, 1.0), p, others, True)
    factor = pointwise.where(over, maxnorm / (sizes + 1e-7), 1.0)
    made: Tensor = (wide * factor.to(sizes.dtype)).to(input.dtype)
    made._lay(None, 0)
    return made


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of each element of a 1-D tensor: N columns (by default its size), falling.

    Raises RuntimeError for another number of dimensions or a negative N.
    """
    if x.ndim != 1:
        raise RuntimeError(f"x must be a one-dimensional tensor, got {x.ndim} dimensions")
    n = x.numel() if N is None else N
    if n < 0:
        raise RuntimeError(f"N must be non-negative, got {n}")
    if n < 2:
        kind = x.dtype if x.tensor_type.dtype.is_inexact else _dtypes.int64
        return x.new_ones((x.numel(), n), dtype=kind)
    found = linalg.vander(x, N=n)
    return found if increasing else found.flip(-1)


declare({
    "function method inplace out": [renorm],
    "function method out": [
        cholesky, cholesky_solve, cholesky_inverse, inverse, slogdet, logdet, matrix_power, lu,
        lu_solve, triangular_solve, qr, geqrf, orgqr, ormqr, svd, norm],
    "function method": [det, matrix_exp, pinverse],
    "function out": [lu_unpack],
    "function": [svd_lowrank, pca_lowrank, vander],
})
