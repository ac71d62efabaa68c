"""Cases of ``numpy.linalg``, and of products of arrays."""

from __future__ import annotations

from typing import Any

from tests.numpy.coverage.case import COMPLEX, FLOATS, Case, case

PRECISE = ["float32", "complex128"]
SQUARE = [((3, 3),), ((2, 2, 2),)]
RANK = "the shape of the residuals depends on the rank"


def tame(m: Any, x: Any) -> Any:
    """Square matrices that are far from singular."""
    return x + m.asarray(16 * m.eye(x.shape[-1]), dtype=x.dtype)


def hermitian(m: Any, x: Any) -> Any:
    """Hermitian matrices with positive eigenvalues."""
    return m.matmul(x, m.conj(m.swapaxes(x, -1, -2))) + m.asarray(m.eye(x.shape[-1]), x.dtype)


def back(m: Any, factors: Any) -> Any:
    """The product of the factors, and the types of all of them."""
    product = factors[0]
    for f in factors[1:]:
        product = product @ f
    return product, [(f.shape, f.dtype) for f in factors], type(factors).__name__


def spectral(m: Any, x: Any, vectors: Any, values: Any) -> Any:
    """How far ``x @ vectors`` is from ``vectors * values``, which signs and phases leave."""
    return abs(x @ vectors - vectors * values[..., None, :]).max() < 1e-4 * (1 + abs(values).max())


def eigen(m: Any, x: Any) -> Any:
    w, v = m.linalg.eig(x)
    return w, v.dtype, spectral(m, x, v, w), m.linalg.eigvals(x)


def names(m: Any, x: Any) -> Any:
    """The names in the tuples that are returned."""
    found = (m.linalg.eigh(x), m.linalg.qr(x), m.linalg.slogdet(x), m.linalg.svd(x))
    return [(type(r).__name__, r._fields) for r in found]


def svd(m: Any, x: Any, **how: Any) -> Any:
    u, s, vh = m.linalg.svd(x, **how)
    k = s.shape[-1]
    return s, (u[..., :k] * s[..., None, :]) @ vh[..., :k, :], u.shape, vh.shape, u.dtype


