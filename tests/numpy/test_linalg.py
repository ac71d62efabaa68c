"""``linalg`` against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as onp
import pytest

import lazyloom
import lazyloom_numpy as np
from tests.numpy.helpers import data, same

A = data((3, 3), "float64", 1) + 5 * onp.eye(3)
C = data((3, 3), "complex128", 2) + 5 * onp.eye(3)
H = C @ C.conj().T
R = data((4, 3), "float64", 4)


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


@pytest.mark.parametrize(("function", "given", "message"), [
    (lambda a: np.linalg.inv(a), onp.ones((2, 2)), "Singular matrix"),
    (lambda a: np.linalg.inv(a), onp.stack([onp.eye(2), onp.zeros((2, 2))]), "Singular matrix"),
    (lambda a: np.linalg.solve(a, a[0]), onp.ones((2, 2)), "Singular matrix"),
    (lambda a: np.linalg.tensorinv(a.reshape(2, 1, 2, 1)), onp.ones((2, 2)), "Singular matrix"),
    (lambda a: np.linalg.matrix_power(a, -1), onp.ones((2, 2), int), "Singular matrix"),
    (lambda a: np.linalg.cholesky(a), -onp.eye(2), "not positive definite"),
    (lambda a: np.linalg.svd(a).Vh, onp.full((2, 2), onp.nan), "SVD did not converge"),
    (lambda a: np.linalg.svdvals(a), onp.full((2, 2), onp.nan), "SVD did not converge"),
    (lambda a: np.linalg.pinv(a), onp.full((2, 2), onp.nan), "SVD did not converge"),
    (lambda a: np.linalg.eigh(a)[1], onp.full((2, 2), onp.nan), "did not converge"),
    (lambda a: np.linalg.eigvals(a * 1j), onp.full((2, 2), onp.nan), "infs or NaNs"),
])  # fmt: skip
def test_what_the_data_forbids_is_an_error_of_the_read(
    function: Any, given: Any, message: str
) -> None:
    a = np.array(given)
    result, other = function(a), a + 1
    double = result * 2
    for x in (double, result):
        for _ in range(2):
            with pytest.raises(np.linalg.LinAlgError, match=message) as caught:
                x.tolist()
            assert __file__ in str(caught.value)
            # the last line of a traceback begins with it
            assert type(caught.value).__name__.endswith("LinAlgError")
    same(other, given + 1)


def test_what_lapack_can_do_is_no_error() -> None:
    same(np.linalg.inv(np.array([[0.0, 2.0], [1.0, 0.0]])), onp.array([[0.0, 1.0], [0.5, 0.0]]))
    nan = onp.array([[onp.nan, 0.0], [0.0, 1.0]])
    assert onp.isnan(onp.asarray(np.linalg.inv(np.array(nan)))).any()
    assert onp.isnan(onp.asarray(np.linalg.cholesky(np.array(nan)))).any()
    same(np.linalg.cond(np.array(onp.ones((2, 2))), 1), onp.array(onp.inf))


def test_a_gradient_passes_what_is_checked() -> None:
    def loss(a: Any) -> Any:
        return (np.linalg.inv(a) * R[:3]).sum()

    numerical = onp.zeros((3, 3))
    for i, j in onp.ndindex(3, 3):
        step = onp.zeros((3, 3))
        step[i, j] = 1e-6
        ahead, behind = (onp.sum(onp.linalg.inv(A + s) * R[:3]) for s in (step, -step))
        numerical[i, j] = (ahead - behind) / 2e-6
    onp.testing.assert_allclose(onp.asarray(lazyloom.grad(loss)(np.array(A))), numerical, rtol=1e-5)


def test_the_record_says_why_eigenvalues_are_read() -> None:
    before = lazyloom.stats()["host_reads_of_data_dependent_shapes"]
    w = np.linalg.eigvals(np.array(A))
    assert lazyloom.last_evaluation().reason == "shape of eigvals, real or complex"
    assert lazyloom.stats()["host_reads_of_data_dependent_shapes"] == before + 1
    same(w, onp.linalg.eigvals(A), scale=1000)


def test_errors() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="square"):
        np.linalg.inv(np.zeros((2, 3)))
    with pytest.raises(np.linalg.LinAlgError, match="two-dimensional"):
        np.linalg.det(np.zeros(3))
    with pytest.raises(TypeError, match="unsupported in linalg"):
        np.linalg.inv(np.eye(2, dtype="f2"))


def test_singular_hermitian_matrices_have_orthogonal_right_vectors() -> None:
    for x in (onp.array([[1.0, 2], [2, 4]]), onp.zeros((3, 3)), onp.diag([0.0, -2, 1])):
        u, s, vh = (onp.asarray(r) for r in np.linalg.svd(np.array(x), hermitian=True))
        onp.testing.assert_allclose(vh @ vh.T, onp.eye(len(x)), atol=1e-12)
        onp.testing.assert_allclose(u * s @ vh, x, atol=1e-12)
