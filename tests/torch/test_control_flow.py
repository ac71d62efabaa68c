"""``torch.cond``, ``torch.while_loop`` and ``scan``, beside PyTorch's and by themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazyloom_torch as torch
from lazyloom_torch._higher_order_ops import scan
from tests.contract.helpers import counted
from tests.torch import cases_control_flow, random_loops
from tests.torch.oracle import same


@pytest.mark.parametrize("name", cases_control_flow.CASES)
def test_cases_are_pytorchs(name: str) -> None:
    theirs = pytest.importorskip("torch")
    same(cases_control_flow.CASES[name], theirs)


@pytest.mark.parametrize("name", cases_control_flow.CASES)
def test_cases_run(name: str) -> None:
    assert cases_control_flow.CASES[name](torch)


@pytest.mark.parametrize("seed", range(24))
def test_random_loops_are_what_they_are_step_by_step(seed: int) -> None:
    for mine, expected in zip(
        random_loops.results(seed, True), random_loops.results(seed, False), strict=True
    ):
        torch.testing.assert_close(mine, expected, equal_nan=True)


def test_names_stand_where_pytorch_has_them() -> None:
    from lazyloom_torch._higher_order_ops.cond import cond
    from lazyloom_torch._higher_order_ops.scan import scan as scan_there
    from lazyloom_torch._higher_order_ops.while_loop import while_loop

    assert torch.cond is cond and torch.while_loop is while_loop and scan is scan_there


@pytest.mark.compiled
def test_nothing_is_read() -> None:
    x = torch.tensor([1.0, 2.0])
    with counted() as after:
        y = torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x, (x,))
        (z,) = torch.while_loop(lambda z: z.sum() < 100, lambda z: (z * 2,), (y,))
        last, _ = scan(lambda c, x: (c + x, x.clone()), z[0], z)
    assert after.executions == 0
    assert z.sum().item() == 192 and last.item() == 64 + 192


def test_modules_inside_a_loop_are_trained() -> None:
    torch.manual_seed(0)
    cell = torch.nn.LSTMCell(3, 4)
    xs = torch.randn(6, 2, 3)
    zeros = torch.zeros(2, 4)

    def step(state: Any, x: Any) -> Any:
        h, c = cell(x, state)
        return (h, c), h.clone()

    _, given = scan(step, (zeros, zeros), xs)
    given.pow(2).sum().backward()
    found = [p.grad.clone() for p in cell.parameters()]
    cell.zero_grad()
    state, expected = (zeros, zeros), []
    for x in xs:
        state = cell(x, state)
        expected.append(state[0])
    torch.stack(expected).pow(2).sum().backward()
    torch.testing.assert_close(given, torch.stack(expected))
    for a, p in zip(found, cell.parameters(), strict=True):
        torch.testing.assert_close(a, p.grad)


def test_detach_and_no_grad_inside() -> None:
    x = torch.ones(3, requires_grad=True)

    def step(c: Any, _: Any) -> Any:
        with torch.no_grad():
            factor = c * 2
        return c * factor + c.detach(), c

    last, _ = scan(step, x, torch.zeros(2, 1))
    last.sum().backward()
    c, slope = 1.0, 1.0
    for _ in range(2):
        c, slope = c * c * 2 + c, slope * c * 2
    assert last.tolist() == [c] * 3 and x.grad.tolist() == [slope] * 3


def test_each_step_drops_out_others() -> None:
    torch.manual_seed(3)
    _, given = scan(
        lambda c, x: (c + 1, torch.nn.functional.dropout(x, 0.5)), torch.tensor(0),
        torch.ones(20, 30))
    rows = given.numpy()
    assert len(np.unique(rows, axis=0)) > 15 and 0.35 < (rows == 0).mean() < 0.65


def test_steps_with_a_bound_have_gradients() -> None:
    x = torch.tensor(0.5, requires_grad=True)
    _, y = torch.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, torch.tensor(2.0)), max_steps=5)
    y.backward()
    assert y.item() == 0.25 and x.grad.item() == pytest.approx(3 * 2 * 0.25)
    _, y = torch.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, torch.tensor(2.0)))
    with pytest.raises(RuntimeError, match="give max_steps"):
        y.backward()


def test_mapped() -> None:
    xs = torch.tensor([[1.0, 2.0], [-3.0, 4.0]])
    found = torch.vmap(lambda x: torch.cond(x[0] > 0, lambda x: x * 2, lambda x: x - 1, (x,)))(xs)
    assert found.tolist() == [[2, 4], [-4, 3]]
    slope = torch.func.grad(lambda x: scan(lambda c, y: (c * y, c.clone()), x[0], x)[0])
    assert torch.vmap(slope)(xs).tolist() == [[4, 1], [-24, 9]]


def test_buffers_are_not_written() -> None:
    norm = torch.nn.BatchNorm1d(3)
    with pytest.raises(RuntimeError, match="from outside the function <lambda>"):
        scan(lambda c, x: (c, norm(x)), torch.zeros(1), torch.ones(4, 2, 3))


@pytest.mark.parametrize("call, text", [
    (lambda x: torch.cond(x, lambda: x, lambda: x),
     "torch.cond: pred must be a bool or a Tensor of one element, but got a Tensor of shape (3,)"),
    (lambda x: torch.cond(True, 3, lambda: x),
     "torch.cond: true_fn must be callable, but got a int"),
    (lambda x: torch.cond(x[0] > 0, lambda a: a, lambda a: a, (3,)),
     "torch.cond: operands must have Tensors as leaves, but got a int"),
    (lambda x: torch.cond(x[0] > 0, lambda a: a, lambda a: a[0], (x,)),
     "leaf 0 of what the {f} gives is a float32[], expected float32[3] as the {f} gives; cast or "
     "reshape one of them"),
    (lambda x: torch.while_loop(lambda x: x[0] > 0, lambda x: (x[0],), (x,)),
     "leaf 0 of the carry that the {f} gives is a float32[], expected float32[3] as in init_val; "
     "reshape it"),
    (lambda x: torch.while_loop(lambda x: x[0] > 0, lambda x: x, x),
     "torch.while_loop: carried_inputs must be a tuple or list, but got a lazyloom_torch.Tensor"),
    (lambda x: torch.while_loop(lambda x: x > 0, lambda x: (x,), (x,)),
     "the {f} returned a bool[3], expected a bool without dimensions"),
    (lambda x: torch.while_loop(lambda x: bool(x[0] > 0), lambda x: (x,), (x,)),
     "inside the {f}, which lazyloom.while_loop"),
    (lambda x: scan(lambda c, x: (c, x), x, x, dim=1),
     "scan: dim is 1, but a leaf of xs has 1 dimensions"),
    (lambda x: scan(lambda c, x: (c, x), x, []), "scan: xs must have at least one Tensor"),
    (lambda x: scan(lambda c, x: (c.double(), x), x, x),
     "leaf 0 of the carry that the {f} gives is a float64[3], expected float32[3] as in init; "
     "cast it"),
])  # fmt: skip
def test_errors(call: Any, text: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        call(torch.tensor([1.0, 2.0, 3.0]))
    where = f"function <lambda> ({__file__}:{call.__code__.co_firstlineno})"
    assert text.replace("{f}", where) in str(caught.value)


# -- associative_scan ------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 2, 7])
@pytest.mark.parametrize("dim, reverse", [(0, False), (1, False), (-1, True)])
def test_associative_scan_combines_from_one_end(size: int, dim: int, reverse: bool) -> None:
    from lazyloom_torch._higher_order_ops.associative_scan import associative_scan

    shape = [3, 3]
    shape[dim] = size
    a = torch.linspace(0.5, 1.5, 3 * size).reshape(shape).requires_grad_()
    b = torch.linspace(-1, 1, 3 * size).reshape(shape)

    def combine(x: Any, y: Any) -> Any:
        return {"a": x["a"] * y["a"], "b": y["a"] * x["b"] + y["b"]}

    found = associative_scan(combine, {"a": a, "b": b}, dim, reverse, combine_mode="generic")
    rows = [{"a": x, "b": y} for x, y in zip(a.unbind(dim), b.unbind(dim))]
    expected: list[Any] = []
    for row in reversed(rows) if reverse else rows:
        expected.append(combine(expected[-1], row) if expected else row)
    for name in ("a", "b"):
        assert found[name].shape == a.shape and found[name] is not a
        for x, y in zip(found[name].unbind(dim), expected[::-1] if reverse else expected):
            assert torch.allclose(x, y[name])
    if size > 1:
        ours, = torch.autograd.grad(found["b"].sum(), a)
        theirs, = torch.autograd.grad(sum(x["b"].sum() for x in expected), a)
        assert torch.allclose(ours, theirs)


def test_associative_scan_says_what_it_takes() -> None:
    from lazyloom_torch._higher_order_ops import associative_scan

    x = torch.ones(2, 3)
    with pytest.raises(ValueError, match="combine_mode must be"):
        associative_scan(torch.add, x, 0, combine_mode="fast")
    with pytest.raises(RuntimeError, match="give one size along it"):
        associative_scan(lambda a, b: a, (x, torch.ones(3)), 0)
    with pytest.raises(RuntimeError, match="dim is 2"):
        associative_scan(torch.add, x, 2)
    with pytest.raises(RuntimeError):
        associative_scan(lambda a, b: a[None], x, 0)
