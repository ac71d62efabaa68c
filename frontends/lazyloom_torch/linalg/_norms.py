"""Norms, condition numbers and ranks."""
# ruff: noqa: N803  (PyTorch's names of arguments)

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from .. import _dtypes
from .._core import axes, axis
from .._errors import not_a_tensor
from .._functions import pointwise, reductions
from .._functions.creation import as_tensor
from .._tensor import Tensor
from ._arguments import check_inexact, check_matrix, check_square, op
from ._factors import eigvalsh, svdvals


def _checked(name: str, x: Tensor, dtype: Any) -> Tensor:
    if not isinstance(x, Tensor):
        raise not_a_tensor(x, f"linalg.{name}: ")
    if not x.tensor_type.dtype.is_inexact:
        raise RuntimeError(
            f"linalg.{name}: Expected a floating point or complex tensor as input. Got "
            f"{x.dtype!r}; convert it with .to(torch.float32)")
    if dtype is None:
        return x
    wanted = _dtypes.as_dtype(dtype)
    if wanted.category < 2 or (x.dtype.is_complex and not wanted.is_complex):
        kind = "complex" if x.dtype.is_complex else "floating point"
        raise RuntimeError(
            f"linalg.{name}: dtype should be {kind} for a tensor of {x.dtype!r}, not {wanted!r}")
    if wanted.is_complex and not x.dtype.is_complex:
        raise RuntimeError(
            f"linalg.{name}: dtype should be real for a tensor of {x.dtype!r}, not {wanted!r}")
    return x.to(wanted)


def vector_norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *,
                dtype: Any = None) -> Tensor:
    """The norm of order ``ord`` over dimensions, or of all elements; real.

    Raises RuntimeError for a norm of nothing whose order is negative or infinite.
    """
    x = _checked("vector_norm", x, dtype)
    if isinstance(ord, (str, complex)):
        raise TypeError(f"linalg.vector_norm: ord must be a real number, not {ord!r}")
    order = float(ord)
    over = range(x.ndim) if dim is None or (not hasattr(dim, "__index__") and not tuple(dim)) else (
        axes(dim, x.ndim))
    if order < 0 or order == inf:
        for d in over if x.ndim else ():
            if x.tensor_type.shape[d] == 0:
                raise RuntimeError(
                    f"linalg.vector_norm cannot compute the {order:g} norm on an empty tensor "
                    f"because the operation does not have an identity; the shape is "
                    f"{list(x.shape)}")
    return reductions.norm(x, order, dim, keepdim)


def _pair(name: str, dim: Any, ndim: int) -> tuple[int, int]:
    if not isinstance(dim, Sequence) or len(dim) != 2:
        raise RuntimeError(f"linalg.{name}: dim must be a 2-tuple of ints. Got {dim!r}")
    at = tuple(axis(d, ndim) for d in dim)
    if at[0] == at[1]:
        raise RuntimeError(f"linalg.{name}: dims must be different. Got {tuple(dim)!r}")
    return at  # type: ignore[return-value]


def matrix_norm(A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *,
                dtype: Any = None) -> Tensor:
    """The norm of matrices: "fro", "nuc", or of order 1, -1, 2, -2, inf or -inf; real."""
    A = _checked("matrix_norm", A, dtype)
    check_matrix("matrix_norm", A)
    rows, columns = _pair("matrix_norm", dim, A.ndim)
    if ord == "fro":
        return reductions.norm(A, 2, (rows, columns), keepdim)
    if ord == "nuc" or (not isinstance(ord, str) and abs(ord) == 2):
        check_inexact("matrix_norm", A)
        s = svdvals(A.movedim((rows, columns), (-2, -1)))
        if ord == "nuc":
            found = reductions.sum(s, -1)
        else:
            found = _extremum(s, ord, -1)
    elif not isinstance(ord, str) and abs(ord) in (1, inf):
        along, other = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = reductions.sum(pointwise.abs(A), along, True)
        found = _extremum(sums, ord, other, True)
        return found if keepdim else found.squeeze((rows, columns))
    else:
        raise RuntimeError(
            f"linalg.matrix_norm: Order {ord} not supported; expected 'fro', 'nuc', 1, -1, 2, -2, "
            "inf or -inf")
    if keepdim:
        for d in sorted((rows, columns)):
            found = found.unsqueeze(d)
    return found


