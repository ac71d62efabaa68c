"""Linear algebra: ``numpy.linalg``.

Matrices of integers are computed in float64. Singular or indefinite matrices give NaN or
infinities instead of ``LinAlgError``, as an error would need a read.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as onp

import lazyloom
from lazyloom.dtypes import DType

from . import _dtypes as dt
from . import _linalg, _manipulation
from ._array import ndarray, wrap
from ._convert import value_of
from ._ufuncs import TABLE

record = lazyloom.record
LinAlgError = onp.linalg.LinAlgError


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



def _inexact(*arrays: Any) -> list[Any]:
    """Values of one common dtype of float32, float64, complex64, complex128."""
    values = [value_of(a) for a in arrays]
    keys: list[DType] = []
    for v in values:
        d = v.type.dtype
        if d.name in ("float16", "bfloat16"):
            raise TypeError(f"array type {d.name} is unsupported in linalg")
        keys.append(d if d.kind in "fc" else dt.FLOAT64)
    target = dt.promote(*keys)
    return [v if v.type.dtype is target else record("cast", (v,), {"dtype": target})
            for v in values]  # fmt: skip


def _matrix(value: Any, square: bool = False) -> Any:
    shape = value.type.shape
    if len(shape) < 2:
        raise LinAlgError(
            f"{len(shape)}-dimensional array given. Array must be at least two-dimensional")
    if square and shape[-1] != shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    return value


def solve(a: Any, b: Any) -> Any:
    """x such that ``a @ x = b``. See ``numpy.linalg.solve``."""
    x, y = _inexact(a, b)
    _matrix(x, True)
    vector = len(y.type.shape) == 1
    if vector:
        y = record("reshape", (y,), {"shape": (*y.type.shape, 1)})
    batch = onp.broadcast_shapes(x.type.shape[:-2], y.type.shape[:-2])
    x, y = (_batched(v, batch) for v in (x, y))
    result = record("solve", (x, y))
    if vector:
        result = record("reshape", (result,), {"shape": result.type.shape[:-1]})
    return wrap(result)


def _batched(value: Any, batch: tuple[int, ...]) -> Any:
    shape = (*batch, *value.type.shape[-2:])
    if shape == value.type.shape:
        return value
    return record("broadcast_to", (value,), {"shape": shape})


def inv(a: Any) -> Any:
    """The inverse. See ``numpy.linalg.inv``."""
    (x,) = _inexact(a)
    return wrap(record("inv", (_matrix(x, True),)))


def det(a: Any) -> Any:
    """The determinant. See ``numpy.linalg.det``."""
    (x,) = _inexact(a)
    return wrap(record("det", (_matrix(x, True),)))


def slogdet(a: Any) -> SlogdetResult:
    """Sign and log of the absolute determinant. See ``numpy.linalg.slogdet``."""
    (x,) = _inexact(a)
    return SlogdetResult(*map(wrap, record("slogdet", (_matrix(x, True),))))


def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """The lower (or upper) Cholesky factor. See ``numpy.linalg.cholesky``."""
    (x,) = _inexact(a)
    return wrap(record("cholesky", (_matrix(x, True),), {"upper": upper}))


def qr(a: Any, mode: str = "reduced") -> Any:
    """The QR factorisation; modes reduced, complete, r. See ``numpy.linalg.qr``."""
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"Unrecognized mode {mode!r}")
    (x,) = _inexact(a)
    kind = "complete" if mode == "complete" else "reduced"
    q, r = record("qr", (_matrix(x),), {"mode": kind})
    return wrap(r) if mode == "r" else QRResult(wrap(q), wrap(r))


def _upper(UPLO: str) -> bool:
    if UPLO.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return UPLO.upper() == "U"


def eigh(a: Any, UPLO: str = "L") -> EighResult:
    """Eigenvalues and -vectors of a Hermitian matrix. See ``numpy.linalg.eigh``."""
    (x,) = _inexact(a)
    return EighResult(*map(wrap, record("eigh", (_matrix(x, True),), {"upper": _upper(UPLO)})))


def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """Eigenvalues of a Hermitian matrix. See ``numpy.linalg.eigvalsh``."""
    (x,) = _inexact(a)
    return wrap(record("eigvalsh", (_matrix(x, True),), {"upper": _upper(UPLO)}))


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True,
        hermitian: bool = False) -> Any:  # fmt: skip
    """The singular value decomposition. See ``numpy.linalg.svd``."""
    (x,) = _inexact(a)
    if not compute_uv:
        return svdvals(a)
    op = "svd_full" if full_matrices else "svd"
    return SVDResult(*map(wrap, record(op, (_matrix(x),))))


def svdvals(x: Any, /) -> Any:
    """The singular values, largest first. See ``numpy.linalg.svdvals``."""
    (value,) = _inexact(x)
    return wrap(record("svdvals", (_matrix(value),)))


def matrix_power(a: Any, n: int) -> Any:
    """A square matrix to an integer power. See ``numpy.linalg.matrix_power``."""
    x = wrap(value_of(a))
    _matrix(x.value, True)
    exponent = operator.index(n)
    if exponent == 0:
        from ._creation import eye

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


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norm of vectors along axes. See ``numpy.linalg.vector_norm``."""
    (value,) = _inexact(x)
    axes = None if axis is None else dt.normalize_axes(axis, len(value.type.shape))
    attributes = {"axes": axes, "order": float(ord), "keepdims": keepdims}
    return wrap(record("norm", (value,), attributes))


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm of matrices in the last two axes. See ``numpy.linalg.matrix_norm``."""
    return norm(x, ord, (-2, -1), keepdims)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of vectors or matrices. See ``numpy.linalg.norm``."""
    (value,) = _inexact(x)
    ndim = len(value.type.shape)
    if axis is None and (ord is None or ndim == 1 or (ord in ("fro", "f", 2) and ndim == 2
                                                      and ord != 2)):  # fmt: skip
        if ndim == 1 and isinstance(ord, str):
            raise ValueError(f"Invalid norm order '{ord}' for vectors")
        order = 2.0 if ord is None or isinstance(ord, str) else ord
        return vector_norm(wrap(value), ord=order, keepdims=keepdims)
    if axis is None:
        axis = tuple(range(ndim))
    axes = dt.normalize_axes(axis, ndim)
    if len(axes) == 1:
        if isinstance(ord, str):
            raise ValueError(f"Invalid norm order '{ord}' for vectors")
        return vector_norm(wrap(value), axis=axes, keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    return _matrix_norm(wrap(value), ord, axes, keepdims)


def _matrix_norm(x: ndarray, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if ord in (None, "fro", "f"):
        return vector_norm(x, axis=axes, keepdims=keepdims)
    y = _manipulation.moveaxis(x, axes, (-2, -1))
    if ord in (1, -1, onp.inf, -onp.inf):
        sums = abs(y).sum(-2 if abs(ord) == 1 else -1)
        result = sums.max(-1) if ord > 0 else sums.min(-1)
    elif ord in (2, -2, "nuc"):
        s = svdvals(y)
        result = s.sum(-1) if ord == "nuc" else s.max(-1) if ord == 2 else s.min(-1)
    else:
        raise ValueError("Invalid norm order for matrices.")
    if keepdims:
        return result.reshape(tuple(1 if i in axes else n for i, n in enumerate(x.shape)))
    return result


def cond(x: Any, p: Any = None) -> Any:
    """The condition number. See ``numpy.linalg.cond``."""
    if p in (None, 2, -2):
        s = svdvals(x)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return norm(x, p, (-2, -1)) * norm(inv(x), p, (-2, -1))


def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """The number of singular values above a tolerance. See ``numpy.linalg.matrix_rank``."""
    (value,) = _inexact(A)
    x = wrap(value)
    if x.ndim < 2:
        return (x != 0).any().astype(onp.int64)
    s = svdvals(x)
    if tol is None:
        relative = max(x.shape[-2:]) * float(onp.finfo(s.dtype).eps) if rtol is None else rtol
        tol = s.max(-1, keepdims=True) * relative
    return (s > tol).sum(-1)


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """The pseudo-inverse. See ``numpy.linalg.pinv``."""
    (value,) = _inexact(a)
    x = wrap(value)
    if rtol is None:
        rtol = 1e-15 if rcond is None else rcond
    if isinstance(rtol, (int, float)):
        return wrap(record("pinv", (_matrix(value),), {"rtol": float(rtol)}))
    u, s, vh = svd(x, full_matrices=False)
    cutoff = s.max(-1, keepdims=True) * rtol
    large = s > cutoff
    from ._elementwise import where

    inverse = where(large, 1.0 / where(large, s, 1.0), 0.0).astype(s.dtype)
    v, ut = _manipulation.swapaxes(vh, -1, -2), _manipulation.swapaxes(u, -1, -2)
    if x.dtype.kind == "c":
        v, ut = v.conj(), ut.conj()
    return TABLE["matmul"](v * inverse[..., None, :], ut)


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """Least squares by the pseudo-inverse; reads the rank. See ``numpy.linalg.lstsq``."""
    x, y = (wrap(v) for v in _inexact(a, b))
    if x.ndim != 2:
        raise LinAlgError(f"{x.ndim}-dimensional array given. Array must be two-dimensional")
    m, n = x.shape
    if rcond is None:
        rcond = float(onp.finfo(x.dtype).eps) * max(m, n)
    s = svdvals(x)
    solution = TABLE["matmul"](pinv(x, rtol=rcond), y)
    rank = int((s > s.max() * rcond).sum())
    residuals = (abs(y - TABLE["matmul"](x, solution)) ** 2).sum(0)
    if rank != n or m <= n:
        residuals = _manipulation.reshape(y, (-1,))[:0].real
    return solution, residuals if residuals.ndim else residuals.reshape(1), rank, s


def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    """The product of several matrices, in the cheapest order. See NumPy's ``multi_dot``."""
    items = [wrap(value_of(a)) for a in arrays]
    if len(items) < 2:
        raise ValueError("Expecting at least two arrays.")
    first, last = items[0].ndim == 1, items[-1].ndim == 1
    items[0] = items[0][None, :] if first else items[0]
    items[-1] = items[-1][:, None] if last else items[-1]
    sizes = [x.shape[0] for x in items] + [items[-1].shape[1]]
    n = len(items)
    cost = [[0.0] * n for _ in range(n)]
    cut = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = [cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                       for k in range(i, j)]  # fmt: skip
            cost[i][j] = min(options)
            cut[i][j] = i + options.index(cost[i][j])

    def product(i: int, j: int) -> Any:
        if i == j:
            return items[i]
        return TABLE["matmul"](product(i, cut[i][j]), product(cut[i][j] + 1, j))

    result = product(0, n - 1)
    result = result[0] if first else result
    result = result[..., 0] if last else result
    if out is not None:
        out[...] = result
        return out
    return result


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """The tensor equation ``a x = b``. See ``numpy.linalg.tensorsolve``."""
    x, y = wrap(value_of(a)), wrap(value_of(b))
    if axes is not None:
        order = [i for i in range(x.ndim) if i not in axes] + list(axes)
        x = x.transpose(order)
    rest = x.shape[y.ndim:]
    size = int(onp.prod(rest))
    return solve(x.reshape(-1, size), y.reshape(-1)).reshape(rest)


def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse of a tensor as an operator. See ``numpy.linalg.tensorinv``."""
    x = wrap(value_of(a))
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    size = int(onp.prod(x.shape[ind:]))
    return inv(x.reshape(size, -1)).reshape(*x.shape[ind:], *x.shape[:ind])


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
