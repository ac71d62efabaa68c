"""Equations, inverses and determinants."""
# ruff: noqa: N803, N806  (PyTorch's names)

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _dtypes
from .._core import axis
from .._core import numel as _numel
from .._functions import linear, pointwise, reductions
from .._functions.creation import eye
from .._functions.shaping import cat
from .._functions.sorting import argsort
from .._tensor import Tensor
from ..return_types import named
from ._arguments import (
    batched,
    check_inexact,
    check_matrix,
    check_square,
    is_vector,
    matrix,
    on_tape_of,
    one_batch,
    op,
    unless,
    zero_pivot,
)
from ._factors import permutation, raised, svdvals
from ._norms import limits

_Solve = named("linalg_solve_ex", "result", "info")
_Inverse = named("linalg_inv_ex", "inverse", "info")
_Slogdet = named("linalg_slogdet", "sign", "logabsdet")
_Lstsq = named("linalg_lstsq", "solution", "residuals", "rank", "singular_values")


# ------------------------------------------------------------------------ solving


def _solution(A: Tensor, B: Tensor, left: bool) -> Tensor:
    check_inexact("solve", A, B)
    check_square("solve", A)
    vector = left and is_vector(A, B)
    if vector:
        B = B.unsqueeze(-1)
    elif B.ndim < 2:
        raise RuntimeError(
            "linalg.solve: Vector broadcasting of the left hand side is not supported for "
            f"left=False; B has shape {list(B.shape)}")
    size = B.tensor_type.shape[-2 if left else -1]
    if size != A.tensor_type.shape[-1]:
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation "
            f"{'AX = B' if left else 'XA = B'} ({list(A.shape)} and {list(B.shape)})")
    A, B = one_batch(A, B)
    if left:
        found = op("solve", A, B)
    else:
        found = op("solve", A.mT, B.mT).mT
    return found.squeeze(-1) if vector else found


def _pivot_info(A: Tensor) -> Tensor:
    return zero_pivot(op("lu_factor", A.detach())[0])


def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """X with ``A @ X = B``, or ``X @ A = B`` for ``left=False``.

    What depends on it raises LinAlgError when it is read if a matrix is singular.
    """
    found = _solution(A, B, left)
    return unless(_pivot_info(A), "solve", "singular", found)[0]


def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    """:func:`solve`, and the place of the first zero pivot (int32, 0: none) of each matrix."""
    found = _solution(A, B, left)
    info = _pivot_info(A)
    if check_errors:
        raised("solve_ex", info, "The input matrix is singular.")
    return _Solve(found, info)


def inv(A: Tensor) -> Tensor:
    """The inverse of square matrices.

    What depends on it raises LinAlgError when it is read if a matrix is singular.
    """
    A = matrix("inv", A, True)
    return unless(_pivot_info(A), "inv", "singular", op("inv", A))[0]


def inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:
    """The inverse, and the place of the first zero pivot (int32, 0: none) of each matrix."""
    A = matrix("inv_ex", A, True)
    info = _pivot_info(A)
    if check_errors:
        raised("inv_ex", info, "The input matrix is singular.")
    return _Inverse(op("inv", A), info)


def solve_triangular(A: Tensor, B: Tensor, *, upper: bool, left: bool = True,
                     unitriangular: bool = False) -> Tensor:
    """X with ``A @ X = B`` (or ``X @ A = B``) for triangular A; the rest of A is not read."""
    check_inexact("solve_triangular", A, B)
    check_square("solve_triangular", A)
    check_matrix("solve_triangular", B, "B")
    if B.tensor_type.shape[-2 if left else -1] != A.tensor_type.shape[-1]:
        raise RuntimeError(
            f"linalg.solve_triangular: Incompatible shapes of A and B for the equation "
            f"{'AX = B' if left else 'XA = B'} ({list(A.shape)} and {list(B.shape)})")
    return triangular(A, B, upper=upper, left=left, unit=unitriangular)


def triangular(A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unit: bool = False,
               transpose: bool = False, conjugate: bool = False) -> Tensor:
    """The op for triangular equations, its batches broadcast."""
    A, B = one_batch(A, B)
    made: Tensor = op(
        "triangular_solve", A, B, left_side=bool(left), lower=not upper, transpose=transpose,
        conjugate=conjugate and A.is_complex(), unit_diagonal=bool(unit))
    return made