def _extremum(x: Tensor, ord: float, dim: int, keepdim: bool = False) -> Tensor:
    """The largest for a positive order (0 of nothing), the smallest for a negative one."""
    if ord > 0:
        return (reductions.amax if x.tensor_type.shape[dim] else reductions.sum)(x, dim, keepdim)
    if not x.tensor_type.shape[dim]:
        raise IndexError(
            f"linalg.matrix_norm: order {ord} of a matrix without elements has no value")
    return reductions.amin(x, dim, keepdim)


def norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *,
         dtype: Any = None) -> Tensor:
    """A vector norm, or for two dimensions and a given order a matrix norm."""
    if ord is not None and dim is None and A.ndim not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{A.ndim}D.")
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    two = isinstance(dim, Sequence) and len(dim) == 2
    if isinstance(ord, str) or two or (dim is None and A.ndim == 2):
        if dim is None:
            dim = (0, 1)
        elif not two:
            raise RuntimeError(
                f"linalg.norm: order {ord!r} is of matrices, and dim must be 2 dimensions, not "
                f"{dim!r}")
        return matrix_norm(A, ord, dim, keepdim, dtype=dtype)
    return vector_norm(A, ord, dim, keepdim, dtype=dtype)


def cond(A: Tensor, p: Any = None) -> Tensor:
    """The condition number with respect to a matrix norm; infinite for a singular matrix."""
    check_inexact("cond", A)
    check_matrix("cond", A)
    if p is None or p in (2, -2):
        s = svdvals(A)
        if not s.tensor_type.shape[-1]:
            return s.new_zeros(s.tensor_type.shape[:-1])
        largest, smallest = s.select(-1, 0), s.select(-1, -1)
        return smallest / largest if p == -2 else largest / smallest
    check_square("cond", A)
    if not A.numel():
        matrix_norm(A, p)
        return A.new_zeros(A.tensor_type.shape[:-2], dtype=A.dtype.to_real())
    inverse = op("inv", A)
    singular = op("is_singular", A)
    found = matrix_norm(A, p) * matrix_norm(inverse, p)
    return pointwise.where(singular, inf, found)


def limits(name: str, A: Tensor, atol: Any, rtol: Any) -> tuple[Tensor, Tensor]:
    """Absolute and relative tolerances of singular values, a number per matrix each."""
    real = A.dtype.to_real()
    if rtol is None:
        given = atol
        eps = _dtypes.finfo(real).eps * max(A.tensor_type.shape[-2:])
        if isinstance(given, Tensor):
            rtol = pointwise.where(given > 0, 0.0, eps)
        else:
            rtol = 0.0 if given else eps
    made = []
    for given in (0.0 if atol is None else atol, rtol):
        t = given if isinstance(given, Tensor) else as_tensor(float(given), dtype=real)
        if t.is_complex():
            raise RuntimeError(f"linalg.{name}: tolerances of complex type are not supported")
        made.append(t.to(real))
    return made[0], made[1]


def matrix_rank(A: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None,
                rtol: Any = None) -> Tensor:
    """The number of singular values above ``max(atol, rtol * largest)``; int64.

    By default ``atol`` is 0 and ``rtol`` the dtype's eps times the larger size.
    """
    if isinstance(tol, bool):
        tol, hermitian = None, tol
    if tol is not None:
        atol, rtol = tol, 0.0
    check_inexact("matrix_rank", A)
    (check_square if hermitian else check_matrix)("matrix_rank", A)
    if not A.numel():
        return A.new_zeros(A.tensor_type.shape[:-2], dtype=_dtypes.int64)
    absolute, relative = limits("matrix_rank", A, atol, rtol)
    s = pointwise.abs(eigvalsh(A)) if hermitian else svdvals(A)
    largest = reductions.amax(s, -1)
    cutoff = pointwise.FUNCTIONS["maximum"](absolute, relative * largest)
    return reductions.sum(s > cutoff.unsqueeze(-1), -1)
