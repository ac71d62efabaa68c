"""``torch.linalg``: norms, products and what the op table has of decompositions."""

from __future__ import annotations

from typing import Any

from lazyloom.ops import lookup

from ._core import axis, record
from ._errors import TorchArgumentError
from ._functions import linear, reductions
from ._tensor import Tensor, operand

matmul = linear.matmul
cross = linear.cross


def vector_norm(x: Tensor, ord: float = 2, dim: Any = None, keepdim: bool = False, *,
                dtype: Any = None) -> Tensor:
    """The norm of order ``ord`` over dimensions, or of all elements."""
    return reductions.norm(x, ord, dim, keepdim, dtype)


def norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *,  # noqa: N803
         dtype: Any = None) -> Tensor:
    """A vector norm, or for two dimensions and a given order a matrix norm."""
    matrix = ord is not None and (
        (dim is None and A.ndim == 2) or (isinstance(dim, (tuple, list)) and len(dim) == 2))
    if matrix:
        return matrix_norm(A, ord, dim or (-2, -1), keepdim)
    return reductions.norm(A, 2 if ord is None else ord, dim, keepdim, dtype)


def matrix_norm(A: Tensor, ord: Any = "fro", dim: Any = (-2, -1),  # noqa: N803
                keepdim: bool = False) -> Tensor:
    """The Frobenius norm, or the largest (smallest) sum of a row or column."""
    if ord == "fro":
        return reductions.norm(A, 2, tuple(dim), keepdim)
    if ord in (1, -1, float("inf"), float("-inf")):
        rows, cols = (axis(d, A.ndim) for d in dim)
        along, other = (rows, cols) if abs(ord) == 1 else (cols, rows)
        sums = reductions.sum(A.abs(), along, keepdim=True)
        pick = reductions.amax if ord > 0 else reductions.amin
        found = pick(sums, other, keepdim=True)
        return found if keepdim else found.squeeze((rows, cols))
    raise RuntimeError(f"linalg.matrix_norm: order {ord!r} is not supported; expected 'fro', 1, "
                       "-1, inf or -inf")


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The inner products along a dimension, x conjugated."""
    return reductions.sum(x.conj() * y, dim)


def multi_dot(tensors: Any) -> Tensor:
    """The product of several matrices, from left to right."""
    found = tensors[0]
    for t in tensors[1:]:
        found = linear.matmul(found, t)
    return found


def matrix_power(A: Tensor, n: int) -> Tensor:  # noqa: N803
    """A square matrix to an integer power >= 0, by repeated squaring."""
    from ._functions.creation import eye

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
        return eye(A.shape[-1], dtype=A.dtype).expand(*A.shape).clone()
    return found


def _table(name: str, *operands: Tensor, **attributes: Any) -> Any:
    """Record a linear algebra op, if the op table has it."""
    lookup(name)
    found = record(name, [operand(t) for t in operands], attributes)
    return tuple(map(Tensor._wrap, found)) if isinstance(found, tuple) else Tensor._wrap(found)


def inv(A: Tensor) -> Tensor:  # noqa: N803
    """The inverse of square matrices."""
    return _square("inv", A)


def det(A: Tensor) -> Tensor:  # noqa: N803
    """The determinant of square matrices."""
    return _square("det", A)


def cholesky(A: Tensor) -> Tensor:  # noqa: N803
    """The lower Cholesky factor of positive definite matrices."""
    return _square("cholesky", A)


def solve(A: Tensor, B: Tensor) -> Tensor:  # noqa: N803
    """X with ``A @ X = B``."""
    made: Tensor = _table("solve", A, B)
    return made


def eigh(A: Tensor) -> Any:  # noqa: N803
    """Eigenvalues (ascending) and eigenvectors of Hermitian matrices."""
    return _square("eigh", A)


def svd(A: Tensor, full_matrices: bool = True) -> Any:  # noqa: N803
    """U, S and Vh of the singular value decomposition."""
    return _table("svd_full" if full_matrices else "svd", A)


def qr(A: Tensor) -> Any:  # noqa: N803
    """Q and R of the reduced QR decomposition."""
    return _table("qr", A)


def _square(name: str, a: Tensor) -> Any:
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise TorchArgumentError(
            f"linalg.{name}: A must be batches of square matrices, but it has shape "
            f"{list(a.shape)}")
    return _table(name, a)
