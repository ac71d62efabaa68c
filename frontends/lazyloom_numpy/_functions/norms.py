"""Norms of vectors and matrices, of any order."""

from __future__ import annotations

from typing import Any

import numpy as onp

import lazyloom

from .._arguments import dtypes as dt
from .._arguments.convert import as_value, value_of
from .._array.ndarray import ndarray, wrap
from . import manipulation
from .matrices import svdvals

record = lazyloom.record


def _inexact(x: Any) -> ndarray:
    value = value_of(x)
    if not value.type.dtype.is_inexact:
        value = as_value(value, dt.FLOAT64)
    return ndarray.from_value(value)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of vectors or matrices. See ``numpy.linalg.norm``."""
    a = _inexact(x)
    if axis is None:
        if ord is None or (ord in ("f", "fro") and a.ndim == 2) or (ord == 2 and a.ndim == 1):
            return _length(a, None, 2.0, keepdims)
        axis = tuple(range(a.ndim))
    elif not isinstance(axis, tuple):
        try:
            axis = (int(axis),)
        except Exception as error:
            raise TypeError(
                "'axis' must be None, an integer or a tuple of integers") from error
    if len(axis) == 1:
        return _vector(a, ord, (dt.normalize_axis(axis[0], a.ndim),), keepdims)
    if len(axis) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    row, column = (dt.normalize_axis(i, a.ndim) for i in axis)
    if row == column:
        raise ValueError("Duplicate axes given.")
    return _matrix(a, ord, row, column, keepdims)


def _length(a: ndarray, axes: tuple[int, ...] | None, order: float, keepdims: bool) -> Any:
    return wrap(record("norm", (a.value,), {
        "axes": axes, "order": order, "keepdims": bool(keepdims)}))  # fmt: skip


def _vector(a: ndarray, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    order = 2.0 if ord is None else float(ord)
    if order == -onp.inf:
        return abs(a).min(axes, keepdims=keepdims)  # which refuses to reduce nothing
    return _length(a, axes, order, keepdims)


def _matrix(a: ndarray, ord: Any, row: int, column: int, keepdims: bool) -> Any:
    if ord in (None, "fro", "f"):
        return _length(a, (row, column), 2.0, keepdims)
    if ord in (1, -1, onp.inf, -onp.inf):
        within, across = (row, column) if abs(ord) == 1 else (column, row)
        sums = abs(a).sum(within, keepdims=True)
        found = sums.max(across, keepdims=True, initial=0) if ord > 0 else (
            sums.min(across, keepdims=True))
    elif ord in (2, -2, "nuc"):
        s = svdvals(manipulation.moveaxis(a, (row, column), (-2, -1)))
        found = s.sum(-1) if ord == "nuc" else s.max(-1, initial=0) if ord == 2 else s.min(-1)
    else:
        raise ValueError("Invalid norm order for matrices.")
    kept = tuple(1 if i in (row, column) else n for i, n in enumerate(a.shape))
    rest = tuple(n for i, n in enumerate(a.shape) if i not in (row, column))
    result = found.reshape(kept if keepdims else rest)
    return wrap(result.value)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norm of vectors along axes. See ``numpy.linalg.vector_norm``."""
    a = _inexact(x)
    axes = tuple(range(a.ndim)) if axis is None else dt.normalize_axes(axis, a.ndim)
    return _vector(a, ord, axes, keepdims)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm of matrices in the last two axes. See ``numpy.linalg.matrix_norm``."""
    return norm(x, ord, (-2, -1), keepdims)
