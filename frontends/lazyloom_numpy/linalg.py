"""Linear algebra: ``numpy.linalg``.

Everything is computed in double precision, as NumPy does, and the result has the argument's.
What NumPy refuses because of the data (a singular matrix, one that is not positive definite)
is a ``LinAlgError`` here too, raised when something that depends on the result is read.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as onp

import lazyloom

from ._arguments import dtypes as dt
from ._arguments.convert import is_number, value_of
from ._array.ndarray import ndarray, wrap
from ._functions import manipulation as _manipulation
from ._functions import products as _linalg
from ._functions.creation import eye
from ._functions.elementwise import chosen as where
from ._functions.matrices import (
    MESSAGES,
    LinAlgError,
    adjoint,
    checked,
    has_nan,
    in_precision,
    least_squares,
    matrix,
    precise,
    shape_of,
    singular_vectors,
    svdvals,
)  # fmt: skip
from ._functions.norms import matrix_norm, norm, vector_norm
from ._functions.sorting import argsort, sort, take_along_axis
from ._ufuncs.outputs import finish
from ._ufuncs.ufunc import TABLE

record = lazyloom.record


class EigResult(NamedTuple):
    """Eigenvalues in no order, eigenvectors as columns."""

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """Eigenvalues in ascending order, eigenvectors as columns."""

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """The factors of ``x = Q R``."""

    Q: Any
    R: Any


class SlogdetResult(NamedTuple):
    """Sign and logarithm of the absolute value of a determinant."""

    sign: Any
    logabsdet: Any


class SVDResult(NamedTuple):
    """The factors of ``x = U diag(S) Vh``."""

    U: Any
    S: Any
    Vh: Any


# -------------------------------------------------------------- equations, inverses


def solve(a: Any, b: Any) -> Any:
    """x such that ``a @ x = b``. See ``numpy.linalg.solve``.

    A read of what depends on it raises LinAlgError if ``a`` is singular.
    """
    matrix(a, True)
    (x, y), target = precise(a, b)
    if not y.type.shape:
        raise ValueError("solve: Input operand 1 does not have enough dimensions (has 0, gufunc "
                         "core with signature (m,m),(m)->(m) requires 1)")  # fmt: skip
    vector = len(y.type.shape) == 1
    if vector:
        y = record("reshape", (y,), {"shape": (*y.type.shape, 1)})
    bad = record("is_singular", (x,))
    batch = onp.broadcast_shapes(x.type.shape[:-2], y.type.shape[:-2])
    x, y = (_batched(v, batch) for v in (x, y))
    (result,) = checked("solve", bad, record("solve", (x, y)))
    if vector:
        result = record("reshape", (result,), {"shape": result.type.shape[:-1]})
    return in_precision(result, target)


def _batched(value: Any, batch: tuple[int, ...]) -> Any:
    shape = (*batch, *value.type.shape[-2:])
    if shape == value.type.shape:
        return value
    return record("broadcast_to", (value,), {"shape": shape})


def inv(a: Any) -> Any:
    """The inverse. See ``numpy.linalg.inv``.

    A read of what depends on it raises LinAlgError if ``a`` is singular.
    """
    x, target = matrix(a, True)
    return in_precision(*checked("inv", record("is_singular", (x,)), record("inv", (x,))), target)


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """The tensor equation ``a x = b``. See ``numpy.linalg.tensorsolve``."""
    x, y = wrap(value_of(a)), wrap(value_of(b))
    if axes is not None:
        order = list(range(x.ndim))
        for k in axes:
            order.remove(k)
            order.append(k)
        x = x.transpose(order)
    rest = x.shape[len(x.shape) - (x.ndim - y.ndim):]
    size = _product(rest)
    if x.size != size**2:
        raise LinAlgError("Input arrays must satisfy the requirement "
                          "prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])")  # fmt: skip
    return solve(x.reshape(size, size), y.reshape(-1)).reshape(rest)


def _product(sizes: Sequence[int]) -> int:
    result = 1
    for n in sizes:
        result *= n
    return result


def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse of a tensor as an operator. See ``numpy.linalg.tensorinv``."""
    x = wrap(value_of(a))
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    size = _product(x.shape[ind:])
    return inv(x.reshape(size, -1)).reshape(*x.shape[ind:], *x.shape[:ind])


