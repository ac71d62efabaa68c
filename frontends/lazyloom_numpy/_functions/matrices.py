"""What the functions of matrices share: arguments, failures that depend on the data, singular
values."""

from __future__ import annotations

from typing import Any, Final

import numpy as onp

import lazyloom
from lazyloom.dtypes import DType

from .._arguments import dtypes as dt
from .._arguments.convert import as_value, operand, value_of
from .._array.ndarray import ndarray, wrap
from .._ufuncs.ufunc import TABLE
from . import manipulation
from .elementwise import chosen as where

record = lazyloom.record
LinAlgError = onp.linalg.LinAlgError

class _FailedLinAlgError(lazyloom.errors.ExecutionError, LinAlgError):
    """A ``LinAlgError`` that became known when the program had run."""


MESSAGES: Final = {
    "solve": "Singular matrix", "inv": "Singular matrix",
    "cholesky": "Matrix is not positive definite",
    "eig": "Array must not contain infs or NaNs",
    "eigvals": "Array must not contain infs or NaNs",
    "eigh": "Eigenvalues did not converge", "eigvalsh": "Eigenvalues did not converge",
    "svd": "SVD did not converge", "svdvals": "SVD did not converge",
    "pinv": "SVD did not converge",
}  # fmt: skip


def _judge(data: Any, check: lazyloom.Check) -> lazyloom.LoomError:
    return _FailedLinAlgError(f"{MESSAGES[check.of]} (linalg.{check.of}, called at {check.site})",
                        op=check.of, site=str(check.site))  # fmt: skip


lazyloom.register_check("linalg", _judge)


def checked(of: str, bad: Any, *values: Any) -> list[Any]:
    """The values, whose readers get a LinAlgError where an element of ``bad`` is true."""
    if bad.type.shape:
        bad = record("any", (bad,))
    return [record("checked", (v, bad), {"kind": "linalg", "of": of})[0] for v in values]


def has_nan(value: Any) -> Any:
    """Whether NaN is among the elements."""
    return record("any", (record("isnan", (value,)),))


def precise(*arrays: Any) -> tuple[list[Any], DType]:
    """The arguments in float64 or complex128, and the dtype of the result."""
    values = [value_of(a) for a in arrays]
    keys: list[DType] = []
    for v in values:
        d = v.type.dtype
        if d.name in ("float16", "bfloat16"):
            raise TypeError(f"array type {d.name} is unsupported in linalg")
        keys.append(d if d.kind in "fc" else dt.FLOAT64)
    target = dt.promote(*keys)
    wide = dt.promote(target, dt.FLOAT64)
    return [as_value(v, wide) for v in values], target


def matrix(a: Any, square: bool = False) -> tuple[Any, DType]:
    """One argument, matrices in the last two axes, and the dtype of the result."""
    shape = shape_of(a)
    if len(shape) < 2:
        raise LinAlgError(
            f"{len(shape)}-dimensional array given. Array must be at least two-dimensional")
    if square and shape[-1] != shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    (value,), target = precise(a)
    return value, target


def shape_of(a: Any) -> tuple[int, ...]:
    shape: tuple[int, ...] = a.shape if isinstance(a, ndarray) else value_of(a).type.shape
    return shape


def in_precision(value: Any, target: DType) -> Any:
    """The array of a result in the precision asked for; real results stay real."""
    return wrap(as_value(value, target.real if value.type.dtype.kind == "f" else target))


def adjoint(x: Any) -> Any:
    turned = manipulation.swapaxes(x, -1, -2)
    return turned.conj() if x.dtype.kind == "c" else turned


def singular_vectors(a: Any, full_matrices: bool) -> list[Any]:
    """Left singular vectors, singular values and right ones, adjoint."""
    x, target = matrix(a)
    u, s, vh = record("svd_full" if full_matrices else "svd", (x,))
    return [in_precision(v, target) for v in checked("svd", has_nan(s), u, s, vh)]


def svdvals(x: Any, /) -> Any:
    """The singular values, largest first. See ``numpy.linalg.svdvals``."""
    value, target = matrix(x)
    found = record("svdvals", (value,))
    (s,) = checked("svdvals", has_nan(found), found)
    return in_precision(s, target)


def least_squares(x: Any, y: Any, rcond: Any) -> tuple[Any, Any, Any]:
    """Solution, singular values and rank for matrices in double precision."""
    m, n = x.shape
    if rcond is None:
        rcond = float(onp.finfo(onp.float64).eps) * max(m, n)
    elif not isinstance(rcond, lazyloom.Tensor):
        rcond = float(rcond) if rcond >= 0 else float(onp.finfo(onp.float64).eps)
    u, s, vh = singular_vectors(x, False)
    large = s > s.max(initial=0) * operand(rcond)
    inverse = where(large, 1.0 / where(large, s, 1.0), 0.0)
    matmul = TABLE["matmul"]
    solution = matmul(adjoint(vh), inverse[:, None] * matmul(adjoint(u), y))
    return solution, s, large.sum().astype(onp.int32)
