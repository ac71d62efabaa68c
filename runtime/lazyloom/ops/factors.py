"""Matrix factorisations in LAPACK's own form, and inverses of matrices without one.

Matrices are (..., m, n) of float32, float64, complex64 and complex128; axes before the last two
are a batch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..dtypes import DType
from ._jax import jax, jnp, lax
from .cases import Cases, case, integers, rough
from .kinds import Array, Floating, Integer, T
from .linalg import _adjoint, _identity, _mirrored, _positive, _real, _tame
from .rules import linalg as rules
from .samples import Host, data
from .spec import op
from .traits import HEAVY, NOT_DIFFERENTIABLE, Derivative, Signature


def _reflectors(*shape: int) -> Callable[[np.random.Generator, DType], Host]:
    """Factors small enough that the reflections do not become large."""

    def make(rng: np.random.Generator, dtype: DType) -> Host:
        return (data(rng, dtype, shape) / 4).astype(dtype.numpy)

    return make


def _limit(value: float, *shape: int) -> Callable[[np.random.Generator, DType], Host]:
    return lambda rng, dtype: np.full(shape, value, dtype.numpy)


@op(
    rules.lu, T="precise", source="LAPACK getrf", execution=HEAVY,
    derivative=Derivative(residuals=True), signature=Signature(outputs=("lu", "pivots")),
    tolerance=16.0,
    samples=Cases(
        case(_tame(3, 3)), case((3, 2)), case((2, 2, 3)), case(np.zeros((2, 2)) + np.eye(2)[::-1]),
        case((0, 2))),
)  # fmt: skip
def lu_factor(x: T) -> Array:
    """The factors of ``P @ x = L @ U`` in one matrix, and the exchanges of rows.

    L is below the diagonal, its own diagonal being 1, and U on and above it. Row i was
    exchanged with row pivots[i] (counted from 0, int32), for i from 0 to min(m, n) - 1, in this
    order. A singular matrix has a 0 on the diagonal of U. Raises ShapeError, DTypeError.
    """
    if not x.size:
        return x, lax.full((*x.shape[:-2], min(x.shape[-2:])), 0, jnp.int32)
    return tuple(lax.linalg.lu(x)[:2])


@op(
    rules.permutation, source="LAPACK laswp", derivative=NOT_DIFFERENTIABLE,
    samples=Cases(
        case([[2, 1, 2], [0, 1, 2]], size=3), case([3, 3], size=4), case([], size=2),
        *(case(integers([2, 1, 2], d), size=3) for d in (
            np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32, np.uint64))),
)  # fmt: skip
def pivots_to_permutation(pivots: Integer, *, size: int) -> Array:
    """Where each of ``size`` rows comes from after the exchanges of ``lu_factor``; int32.

    ``x[permutation]`` is ``L @ U``. Raises ShapeError for more pivots than rows.
    """
    pivots = lax.convert_element_type(pivots, jnp.int32)
    if not pivots.size:
        return lax.broadcasted_iota(jnp.int32, (*pivots.shape[:-1], size), pivots.ndim - 1)
    return lax.linalg.lu_pivots_to_permutation(pivots, size)


def _reflected(a: Array, taus: Array) -> Array:
    """The product of reflections, applied to the identity from the last to the first."""
    m, n = a.shape[-2:]
    below = np.tril(np.ones((m, n)), -1).astype(a.dtype)
    vectors = lax.add(lax.mul(a, jnp.broadcast_to(below, a.shape)), _identity(a))

    def step(q: Array, row_and_factor: tuple[Array, Array]) -> tuple[Array, None]:
        v, tau = row_and_factor
        row = lax.dot_general(
            _conj(v), q, (((v.ndim - 1,), (q.ndim - 2,)), (tuple(range(v.ndim - 1)),) * 2))
        scaled = lax.mul(v, lax.broadcast_in_dim(tau, v.shape, tuple(range(v.ndim - 1))))
        return lax.sub(q, scaled[..., :, None] * row[..., None, :]), None

    first = jnp.moveaxis(vectors[..., :, :taus.shape[-1]], -1, 0)
    return lax.scan(step, _identity(a), (first, jnp.moveaxis(taus, -1, 0)), reverse=True)[0]


def _householder(a: Array, taus: Array) -> Array:
    product = jax.custom_jvp(lax.linalg.householder_product)
    product.defjvp(_householder_jvp)
    return product(a, taus)


def _householder_jvp(primals: Any, tangents: Any) -> Any:
    return _householder(*primals), jax.jvp(_reflected, primals, tangents)[1]


@op(
    rules.reflections, T="precise", source="LAPACK orgqr", execution=HEAVY,
    derivative=Derivative(residuals=True), tolerance=16.0,
    samples=Cases(
        case(_reflectors(3, 3), _reflectors(3)), case(_reflectors(2, 3, 2), _reflectors(2, 2)),
        case((3, 2), (1,)), case((0, 0), (0,)), case((3, 2), (0,))),
)  # fmt: skip
def householder_product(a: T, taus: T) -> Array:
    """The first n columns of a product of reflections ``I - tau_i v_i v_i^H``.

    a (..., m, n) has the vectors below its diagonal, their element there being 1, taus (..., k)
    their factors, k <= n <= m; ``qr_raw`` gives both. Raises ShapeError, DTypeError.
    """
    if not a.size or not taus.size:
        return _identity(a)
    return _householder(a, taus)


def _pseudo_inverse(x: Array, atol: Array, rtol: Array, hermitian: bool) -> Array:
    inverse = jax.custom_jvp(partial(_inverse_of_factors, hermitian))
    inverse.defjvp(partial(_pseudo_inverse_jvp, hermitian))
    return inverse(x, atol, rtol)


def _inverse_of_factors(hermitian: bool, x: Array, atol: Array, rtol: Array) -> Array:
    if hermitian:
        vectors, values = lax.linalg.eigh(_mirrored(x, False), symmetrize_input=False)
        inverse = _inverted(values, lax.abs(values), atol, rtol).astype(x.dtype)
        return jnp.matmul(vectors * inverse[..., None, :], _adjoint(vectors))
    u, s, vh = lax.linalg.svd(x, full_matrices=False)
    inverse = _inverted(s, s, atol, rtol).astype(x.dtype)
    return jnp.matmul(_adjoint(vh) * inverse[..., None, :], _adjoint(u))


def _inverted(values: Array, sizes: Array, atol: Array, rtol: Array) -> Array:
    largest = lax.reduce_max(sizes, (sizes.ndim - 1,))
    cutoff = lax.max(atol, lax.mul(rtol, largest))[..., None]
    kept = sizes > cutoff
    return jnp.where(kept, 1 / jnp.where(kept, values, 1), 0).astype(values.dtype)


def _pseudo_inverse_jvp(hermitian: bool, primals: Any, tangents: Any) -> Any:
    # Golub and Pereyra, SIAM J. Numer. Anal. 10 (1973): exact while the rank is constant
    x, atol, rtol = primals
    d = tangents[0]
    p = _pseudo_inverse(x, atol, rtol, hermitian)
    if hermitian:
        x = _mirrored(x, False)
    dh, ph = _adjoint(d), _adjoint(p)
    if x.shape[-2] >= x.shape[-1]:
        s, t = (p @ ph) @ dh, (dh @ ph) @ p
        slope = -(p @ d) @ p + s - (s @ x) @ p + t - (p @ x) @ t
    else:
        s, t = p @ (ph @ dh), dh @ (ph @ p)
        slope = -p @ (d @ p) + s - s @ (x @ p) + t - p @ (x @ t)
    return p, slope


@op(
    rules.pinv_within, T="precise", source="array API linalg.pinv", execution=HEAVY,
    derivative=Derivative(residuals=True, differentiable=("x",)), tolerance=64.0,
    samples=Cases(
        case((3, 2), _limit(0), _limit(1e-6)),
        case((2, 2, 3), _limit(0, 2), _limit(1e-6, 2)),
        case(_positive(3, 3), _limit(1e-6), _limit(0), hermitian=True),
        rough(np.ones((3, 3)), _limit(0), _limit(1e-6)),
        case((0, 2), _limit(0), _limit(0))),
)  # fmt: skip
def pinv_within(x: T, atol: Floating, rtol: Floating, *, hermitian: bool = False) -> Array:
    """The Moore-Penrose inverse (..., n, m) of matrices (..., m, n).

    Singular values not above ``max(atol, rtol * largest)``, numbers per matrix, count as 0. Of
    Hermitian matrices the lower triangle is looked at; the derivative is that of the function of
    all matrices there, and holds while the rank stays. Raises ShapeError, DTypeError.
    """
    if not x.size:
        return lax.full((*x.shape[:-2], x.shape[-1], x.shape[-2]), 0, x.dtype)
    real = _real(x)
    return _pseudo_inverse(
        x, lax.convert_element_type(atol, real), lax.convert_element_type(rtol, real), hermitian)


@op(
    rules.failure, T="precise", source="LAPACK potrf, its info", execution=HEAVY,
    derivative=NOT_DIFFERENTIABLE,
    samples=Cases(
        case(_positive(3, 3)), case(np.array([[1.0, 2.0], [2.0, 1.0]])),
        case(np.array([[[-1.0, 0], [0, 1]], [[1, 0], [0, 1]]]), upper=True), case((0, 0))),
)  # fmt: skip
def cholesky_failure(x: T, *, upper: bool = False) -> Array:
    """The order of the first leading minor that is not positive, 0 where there is none; int32.

    Where it is not 0, ``cholesky`` gives NaN. Raises ShapeError, DTypeError.
    """
    if not x.size:
        return lax.full(x.shape[:-2], 0, jnp.int32)
    full = _mirrored(x, upper)
    n = x.shape[-1]

    def step(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        rest, failed_at = state
        pivot = lax.real(rest[..., k, k]) if x.dtype.kind == "c" else rest[..., k, k]
        failed_at = jnp.where((failed_at == 0) & ~(pivot > 0), k + 1, failed_at)
        column, row = rest[..., :, k, None], rest[..., None, k, :]
        scale = jnp.where(pivot > 0, pivot, 1)[..., None, None].astype(x.dtype)
        return rest - column * row / scale, failed_at

    def search(_: Array) -> Array:
        start = (full, lax.full(x.shape[:-2], 0, jnp.int32))
        return lax.fori_loop(jnp.int32(0), jnp.int32(n), step, start)[1]

    corners = lax.linalg.cholesky(full, symmetrize_input=False)[..., -1, -1]
    lost = jnp.any(corners != corners)
    return lax.cond(
        lost, search, lambda _: lax.full(x.shape[:-2], 0, jnp.int32), lax.full((), 0, jnp.int32))


def _conj(x: Array) -> Array:
    return lax.conj(x) if x.dtype.kind == "c" else x