def matrix_power(a: Any, n: int) -> Any:
    """A square matrix to an integer power. See ``numpy.linalg.matrix_power``."""
    x = a if isinstance(a, ndarray) else wrap(value_of(a))
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        matrix(x, True)
    try:
        exponent = operator.index(n)
    except TypeError:
        raise TypeError("exponent must be an integer") from None
    if exponent == 0:
        return _manipulation.broadcast_to(eye(x.shape[-1], dtype=x.dtype), x.shape).copy()
    if exponent < 0:
        x, exponent = inv(x), -exponent
    result: Any = None
    while exponent:
        if exponent & 1:
            result = x if result is None else TABLE["matmul"](result, x)
        exponent >>= 1
        if exponent:
            x = TABLE["matmul"](x, x)
    return result


# ------------------------------------------------------------------- decompositions


def det(a: Any) -> Any:
    """The determinant. See ``numpy.linalg.det``."""
    x, target = matrix(a, True)
    return in_precision(record("det", (x,)), target)


def slogdet(a: Any) -> SlogdetResult:
    """Sign and log of the absolute determinant. See ``numpy.linalg.slogdet``."""
    x, target = matrix(a, True)
    sign, logarithm = record("slogdet", (x,))
    return SlogdetResult(in_precision(sign, target), in_precision(logarithm, target))


def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """The lower (or upper) Cholesky factor. See ``numpy.linalg.cholesky``.

    A read of what depends on it raises LinAlgError if ``a`` is not positive definite.
    """
    x, target = matrix(a, True)
    factor = record("cholesky", (x,), {"upper": bool(upper)})
    bad = record("logical_and", (has_nan(factor), record("logical_not", (has_nan(x),))))
    return in_precision(*checked("cholesky", bad, factor), target)


def qr(a: Any, mode: str = "reduced") -> Any:
    """The QR factorisation; modes reduced, complete, r, raw. See ``numpy.linalg.qr``."""
    if mode in ("f", "full", "e", "economic"):
        warnings.warn(f"The '{mode}' option is deprecated in favor of 'reduced' and 'raw'.",
                      DeprecationWarning, stacklevel=2)  # fmt: skip
        mode = "reduced" if mode in ("f", "full") else "economic"
    elif mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    x, target = matrix(a)
    if mode in ("raw", "economic"):
        h, tau = (in_precision(v, target) for v in record("qr_raw", (x,)))
        return (h, tau) if mode == "raw" else _manipulation.swapaxes(h, -1, -2)
    kind = "complete" if mode == "complete" else "reduced"
    q, r = record("qr", (x,), {"mode": kind})
    right = in_precision(r, target)
    return right if mode == "r" else QRResult(in_precision(q, target), right)


def _is_real(x: Any, values: Any, of: str) -> bool:
    """Whether the eigenvalues of a real matrix are real; reads, since the dtype depends on it."""
    zero = dt.scalar(0, dt.FLOAT64)
    real = record("all", (record("equal", (record("imag", (values,)), zero)),))
    finite = record("all", (record("isfinite", (x,)),))
    known = lazyloom.read_for_shape(record("stack", (real, finite)), f"{of}, real or complex")
    if not known[1]:
        raise LinAlgError(MESSAGES[of])
    return bool(known[0])


def _eigen(a: Any, op: str) -> list[Any]:
    x, target = matrix(a, True)
    found = record(op, (x,))
    results = list(found) if op == "eig" else [found]
    if x.type.dtype.kind == "c":
        bad = record("any", (record("logical_not", (record("isfinite", (x,)),)),))
        results = checked(op, bad, *results)
    elif _is_real(x, results[0], op):
        results = [record("real", (r,)) for r in results]
    else:
        target = dt.promote(target, complex)
    return [in_precision(r, target) for r in results]


def eig(a: Any) -> EigResult:
    """Eigenvalues and -vectors of a square matrix. See ``numpy.linalg.eig``.

    Results for a real matrix are real if all eigenvalues are, which is read.
    """
    return EigResult(*_eigen(a, "eig"))


def eigvals(a: Any) -> Any:
    """Eigenvalues of a square matrix. See ``numpy.linalg.eigvals``.

    Those of a real matrix are real if all of them are, which is read.
    """
    return _eigen(a, "eigvals")[0]


def _upper(UPLO: str) -> bool:
    if UPLO.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return UPLO.upper() == "U"


def _eigh(a: Any, UPLO: str, op: str) -> list[Any]:
    upper = _upper(UPLO)
    x, target = matrix(a, True)
    found = record(op, (x,), {"upper": upper})
    results = list(found) if op == "eigh" else [found]
    # a matrix whose eigenvalues LAPACK did not find has nothing but NaN
    if x.type.size:
        lost = record("all", (record("isnan", (results[0],)),), {"axes": (-1,)})
        results = checked(op, lost, *results)
    return [in_precision(r, target) for r in results]


