"""A second pass through the same graph: only what the first one saved is gone.

PyTorch frees the tensors that derivatives take and keeps the graph, so that ops that saved nothing
can be gone through again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lazyloom
import lazyloom_torch as torch

F = torch.nn.functional

pytestmark = pytest.mark.usefixtures("quick_compiler")

#: ops whose derivatives take no data
NOTHING_SAVED: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda t, x: x + 1, "add tensor": lambda t, x: x + t.ones(3, 4),
    "subtract": lambda t, x: t.ones(4) - x, "negative": lambda t, x: -x,
    "times a number": lambda t, x: x * 3.0, "over a number": lambda t, x: x / 3.0,
    "sum": lambda t, x: x.sum(0), "mean": lambda t, x: x.mean(1),
    "cumsum": lambda t, x: x.cumsum(0),
    "cat": lambda t, x: t.cat([x, x]), "stack": lambda t, x: t.stack([x, x]),
    "pad": lambda t, x: t.nn.functional.pad(x, (1, 2)), "float": lambda t, x: x.double(),
    "view": lambda t, x: x.view(4, 3), "transpose": lambda t, x: x.t(), "slice": lambda t, x: x[1:],
    "expand": lambda t, x: x.expand(2, 3, 4), "flip": lambda t, x: x.flip(0),
    "roll": lambda t, x: x.roll(1), "diagonal": lambda t, x: x.diagonal(),
    "tril": lambda t, x: x.tril(),
    "clone": lambda t, x: x.clone(), "repeat": lambda t, x: x.repeat(2, 1),
    "unbind": lambda t, x: x.unbind(0)[1], "floor": lambda t, x: x + x.floor(),
    "fmod": lambda t, x: x.fmod(2.0), "fmod tensor": lambda t, x: x.fmod(t.full((4,), 2.0)),
    "remainder": lambda t, x: x % 2.0, "remainder tensor": lambda t, x: x % t.full((4,), -2.0),
    "remainder of a number": lambda t, x: x + x.detach().fmod(2.0), "sign": lambda t, x: x.sign(),
    "frac": lambda t, x: x.frac(), "round": lambda t, x: x + x.round(),
    "trace": lambda t, x: x[:, :3].trace(), "lerp": lambda t, x: x.lerp(x + 1, 0.5),
    "copy_": lambda t, x: t.zeros(3, 4).copy_(x), "data written": lambda t, x: _written(x * 1.0),
}  # fmt: skip
#: PyTorch saves the number, as a tensor
ONLY_HERE = ("times a number", "over a number", "data written")
#: and some that take them
SAVED: dict[str, Callable[[Any, Any], Any]] = {
    "divisor": lambda t, x: t.ones(4).fmod(x), "divisor of %": lambda t, x: t.full((4,), 5.0) % x,
    "product": lambda t, x: x * x, "power": lambda t, x: x**2, "exp": lambda t, x: x.exp(),
    "divide": lambda t, x: 1 / x, "matmul": lambda t, x: x @ x.t(), "abs": lambda t, x: x.abs(),
    "relu": lambda t, x: x.relu(), "max": lambda t, x: x.max(0).values,
    "sort": lambda t, x: x.sort().values,
    "prod": lambda t, x: x.prod(0), "softmax": lambda t, x: x.softmax(0),
    "var": lambda t, x: x.var(),
    "clamp": lambda t, x: x.clamp(0, 1), "where": lambda t, x: t.where(x > 0, x, x + 1),
    "gather": lambda t, x: x.gather(0, t.zeros(1, 4, dtype=t.int64)),
    "index": lambda t, x: x[t.tensor([0, 2])], "mask": lambda t, x: x.masked_fill(x > 0, 1.0),
    "layer norm": lambda t, x: t.nn.functional.layer_norm(x, (4,)),
    "linear": lambda t, x: t.nn.functional.linear(x, t.ones(2, 4), t.ones(2)),
}  # fmt: skip


def _written(x: Any) -> Any:
    x.data[0] = 7.0
    return x


def passes(t: Any, op: Callable[[Any, Any], Any], read: bool) -> list[Any]:
    """The gradients after one pass and after a second one, or that it raised."""
    x = t.arange(1.25, 7.25, 0.5).reshape(3, 4).requires_grad_()
    loss = op(t, x + 0.5).sum()
    if read:
        loss.item()
    loss.backward()
    found = [x.grad.tolist()]
    if read:
        x.grad = None
    try:
        loss.backward()
    except RuntimeError:
        return [*found, "refused"]
    return [*found, x.grad.tolist()]


@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize("name", NOTHING_SAVED)
def test_a_second_pass_through_ops_that_saved_nothing(name: str, read: bool) -> None:
    first, second = passes(torch, NOTHING_SAVED[name], read)
    factor = 1 if read else 2
    assert second == [[factor * g for g in row] for row in first]


@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize("name", SAVED)
def test_a_second_pass_through_ops_that_saved_something_is_refused(name: str, read: bool) -> None:
    assert passes(torch, SAVED[name], read)[1] == "refused"


@pytest.mark.parametrize("name", [n for n in (*NOTHING_SAVED, *SAVED) if n not in ONLY_HERE])
def test_pytorch_does_the_same(name: str) -> None:
    theirs = pytest.importorskip("torch")
    op = {**NOTHING_SAVED, **SAVED}[name]
    (mine, again), (expected, expected_again) = passes(torch, op, False), passes(theirs, op, False)
    assert (again == "refused") == (expected_again == "refused")
    assert mine == [pytest.approx(row, rel=1e-5, abs=1e-6) for row in expected]


def test_two_losses_of_a_shared_part_that_saved_nothing() -> None:
    x = torch.tensor([1.0, 2.0]).requires_grad_()
    shared = torch.cat([x.double(), x + 1])
    (shared * 2).sum().backward()
    (shared**2).sum().backward()
    assert x.grad.tolist() == [2 + 2 + 2 * 1 + 2 * 2, 2 + 2 + 2 * 2 + 2 * 3]


def test_the_gradient_by_a_result_whose_own_tape_is_gone() -> None:
    x = torch.tensor([1.0, 2.0]).requires_grad_()
    hidden = x.exp()
    loss = (hidden + 1).sum()
    loss.backward()
    assert torch.autograd.grad(loss, hidden, retain_graph=True)[0].tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="freed"):
        torch.autograd.grad(loss, x)
    with pytest.raises(RuntimeError, match="freed"):
        torch.autograd.grad(loss, [hidden, x])
    with pytest.raises(RuntimeError, match="freed"):
        loss.backward()


def test_a_function_of_the_user_s_that_saved_nothing() -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2 * ctx.saved_tensors[0]

    x = torch.tensor([3.0]).requires_grad_()
    loss = Double.apply(x).sum()
    loss.backward()
    loss.backward()
    assert x.grad.tolist() == [4]
    loss = Square.apply(x).sum()
    loss.backward()
    with pytest.raises(RuntimeError):
        loss.backward()


def test_a_kept_loss_keeps_no_data_of_what_its_tape_saved() -> None:
    x = torch.ones(256, 256).requires_grad_()
    hidden = x.exp()
    product = hidden @ hidden
    loss = (product + x).sum()
    nodes = [hidden._operand().node, product._operand().node]
    del hidden, product
    loss.backward()
    assert x.grad.shape == (256, 256) and x.grad[0, 0].item() > 1
    lazyloom.sync(loss)
    assert all(n.buffers is None or n.buffers == [None] for n in nodes)
    with pytest.raises(RuntimeError, match="freed"):
        loss.backward()


def test_a_hook_of_a_result_keeps_no_data() -> None:
    x = torch.ones(1 << 12).requires_grad_()
    hidden = x + 1
    hidden.register_hook(lambda g: g * 10)
    node = hidden._operand().node
    loss = hidden.sum()
    del hidden
    loss.item()
    assert node.buffers is None or node.buffers == [None]
    loss.backward()
    assert x.grad[:2].tolist() == [10, 10]


@pytest.mark.compiled
def test_a_linear_loss_that_is_kept_lets_parameters_be_donated(fresh_cache: Any) -> None:
    # the sum and the addition of the bias save nothing, and lead to the product's freed tape
    model = torch.nn.Sequential(
        torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.ones(4, 8)
    weights = sum(p.numel() for p in model.parameters()) * 4
    for _ in range(4):
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        lazyloom.sync(loss, wait=True)
    record = lazyloom.last_evaluation()
    assert record is not None and record.bytes_donated >= 3 * weights
    with pytest.raises(RuntimeError, match="freed"):
        loss.backward()