def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False
             ) -> Tensor:
    """X with ``A @ X = B`` (or ``X @ A = B``, or of A's adjoint) from A's :func:`lu_factor`."""
    check_inexact("lu_solve", LU, B)
    check_square("lu_solve", LU, "LU")
    check_matrix("lu_solve", B, "B")
    n = LU.tensor_type.shape[-1]
    if B.tensor_type.shape[-2 if left else -1] != n:
        raise RuntimeError(
            f"linalg.lu_solve: Incompatible shapes of LU and B: {list(LU.shape)} and "
            f"{list(B.shape)}")
    if pivots.tensor_type.shape != LU.tensor_type.shape[:-1] or pivots.dtype is not _dtypes.int32:
        raise RuntimeError(
            "linalg.lu_solve: pivots must be int32 with a number per row of LU, of shape "
            f"{list(LU.tensor_type.shape[:-1])}; got {pivots.dtype!r} of shape "
            f"{list(pivots.shape)}")
    LU, B = one_batch(LU, B)
    rows = permutation(batched(pivots, LU.tensor_type.shape[:-2], 1), n)
    options: dict[str, Any] = {"left": left, "transpose": adjoint, "conjugate": adjoint}
    lower_first = left != adjoint

    def halves(x: Tensor) -> Tensor:
        for lower in (lower_first, not lower_first):
            x = triangular(LU, x, upper=not lower, unit=lower, **options)
        return x

    if left:
        return _rows(halves(B), argsort(rows, -1)) if adjoint else halves(_rows(B, rows))
    if adjoint:
        return halves(_rows(B.mT, rows).mT)
    return _rows(halves(B).mT, argsort(rows, -1)).mT


def _rows(x: Tensor, order: Tensor) -> Tensor:
    """The rows of batches of matrices in the orders given."""
    index = order.unsqueeze(-1).expand(x.tensor_type.shape).to(_dtypes.int64)
    made: Tensor = x.gather(-2, index)
    return made


# ---------------------------------------------------------------- least squares


def pinv(A: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None,
         rtol: Any = None) -> Tensor:
    """The pseudo-inverse; singular values not above ``max(atol, rtol * largest)`` count as 0.

    By default ``atol`` is 0 and ``rtol`` the dtype's eps times the larger size.
    """
    if isinstance(rcond, bool):
        rcond, hermitian = None, rcond
    if rcond is not None:
        rtol, atol = rcond, 0.0
    A = matrix("pinv", A, hermitian)
    return pseudo_inverse("pinv", A, atol, rtol, hermitian)


def pseudo_inverse(name: str, A: Tensor, atol: Any, rtol: Any, hermitian: bool = False) -> Tensor:
    batch = A.tensor_type.shape[:-2]
    absolute, relative = (batched(x.detach(), batch, 0) for x in limits(name, A, atol, rtol))
    made: Tensor = op("pinv_within", A, absolute, relative, hermitian=bool(hermitian))
    return made


_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def lstsq(A: Tensor, B: Tensor, rcond: Any = None, *, driver: str | None = None) -> Any:
    """The X with the smallest ``|A @ X - B|``, and of those the smallest; residuals, rank, s.

    residuals (sums of squares, empty for ``m <= n`` and for driver "gelsy") hold for full rank;
    rank is empty for driver "gels", singular_values for "gels" and "gelsy".
    """
    check_inexact("lstsq", A, B)
    check_matrix("lstsq", A, "input")
    driver = "gelsy" if driver is None else driver
    if driver not in _DRIVERS:
        raise RuntimeError(
            f"linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), got "
            f"{driver!r}")
    m, n = A.tensor_type.shape[-2:]
    vector = is_vector(A, B)
    right = B.unsqueeze(-1) if vector else B
    if right.ndim < 2 or right.tensor_type.shape[-2] != m:
        raise RuntimeError(
            f"linalg.lstsq: other of shape {list(B.shape)} must have {m} rows, as input of shape "
            f"{list(A.shape)} has")
    eps = _dtypes.finfo(A.dtype).eps * max(m, n)
    cutoff = 0.0 if driver == "gels" else (eps if rcond is None else rcond)
    A, right = one_batch(A, right)
    X = linear.matmul(pseudo_inverse("lstsq", A, 0.0, cutoff), right)
    residuals = on_tape_of(X, A.new_empty((0,), dtype=A.dtype.to_real()))
    if m > n and driver != "gelsy":
        rest = pointwise.abs(linear.matmul(A, X) - right)
        residuals = reductions.sum(rest * rest, -2)
    rank = A.new_empty((0,), dtype=_dtypes.int64)
    values = A.new_empty((0,), dtype=A.dtype.to_real())
    if driver != "gels":
        s = svdvals(A.detach())
        largest = reductions.amax(s, -1, True) if s.tensor_type.shape[-1] else s
        rank = reductions.sum(s > largest * cutoff, -1)
        values = s if driver != "gelsy" else values
    return _Lstsq(X.squeeze(-1) if vector else X, residuals, rank, values)


# ------------------------------------------------------------------ determinants


def det(A: Tensor) -> Tensor:
    """The determinant of square matrices."""
    made: Tensor = op("det", matrix("det", A, True))
    return made