def eigh(a: Any, UPLO: str = "L") -> EighResult:
    """Eigenvalues and -vectors of a Hermitian matrix. See ``numpy.linalg.eigh``."""
    return EighResult(*_eigh(a, UPLO, "eigh"))


def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """Eigenvalues of a Hermitian matrix. See ``numpy.linalg.eigvalsh``."""
    return _eigh(a, UPLO, "eigvalsh")[0]


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True,
        hermitian: bool = False) -> Any:  # fmt: skip
    """The singular value decomposition. See ``numpy.linalg.svd``."""
    if hermitian:
        return _svd_hermitian(a, compute_uv)
    if not compute_uv:
        return svdvals(a)
    return SVDResult(*singular_vectors(a, full_matrices))


def _svd_hermitian(a: Any, compute_uv: bool) -> Any:
    if not compute_uv:
        return _manipulation.flip(sort(abs(eigvalsh(a))), -1)
    w, u = eigh(a)
    order = _manipulation.flip(argsort(abs(w)), -1)
    w = take_along_axis(w, order, -1)
    u = take_along_axis(u, order[..., None, :], -1)
    # singular values have no sign, that of the eigenvalues goes into the right vectors
    signs = where(w < 0, -1.0, 1.0).astype(w.dtype)
    return SVDResult(u, abs(w), adjoint(u * signs[..., None, :]))


# ------------------------------------------------------------ ranks, least squares


def cond(x: Any, p: Any = None) -> Any:
    """The condition number. See ``numpy.linalg.cond``."""
    a = x if isinstance(x, ndarray) else wrap(value_of(x))
    if not _product(a.shape[-2:]):
        raise LinAlgError("cond is not defined on empty arrays")
    if p in (None, 2, -2):
        s = svdvals(a)
        result = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    else:
        value, target = matrix(a, True)
        inverse = wrap(record("inv", (value,)))
        result = norm(wrap(value), p, (-2, -1)) * norm(inverse, p, (-2, -1))
        result = result.astype(target.real.numpy)
    isnan = TABLE["isnan"]
    lost = isnan(result) & ~isnan(a).any((-2, -1))
    return where(lost, onp.inf, result).astype(result.dtype)


def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """The number of singular values above a tolerance. See ``numpy.linalg.matrix_rank``."""
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    x = A if isinstance(A, ndarray) else wrap(value_of(A))
    if x.ndim < 2:
        return (x != 0).any().astype(onp.int64)
    s = svd(x, compute_uv=False, hermitian=hermitian)
    if tol is None:
        if rtol is None:
            rtol = max(x.shape[-2:]) * float(onp.finfo(s.dtype).eps)
        tol = s.max(-1, keepdims=True, initial=0) * _per_matrix(rtol)
    else:
        tol = _per_matrix(tol)
    return (s > tol).sum(-1)


def _per_matrix(given: Any) -> Any:
    """A tolerance, or one for each matrix of a batch, to compare singular values with."""
    if is_number(given):
        return given
    return wrap(value_of(given))[..., None]


_NO_RTOL: Any = object()


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = _NO_RTOL) -> Any:
    """The pseudo-inverse. See ``numpy.linalg.pinv``."""
    x = a if isinstance(a, ndarray) else wrap(value_of(a))
    if rcond is None:
        if rtol is _NO_RTOL:
            rcond = 1e-15
        elif rtol is None:
            rcond = max(x.shape[-2:]) * float(onp.finfo(x.dtype).eps)
        else:
            rcond = rtol
    elif rtol is not _NO_RTOL:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if x.size == 0 and not _product(x.shape[-2:]):
        return _manipulation.swapaxes(x, -1, -2).copy()
    value, target = matrix(x)
    if is_number(rcond) and rcond >= 0 and not hermitian:
        result = record("pinv", (value,), {"rtol": float(rcond)})
        return in_precision(*checked("pinv", has_nan(result), result), target)
    u, s, vh = svd(wrap(value), full_matrices=False, hermitian=hermitian)
    large = s > _per_matrix(rcond) * s.max(-1, keepdims=True)
    inverse = where(large, 1.0 / where(large, s, 1.0), 0.0)
    result = TABLE["matmul"](adjoint(vh), inverse[..., None] * adjoint(u))
    return in_precision(result.value, target)


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """Least squares: the solution, residuals, rank and singular values.

    See ``numpy.linalg.lstsq``. There are no residuals for a matrix that lacks full rank, so
    the rank is read where there are more equations than unknowns.
    """
    x, y = wrap(value_of(a)), wrap(value_of(b))
    vector = y.ndim == 1
    y = y[:, None] if vector else y
    for v in (x, y):
        if v.ndim != 2:
            raise LinAlgError(f"{v.ndim}-dimensional array given. Array must be two-dimensional")
    m, n = x.shape
    if m != y.shape[0]:
        raise LinAlgError("Incompatible dimensions")
    values, target = precise(x, y)
    x, y = map(wrap, values)
    solution, s, rank = least_squares(x, y, rcond)
    if m > n and int(lazyloom.read_for_shape(rank.value, "lstsq, residuals")) == n:
        misfit = abs(y - TABLE["matmul"](x, solution))
        residuals = (misfit * misfit).sum(0)
    else:
        residuals = wrap(record("full", (dt.scalar(0, dt.FLOAT64),), {"shape": (0,)}))
    if vector:
        solution = solution[:, 0]
    return (in_precision(solution.value, target), in_precision(residuals.value, target), rank,
            in_precision(s.value, target))  # fmt: skip