CASES: list[Case] = [
    # products
    case("numpy.dot", lambda m, a, b: (m.dot(a, b), a.dot(b), m.dot(a, 2), m.dot(3, b)),
         shapes=[((3,), (3,)), ((2, 3), (3,)), ((2, 3), (4, 3, 2)), ((), (2, 3)),
                 ((2, 0), (0, 3))], dtypes=["bool", "int32", "float32"]),
    case("numpy.ndarray.dot", lambda m, a, b: a.dot(b, m.zeros((2, 4))),
         shapes=[((2, 3), (3, 4)), ((2, 3), (4, 3))]),
    case(("numpy.inner", "numpy.vdot", "numpy.outer"), lambda m, a, b: (
        m.inner(a, b), m.vdot(a, b), m.outer(a, b)),
         shapes=[((3,), (3,)), ((2, 3), (2, 3)), ((), ())],
         dtypes=["bool", "uint8", "float32", "complex64"]),
    case("numpy.outer", lambda m, a, b: m.outer(a, b, out=m.zeros((3, 4))), shapes=[((3,), (4,))]),
    case(("numpy.inner", "numpy.vdot"), lambda m, a, b: m.inner(a, b), shapes=[((2, 3), (2,))]),
    case("numpy.vdot", lambda m, a, b: m.vdot(a, b), shapes=[((2, 3), (2,))]),
    case(("numpy.matmul", "numpy.linalg.matmul"), lambda m, a, b: (
        m.matmul(a, b), m.linalg.matmul(a, b)), shapes=[
            ((3,), (3,)), ((2, 3), (3, 4)), ((2, 1, 2, 3), (4, 3, 1)), ((3,), (2, 3, 2)),
            ((2, 0), (0, 2)), ((), (3,)), ((2, 3), (2, 3))],
         dtypes=["bool", "int32", "float16", "complex64"]),
    case(("numpy.vecdot", "numpy.linalg.vecdot"), lambda m, a, b: (
        m.vecdot(a, b), m.linalg.vecdot(a, b), m.vecdot(a, b, axis=0), m.vecdot(a, b, axis=-1)),
         shapes=[((3,), (3,)), ((3, 3), (3, 3)), ((3, 1), (3, 1))],
         dtypes=["bool", "int32", "float32", "complex128"]),
    case(("numpy.vecdot", "numpy.matvec", "numpy.vecmat"), lambda m, a, b: (
        m.vecdot(b, b, out=m.zeros(2)), m.matvec(a, b, dtype="f8"), m.vecmat(b, a))[::-1],
         shapes=[((2, 3, 3), (2, 3))]),
    case("numpy.matvec", lambda m, a, b: m.matvec(a, b),
         shapes=[((2, 3), (3,)), ((4, 2, 3), (4, 3)), ((2, 3), (4, 3)), ((3,), (3,))],
         dtypes=["bool", "int32", "float32", "complex128"]),
    case("numpy.vecmat", lambda m, a, b: m.vecmat(a, b),
         shapes=[((2,), (2, 3)), ((4, 2), (4, 2, 3)), ((4, 2), (2, 3)), ((3,), (3,))],
         dtypes=["bool", "int32", "float32", "complex128"]),
    case(("numpy.tensordot", "numpy.linalg.tensordot"), lambda m, a, b: (
        m.tensordot(a, b, 1), m.tensordot(a, b, ([1], [0])), m.linalg.tensordot(a, b, axes=0),
        m.tensordot(a, a, ((0, 1), (0, 1))), m.tensordot(a, b, (-1, 0))),
         shapes=[((2, 3), (3, 4)), ((1, 2), (2, 3, 1))], dtypes=["bool", "int32", "float64"]),
    case("numpy.tensordot", lambda m, a, b: m.tensordot(a, b), shapes=[((2, 3), (3, 4))]),
    case("numpy.einsum", lambda m, a, b: (
        m.einsum("ij,jk", a, b), m.einsum("ij,jk->ki", a, b), m.einsum("ij->", a),
        m.einsum("ij->i", a), m.einsum("...j,jk->...k", a, b), m.einsum("ij,ij->ij", a, a),
        m.einsum(a, [0, 1], b, [1, 2], [2, 0]), m.einsum(a, [0, 1], b, [1, 2]),
        m.einsum("ij,kj->ik", a, a, optimize=True), m.einsum("ij,jk,lk->il", a, b, b),
        m.einsum("i...->...", a), m.einsum(" ij -> ji ", a)),
         shapes=[((2, 3), (3, 4))], dtypes=["bool", "int32", "float64", "complex64"]),
    case("numpy.einsum", lambda m, a: (
        m.einsum("ii", a), m.einsum("ii->i", a), m.einsum("iij->ji", a[..., None] + a),
        m.einsum("ba", a), m.einsum("...ii->...i", a), m.einsum("...", a)),
         shapes=[((3, 3),)], dtypes=["int64", "float32"]),
    case("numpy.einsum", lambda m, a: m.einsum("ij,jk->ik", a, a, out=m.zeros((3, 3))),
         shapes=[((3, 3),)], dtypes=["float32", "complex128"]),
    case("numpy.einsum", lambda m, a: m.einsum("ij->i", a, dtype="f8"), shapes=[((2, 3),)],
         dtypes=["int32", "float32"]),
    case("numpy.einsum", lambda m, a: m.einsum("ij->k", a), shapes=[((2, 3),)]),
    case("numpy.einsum", lambda m, a: m.einsum("ijk", a), shapes=[((2, 3),)]),
    case("numpy.einsum", lambda m, a: m.einsum("ij,jk", a, a), shapes=[((2, 3),)]),
    case("numpy.einsum_path", lambda m, a, b: (
        m.einsum_path("ij,jk,kl->il", a, b, b.T, optimize="optimal"),
        m.einsum_path("ij,jk", a, b, optimize=False)[0]), shapes=[((2, 3), (3, 4))]),
    case("numpy.kron", lambda m, a, b: (m.kron(a, b), m.kron(b, a), m.kron(a, 2)),
         shapes=[((3,), (2,)), ((2, 3), (2,)), ((2, 1), (1, 3)), ((), (2,)), ((0, 2), (3,))],
         dtypes=["bool", "uint8", "float64"]),
    case(("numpy.cross", "numpy.linalg.cross"), lambda m, a, b: (
        m.cross(a, b), m.linalg.cross(a, b), m.cross(a, b, axis=-1),
        m.cross(a, b, axisc=0)),
         shapes=[((3,), (3,)), ((2, 3), (3,)), ((2, 3), (2, 3))],
         dtypes=["int32", "float32", "complex128"]),
    case("numpy.cross", lambda m, a, b: (
        m.cross(a, b, 0, 0), m.cross(a, b, axisa=0, axisb=0, axisc=0)), shapes=[((3, 2), (3, 2))]),
    case("numpy.cross", lambda m, a, b: m.cross(a, b), shapes=[((4,), (4,))]),
    case("numpy.linalg.cross", lambda m, a, b: m.linalg.cross(a, b), shapes=[((2,), (3,))]),
    case(("numpy.trace", "numpy.ndarray.trace"), lambda m, a: (
        m.trace(a), a.trace(1), m.trace(a, -1, 1, 0), m.trace(a, dtype="c16")),
         shapes=[((3, 3),), ((2, 4),), ((2, 3, 2),)], dtypes=["bool", "uint8", "float32"]),
    case(("numpy.linalg.trace", "numpy.linalg.diagonal"), lambda m, a: (
        m.linalg.trace(a), m.linalg.trace(a, offset=1, dtype="f8"), m.linalg.diagonal(a),
        m.linalg.diagonal(a, offset=-1)), shapes=[((3, 3),), ((2, 3, 2),)], dtypes=PRECISE),
    case("numpy.linalg.outer", lambda m, a, b: m.linalg.outer(a, b),
         shapes=[((3,), (4,)), ((3, 1), (4,))], dtypes=["int32", "complex64"]),
    case("numpy.linalg.matrix_transpose", lambda m, a: m.linalg.matrix_transpose(a),
         shapes=[((2, 3),), ((4, 2, 3),), ((3,),)], dtypes=["int32", "complex64"]),
    # equations and inverses
    case("numpy.linalg.solve", lambda m, a, b: m.linalg.solve(tame(m, a), b),
         shapes=[((3, 3), (3,)), ((2, 3, 3), (3,)), ((2, 3, 3), (2, 3, 1)), ((0, 0), (0, 2)),
                 ((3, 3), (2,)), ((3, 3), ())],
         dtypes=["int64", "float32", ("complex64", "float64")], scale=8),
    case(("numpy.linalg.inv", "numpy.linalg.det", "numpy.linalg.slogdet"), lambda m, a: (
        m.linalg.inv(tame(m, a)), m.linalg.det(a), m.linalg.slogdet(a)),
         shapes=[*SQUARE, ((2, 0, 0),)], dtypes=["int32", "float32", "complex64"], scale=64),
    case("numpy.linalg.inv", lambda m, a: m.linalg.inv(a), shapes=[((2, 3),), ((3,),), ((),)]),
    case("numpy.linalg.inv", lambda m, a: m.linalg.inv(a), shapes=[((2, 2),)], dtypes=["float16"]),
    case("numpy.linalg.matrix_power", lambda m, a: (
        m.linalg.matrix_power(a, 3), m.linalg.matrix_power(a, 0), m.linalg.matrix_power(a, 1),
        m.linalg.matrix_power(tame(m, a), -2)), shapes=SQUARE, dtypes=PRECISE, scale=8),
    case("numpy.linalg.matrix_power", lambda m, a: m.linalg.matrix_power(a, 2.0),
         shapes=[((2, 2),)]),
    case("numpy.linalg.tensorsolve", lambda m, a, b: (
        m.linalg.tensorsolve(tame(m, a).reshape(2, 2, 4), b),
        m.linalg.tensorsolve(tame(m, a).reshape(2, 2, 2, 2), b, axes=(0, 1))),
         shapes=[((4, 4), (2, 2))], dtypes=PRECISE, scale=8),
    case("numpy.linalg.tensorsolve", lambda m, a, b: m.linalg.tensorsolve(a, b),
         shapes=[((4, 4), (2,))]),
    case("numpy.linalg.tensorinv", lambda m, a: (
        m.linalg.tensorinv(tame(m, a).reshape(4, 2, 2), 1),
        m.linalg.tensorinv(tame(m, a).reshape(2, 2, 2, 2))),
         shapes=[((4, 4),)], dtypes=PRECISE, scale=8),
    case("numpy.linalg.tensorinv", lambda m, a: m.linalg.tensorinv(a, 0), shapes=[((4, 4),)]),
    case("numpy.linalg.multi_dot", lambda m, a, b, c: (
        m.linalg.multi_dot([a, b]), m.linalg.multi_dot([a, b, c]),
        m.linalg.multi_dot([a[0], b, c, c[:, 0]]), m.linalg.multi_dot([a[0], b, c]),
        m.linalg.multi_dot([a, b, c, c.T], out=m.zeros((2, 4), a.dtype))),
         shapes=[((2, 3), (3, 4), (4, 4))], dtypes=PRECISE, scale=8),
    case("numpy.linalg.multi_dot", lambda m, a: m.linalg.multi_dot([a]), shapes=[((2, 3),)]),
    case("numpy.linalg.multi_dot", lambda m, a: m.linalg.multi_dot([a, a[None], a]),
         shapes=[((2, 2),)]),
    # decompositions
    case("numpy.linalg.cholesky", lambda m, a: (
        m.linalg.cholesky(hermitian(m, a)), m.linalg.cholesky(hermitian(m, a), upper=True),
        m.linalg.cholesky(m.triu(a, 1) + m.tril(hermitian(m, a))),
        m.linalg.cholesky(m.tril(a, -1) + m.triu(hermitian(m, a)), upper=True)),
         shapes=[*SQUARE, ((0, 0),)], dtypes=PRECISE, scale=64),
    case("numpy.linalg.qr", lambda m, a: (
        back(m, m.linalg.qr(a)), back(m, m.linalg.qr(a, "complete")), m.linalg.qr(a, "r"),
        m.linalg.qr(a, mode="raw")), shapes=[((4, 2),), ((2, 2, 4),), ((0, 2),)],
         dtypes=PRECISE, scale=64),
    case("numpy.linalg.qr", lambda m, a: m.linalg.qr(a, "whole"), shapes=[((2, 2),)]),
    case(("numpy.linalg.eig", "numpy.linalg.eigvals"), eigen, shapes=[*SQUARE, ((1, 1),)],
         dtypes=["int64", "float32"], scale=64, reads="the dtype depends on the eigenvalues"),
    case(("numpy.linalg.eig", "numpy.linalg.eigvals"), lambda m, a: eigen(m, hermitian(m, a)),
         shapes=SQUARE, scale=64, reads="the dtype depends on the eigenvalues"),
    case(("numpy.linalg.eig", "numpy.linalg.eigvals"), eigen, shapes=SQUARE, dtypes=COMPLEX,
         scale=64),
    case("numpy.linalg.eig", lambda m, a: m.linalg.eig(a / 0), shapes=[((2, 2),)],
         reads="the dtype depends on the eigenvalues"),
    case(("numpy.linalg.eigh", "numpy.linalg.eigvalsh"), lambda m, a: (
        m.linalg.eigh(a).eigenvalues, m.linalg.eigvalsh(a), m.linalg.eigvalsh(a, "u"),
        spectral(m, hermitian(m, a), m.linalg.eigh(hermitian(m, a))[1],
                 m.linalg.eigvalsh(hermitian(m, a), UPLO="U"))),
         shapes=SQUARE, dtypes=["int64", "float32", "complex64"], scale=64),
    case("numpy.linalg.eigh", lambda m, a: m.linalg.eigh(a, "X"), shapes=[((2, 2),)]),
    case(("numpy.linalg.svd", "numpy.linalg.svdvals"), lambda m, a: (
        svd(m, a), svd(m, a, full_matrices=False), m.linalg.svdvals(a),
        m.linalg.svd(a, compute_uv=False)), shapes=[((3, 2),), ((2, 2, 3),), ((0, 2),)],
         dtypes=["int32", "float32", "complex64"], scale=64),
    case("numpy.linalg.svd", lambda m, a: (
        svd(m, a + m.swapaxes(a, -1, -2), hermitian=True),
        m.linalg.svd(a + m.swapaxes(a, -1, -2), hermitian=True, compute_uv=False)),
         shapes=SQUARE[1:], dtypes=["int32", "float32"], scale=64),
    case(("numpy.linalg.eigh", "numpy.linalg.qr", "numpy.linalg.slogdet", "numpy.linalg.svd"),
         names, shapes=[((2, 2),)]),
    # norms, ranks and least squares
    case("numpy.linalg.norm", lambda m, a: (
        [m.linalg.norm(a, p) for p in (None, "fro", "nuc", 1, -1, 2, -2, m.inf, -m.inf)],
        [m.linalg.norm(a, p, 0) for p in (None, 0, 1, 2, 3.5, m.inf, -m.inf)],
        m.linalg.norm(a, axis=(1, 0), keepdims=True), m.linalg.norm(a, 1, (0, 1), True),
        m.linalg.norm(a, 2, (0, -1), keepdims=True), m.linalg.norm(a, keepdims=True)),
         shapes=[((3, 2),)], dtypes=["int64", "float32", "complex64"], low=1, scale=16),
    case("numpy.linalg.norm", lambda m, a: (
        m.linalg.norm(a), m.linalg.norm(a, axis=-1), m.linalg.norm(a, "fro", (0, -1)),
        m.linalg.norm(a, m.inf, axis=1)), shapes=[((2, 3, 2),), ((0, 3),), ((2, 2),)],
         dtypes=["float16", "complex128"]),
    case("numpy.linalg.norm", lambda m, a: [m.linalg.norm(a, p) for p in (
        None, 0, 1, 2, -1, 0.5, m.inf, -m.inf)], shapes=[((4,),), ((0,),)], low=1,
         dtypes=["int8", "float32"], scale=4),
    case("numpy.linalg.norm", lambda m, a: [m.linalg.norm(x, p) for x in (a / 0, a[:0])
                                            for p in (-1, -2, 3, m.nan)], shapes=[((2,),)], low=1),
    case("numpy.linalg.norm", lambda m, a: m.linalg.norm(a, "fro"), shapes=[((4,),)]),
    case("numpy.linalg.norm", lambda m, a: m.linalg.norm(a, 3), shapes=[((2, 2),)]),
    case("numpy.linalg.norm", lambda m, a: m.linalg.norm(a, 2), shapes=[((2, 2, 2),), ((),)]),
    case("numpy.linalg.norm", lambda m, a: m.linalg.norm(a, axis=(0, 0)), shapes=[((2, 2),)]),
    case("numpy.linalg.norm", lambda m, a: m.linalg.norm(a, axis=[0, 1]), shapes=[((2, 2),)]),
    case(("numpy.linalg.vector_norm", "numpy.linalg.matrix_norm"), lambda m, a: (
        [m.linalg.vector_norm(a, ord=p) for p in (0, 1, 2, 3, m.inf)],
        m.linalg.vector_norm(a, axis=0), m.linalg.vector_norm(a, axis=(0, 1), keepdims=True),
        m.linalg.matrix_norm(a), m.linalg.matrix_norm(a, ord="nuc", keepdims=True),
        m.linalg.matrix_norm(a, ord=1)), shapes=[((3, 2),), ((2, 2, 3),)],
         dtypes=["int64", "complex64"], low=1, scale=16),
    case("numpy.linalg.cond", lambda m, a: [
        m.linalg.cond(tame(m, a), p) for p in (None, 2, -2, 1, -1, "fro", "nuc", m.inf)],
         shapes=SQUARE[1:], dtypes=["int64", "float32", "complex128"], scale=64),
    case("numpy.linalg.cond", lambda m, a: (m.linalg.cond(a * 0), m.linalg.cond(a * 0, 1)),
         shapes=[((2, 2),)]),
    case("numpy.linalg.cond", lambda m, a: m.linalg.cond(a), shapes=[((0, 2),), ((3, 2),)],
         scale=64),
    case("numpy.linalg.matrix_rank", lambda m, a: (
        m.linalg.matrix_rank(a), m.linalg.matrix_rank(a * 0 + 1), m.linalg.matrix_rank(a, 100.0),
        m.linalg.matrix_rank(a, rtol=1e-3)), shapes=[((3, 2),), ((2, 2, 3),), ((4,),), ((2, 0),)],
         dtypes=PRECISE),
    case("numpy.linalg.matrix_rank", lambda m, a: (
        m.linalg.matrix_rank(a @ m.swapaxes(a, -1, -2), hermitian=True),
        m.linalg.matrix_rank(a, m.asarray([1.0, 100.0]))), shapes=[((2, 3, 3),)]),
    case("numpy.linalg.matrix_rank", lambda m, a: m.linalg.matrix_rank(a, 1.0, rtol=1.0),
         shapes=[((2, 2),)]),
    case("numpy.linalg.pinv", lambda m, a: (
        m.linalg.pinv(a), m.linalg.pinv(a * 0 + 1), m.linalg.pinv(a, rcond=0.5),
        m.linalg.pinv(a, rtol=None) if a.dtype.kind in "fc" else 0),
         shapes=[((2, 2, 3),), ((0, 2),)], dtypes=["int64", "float32", "complex128"], scale=64),
    case("numpy.linalg.pinv", lambda m, a: (
        m.linalg.pinv(a + m.swapaxes(a, -1, -2), hermitian=True),
        m.linalg.pinv(a, rcond=m.asarray([0.1, 0.9]))), shapes=[((2, 3, 3),)], scale=64),
    case("numpy.linalg.pinv", lambda m, a: m.linalg.pinv(a, 1.0, rtol=1.0), shapes=[((2, 2),)]),
    case("numpy.linalg.lstsq", lambda m, a, b: m.linalg.lstsq(a, b),
         shapes=[((4, 2), (4,)), ((4, 2), (4, 3)), ((4, 2), (4, 0))],
         dtypes=["int64", "float32", "complex128"], scale=64, reads=RANK),
    case("numpy.linalg.lstsq", lambda m, a, b: m.linalg.lstsq(a, b, 1e-6),
         shapes=[((2, 4), (2,)), ((3, 3), (3, 2)), ((0, 2), (0,))], dtypes=["float32"], scale=64),
    case("numpy.linalg.lstsq", lambda m, a, b: m.linalg.lstsq(a * 0 + 1, b, -1),
         shapes=[((4, 2), (4,))], dtypes=FLOATS, scale=64, reads=RANK),
    case("numpy.linalg.lstsq", lambda m, a, b: m.linalg.lstsq(a, b),
         shapes=[((4, 2), (3,)), ((4,), (4,))]),
    case("numpy.linalg.LinAlgError", lambda m: (
        issubclass(m.linalg.LinAlgError, ValueError), m.linalg.LinAlgError.__name__)),
]  # fmt: skip
