"""Functions of the main namespace against NumPy's, as one table of calls."""

from __future__ import annotations

from typing import Any

import numpy as onp
import pytest

import lazyloom_numpy as np
from tests.numpy.helpers import both, data

pytestmark = pytest.mark.usefixtures("quick_compiler")

A = data((3, 4), "float64", 1)
B = data((3, 4), "float64", 2)
I = data((3, 4), "int32", 3)  # noqa: E741
V = data((6,), "float64", 4)
W = onp.array([3, 1, 2, 0, 1, 5], onp.int64)
Z = data((2, 3), "complex128", 5)
T = data((2, 3, 4), "float32", 6)
M = data((3, 4), "bool", 7)
N = onp.where(abs(A) < 1.5, onp.nan, A)
E = onp.zeros((0, 3))

CASES: list[tuple[str, Any, tuple[Any, ...]]] = [
    # creation
    ("zeros ones full", lambda m: (m.zeros(3), m.ones((2, 3), int), m.full((2,), 7),
                                   m.full(2, 1.5, "f4"), m.full((2, 2), [1, 2])), ()),
    ("arange", lambda m: (m.arange(5), m.arange(2, 10, 3), m.arange(0, 1, 0.1), m.arange(5.0),
                          m.arange(10, 0, -3), m.arange(3, dtype="f4"), m.arange(5, 1)), ()),
    ("linspace", lambda m: (m.linspace(0, 1), m.linspace(1, 2, 5, endpoint=False),
                            m.linspace(0, 10, 6, dtype=int), m.linspace(3, 4, 1)), ()),
    ("logspace geomspace", lambda m: (m.logspace(0, 2, 5), m.geomspace(1, 1000, 4)), ()),
    ("eye", lambda m: (m.eye(3), m.eye(2, 4, 1, dtype="i4"), m.identity(2), m.tri(3, 4, 1)), ()),
    ("like", lambda m, a: (m.zeros_like(a), m.ones_like(a, dtype="f4"), m.full_like(a, 2),
                           m.empty_like(a).shape), (I,)),
    ("indices", lambda m: (m.indices((2, 3)), m.indices((2, 3), sparse=True)), ()),
    ("meshgrid", lambda m, v, w: (m.meshgrid(v, w), m.meshgrid(v, w, indexing="ij", sparse=True)),
     (V, W)),
    ("array", lambda m: (m.array([1, 2.5]), m.array([[1], [2]], "u1"), m.array(3, ndmin=2),
                         m.array([True]), m.array([m.float32(1)]), m.array([[], []])), ()),
    ("vander", lambda m, v: (m.vander(v), m.vander(v, 3, increasing=True)), (V,)),
    ("triangles", lambda m, a, t: (m.tril(a), m.triu(a, 1), m.tril(t, -1), m.tril_indices(3),
                                   m.triu_indices(3, 1, 4)), (A, T)),
    ("diag", lambda m, a, v: (m.diag(a), m.diag(v, -1), m.diag(a, 2), m.diagflat(v, 1)), (A, V)),
    ("fromfunction", lambda m: m.fromfunction(lambda i, j: i + 2 * j, (2, 3)), ()),
    # element-wise
    ("clip", lambda m, a: (m.clip(a, -1, 1), a.clip(0), m.clip(a, None, 2), a.clip(max=a * 0)),
     (A,)),
    ("clip ints", lambda m, a: (m.clip(a, 0, 2), m.clip(a, 0.5, 2)), (I,)),
    ("round", lambda m, a: (m.round(a), a.round(1), m.around(a * 100, -1), m.rint(a), m.fix(a)),
     (A,)),
    ("round ints", lambda m, a: (m.round(a), m.round(a * 13, -1)), (I,)),
    ("where", lambda m, a, b, k: (m.where(k, a, b), m.where(k, 1, 0), m.where(k, a, 0),
                                  m.where(a > 0, a, -1.0)), (A, I, M)),
    ("nan_to_num", lambda m, a: (m.nan_to_num(a), m.nan_to_num(a, nan=3.0)), (N,)),
    ("complex", lambda m, z: (z.real, z.imag, m.angle(z), m.angle(z, deg=True), z.conj(), abs(z),
                              m.real(z), m.imag(z), m.iscomplex(z), m.isreal(z)), (Z,)),
    ("close", lambda m, a: (m.isclose(a, a + 1e-9), m.allclose(a, a), m.array_equal(a, a),
                            m.array_equiv(a, a[:1]), m.isclose(a, a + 1)), (A,)),
    ("close nan", lambda m, a: (m.isclose(a, a), m.isclose(a, a, equal_nan=True),
                                m.array_equal(a, a, equal_nan=True)), (N,)),
    ("sinc interp", lambda m, v: (m.sinc(v), m.interp(v, [-2.0, 0, 3], [1.0, 5, 2]),
                                  m.interp(v, [-1.0, 0, 1], [1.0, 5, 2], left=-9)), (V,)),
    ("unwrap", lambda m, v: m.unwrap(v * 3), (V,)),
    ("select", lambda m, v: m.select([v < 0, v > 1], [v, v * 10], 42), (V,)),
    ("piecewise", lambda m, v: m.piecewise(v, [v < 0, v >= 0], [-1, lambda x: x * 2]), (V,)),
    ("inf", lambda m, a: (m.isposinf(a / 0), m.isneginf(a / 0)), (V,)),
    # reductions
    ("sum", lambda m, a, t: (a.sum(), a.sum(0), t.sum((0, 2)), t.sum(-1, keepdims=True),
                             m.sum(a, initial=5.0), m.sum(a, where=a > 0), t.sum(dtype="f8")),
     (A, T)),
    ("sum ints", lambda m, a, k: (a.sum(), k.sum(), a.prod(1), k.sum(0, dtype=bool),
                                  a.astype("u1").sum(), a.sum(dtype="i2")), (I, M)),
    ("max min", lambda m, a, k: (a.max(), a.min(1), m.amax(a, 0, keepdims=True), k.max(0),
                                 a.max(initial=99.0), m.max(a, where=a < 0, initial=-9.0)),
     (A, M)),
    ("nan max", lambda m, a: (a.max(), a.min(0), m.nanmax(a), m.nanmin(a, 1)), (N,)),
    ("mean", lambda m, a, i: (a.mean(), a.mean(1), i.mean(0), m.mean(a, where=a > 0),
                              a.mean((0, 1), keepdims=True), i.mean(dtype="f4")), (A, I)),
    ("var std", lambda m, a, z: (a.var(), a.std(0), a.var(1, ddof=1), z.var(), a.std(where=a > -2),
                                 a.astype("f4").std(keepdims=True)), (A, Z)),
    ("all any", lambda m, k, a: (k.all(), k.any(0), a.any(1), m.all(k, axis=1, keepdims=True),
                                 m.all(k, where=k)), (M, I)),
    ("arg", lambda m, a, k: (a.argmax(), a.argmin(1), m.argmax(a, 0, keepdims=True), k.argmax(1)),
     (A, M)),
    ("count ptp", lambda m, k, a: (m.count_nonzero(k), m.count_nonzero(k, axis=1), m.ptp(a, 0)),
     (M, A)),
    ("cumulative", lambda m, a, i: (a.cumsum(), a.cumsum(1), i.cumprod(0), m.cumsum(i > 0),
                                    m.cumulative_sum(a, axis=1, include_initial=True)), (A, I)),
    ("empty", lambda m, e: (e.sum(), e.prod(0), e.all(), e.any(1), e.sum(0)), (E,)),
    ("nan", lambda m, a: (m.nansum(a), m.nanmean(a, 0), m.nanstd(a), m.nanvar(a, 1), m.nanprod(a),
                          m.nancumsum(a, 1)), (N,)),
    ("average", lambda m, a, b: (m.average(a), m.average(a, 1, abs(b)),
                                 m.average(a, 0, weights=[1, 2, 3])), (A, B)),
    ("quantiles", lambda m, a: (m.median(a), m.median(a, 1), m.quantile(a, 0.3),
                                m.quantile(a, [0.1, 0.9], axis=0), m.percentile(a, 25, axis=1),
                                m.quantile(a, 0.4, method="lower"), m.median(a[:, :3], 1)), (A,)),
    ("cov", lambda m, a: (m.cov(a), m.corrcoef(a), m.cov(a, rowvar=False, bias=True)), (A,)),
    # manipulation
    ("reshape", lambda m, t: (t.reshape(4, 6), t.reshape(-1, 2), m.ravel(t), t.reshape(4, 6,
                              order="F"), t.ravel("F"), t.flatten(), t.T.reshape(24)), (T,)),
    ("transpose", lambda m, t: (t.T, t.transpose(1, 0, 2), m.swapaxes(t, 0, -1), t.mT,
                                m.moveaxis(t, 0, -1), m.moveaxis(t, (0, 1), (1, 2)),
                                m.rollaxis(t, 2)), (T,)),
    ("squeeze expand", lambda m, t: (m.squeeze(t[:1]), m.expand_dims(t, (0, 2)),
                                     t[:, :1].squeeze(1), m.atleast_3d(t[0, 0]),
                                     m.atleast_2d(t[0, 0, 0])), (T,)),
    ("flip", lambda m, t: (m.flip(t), m.flip(t, 1), m.fliplr(t), m.flipud(t), m.rot90(t),
                           m.rot90(t, 2), m.rot90(t, 3, (1, 2))), (T,)),
    ("broadcast", lambda m, v, a: (m.broadcast_to(v[:4], (3, 4)), m.broadcast_arrays(v[:4], a)),
     (V, A)),
    ("concatenate", lambda m, a, i: (m.concatenate([a, i]), m.concatenate((a, i), 1),
                                     m.concatenate([a, i], None), m.hstack([a, i]),
                                     m.dstack([a, a]), m.vstack([a[0], i]),
                                     m.column_stack([a[:, 0], i]),
                                     m.stack([a, i], -1), m.append(a, i, 0)), (A, I)),
    ("block", lambda m, a: m.block([[a, a * 2], [m.zeros((1, 8))]]), (A,)),
    ("split", lambda m, t, v: (m.split(v, 3), m.array_split(v, 4), m.split(v, [1, 4]),
                               m.hsplit(t, 3), m.vsplit(t, 2), m.dsplit(t, 2), m.unstack(t)),
     (T, V)),
    ("repeat tile", lambda m, a: (m.repeat(a, 2), a.repeat(3, 1), m.repeat(a, [1, 0, 2], 0),
                                  m.tile(a, 2), m.tile(a, (2, 1, 2)), m.resize(a, (2, 9))), (A,)),
    ("roll", lambda m, a: (m.roll(a, 1), m.roll(a, -2, 1), m.roll(a, (1, 2), (0, 1)),
                           m.roll(a, 1, (0, 1))), (A,)),
    ("pad", lambda m, a: (m.pad(a, 1), m.pad(a, ((1, 2), (0, 3)), constant_values=7),
                          m.pad(a, 2, "edge"), m.pad(a, 2, "reflect"), m.pad(a, 5, "symmetric"),
                          m.pad(a, (3, 1), "wrap"), m.pad(a, 1, constant_values=((1, 2), (3, 4))),
                          m.pad(a, 2, "maximum"), m.pad(a, 1, "mean")), (A,)),
    ("delete insert", lambda m, v: (m.delete(v, 1), m.delete(v, [0, -1]), m.insert(v, 2, 9.0),
                                    m.insert(v, [0, 3], [8.0, 9.0]), m.delete(v, slice(1, 3))),
     (V,)),
    ("insert 2d", lambda m, a: (m.insert(a, 1, 5.0, axis=1), m.insert(a, 1, a[0], axis=0)), (A,)),
    ("diagonal trace", lambda m, t: (m.diagonal(t), t.diagonal(1, 1, 2), t.trace(),
                                     m.trace(t[0], 1)),
     (T,)),
    ("diff", lambda m, a, i: (m.diff(a), m.diff(a, 2, 0), m.diff(i > 0), m.ediff1d(a),
                              m.diff(a, prepend=0.0), m.diff(a, append=a[:, :1])), (A, I)),
    ("gradient", lambda m, v, a: (m.gradient(v), m.gradient(v, 0.5), m.gradient(a),
                                  m.gradient(v, edge_order=2),
                                  m.gradient(v, m.array([0.0, 1, 3, 4, 7, 8]))), (V, A)),
    ("trapezoid", lambda m, a: (m.trapezoid(a), m.trapezoid(a, dx=2, axis=0),
                                m.trapezoid(a, m.array([0.0, 1, 3, 4]))), (A,)),
    # sorting, searching
    ("sort", lambda m, a, i: (m.sort(a), m.sort(a, 0), m.sort(i, None), m.argsort(a), m.argsort(
        i, kind="stable"), m.lexsort((i[0], i[1]))), (A, I)),
    ("sort nan", lambda m, a: m.sort(a), (N,)),
    ("partition", lambda m, v: m.partition(v, 2)[2], (V,)),
    ("searchsorted", lambda m, v: (m.searchsorted(m.sort(v), [0.0, 1.0]), m.searchsorted(
        m.array([1, 2, 2, 3]), 2, side="right"), m.digitize(v, [-1.0, 0, 2])), (V,)),
    ("take", lambda m, a, w: (m.take(a, [0, 2]), m.take(a, [[0, -1]], axis=1), a.take(w % 3, 0),
                              m.take(a, 7, mode="wrap", axis=0), m.take(a, -7, mode="clip")),
     (A, W)),
    ("along", lambda m, a: (m.take_along_axis(a, m.argsort(a, 1), 1),
                            m.take_along_axis(a, m.argmax(a, 0, keepdims=True), 0)), (A,)),
    ("choose", lambda m, w: m.choose(w % 3, [w, w * 10, w * 100]), (W,)),
    ("dependent", lambda m, i, k, a: (m.nonzero(i), m.argwhere(k), m.flatnonzero(i), m.unique(i),
                                      m.compress([True, False, True], a, 0), m.extract(k, a),
                                      m.unique(i, return_counts=True), m.where(k)), (I, M, A)),
    ("sets", lambda m, w, i: (m.isin(i, w), m.isin(i, [1, 2], invert=True), m.union1d(w, i),
                              m.intersect1d(w, i), m.setdiff1d(w, i), m.setxor1d(w, i)), (W, I)),
    ("bincount", lambda m, w: (m.bincount(w), m.bincount(w, w * 0.5), m.bincount(w, minlength=9)),
     (W,)),
    ("histogram", lambda m, v: (m.histogram(v), m.histogram(v, 3, (-1, 1)),
                                m.histogram(v, [-2.0, 0, 3], density=True)), (V,)),
    ("index helpers", lambda m, w: (m.unravel_index(w, (3, 4)), m.ix_([0, 1], [2]),
                                    m.ravel_multi_index((w % 3, w % 2), (3, 4))), (W,)),
    # products
    ("dot", lambda m, a, b: (m.dot(a, b.T), m.dot(a, b[0]), m.vdot(a, b), m.inner(a, b),
                             m.outer(a[0], b[1]), m.dot(a, 2), a[0] @ b[0], a @ b[0]), (A, B)),
    ("matmul", lambda m, t, k: (m.matmul(t, t.mT), t @ t[0].T, k @ k.T), (T, M)),
    ("tensordot", lambda m, t: (m.tensordot(t, t, 3), m.tensordot(t, t, ([0, 1], [0, 1])),
                                m.dot(t, t.transpose(0, 2, 1)), m.inner(t, t)), (T,)),
    ("einsum", lambda m, a, b: (m.einsum("ij,kj->ik", a, b), m.einsum("ij->j", a), m.einsum(
        "ij,ij", a, b), m.einsum(a, [0, 1], b, [2, 1]), m.einsum("...j->...", a)), (A, B)),
    ("kron cross", lambda m, a, b: (m.kron(a, b[:2]), m.cross(a[:, :3], b[:, :3]),
                                    m.cross(a[:, :2], b[:, :3])), (A, B)),
    ("vec", lambda m, z: (m.vecdot(z, z), m.matvec(z, z[0]), m.vecmat(z[:, 0], z)), (Z,)),
    ("convolve", lambda m, v: (m.convolve(v, [1.0, 2, 3]), m.convolve(v, [1.0, 2], "same"),
                               m.convolve([1, 2, 3], v, "valid"), m.correlate(v, [1.0, 2, 3]),
                               m.correlate(v, [1.0, 2, 3, 4], "same"), m.convolve([1, 2], [3, 4])),
     (V,)),
    ("windows", lambda m: (m.hanning(6), m.hamming(5), m.blackman(7), m.bartlett(6)), ()),
    ("grids from lists", lambda m: (m.mgrid[[slice(2), slice(0, 1, 3j)]], m.ogrid[[slice(3)]]), ()),
    ("grids", lambda m: (m.mgrid[0:2, 0:3], m.ogrid[0:2, 0:3], m.mgrid[0:1:5j]), ()),
    ("along axis", lambda m, t: (m.apply_along_axis(lambda v: v.sum(), 1, t),
                                 m.apply_along_axis(lambda v: v[::-1] * 2, 0, t)), (T,)),
    ("layout", lambda m, a: (m.asfortranarray(a), m.require(a.T, "f4", "C"), m.isfortran(a.T),
                             m.may_share_memory(a, a.T), m.may_share_memory(a, a + 1),
                             m.astype(a, "f4")), (A,)),
    ("polyval", lambda m, v: m.polyval([1.0, 2, 3], v), (V,)),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arrays"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_as_numpy(function: Any, arrays: tuple[Any, ...]) -> None:
    both(function, *arrays, scale=16)


IN_PLACE: list[tuple[str, Any]] = [
    ("fill_diagonal", lambda m, a: m.fill_diagonal(a, 9.0)),
    ("put", lambda m, a: m.put(a, [0, -1, 5], [7.0, 8.0])),
    ("put_along_axis", lambda m, a: m.put_along_axis(a, m.argmax(a, 1, keepdims=True), 99.0, 1)),
    ("putmask", lambda m, a: m.putmask(a, a > 0, [1.0, 2.0])),
    ("place", lambda m, a: m.place(a, a > 0, [1.0, 2.0])),
    ("copyto", lambda m, a: m.copyto(a, [1.0, 2, 3, 4], where=a > 0)),
    ("sort", lambda m, a: a.sort(0)),
    ("fill", lambda m, a: a.fill(3)),
    ("flat", lambda m, a: a.flat.__setitem__(slice(1, 7, 2), [5.0, 6.0])),
    ("flat item", lambda m, a: a.flat.__setitem__(5, 1.0)),
]


@pytest.mark.parametrize("function", [c[1] for c in IN_PLACE], ids=[c[0] for c in IN_PLACE])
def test_in_place(function: Any) -> None:
    def program(m: Any, a: Any) -> Any:
        function(m, a)
        return a

    both(program, A)


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: np.zeros((2, 3)).reshape(4), ValueError, "size 6 into shape"),
    (lambda: np.zeros((2, 3)).sum(2), ValueError, "axis 2 is out of bounds"),
    (lambda: np.concatenate([]), ValueError, "at least one"),
    (lambda: np.concatenate([np.zeros(2), np.zeros((2, 2))]), ValueError, "dimension"),
    (lambda: np.stack([np.zeros(2), np.zeros(3)]), ValueError, "same shape"),
    (lambda: np.zeros((2, 3)) @ np.zeros((2, 3)), ValueError, "matmul"),
    (lambda: np.zeros((0,)).max(), ValueError, "zero-size array"),
    (lambda: np.zeros((0,)).argmax(), ValueError, "empty sequence"),
    (lambda: np.zeros((2, 3)).squeeze(0), ValueError, "not equal to one"),
    (lambda: np.take([1, 2], [5]), IndexError, "out of bounds"),
    (lambda: np.array([[1], [1, 2]]), ValueError, "inhomogeneous"),
    (lambda: np.zeros((2, -1)), ValueError, "negative dimensions"),
    (lambda: np.split(np.zeros(5), 2), ValueError, "equal division"),
    (lambda: np.zeros((2, 3)).T.reshape(6, copy=False), ValueError, "copy"),
    (lambda: np.linalg.solve(np.zeros((2, 3)), np.zeros(2)), np.linalg.LinAlgError, "square"),
])  # fmt: skip
def test_errors(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
