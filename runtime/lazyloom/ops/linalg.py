"""Linear algebra on matrices (..., m, n) of float32, float64, complex64 and complex128.

Axes before the last two are a batch. A matrix for which there is no result (singular,
not positive definite) gives NaN or inf, never an error: values are not known when the
op is recorded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..dtypes import DType
from ._jax import jax, jnp, lax
from .cases import Cases, case, rough
from .contraction import matmul
from .kinds import Array, T
from .rules import linalg as rules
from .samples import Host, data
from .spec import op
from .traits import HEAVY, NOT_DIFFERENTIABLE, Derivative, Signature


def _tame(*shape: int) -> Callable[[np.random.Generator, DType], Host]:
    """Square matrices that are far from singular."""

    def make(rng: np.random.Generator, dtype: DType) -> Host:
        return (data(rng, dtype, shape) + 4 * np.eye(shape[-1])).astype(dtype.numpy)

    return make


def _positive(*shape: int) -> Callable[[np.random.Generator, DType], Host]:
    """Hermitian matrices with positive, distinct eigenvalues."""

    def make(rng: np.random.Generator, dtype: DType) -> Host:
        a = data(rng, dtype, shape)
        product = a @ np.conj(np.swapaxes(a, -1, -2)) + np.diag(np.arange(1.0, shape[-1] + 1))
        return product.astype(dtype.numpy)

    return make


@op(
    rules.square, T="precise", source="array API linalg.cholesky", execution=HEAVY,
    derivative=Derivative(residuals=True), tolerance=16.0,
    samples=Cases(case(_positive(3, 3)), case(_positive(2, 2, 2), upper=True), case((0, 0))),
)  # fmt: skip
def cholesky(x: T, *, upper: bool = False) -> Array:
    """The lower triangular L with ``L @ L.conj().T == x``, or its upper counterpart.

    x is Hermitian and positive definite, NaN otherwise. Only the lower triangle (or the
    upper) is looked at; the gradient is Hermitian as x is. Raises ShapeError, DTypeError.
    """
    lower = lax.linalg.cholesky(_mirrored(x, upper), symmetrize_input=False)
    return _adjoint(lower) if upper else lower


@op(
    rules.solution, T="precise", source="array API linalg.solve", execution=HEAVY,
    derivative=Derivative(residuals=True, linear="b"), tolerance=16.0,
    samples=Cases(
        case(_tame(3, 3), (3, 2)), case(_tame(2, 2, 2), (2, 2, 1)), case((0, 0), (0, 2)),
        case(_tame(2, 2), (2, 0))),
)  # fmt: skip
def solve(a: T, b: T) -> Array:
    """The x with ``a @ x == b``, for square a (..., n, n) and b (..., n, k).

    Leading axes are equal. A singular a gives inf or NaN. Raises ShapeError, DTypeError.
    """
    if not b.size:
        return b
    return jnp.linalg.solve(a, b)


@op(
    rules.square, T="precise", source="array API linalg.inv", execution=HEAVY,
    derivative=Derivative(residuals=True), reference="numpy.linalg.inv", tolerance=16.0,
    samples=Cases(case(_tame(3, 3)), case(_tame(2, 2, 2)), case((0, 0))),
)  # fmt: skip
def inv(x: T) -> Array:
    """The inverse of square matrices; ``solve`` is faster and more exact where it serves.

    A singular matrix gives inf or NaN. Raises ShapeError, DTypeError.
    """
    if not x.size:
        return x
    return jnp.linalg.solve(x, _identity(x))


@op(
    rules.determinant, T="precise", source="array API linalg.det", execution=HEAVY,
    derivative=Derivative(residuals=True), reference="numpy.linalg.det", tolerance=16.0,
    samples=Cases(case(_tame(3, 3)), case(_tame(2, 2, 2)), case((0, 0)), case(_tame(4, 4))),
)  # fmt: skip
def det(x: T) -> Array:
    """The determinant of square matrices. Raises ShapeError, DTypeError."""
    if not x.shape[-1]:
        return lax.full(x.shape[:-2], 1, x.dtype)
    return jnp.linalg.det(x)


@op(
    rules.singular, T="precise", source="LAPACK getrf, its info", execution=HEAVY,
    derivative=NOT_DIFFERENTIABLE,
    samples=Cases(
        case(_tame(3, 3)), case(np.array([[1.0, 2.0], [2.0, 4.0]])), case((2, 2, 2)),
        case((0, 0)), case(np.zeros((2, 1, 1)))),
)  # fmt: skip
def is_singular(x: T) -> Array:
    """Whether elimination finds a pivot that is exactly 0, for each square matrix.

    What ``solve`` and ``inv`` give is then infinite or NaN. Raises ShapeError, DTypeError.
    """
    if not x.size:
        return lax.full(x.shape[:-2], False, jnp.bool_)
    pivots = jnp.diagonal(lax.linalg.lu(x)[0], axis1=-2, axis2=-1)
    return lax.reduce_or(lax.eq(pivots, lax.full_like(pivots, 0)), (x.ndim - 2,))


@op(
    rules.signed_logarithm, T="precise", source="array API linalg.slogdet", execution=HEAVY,
    derivative=Derivative(residuals=True), reference="numpy.linalg.slogdet",
    signature=Signature(outputs=("sign", "logabsdet")), tolerance=16.0,
    samples=Cases(case(_tame(3, 3)), case(_tame(2, 2, 2)), case((0, 0))),
)  # fmt: skip
def slogdet(x: T) -> Array:
    """Sign (or phase) of the determinant, and the logarithm of its absolute value.

    A singular matrix gives 0 and -inf. Raises ShapeError, DTypeError.
    """
    if not x.size:
        return tuple(jnp.linalg.slogdet(x))
    # the determinant of two or three rows is computed before its logarithm
    x, power = _scaled(x)
    sign, logarithm = jnp.linalg.slogdet(x)
    return sign, logarithm + x.shape[-1] * lax.log(power[..., 0, 0])


@op(
    rules.qr, T="precise", source="array API linalg.qr", execution=HEAVY,
    derivative=Derivative(residuals=True), signature=Signature(outputs=("q", "r")), tolerance=16.0,
    samples=Cases(
        case((3, 2)), case((2, 3, 3)), case((2, 3)), case((3, 2), mode="complete"),
        case((0, 2))),
)  # fmt: skip
def qr(x: T, *, mode: str = "reduced") -> Array:
    """x (..., m, n) as a product of q with orthonormal columns and upper triangular r.

    q is (..., m, k) and r (..., k, n), k = min(m, n) for mode ``"reduced"`` and m for
    ``"complete"``. The derivative asks for full rank of the first columns. Signs are
    LAPACK's. Raises ShapeError, ArgumentError, DTypeError.
    """
    return tuple(lax.linalg.qr(x, full_matrices=mode == "complete"))


@op(
    rules.qr_raw, T="precise", source="LAPACK geqrf", execution=HEAVY,
    signature=Signature(outputs=("h", "tau")), tolerance=16.0, derivative=NOT_DIFFERENTIABLE,
    samples=Cases(case((3, 2)), case((2, 3, 3)), case((2, 3)), case((0, 2))),
)  # fmt: skip
def qr_raw(x: T) -> Array:
    """The factors of ``qr`` as LAPACK keeps them, the first transposed.

    h (..., n, m) holds r in one triangle and the Householder vectors in the other, tau
    (..., min(m, n)) their factors. No derivative. Raises ShapeError, DTypeError.
    """
    return tuple(jnp.linalg.qr(x, mode="raw"))


#: outside of these LAPACK scales matrices, and XLA gives what came of the scaled ones
_UNSCALED = {8: 2.0**480, 4: 2.0**36}


def _scaled(x: Array) -> tuple[Array, Array]:
    """Matrices far from 1 divided by a power of two, and that (..., 1, 1); 1 for all others."""
    size = jnp.max(lax.abs(lax.stop_gradient(x)), (-2, -1), keepdims=True)
    kind, bits = (np.int64, 52) if size.dtype.itemsize == 8 else (np.int32, 23)
    exponent = lax.bitwise_and(
        lax.bitcast_convert_type(size, kind), lax.full_like(size, -1 << bits, kind))
    power = lax.bitcast_convert_type(exponent, size.dtype)
    most = _UNSCALED[size.dtype.itemsize]
    far = (size > most) & (size < np.inf) | (size < 1 / most) & (power > 0)
    power = jnp.where(far, power, lax.full_like(power, 1))
    rest = lax.full_like(power, 1) / power
    if x.dtype.kind == "c":
        return lax.complex(lax.real(x) * rest, lax.imag(x) * rest), power
    return x * rest, power


@op(
    rules.eig, T="precise", source="LAPACK geev", execution=HEAVY,
    derivative=Derivative(residuals=True),
    signature=Signature(outputs=("eigenvalues", "eigenvectors")), tolerance=64.0,
    samples=Cases(case((3, 3)), case(_positive(2, 2, 2)), case((4, 4)), case((0, 0))),
)  # fmt: skip
def eig(x: T) -> Array:
    """Eigenvalues of square matrices, and eigenvectors as columns; both complex.

    Vectors have length 1 and a real largest component. The derivative asks for distinct
    eigenvalues, and for one largest component. Raises ShapeError, DTypeError.
    """
    if not x.size:
        values = lax.full(x.shape[:-1], 0, _complex(x))
        return values, lax.convert_element_type(x, values.dtype)
    x, power = _scaled(x)
    values, vectors = lax.linalg.eig(
        x, compute_left_eigenvectors=False, enable_eigvec_derivs=True)
    return values * power[..., 0].astype(values.dtype), vectors


@op(
    rules.eigvals, T="precise", source="LAPACK geev", execution=HEAVY,
    derivative=Derivative(residuals=True), reference="numpy.linalg.eigvals", tolerance=64.0,
    samples=Cases(case((3, 3)), case(_positive(2, 2, 2)), case((4, 4)), case((0, 0))),
)  # fmt: skip
def eigvals(x: T) -> Array:
    """Eigenvalues of square matrices, complex; see ``eig``."""
    if not x.size:
        return lax.full(x.shape[:-1], 0, _complex(x))
    x, power = _scaled(x)
    values = lax.linalg.eig(
        x, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]
    return values * power[..., 0].astype(values.dtype)


@op(
    rules.eigh, T="precise", source="array API linalg.eigh", execution=HEAVY,
    derivative=Derivative(residuals=True),
    signature=Signature(outputs=("eigenvalues", "eigenvectors")), tolerance=16.0,
    samples=Cases(case(_positive(3, 3)), case(_positive(2, 2, 2), upper=True), case((0, 0))),
)  # fmt: skip
def eigh(x: T, *, upper: bool = False) -> Array:
    """Ascending eigenvalues of Hermitian matrices, and eigenvectors as columns.

    Only the lower triangle (or the upper) is looked at; the gradient is Hermitian as x is.
    The derivative asks for distinct eigenvalues, and of complex vectors it holds for what
    their phases, which are any, do not change. Raises ShapeError, DTypeError.
    """
    if not x.size:
        return lax.full(x.shape[:-1], 0, _real(x)), x
    vectors, values = lax.linalg.eigh(
        _mirrored(x, upper), lower=not upper, symmetrize_input=False)
    return values, vectors


@op(
    rules.eigvalsh, T="precise", source="array API linalg.eigvalsh", execution=HEAVY,
    derivative=Derivative(residuals=True), tolerance=16.0,
    samples=Cases(case(_positive(3, 3)), case(_positive(2, 2, 2), upper=True), case((0, 0))),
)  # fmt: skip
def eigvalsh(x: T, *, upper: bool = False) -> Array:
    """Ascending eigenvalues of Hermitian matrices; see ``eigh``."""
    return eigh(x, upper=upper)[0]


@op(
    rules.svd, T="precise", source="array API linalg.svd", execution=HEAVY,
    derivative=Derivative(residuals=True), signature=Signature(outputs=("u", "s", "vh")),
    tolerance=16.0, samples=Cases(case((3, 2)), case((2, 2, 3)), case((0, 2))),
)  # fmt: skip
def svd(x: T) -> Array:
    """x (..., m, n) as u @ diag(s) @ vh; s is real, not negative and descending.

    u is (..., m, k) and vh (..., k, n), k = min(m, n). The derivative asks for distinct
    s, and of complex vectors it holds for what their phases do not change. Raises
    ShapeError, DTypeError.
    """
    return tuple(lax.linalg.svd(x, full_matrices=False))


def _svd_full(x: Array) -> Any:
    decompose = jax.custom_jvp(lambda x: tuple(lax.linalg.svd(x, full_matrices=True)))
    decompose.defjvp(_svd_full_jvp)
    return decompose(x)


def _svd_full_jvp(primals: Any, tangents: Any) -> Any:
    # the first columns move like those of ``svd``, the others stay fixed
    (x,), (d,) = primals, tangents
    full_u, s, full_vh = _svd_full(x)
    k = s.shape[-1]
    u, vh = full_u[..., :, :k], full_vh[..., :k, :]
    v, uh = _adjoint(vh), _adjoint(u)
    inner = matmul(matmul(uh, d), v)
    ds = lax.real(jnp.diagonal(inner, axis1=-2, axis2=-1)) if x.dtype.kind == "c" else (
        jnp.diagonal(inner, axis1=-2, axis2=-1))
    row, column = s[..., None, :], s[..., :, None]
    itself = jnp.eye(k, dtype=bool)
    gaps = jnp.where(itself, 1, (row - column) * (row + column))
    f = jnp.where(itself, 0, 1 / gaps).astype(x.dtype)
    right, left = row.astype(x.dtype) * inner, column.astype(x.dtype) * inner
    du = matmul(u, f * (right + _adjoint(right)))
    dv = matmul(v, f * (left + _adjoint(left)))
    if x.dtype.kind == "c":
        inverse = (1 / jnp.where(s == 0, 1, s)).astype(x.dtype)
        turn = jnp.where(itself, (inner - _adjoint(inner)) / 2 * inverse[..., None, :], 0)
        du = du + matmul(u, turn)
    m, n = x.shape[-2:]
    if m > n:
        moved = matmul(d, v)
        du = du + (moved - matmul(u, matmul(uh, moved))) / row.astype(x.dtype)
    if n > m:
        moved = matmul(_adjoint(d), u)
        dv = dv + (moved - matmul(v, matmul(vh, moved))) / row.astype(x.dtype)
    du = jnp.concatenate([du, jnp.zeros_like(full_u[..., :, k:])], -1)
    dvh = jnp.concatenate([_adjoint(dv), jnp.zeros_like(full_vh[..., k:, :])], -2)
    return (full_u, s, full_vh), (du, ds, dvh)


@op(
    rules.svd_full, T="precise", source="array API linalg.svd, full_matrices", execution=HEAVY,
    derivative=Derivative(residuals=True), signature=Signature(outputs=("u", "s", "vh")),
    tolerance=16.0, samples=Cases(rough((3, 2)), rough((2, 2, 3)), rough((0, 2)), case((3, 3))),
)  # fmt: skip
def svd_full(x: T) -> Array:
    """As ``svd``, but with square u (..., m, m) and vh (..., n, n).

    The columns that ``svd`` does not have are any that complete a basis: they have no
    derivative. Raises ShapeError, DTypeError.
    """
    return _svd_full(x)


@op(
    rules.svdvals, T="precise", source="array API linalg.svdvals", execution=HEAVY,
    derivative=Derivative(residuals=True), tolerance=16.0,
    samples=Cases(case((3, 2)), case((2, 2, 3)), case((0, 2))),
)  # fmt: skip
def svdvals(x: T) -> Array:
    """The singular values of matrices, descending. Raises ShapeError, DTypeError."""
    if not x.size:
        return lax.full((*x.shape[:-2], min(x.shape[-2:])), 0, _real(x))
    return lax.linalg.svd(x, full_matrices=False, compute_uv=False)


@op(
    rules.solution, T="precise", source="BLAS trsm", execution=HEAVY, tolerance=16.0,
    samples=Cases(
        case(_tame(3, 3), (3, 2)), case(_tame(2, 2, 2), (2, 2, 1), lower=False),
        case(_tame(2, 2), (3, 2), left_side=False, transpose=True),
        case(_tame(2, 2), (2, 3), unit_diagonal=True, transpose=True, conjugate=True),
        case((0, 0), (0, 2))), derivative=Derivative(linear="b"),
)  # fmt: skip
def triangular_solve(
    a: T, b: T, *, left_side: bool = True, lower: bool = True, transpose: bool = False,
    conjugate: bool = False, unit_diagonal: bool = False,
) -> Array:  # fmt: skip
    """The x with ``op(a) @ x == b``, or ``x @ op(a) == b``, for triangular a (..., n, n).

    Only one triangle of a is looked at, and not its diagonal with ``unit_diagonal``.
    op transposes, conjugates, or both. Leading axes are equal. Raises ShapeError,
    DTypeError.
    """
    if not b.size:
        return b
    return lax.linalg.triangular_solve(
        a, b, left_side=left_side, lower=lower, transpose_a=transpose, conjugate_a=conjugate,
        unit_diagonal=unit_diagonal)


@op(
    rules.pinv, T="precise", source="array API linalg.pinv", execution=HEAVY,
    derivative=Derivative(residuals=True), tolerance=64.0,
    samples=Cases(case((3, 2)), case((2, 2, 3)), case((0, 2))),
)  # fmt: skip
def pinv(x: T, *, rtol: float = 1e-15) -> Array:
    """The Moore-Penrose inverse (..., n, m) of matrices (..., m, n).

    Singular values below ``rtol`` times the largest count as zero. Raises ShapeError,
    ArgumentError, DTypeError.
    """
    if not x.size:
        return lax.full((*x.shape[:-2], x.shape[-1], x.shape[-2]), 0, x.dtype)
    return jnp.linalg.pinv(x, rtol=rtol)


#: the Taylor polynomial of degree 20 is exact to the last bit of float64 and of float32 up to
#: these 1-norms, at which the series of the relative backward error, log(exp(-x) p(x)) / x, is
#: 2^-53 and 2^-24
_DEGREE, _BLOCK = 20, 5
_REACH = {8: 1.438252596804337, 4: 3.5509262147109797}


def _exponential_of_scaled(x: Array) -> tuple[Array, Array]:
    """The exponentials of ``x / 2**k``, and k (..., 1, 1), int32, such that the series is exact."""
    real = _real(x)
    columns = lax.reduce_sum(lax.abs(lax.stop_gradient(x)), (x.ndim - 2,))
    norms = jnp.max(columns, -1)[..., None, None]
    needed = lax.ceil(jnp.log2(norms / _REACH[np.dtype(real).itemsize]))
    most = np.finfo(real).maxexp - 2
    # matrices with NaN, like zero matrices, are not halved
    k = jnp.where(needed > 0, lax.min(needed, lax.full_like(needed, most)), 0)
    x = x * lax.exp2(lax.neg(k)).astype(x.dtype)
    powers = [_identity(x), x]
    while len(powers) <= _BLOCK:
        powers.append(matmul(powers[-1], x))
    result = None
    for first in range(_DEGREE, -1, -_BLOCK):  # Paterson and Stockmeyer, 1973
        last = min(first + _BLOCK, _DEGREE + 1)
        block = sum(powers[j - first] * (1 / math.factorial(j)) for j in range(first, last))
        result = block if result is None else matmul(result, powers[_BLOCK]) + block
    return result, k.astype(np.int32)


def _squared(result: Array, k: Array, i: Array) -> Array:
    """The matrices; those that need more than i squarings are squared."""
    return jnp.where(i < k, matmul(result, result), result)


def _exponential(x: Array) -> Any:
    exponential = jax.custom_jvp(_exponential_by_loop)
    exponential.defjvp(_exponential_jvp)
    return exponential(x)


def _exponential_by_loop(x: Array) -> Array:
    first, k = _exponential_of_scaled(x)
    most = jnp.max(k)
    return lax.while_loop(
        lambda state: state[0] < most,
        lambda state: (state[0] + 1, _squared(state[1], k, state[0])),
        (jnp.zeros_like(most), first))[1]


def _exponential_by_steps(x: Array) -> Array:
    # a loop that can be differentiated in reverse has a known length: the number of digits, since
    # each squaring may cost one
    first, k = _exponential_of_scaled(x)
    most = jnp.max(k)

    def step(result: Array, i: Array) -> tuple[Array, None]:
        return lax.cond(i < most, lambda r: _squared(r, k, i), lambda r: r, result), None

    digits = np.finfo(_real(x)).nmant + 1
    return lax.scan(step, first, lax.iota(np.int32, digits))[0]


def _exponential_jvp(primals: Any, tangents: Any) -> Any:
    return _exponential(*primals), jax.jvp(_exponential_by_steps, primals, tangents)[1]


@op(
    rules.square, T="precise", source="scaling and squaring of a Taylor polynomial",
    execution=HEAVY, derivative=Derivative(residuals=True), reference="scipy.linalg.expm",
    tolerance=64.0, samples=Cases(case((3, 3)), case((2, 2, 2)), case((0, 0)), low=-0.5, high=0.5),
)  # fmt: skip
def matrix_exp(x: T) -> Array:
    """The exponential of square matrices. Raises ShapeError, DTypeError.

    Halved until a polynomial of degree 20 serves, then squared as often. The derivative holds
    while the 1-norm of x is below 2**24 in single precision and 2**53 in double.
    """
    if not x.size:
        return x
    return _exponential(x)


@op(
    rules.matrix_power, T="precise", source="array API linalg.matrix_power", execution=HEAVY,
    tolerance=16.0,
    samples=Cases(
        case(_tame(3, 3), exponent=3), case(_tame(2, 2, 2), exponent=0),
        case(_tame(2, 2), exponent=-2), case((0, 0), exponent=2), case(_tame(2, 2), exponent=1)),
)  # fmt: skip
def matrix_power(x: T, *, exponent: int) -> Array:
    """Square matrices multiplied by themselves; the inverse for a negative exponent.

    Raises ShapeError, DTypeError.
    """
    if not x.size:
        return x
    if exponent < 0:
        x, exponent = inv(x), -exponent
    if exponent == 0:
        return _identity(x)
    result = None
    while True:
        if exponent % 2:
            result = x if result is None else matmul(result, x)
        exponent //= 2
        if not exponent:
            return result
        x = matmul(x, x)


def _real(x: Array) -> Any:
    return np.finfo(x.dtype).dtype


def _complex(x: Array) -> Any:
    return np.result_type(x.dtype, np.complex64)


def _adjoint(x: Array) -> Array:
    turned = lax.transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))
    return lax.conj(turned) if x.dtype.kind == "c" else turned


def _identity(x: Array) -> Array:
    row = lax.broadcasted_iota("int32", x.shape, x.ndim - 2)
    column = lax.broadcasted_iota("int32", x.shape, x.ndim - 1)
    return lax.convert_element_type(lax.eq(row, column), x.dtype)


def _mirrored(x: Array, upper: bool) -> Any:
    """The Hermitian matrix that one triangle stands for; its diagonal is real.

    The data comes from that triangle; the derivative is that of a function of Hermitian matrices:
    it takes the Hermitian part of a tangent, and so gives a Hermitian gradient.
    """
    mirror = jax.custom_jvp(partial(_of_triangle, upper))
    mirror.defjvp(partial(_mirrored_jvp, upper))
    return mirror(x)


def _of_triangle(upper: bool, x: Array) -> Array:
    row = lax.broadcasted_iota("int32", x.shape, x.ndim - 2)
    column = lax.broadcasted_iota("int32", x.shape, x.ndim - 1)
    in_triangle = lax.le(row, column) if upper else lax.ge(row, column)
    full = lax.select(in_triangle, x, _adjoint(x))
    if x.dtype.kind != "c":
        return full
    real = lax.real(x)
    return lax.select(lax.eq(row, column), lax.complex(real, lax.full_like(real, 0)), full)


def _mirrored_jvp(upper: bool, primals: Any, tangents: Any) -> Any:
    d = tangents[0]
    half = lax.full_like(d, 0.5)
    return _mirrored(primals[0], upper), lax.mul(half, lax.add(d, _adjoint(d)))