def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    """The product of several matrices, in the cheapest order. See NumPy's ``multi_dot``."""
    items = [x if isinstance(x, ndarray) else wrap(value_of(x)) for x in arrays]
    if len(items) < 2:
        raise ValueError("Expecting at least two arrays.")
    if len(items) == 2:
        return _linalg.dot(*items, out=out)
    first, last = items[0].ndim == 1, items[-1].ndim == 1
    items[0] = items[0][None, :] if first else items[0]
    items[-1] = items[-1][:, None] if last else items[-1]
    for x in items:
        if x.ndim != 2:
            raise LinAlgError(f"{x.ndim}-dimensional array given. Array must be two-dimensional")
    cut = _cheapest([x.shape[0] for x in items] + [items[-1].shape[1]])

    def product(i: int, j: int) -> Any:
        if i == j:
            return items[i]
        return _linalg.dot(product(i, cut[i][j]), product(cut[i][j] + 1, j))

    result = product(0, len(items) - 1)
    if out is not None:
        result = finish(result.value, out, "multi_dot")
    if first and last:
        return result[0, 0]
    return result.reshape(-1) if first or last else result


def _cheapest(sizes: list[int]) -> list[list[int]]:
    """Where to cut each run of matrices in two, by dynamic programming over their sizes."""
    n = len(sizes) - 1
    cost = [[0] * n for _ in range(n)]
    cut = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = [cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                       for k in range(i, j)]  # fmt: skip
            cost[i][j] = min(options)
            cut[i][j] = i + options.index(cost[i][j])
    return cut


# ------------------------------------------------- the main namespace's, restricted


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """The diagonals of the last two axes. See ``numpy.linalg.diagonal``."""
    return _manipulation.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The traces of the last two axes. See ``numpy.linalg.trace``."""
    return _linalg.trace(x, offset, -2, -1, dtype)


def outer(x1: Any, x2: Any, /) -> Any:
    """All products of two vectors. See ``numpy.linalg.outer``."""
    x, y = wrap(value_of(x1)), wrap(value_of(x2))
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError("Input arrays must be one-dimensional, but they are "
                         f"{x.ndim=} and {y.ndim=}.")  # fmt: skip
    return _linalg.outer(x, y)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The cross product of 3-vectors. See ``numpy.linalg.cross``."""
    sizes = [shape_of(x)[axis] for x in (x1, x2)]
    if sizes != [3, 3]:
        raise ValueError("Both input arrays must be (arrays of) 3-dimensional vectors, but they "
                         f"are {sizes[0]} and {sizes[1]} dimensional instead.")  # fmt: skip
    return _linalg.cross(x1, x2, axis=axis)


def matmul(x1: Any, x2: Any, /) -> Any:
    """The matrix product. See ``numpy.linalg.matmul``."""
    return _linalg.matmul(x1, x2)


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """Sum of products over axes. See ``numpy.linalg.tensordot``."""
    return _linalg.tensordot(x1, x2, axes)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The dot product of vectors. See ``numpy.linalg.vecdot``."""
    return TABLE["vecdot"](x1, x2, axis=axis)


def matrix_transpose(x: Any, /) -> Any:
    """The last two axes swapped. See ``numpy.linalg.matrix_transpose``."""
    return _manipulation.matrix_transpose(x)


__all__ = [
    "EigResult", "EighResult", "LinAlgError", "QRResult", "SVDResult", "SlogdetResult", "cholesky",
    "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq",
    "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm",
    "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "tensorinv",
    "tensorsolve", "trace", "vecdot", "vector_norm",
]  # fmt: skip
