"""Sparse tensors: COO, CSR and CSC, their arithmetic, products and gradients."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import lazyloom_torch as torch

AT, NUMBERS = [[0, 1, 1, 0], [2, 0, 2, 2]], [3.0, 4.0, 5.0, 1.0]
DENSE = np.array([[0, 0, 4], [4, 0, 5]], np.float32)


def sparse(**options: Any) -> Any:
    return torch.sparse_coo_tensor(AT, NUMBERS, (2, 3), **options)


def array(x: Any) -> np.ndarray:
    return (x.to_dense() if x.is_sparse else x).detach().numpy()


def test_a_sparse_tensor_is_a_tensor_of_that_shape_dtype_and_layout() -> None:
    s = sparse()
    assert isinstance(s, torch.Tensor) and s.is_sparse and s.layout is torch.sparse_coo
    assert s.shape == (2, 3) and s.dtype is torch.float32 and s.numel() == 6 and s.ndim == 2
    assert (s.sparse_dim(), s.dense_dim(), s._nnz(), s.is_coalesced()) == (2, 0, 4, False)
    np.testing.assert_array_equal(array(s), DENSE)
    with pytest.raises(RuntimeError, match="coalesce"):
        s.indices()
    once = s.coalesce()
    assert once.indices().tolist() == [[0, 1, 1], [2, 0, 2]] and once.values().tolist() == [4, 4, 5]
    assert once.coalesce() is once and once.t().is_coalesced() is False
    assert torch.sparse_coo_tensor([[1, 4]], [1.0, 2.0]).shape == (5,)
    assert torch.sparse_coo_tensor((2, 3)).to_dense().tolist() == [[0] * 3] * 2
    assert torch.zeros(2, 3, layout=torch.sparse_coo)._nnz() == 0
    assert "nnz=4, layout=torch.sparse_coo" in repr(s)


def test_a_size_alone_is_a_tensor_without_elements() -> None:
    s = torch.sparse_coo_tensor(size=(2, 3), dtype=torch.float64)
    assert (s.shape, s._nnz(), s.dtype, s.is_coalesced()) == ((2, 3), 0, torch.float64, True)
    assert s.to_dense().tolist() == [[0] * 3] * 2 and s._indices().shape == (2, 0)
    assert (s + sparse()).to_dense().tolist() == DENSE.tolist()
    for wrong in ((), ([[0]], None, (2,)), (None, [1.0], None)):
        with pytest.raises(TypeError):
            torch.sparse_coo_tensor(*wrong)
    with pytest.raises(RuntimeError, match="negative"):
        torch.sparse_coo_tensor(size=(-2, 3))


def test_values_of_repeated_indices_are_there_by_the_private_names_alone() -> None:
    s = sparse()
    assert s._values().tolist() == NUMBERS and s._indices().tolist() == AT
    for made in (s, s * 2, s + s, s.t(), s + s.coalesce()):
        assert not made.is_coalesced()
        with pytest.raises(RuntimeError, match="uncoalesced"):
            made.values()
        with pytest.raises(RuntimeError, match="uncoalesced"):
            made.indices()
    once = s.coalesce()
    assert (once + once).is_coalesced() and (once + once).values().tolist() == [8, 8, 10]
    assert torch.sparse_coo_tensor([[1]], 2.0, (3,)).to_dense().tolist() == [0, 2, 0]


@pytest.mark.parametrize(("indices", "message"), [
    ([[0, 2], [0, 0]], "size is inconsistent with indices"), ([[0, -1], [0, 0]], "negative"),
    ([[0, 0], [1, 1]], "uncoalesced"), ([[1, 0], [1, 1]], "uncoalesced")])
def test_indices_are_looked_at_where_that_is_asked_for(indices: Any, message: str) -> None:
    def make(**options: Any) -> Any:
        return torch.sparse_coo_tensor(indices, [1.0, 2.0], (2, 3), is_coalesced=True, **options)

    with pytest.raises(RuntimeError, match=message):
        make(check_invariants=True)
    with torch.sparse.check_sparse_tensor_invariants(), pytest.raises(RuntimeError, match=message):
        make()


@pytest.mark.parametrize(("starts", "others"), [
    ([0, 1, 2], [0, 3]), ([0, 1, 2], [-1, 0]), ([0, 2, 2], [2, 0]), ([0, 2, 2], [1, 1]),
    ([1, 1, 2], [0, 0]), ([0, 2, 1], [0, 0])])
def test_rows_are_looked_at_where_that_is_asked_for(starts: Any, others: Any) -> None:
    with pytest.raises(RuntimeError, match="indices must"):
        torch.sparse_csr_tensor(starts, others, [1.0, 2.0], (2, 3), check_invariants=True)


@pytest.mark.parametrize("dims", [None, 1, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.bool])
def test_to_sparse_and_back(dims: int | None, dtype: Any) -> None:
    x = (torch.arange(24).reshape(2, 4, 3) % 5 - 1).clamp(min=0).to(dtype)
    s = x.to_sparse() if dims is None else x.to_sparse(dims)
    assert s.dtype is dtype and s.is_coalesced() and s.dense_dim() == (3 - dims if dims else 0)
    np.testing.assert_array_equal(s.to_dense().numpy(), x.numpy())
    nothing = torch.zeros(3, 4).to_sparse()
    assert nothing._nnz() == 0 and (nothing @ torch.ones(4, 2)).tolist() == [[0, 0]] * 3


@pytest.mark.parametrize("layout", ["sparse_csr", "sparse_csc"])
def test_rows_and_columns(layout: str) -> None:
    s = sparse().to_sparse(layout=getattr(torch, layout))
    assert s.layout is getattr(torch, layout) and s.is_sparse_csr is (layout == "sparse_csr")
    starts, others = (s.crow_indices(), s.col_indices()) if s.is_sparse_csr else (
        s.ccol_indices(), s.row_indices())
    assert starts.tolist() == ([0, 1, 3] if s.is_sparse_csr else [0, 1, 1, 3])
    made = getattr(torch, f"{layout}_tensor")(starts, others, s.values(), (2, 3))
    for x in (s, made, s.to_sparse_coo(), s.t().t(), s.t().to_sparse_csr().t()):
        np.testing.assert_array_equal(array(x), DENSE)
    np.testing.assert_array_equal(array(s.t()), DENSE.T)
    b = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.testing.assert_array_equal(array(s @ torch.from_numpy(b)), DENSE @ b)
    assert (s * 2 + s).layout is s.layout
    np.testing.assert_array_equal(array(s * 2 + s), DENSE * 3)
    with pytest.raises(RuntimeError, match="layout but got"):
        s.indices()
    with pytest.raises(RuntimeError, match="layout but got Strided"):
        torch.ones(2).crow_indices()


def test_arithmetic_and_products() -> None:
    s, d = sparse(), torch.arange(6.0).reshape(2, 3)
    n, r = d.numpy(), torch.arange(12.0).reshape(3, 4)
    p = torch.nn.Parameter(torch.ones(2, 3))
    for found, wanted in (
        (s + s, 2 * DENSE), (s - s * 3, -2 * DENSE), (d + s, n + DENSE), (d - s, n - DENSE),
        (p + s, 1 + DENSE), (p * s, DENSE), (s * d, n * DENSE), (d * s, n * DENSE),
        (torch.mul(d, s), n * DENSE), (torch.add(d, s, alpha=2), n + 2 * DENSE), (s / 2, DENSE / 2),
        (d.add(s, alpha=2), n + 2 * DENSE), (s * torch.arange(3.0), DENSE * np.arange(3)),
        (-s, -DENSE), (s**2, DENSE**2), (torch.sqrt(s), np.sqrt(DENSE)), (s.relu(), DENSE),
        (s @ r, DENSE @ r.numpy()), (torch.mm(s, r), DENSE @ r.numpy()),
        (torch.spmm(s, r), DENSE @ r.numpy()), (torch.sparse.mm(s, s.t()), DENSE @ DENSE.T),
        (torch.ones(4, 2) @ s, np.ones((4, 2)) @ DENSE), (s @ torch.ones(3), DENSE.sum(1)),
        (torch.ones(2) @ s, DENSE.sum(0)),
        (torch.addmm(torch.ones(2, 4), s, r, beta=2, alpha=3), 2 + 3 * DENSE @ r.numpy()),
        (s.sum(), DENSE.sum()), (s.sum(0), DENSE.sum(0)), (torch.sum(s, 1), DENSE.sum(1)),
        (s.sum(1, keepdim=True), DENSE.sum(1, keepdims=True)), (s[1], DENSE[1]),
        (s[:, 2], DENSE[:, 2]),
        (s[1, 2], DENSE[1, 2]), (s.index_select(1, torch.tensor([2, 0, 2])), DENSE[:, [2, 0, 2]]),
        (torch.cat([s, s], 1), np.hstack([DENSE] * 2)),
        (torch.stack([s, s]), np.stack([DENSE] * 2)),
        (s.unsqueeze(1), DENSE[:, None]), (s.norm(), np.linalg.norm(DENSE)), (s.T, DENSE.T),
        (s.permute(1, 0), DENSE.T), (s.double(), DENSE), (torch.zeros_like(s), 0 * DENSE),
        (s.sparse_mask(torch.ones(2, 3).triu().to_sparse()), np.triu(DENSE)),
        (d.sparse_mask(s.coalesce()), n * (DENSE != 0)), (copy.deepcopy(s), DENSE),
        (s.clone(), DENSE),
        (torch.bmm(torch.stack([s, s]), torch.stack([r, r])), np.stack([DENSE @ r.numpy()] * 2)),
        (torch.nn.functional.linear(s, r.t()), DENSE @ r.numpy()),
        (torch.sparse.sampled_addmm(s.to_sparse_csr(), torch.ones(2, 4), torch.ones(4, 3)),
         (DENSE + 4) * (DENSE != 0)),
        (torch.sparse.spdiags(torch.arange(6.0).reshape(2, 3), torch.tensor([-1, 1]), (3, 3)),
         np.diag([0.0, 1.0], -1) + np.diag([4.0, 5.0], 1)),
    ):
        np.testing.assert_allclose(array(found), wanted, rtol=1e-6)
    inner = torch.sparse.softmax(s, 1).coalesce()
    np.testing.assert_allclose(
        inner.values().numpy(), [1, 1 / (1 + np.e), np.e / (1 + np.e)], rtol=1e-6)
    logarithms = torch.sparse.log_softmax(s, 1).coalesce().values()
    np.testing.assert_allclose(logarithms.exp().numpy(), inner.values().numpy(), rtol=1e-6)
    s.mul_(2).add_(s)
    np.testing.assert_array_equal(array(s), 4 * DENSE)


def test_gradients_reach_values_and_dense_operands() -> None:
    values = torch.tensor(NUMBERS, requires_grad=True)
    s = torch.sparse_coo_tensor(AT, values, (2, 3))
    d = torch.ones(3, 2, requires_grad=True)
    assert s.requires_grad and not s.is_leaf
    (torch.sparse.mm(s, d) ** 2).sum().backward()
    assert values.grad.tolist() == [16, 36, 36, 16]
    assert d.grad.tolist() == [[72] * 2, [0] * 2, [122] * 2]
    values.grad = None
    (s.coalesce().to_dense() * torch.arange(6.0).reshape(2, 3)).sum().backward()
    assert values.grad.tolist() == [2, 3, 5, 2]
    leaf = torch.eye(2).to_sparse().requires_grad_()
    (leaf @ torch.ones(2, 2)).sum().backward()
    assert leaf.is_leaf and leaf.grad.is_sparse
    assert leaf.grad.to_dense().tolist() == [[2, 0], [0, 2]]
    x = torch.tensor([[0.0, 2.0], [3.0, 0.0]], requires_grad=True)
    torch.sparse.sum(x.to_sparse() * x.to_sparse().detach()).backward()
    assert x.grad.tolist() == [[0, 2], [3, 0]]


def test_what_does_not_fit_is_an_error() -> None:
    s = sparse()
    for wrong in (
        lambda: s + torch.ones(2, 3), lambda: s + 1, lambda: s @ torch.ones(2, 2),
        lambda: torch.sparse_coo_tensor([[0, 1]], [1.0]), lambda: s / s,
        lambda: torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (1,), check_invariants=True),
        lambda: torch.sparse_coo_tensor([[0.5]], [1.0]),
        lambda: torch.sparse_coo_tensor([[-1]], [1.0]),
        lambda: torch.sparse_coo_tensor([[0]], [1.0], (2, 2)), lambda: s.reshape(6),
        lambda: torch.ones(2, layout=torch.sparse_coo),
    ):
        with pytest.raises(RuntimeError):
            wrong()
    with pytest.raises(NotImplementedError, match="to_dense"):
        torch.exp(s)
    with pytest.raises(NotImplementedError, match="to_dense"):
        torch.fft.fft(s)
    with pytest.raises(TypeError, match="to_dense"):
        s.numpy()


def test_a_buffer_of_a_module_and_a_graph_convolution() -> None:
    class Convolution(torch.nn.Module):  # type: ignore[misc]
        def __init__(self, graph: Any) -> None:
            super().__init__()
            self.register_buffer("graph", graph)
            self.inner = torch.nn.Linear(3, 2)

        def forward(self, x: Any) -> Any:
            return torch.sparse.mm(self.graph, self.inner(x))

    graph = (torch.eye(4) + torch.ones(4, 4).triu(3)).to_sparse()
    module, x = Convolution(graph), torch.arange(12.0).reshape(4, 3)
    module(x).sum().backward()
    wanted = (graph.to_dense() @ x).sum(0)
    assert module.inner.weight.grad.tolist() == [wanted.tolist()] * 2
    assert module.double().graph.dtype is torch.float64 and module.state_dict()["graph"].is_sparse


#: expressions of a sparse tensor s, whose texts are PyTorch's
TEXTS = (
    "s", "s.coalesce()", "s.to_sparse_csr()", "s.to_sparse_csc()", "s.double()", "s.t()",
    "s.sum(0)",
    "torch.arange(12.).reshape(2, 2, 3).to_sparse(2)", "torch.sparse_coo_tensor((2, 3))", "s * 0.5",
    "torch.tensor(3.).to_sparse()", "torch.sparse.mm(s, s.t())", "s.coalesce().requires_grad_()",
)  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_those_of_pytorch(text: str) -> None:
    theirs = pytest.importorskip("torch")
    at, numbers = AT, NUMBERS

    def made(library: Any) -> str:
        s = library.sparse_coo_tensor(at, numbers, (2, 3))
        return " ".join(repr(eval(text, {"torch": library, "s": s})).split())

    assert made(torch) == made(theirs)
