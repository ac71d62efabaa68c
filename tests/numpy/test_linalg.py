"""``linalg`` against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as onp
import pytest

import lazyloom_numpy as np
from tests.numpy.helpers import both, data, same

A = data((3, 3), "float64", 1) + 5 * onp.eye(3)
F = A.astype("float32")
C = data((3, 3), "complex128", 2) + 5 * onp.eye(3)
S = data((2, 3, 3), "float64", 3) + 5 * onp.eye(3)
P = A @ A.T
H = C @ C.conj().T
R = data((4, 3), "float64", 4)
I = onp.array([[2, 1], [1, 3]])  # noqa: E741

CASES: list[tuple[str, Any, tuple[Any, ...]]] = [
    ("solve", lambda m, a, s, c: (m.linalg.solve(a, a[0]), m.linalg.solve(a, s[0][:, :2]),
                                  m.linalg.solve(s, s[:, :, :1]), m.linalg.solve(c, a[1])),
     (A, S, C)),
    ("inv det", lambda m, a, s, f, c, i: (m.linalg.inv(a), m.linalg.inv(s), m.linalg.inv(f),
                                          m.linalg.inv(c), m.linalg.inv(i), m.linalg.det(a),
                                          m.linalg.det(s), m.linalg.det(i), m.linalg.slogdet(a)),
     (A, S, F, C, I)),
    ("cholesky", lambda m, p, h: (m.linalg.cholesky(p), m.linalg.cholesky(h),
                                  m.linalg.cholesky(p, upper=True)), (P, H)),
    ("qr", lambda m, r, a: (tuple(m.linalg.qr(r)), m.linalg.qr(a).R, m.linalg.qr(r, "r")), (R, A)),
    ("values", lambda m, p, h, r: (m.linalg.eigvalsh(p), m.linalg.eigh(h).eigenvalues,
                                   m.linalg.eigvalsh(p, "U"), m.linalg.svdvals(r),
                                   m.linalg.svd(r, compute_uv=False)), (P, H, R)),
    ("norm", lambda m, r, v: (m.linalg.norm(r), m.linalg.norm(v), m.linalg.norm(r, axis=1),
                              m.linalg.norm(v, 1), m.linalg.norm(v, onp.inf), m.linalg.norm(r, 1),
                              m.linalg.norm(r, "nuc"), m.linalg.norm(r, 2), m.linalg.norm(r, -2),
                              m.linalg.norm(r, "fro", keepdims=True), m.linalg.norm(v, 0),
                              m.linalg.vector_norm(r, axis=0, ord=3), m.linalg.matrix_norm(r)),
     (R, R[0])),
    ("power", lambda m, a, i: (m.linalg.matrix_power(a, 3), m.linalg.matrix_power(i, 5),
                               m.linalg.matrix_power(a, -2), m.linalg.matrix_power(i, 0)), (A, I)),
    ("rank", lambda m, r, i: (m.linalg.matrix_rank(r), m.linalg.matrix_rank(i * 0 + 1),
                              m.linalg.cond(r), m.linalg.pinv(r), m.linalg.cond(i, 1)), (R, I)),
    ("lstsq", lambda m, r: m.linalg.lstsq(r, r[:, 0] * 2 + 1), (R,)),
    ("multi_dot", lambda m, r, a: (m.linalg.multi_dot([r, a, a]), m.linalg.multi_dot(
        [a[0], a, r.T])), (R, A)),
    ("tensor", lambda m, a: (m.linalg.tensorsolve(a.reshape(3, 3, 1), a[0]), m.linalg.tensorinv(
        a.reshape(3, 1, 3, 1), 2)), (A,)),
    ("others", lambda m, a, s: (m.linalg.trace(s), m.linalg.diagonal(s), m.linalg.outer(a[0], a[1]),
                                m.linalg.cross(a, a[::-1]), m.linalg.matmul(a, a),
                                m.linalg.vecdot(a, a), m.linalg.matrix_transpose(s)), (A, S)),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arrays"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_as_numpy(function: Any, arrays: tuple[Any, ...]) -> None:
    both(function, *arrays, scale=1000)


def test_factors_multiply_back() -> None:
    r, h = np.array(R), np.array(H)
    u, s, vh = np.linalg.svd(r, full_matrices=False)
    same((u * s) @ vh, R, scale=1000)
    u, s, vh = np.linalg.svd(r)
    assert u.shape == (4, 4) and vh.shape == (3, 3)
    same(u.T @ u, onp.eye(4), scale=1000)
    w, v = np.linalg.eigh(h)
    same((v * w) @ v.conj().T, H, scale=1000)
    q, t = np.linalg.qr(r, "complete")
    same(q @ t, R, scale=1000)


def test_errors() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="square"):
        np.linalg.inv(np.zeros((2, 3)))
    with pytest.raises(np.linalg.LinAlgError, match="two-dimensional"):
        np.linalg.det(np.zeros(3))
    with pytest.raises(TypeError, match="unsupported in linalg"):
        np.linalg.inv(np.eye(2, dtype="f2"))