def slogdet(A: Tensor) -> Any:
    """The sign (or phase) of the determinant, and the logarithm of its absolute value."""
    return _Slogdet(*op("slogdet", matrix("slogdet", A, True)))


# ------------------------------------------------------------------------ products


def matrix_power(A: Tensor, n: int) -> Tensor:
    """A square matrix to an integer power, by repeated squaring; the inverse for n < 0."""
    check_matrix("matrix_power", A)
    check_square("matrix_power", A)
    if n < 0:
        return matrix_power(inv(A), -n)
    found = None
    base = A
    while n:
        if n & 1:
            found = base if found is None else linear.matmul(found, base)
        n >>= 1
        if n:
            base = linear.matmul(base, base)
    if found is None:
        # of A only the shape counts, but the result is on its tape
        return pointwise.where(A.new_zeros((), dtype=_dtypes.bool_), A, eye(
            A.shape[-1], dtype=A.dtype).expand(A.tensor_type.shape))
    return found.clone() if found is A else found


def matrix_exp(A: Tensor) -> Tensor:
    """The exponential of square matrices."""
    if not A.tensor_type.dtype.is_inexact:
        raise RuntimeError(
            "linalg.matrix_exp: Expected a floating point or complex tensor as input. Got "
            f"{A.dtype!r}")
    check_square("matrix_exp", A)
    if A.dtype.itemsize == 2:
        return matrix_exp(A.to(_dtypes.float32)).to(A.dtype)
    made: Tensor = op("matrix_exp", A)
    return made


def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of several matrices in the cheapest order; the first and last may be 1-D."""
    given = list(tensors)
    if len(given) < 2:
        raise RuntimeError(
            f"multi_dot(): expected at least 2 tensors but got {len(given)}")
    first, last = given[0].ndim == 1, given[-1].ndim == 1
    if first:
        given[0] = given[0].unsqueeze(0)
    if last:
        given[-1] = given[-1].unsqueeze(-1)
    for i, t in enumerate(given):
        if t.ndim != 2:
            raise RuntimeError(
                f"multi_dot(): tensor {i} must be 2D but got {t.ndim}D")
        if i and given[i - 1].tensor_type.shape[1] != t.tensor_type.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i - 1} and {i} with shapes {list(given[i - 1].shape)} and "
                f"{list(t.shape)} cannot be multiplied")
        if t.dtype is not given[0].dtype:
            raise RuntimeError(
                f"multi_dot(): all tensors must have the same dtype but got {given[0].dtype!r} "
                f"and {t.dtype!r}")
    found = linear.multiply_all(given)
    if first:
        found = found.squeeze(0)
    return found.squeeze(-1) if last else found


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The inner products along a dimension, x conjugated; the others broadcast."""
    if x.dtype is not y.dtype:
        raise RuntimeError(
            f"linalg.vecdot: Expected x and y of one dtype, got {x.dtype!r} and {y.dtype!r}")
    return reductions.sum(pointwise.mul(pointwise.conj(x), y), dim, dtype=x.dtype)


def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers 0 to N - 1 of each element; N is the size of the last dimension by default."""
    x = x.unsqueeze(-1) if not x.ndim else x
    n = x.tensor_type.shape[-1] if N is None else N
    if n <= 1:
        raise RuntimeError(f"linalg.vander: N must be greater than 1, it is {n}")
    if not x.tensor_type.dtype.is_inexact:
        x = x.to(_dtypes.int64)
    powers = x.unsqueeze(-1).expand((*x.tensor_type.shape, n - 1))
    return cat([x.new_ones((*x.tensor_type.shape, 1)), reductions.cumprod(powers, -1)], -1)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """A view of the diagonals of matrices."""
    made: Tensor = A.diagonal(offset, dim1, dim2)
    return made


# -------------------------------------------------------------- tensors as matrices


def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse of a tensor as a map from its last dimensions to its first ``ind``."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', got {ind}")
    before, after = A.tensor_type.shape[:ind], A.tensor_type.shape[ind:]
    rows, columns = _numel(before), _numel(after)
    if rows != columns:
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), but got {columns} != {rows}")
    return inv(A.reshape(rows, columns)).reshape(*after, *before)


def tensorsolve(A: Tensor, B: Tensor, dims: Any = None) -> Tensor:
    """X with ``tensordot(A, X, X.ndim) = B``; ``dims`` of A are moved to its end first."""
    if dims is not None:
        at = [axis(d, A.ndim) for d in ([dims] if isinstance(dims, int) else dims)]
        A = A.movedim(at, list(range(A.ndim - len(at), A.ndim)))
    shape = A.tensor_type.shape[B.ndim:]
    rows, columns = _numel(A.tensor_type.shape[:B.ndim]), _numel(shape)
    if rows != columns:
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {columns} != {rows}")
    return solve(A.reshape(rows, columns), B.reshape(-1)).reshape(shape)
