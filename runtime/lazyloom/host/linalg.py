"""Factors, triangular systems and decompositions of matrices, with NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = Any


def lu(x: Array) -> tuple[Array, Array, Array]:
    """L and U in one matrix, the rows that were exchanged, and the order that this makes."""
    *batch, m, n = x.shape
    found = np.array(x).reshape((-1, m, n))
    k = min(m, n)
    pivots = np.empty((len(found), k), np.int32)
    orders = np.empty((len(found), m), np.int32)
    for a, pivot, order in zip(found, pivots, orders, strict=True):
        order[:] = range(m)
        for i in range(k):
            p = i + int(np.argmax(np.abs(a[i:, i])))
            pivot[i] = p
            if p != i:
                a[[i, p]] = a[[p, i]]
                order[[i, p]] = order[[p, i]]
            if a[i, i] != 0:
                a[i + 1 :, i] /= a[i, i]
            a[i + 1 :, i + 1 :] -= np.outer(a[i + 1 :, i], a[i, i + 1 :])
    return found.reshape(x.shape), pivots.reshape((*batch, k)), orders.reshape((*batch, m))


def pivots_to_permutation(pivots: Array, size: int) -> Array:
    """The order that exchanges of rows make."""
    rows = pivots.reshape((-1, pivots.shape[-1]))
    found = np.empty((len(rows), size), np.int32)
    for order, row in zip(found, rows, strict=True):
        order[:] = range(size)
        for i, p in enumerate(row):
            order[[i, p]] = order[[p, i]]
    return found.reshape((*pivots.shape[:-1], size))


def triangular_solve(
    a: Array, b: Array, left: bool, lower: bool, transposed: bool, conjugated: bool, unit: bool
) -> Array:
    """x with a x = b, or x a = b; of ``a`` one triangle is read."""
    if conjugated:
        a = np.conjugate(a)
    if not left:
        b = b.swapaxes(-1, -2)
    if transposed == left:
        a = a.swapaxes(-1, -2)
        lower = not lower
    n = a.shape[-1]
    x = np.array(b)
    for i in range(n) if lower else range(n - 1, -1, -1):
        known = slice(0, i) if lower else slice(i + 1, n)
        row = x[..., i, :]
        if known.stop > known.start:
            row = row - np.matmul(a[..., i : i + 1, known], x[..., known, :])[..., 0, :]
        x[..., i, :] = row if unit else row / a[..., i : i + 1, i]
    return np.ascontiguousarray(x if left else x.swapaxes(-1, -2))


def _each(decompose: Callable[[Array], Sequence[Array]], x: Array) -> Sequence[Array]:
    """The results for matrices, each NaN for one for which LAPACK fails."""
    try:
        return decompose(x)
    except np.linalg.LinAlgError:
        pass
    # of some matrix of the same shape there are results
    found = [np.full((*x.shape[:-2], *r.shape), np.nan, r.dtype)
             for r in decompose(np.eye(*x.shape[-2:], dtype=x.dtype))]
    for at in np.ndindex(*x.shape[:-2]):
        try:
            for whole, part in zip(found, decompose(x[at]), strict=True):
                whole[at] = part
        except np.linalg.LinAlgError:
            pass
    return found


def cholesky(x: Array) -> Array:
    """The lower factor; NaN for a matrix that has none."""
    return _each(lambda x: (np.linalg.cholesky(x),), x)[0]


# NumPy's LAPACK and the one that XLA calls give the same of double precision, the signs of vectors
# included; of single precision they do not


def qr(x: Array, complete: bool) -> Sequence[Array]:
    """Q and R."""
    return np.linalg.qr(x, "complete" if complete else "reduced")


def svd(x: Array, full: bool, vectors: bool) -> Sequence[Array]:
    """The singular values, and U and Vh where ``vectors`` are wanted."""

    def decompose(x: Array) -> Sequence[Array]:
        if not vectors:
            return (np.linalg.svd(x, compute_uv=False),)
        u, s, vh = np.linalg.svd(x, full)
        return s, u, vh

    return _each(decompose, x)


def eigh(x: Array, lower: bool) -> Sequence[Array]:
    """Eigenvectors and eigenvalues of Hermitian matrices, of which one triangle is read."""
    return _each(lambda x: np.linalg.eigh(x, "L" if lower else "U")[::-1], x)


def eig(x: Array, vectors: bool) -> Sequence[Array]:
    """Eigenvalues, and right eigenvectors where they are wanted, as complex numbers."""

    def decompose(x: Array) -> Sequence[Array]:
        # NumPy gives real ones where all of a stack are real
        found = np.linalg.eig(x) if vectors else (np.linalg.eigvals(x),)
        return [r.astype(np.complex128) for r in found]

    return _each(decompose, x)
