"""Linear algebra, Fourier transforms and windows against PyTorch; failures that depend on data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyloom
import lazyloom_torch as mine
from tests.torch.oracle import check, host

pytestmark = pytest.mark.usefixtures("quick_compiler")

_rng = np.random.default_rng(5)
A = _rng.normal(size=(2, 4, 3))
Q = _rng.normal(size=(2, 3, 3)) + 3 * np.eye(3)
B = _rng.normal(size=(2, 3, 2))
S = Q @ np.swapaxes(Q, -1, -2)
W = _rng.normal(size=(2, 32))

#: results that signs do not change, by topic; each topic is one program
TOPICS: dict[str, Callable[[Any, Any], list[Any]]] = {
    "factors": lambda t, x: [
        t.linalg.cholesky(x(S)), t.linalg.cholesky_ex(x(S), upper=True), t.linalg.lu(x(A)),
        t.linalg.lu_factor_ex(x(Q)), t.lu_unpack(*t.linalg.lu_factor(x(A)))[0],
        t.linalg.eigvalsh(x(S)), t.linalg.svdvals(x(A)), t.linalg.qr(x(A))[1].abs(),
        t.linalg.svd(x(A))[1], t.linalg.matrix_exp(x(Q) / 4)],
    "equations": lambda t, x: [
        t.linalg.solve(x(Q), x(B)), t.linalg.solve(x(Q), x(B).mT, left=False), t.inverse(x(Q)),
        t.linalg.lstsq(x(A), x(A)[..., :1])[0], t.linalg.pinv(x(A)), t.linalg.det(x(Q)),
        t.linalg.slogdet(x(Q)), t.linalg.tensorsolve(x(Q)[0], x(B)[0, :, 0]),
        t.linalg.solve_triangular(x(Q), x(B), upper=True),
        *[t.linalg.lu_solve(*t.linalg.lu_factor(x(Q)), b, left=left, adjoint=adjoint)
          for left, b in ((True, x(B)), (False, x(B).mT)) for adjoint in (False, True)],
        t.cholesky_solve(x(B), t.linalg.cholesky(x(S))), t.linalg.multi_dot([x(B)[0].T, x(Q)[0]])],
    "norms": lambda t, x: [
        *[t.linalg.matrix_norm(x(A), p) for p in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)],
        *[t.linalg.vector_norm(x(A), p, (0, 2), True) for p in (0, 0.5, 1, 2, np.inf, -np.inf)],
        t.linalg.cond(x(Q)), t.linalg.cond(x(Q), 1), t.linalg.matrix_rank(x(A)),
        t.norm(x(A)[0], "nuc"), t.renorm(x(Q), 2, 0, 1.0), t.cdist(x(A), x(B).mT)],
    "transforms": lambda t, x: [
        t.fft.rfft2(x(A), norm="ortho"), t.fft.irfft(t.fft.fft(x(W)), 30), t.fft.hfft(x(W)),
        t.fft.ihfftn(x(A)), t.fft.fftn(x(A), (3, 5)), t.fft.fftshift(x(W)),
        t.fft.rfftfreq(7, 0.5, dtype=t.float64),
        t.stft(x(W), 8, window=t.hann_window(8, dtype=t.float64), return_complex=True),
        t.istft(t.stft(x(W), 8, 3, return_complex=True), 8, 3),
        t.kaiser_window(5, True, 3.0, dtype=t.float64),
        t.signal.windows.gaussian(6, std=2.0, sym=False, dtype=t.float64)],
    "statistics": lambda t, x: [
        t.cov(x(A)[0], aweights=t.tensor([1.0, 2.0, 3.0], dtype=t.float64)), t.corrcoef(x(A)[0]),
        t.diff(x(W), 3), t.gradient(x(A), dim=(1, 2), spacing=[2.0, 0.5]),
        t.trapezoid(x(A), x(A)[0, :, 0].abs().cumsum(0), dim=1), t.hash_tensor(x(A)),
        t.cumulative_trapezoid(x(W)), t.combinations(x(W)[0, :4], 3),
        t.block_diag(x(A)[0], t.tensor(2.0, dtype=t.float64))],
}


def _results(t: Any, topic: str) -> list[Any]:
    return TOPICS[topic](t, lambda a: t.tensor(a))


def _tensors(found: Any) -> list[Any]:
    if isinstance(found, mine.Tensor):
        return [found]
    return [x for part in found for x in _tensors(part)] if isinstance(found, (tuple, list)) else []


@pytest.mark.parametrize("topic", TOPICS)
def test_it_is_what_pytorch_has(topic: str) -> None:
    torch = pytest.importorskip("torch")
    found = _results(mine, topic)
    lazyloom.sync(*_tensors(found))
    check(host(found), host(_results(torch, topic)), 1e-8, 1e-8)


def test_results_are_named_as_in_pytorch() -> None:
    x = mine.tensor(Q)
    assert type(mine.linalg.svd(x)) is mine.return_types.linalg_svd
    assert mine.linalg.lstsq(x, x)._fields == (
        "solution", "residuals", "rank", "singular_values")
    assert mine.lu_unpack(*mine.linalg.lu_factor(x))._fields == ("P", "L", "U")


def test_what_has_no_result_is_a_linalgerror_when_it_is_read() -> None:
    singular = mine.tensor([[1.0, 2.0], [2.0, 4.0]])
    x = mine.linalg.solve(singular, mine.ones(2))
    inverse = mine.linalg.inv(mine.stack([mine.eye(2), singular])) + 1
    indefinite = mine.linalg.cholesky(mine.tensor([[1.0, 2.0], [2.0, 1.0]]))
    values = mine.linalg.eigvalsh(mine.tensor([[1.0, float("nan")], [0.0, 1.0]]).mT)
    for result, text in ((x, "diagonal element 2 is zero"),
                         (inverse, r"linalg.inv: \(Batch element 1\)"),
                         (indefinite, "leading minor of order 2"), (values, "non-finite")):
        with pytest.raises(mine.linalg.LinAlgError, match=text):
            result.tolist()
    result, info = mine.linalg.inv_ex(singular)
    assert info.item() == 2
    with pytest.raises(mine.linalg.LinAlgError):
        mine.linalg.cholesky_ex(-mine.eye(2), check_errors=True)


def test_full_factors_have_the_gradient_of_the_reduced_ones() -> None:
    grads = []
    for full in (False, True):
        x = mine.tensor(A, requires_grad=True)
        u, s, vh = mine.linalg.svd(x, full_matrices=full)
        ((u[..., :3] @ vh) ** 2 * mine.arange(1.0, 4.0)).sum().add(s.prod()).backward()
        grads.append(x.grad)
    np.testing.assert_allclose(*[g.read() for g in grads], rtol=1e-9, atol=1e-9)


#: functions of Hermitian matrices, of which one triangle is read, and of Cholesky factors
READ_BY_HALVES: dict[str, Callable[[Any, Any], Any]] = {
    "cholesky": lambda t, x: t.linalg.cholesky(x),
    "cholesky upper": lambda t, x: t.linalg.cholesky(x, upper=True),
    "cholesky_ex": lambda t, x: t.linalg.cholesky_ex(x)[0],
    "eigh": lambda t, x: t.linalg.eigh(x)[1].abs(),
    "eigh upper": lambda t, x: t.linalg.eigh(x, UPLO="U")[0],
    "eigvalsh": lambda t, x: t.linalg.eigvalsh(x),
    "pinv": lambda t, x: t.linalg.pinv(x, hermitian=True),
    "distribution": lambda t, x: t.distributions.MultivariateNormal(
        t.zeros(3, dtype=x.dtype), x).log_prob(t.ones(3, dtype=x.dtype)),
    "cholesky_solve": lambda t, x: t.cholesky_solve(t.ones(3, 2, dtype=x.dtype), x.tril()),
    "cholesky_inverse": lambda t, x: t.cholesky_inverse(x.tril().detach().requires_grad_()),
}


@pytest.mark.parametrize("name", READ_BY_HALVES)
def test_gradients_of_what_reads_one_triangle_are_pytorchs(name: str) -> None:
    torch = pytest.importorskip("torch")
    found = []
    for t in (mine, torch):
        x = t.tensor(S[0], requires_grad=True)
        y = READ_BY_HALVES[name](t, x)
        (y * t.arange(1.0, y.numel() + 1, dtype=t.float64).reshape(y.shape)).sum().backward()
        found.append(x.grad)
    check(host(found[0]), host(found[1]), 1e-8, 1e-8)


def test_the_gradient_to_a_cholesky_factor_is_that_of_all_of_it() -> None:
    torch = pytest.importorskip("torch")
    found = []
    for t in (mine, torch):
        x = t.tensor(np.linalg.cholesky(S), requires_grad=True)
        t.cholesky_inverse(x).cumsum(0).cumsum(1).sum().backward()
        found.append(x.grad)
    check(host(found[0]), host(found[1]), 1e-8, 1e-8)


def test_an_exponential_is_exact_however_large_the_matrix() -> None:
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    for angle in (0.3, 5.0, 89.0, 1e4):
        given = mine.tensor(turn * angle, requires_grad=True)
        found = mine.linalg.matrix_exp(given)
        np.testing.assert_allclose(
            found.read(), np.cos(angle) * np.eye(2) + np.sin(angle) * turn, atol=angle * 2e-16)
        found[0, 0].backward()
        np.testing.assert_allclose(  # by a multiple of the identity, which commutes
            given.grad.trace().item(), np.cos(angle), atol=angle * 2e-16)
    # a matrix that is far from normal: the terms of its series are large, and cancel
    x = np.array([[-49.0, 24.0], [-64.0, 31.0]])
    vectors = np.array([[1.0, 3.0], [2.0, 4.0]])
    expected = vectors @ np.diag(np.exp([-1.0, -17.0])) @ np.linalg.inv(vectors)
    np.testing.assert_allclose(
        mine.linalg.matrix_exp(mine.tensor(x)).read(), expected, rtol=1e-13)
    single = mine.linalg.matrix_exp(mine.tensor(x, dtype=mine.float32))
    np.testing.assert_allclose(single.read(), expected, rtol=1e-4)
    scales = mine.tensor([[[1e-9]], [[1.0]], [[-1e6]], [[float("nan")]]], dtype=mine.float64)
    np.testing.assert_array_equal(
        mine.linalg.matrix_exp(scales).read(), np.exp(scales.read()))


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda: mine.linalg.inv(mine.ones(2, 3)), RuntimeError, "square"),
    (lambda: mine.linalg.inv(mine.ones(2, 2, dtype=mine.int64)), RuntimeError, "floating point"),
    (lambda: mine.linalg.eigh(mine.eye(2), "X"), RuntimeError, "UPLO"),
    (lambda: mine.linalg.qr(mine.eye(2), "full"), RuntimeError, "mode"),
    (lambda: mine.linalg.solve(mine.eye(2), mine.ones(3)), RuntimeError, "Incompatible shapes"),
    (lambda: mine.linalg.lu(mine.eye(2), pivot=False), RuntimeError, "CPU"),
    (lambda: mine.linalg.vander(mine.ones(3), N=1), RuntimeError, "greater than 1"),
    (lambda: mine.fft.fft(mine.ones(3), 0), RuntimeError, "data points"),
    (lambda: mine.fft.rfft(mine.ones(3, dtype=mine.complex64)), RuntimeError, "real input"),
    (lambda: mine.fft.fftn(mine.ones(3, 3), dim=(0, 0)), RuntimeError, "unique"),
    (lambda: mine.stft(mine.ones(9), 4), RuntimeError, "return_complex"),
    (lambda: mine.einsum("ij,jk", mine.ones(2, 3), mine.ones(2, 3)), RuntimeError, "broadcast"),
    (lambda: mine.mm(mine.ones(2, 2), mine.ones(2)), RuntimeError, "2-D"),
    (lambda: mine.signal.windows.hann(-1), ValueError, "non-negative"),
])
def test_it_is_refused(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()
