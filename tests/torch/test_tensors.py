"""Tensors by closed forms and NumPy: gradients through mutation, aliasing, dtypes, printing."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import lazyloom
import lazyloom_torch as torch

X = np.arange(6, dtype=np.float32).reshape(2, 3) + 1


def leaf() -> Any:
    return torch.tensor(X, requires_grad=True)


def equal(tensor: Any, expected: Any) -> None:
    np.testing.assert_allclose(tensor.detach().numpy(), expected, rtol=1e-6)


def test_backward_adds_to_grad() -> None:
    x = leaf()
    (x * x).sum().backward()
    (x * x).sum().backward()
    equal(x.grad, 4 * X)


def test_gradients_pass_through_writes_and_views() -> None:
    x = leaf()
    y = x * 2
    v = y[0]
    v.mul_(3)
    y[1, 0] = 7.0
    y.sum().backward()
    equal(x.grad, [[6, 6, 6], [0, 2, 2]])


def test_what_is_wholly_overwritten_has_a_gradient_of_zero() -> None:
    for write in (lambda y, w: y.copy_(w), lambda y, w: y.__setitem__(slice(None), w),
                  lambda y, w: y.view(-1).copy_(w.reshape(-1)), lambda y, w: y.fill_(3.0)):
        x, w = leaf(), leaf()
        y = x * 2
        write(y, w)
        y.sum().backward()
        equal(x.grad, 0 * X)
        assert w.grad is None or w.grad.tolist() == np.ones_like(X).tolist()


def test_a_value_overwritten_without_gradient_keeps_its_place_on_the_tape() -> None:
    x = leaf()
    y = x * 2
    with torch.no_grad():
        y.view(-1)[0] = 100.0
        y.detach().add_(1)
    (y * y).sum().backward()
    expected = 2 * (2 * X + 1)
    expected[0, 0] = 2 * 101
    equal(x.grad, 2 * expected)


def test_views_of_a_leaf_follow_writes_to_it() -> None:
    p = leaf()
    v = p.view(-1)
    with torch.no_grad():
        p.mul_(2)
        p[0, 0] = -1.0
    p.data.add_(1)
    (v * v).sum().backward()
    expected = 2 * X + 1
    expected[0, 0] = 0
    equal(p, expected)
    equal(p.grad, 2 * expected)
    assert p.is_leaf and p.requires_grad and not v.is_leaf


def test_an_alias_can_be_a_leaf_of_its_own() -> None:
    data = torch.tensor(X)
    x = data.detach().requires_grad_()
    (x[0] * x.t()[:, 1] * x.view(-1)[:3]).sum().backward()
    equal(x.grad, [2 * X[0] * X[1], X[0] ** 2])
    assert not data.requires_grad
    with torch.no_grad():
        x[0] = 0.0
    equal(data, [[0, 0, 0], X[1]])


def test_a_detached_sum_may_collect_gradients() -> None:
    x = leaf()
    start = torch.zeros(2, 3)
    total = start.detach()
    total += x * x
    total.sum().backward()
    equal(x.grad, 2 * X)
    equal(start, X * X)


@pytest.mark.parametrize("write", [
    lambda p: p.add_(1), lambda p: p[0].zero_(), lambda p: p.view(-1).__setitem__(0, 1.0),
    lambda p: p.copy_(torch.zeros(2, 3)), lambda p: p.unsqueeze(0).mul_(2),
])
def test_a_leaf_is_not_written_while_gradients_are_recorded(write: Any) -> None:
    p = leaf()
    with pytest.raises(RuntimeError, match="leaf"):
        write(p)
    with torch.no_grad():
        write(p)
    (p * 3).sum().backward()
    equal(p.grad, np.full((2, 3), 3.0))


def test_second_derivatives() -> None:
    x = leaf()
    (g,) = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
    (g * x).sum().backward()
    equal(x.grad, 9 * X * X)


def test_hooks_change_and_see_gradients() -> None:
    x = leaf()
    seen = []
    y = x * 2
    y.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: seen.append(g))
    z = y + 1
    z.retain_grad()
    (z * z).sum().backward()
    equal(z.grad, 2 * (2 * X + 1))
    equal(x.grad, 40 * (2 * X + 1))
    assert len(seen) == 1


def test_hooks_registered_in_any_order_run_from_the_loss_down() -> None:
    x = leaf()
    y = x * 2
    z = y * 3
    z.register_hook(lambda g: g * 5)
    seen = []
    y.register_hook(lambda g: seen.append(g.numpy()))
    z.sum().backward()
    np.testing.assert_allclose(seen[0], np.full((2, 3), 15.0))
    equal(x.grad, np.full((2, 3), 30.0))


def test_lazyloom_grad_takes_these_tensors() -> None:
    found = lazyloom.grad(lambda x: (x.sin() * x).sum())(torch.tensor(X))
    assert isinstance(found, torch.Tensor)
    equal(found, np.cos(X) * X + np.sin(X))


def test_modes_nest_and_decorate() -> None:
    x = leaf()

    @torch.no_grad
    def bare() -> bool:
        return (x * 2).requires_grad

    @torch.enable_grad()
    def enabled() -> bool:
        return (x * 2).requires_grad

    assert not bare()
    with torch.inference_mode():
        assert enabled() and not torch.is_grad_enabled()
    with pytest.raises(ValueError), torch.no_grad():
        raise ValueError
    assert torch.is_grad_enabled()


def test_storage_is_shared_as_pytorch_shares_it() -> None:
    x = torch.arange(12).reshape(3, 4)
    rows = x[1:]
    corner = rows.t()[0]
    corner.fill_(-1)
    np.testing.assert_array_equal(
        x.numpy(), [[0, 1, 2, 3], [-1, 5, 6, 7], [-1, 9, 10, 11]])
    flat = x.t().reshape(-1)
    flat.zero_()
    assert x.sum().item() != 0
    with pytest.raises(RuntimeError, match="reshape"):
        x.t().view(-1)
    assert (x.t().stride(), rows.storage_offset(), x.t().is_contiguous()) == ((1, 4), 4, False)


@pytest.mark.parametrize("name", [
    "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16",
    "bfloat16", "float32", "float64", "complex64", "complex128"])
def test_every_dtype_is_made_written_and_read(name: str) -> None:
    kind = getattr(torch, name)
    x = torch.zeros(4, dtype=kind)
    x[1:3] = 1
    assert x.dtype is kind and repr(kind) == f"torch.{name}"
    assert (x == torch.tensor([0, 1, 1, 0]).to(kind)).all()
    assert x.to(torch.float64 if not kind.is_complex else kind).sum().item() == 2
    assert kind.itemsize == x.element_size()
    assert copy.deepcopy(x).tolist() == x.tolist() == pickle.loads(pickle.dumps(x)).tolist()


@pytest.mark.parametrize(("make", "text"), [
    (lambda: torch.tensor([1.0, 2.5]), "tensor([1.0000, 2.5000])"),
    (lambda: torch.tensor([1, -20]), "tensor([  1, -20])"),
    (lambda: torch.tensor([1.0, 2.0]), "tensor([1., 2.])"),
    (lambda: torch.tensor(3), "tensor(3)"),
    (lambda: torch.tensor([True, False]), "tensor([ True, False])"),
    (lambda: torch.tensor([1e-6, 1.0]), "tensor([1.0000e-06, 1.0000e+00])"),
    (lambda: torch.tensor([]), "tensor([])"),
    (lambda: torch.zeros(2, 0), "tensor([], size=(2, 0))"),
    (lambda: torch.ones(2, dtype=torch.float64), "tensor([1., 1.], dtype=torch.float64)"),
    (lambda: torch.ones(1, requires_grad=True), "tensor([1.], requires_grad=True)"),
    (lambda: torch.tensor([[1, 2], [3, 4]]), "tensor([[1, 2],\n        [3, 4]])"),
    (lambda: torch.tensor([float("nan"), float("inf"), 1.5]), "tensor([   nan,    inf, 1.5000])"),
    (lambda: torch.ones(2, dtype=torch.bfloat16), "tensor([1., 1.], dtype=torch.bfloat16)"),
    (lambda: torch.arange(2000), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"),
    (lambda: torch.nn.Parameter(torch.zeros(1)),
     "Parameter containing:\ntensor([0.], requires_grad=True)"),
    (lambda: torch.tensor([1 + 2j]), "tensor([1.+2.j])"),
])
def test_tensors_print_as_pytorch_prints_them(make: Any, text: str) -> None:
    assert repr(make()) == text


@pytest.mark.parametrize(("f", "error"), [
    (lambda x: x + torch.ones(4), RuntimeError),
    (lambda x: x @ x, RuntimeError),
    (lambda x: x.sum(2), IndexError),
    (lambda x: x[2], IndexError),
    (lambda x: x[0, 0, 0], IndexError),
    (lambda x: x.view(4), RuntimeError),
    (lambda x: x.add_(torch.ones(2, 2, 3)), RuntimeError),
    (lambda x: torch.tensor([1]).add_(1.5), RuntimeError),
    (lambda x: x.to("cuda"), RuntimeError),
    (lambda x: x.requires_grad_().numpy(), RuntimeError),
    (lambda x: torch.tensor([1]).requires_grad_(), RuntimeError),
    (lambda x: x + "a", TypeError),
    (lambda x: x & x, NotImplementedError),
    (lambda x: x.expand(3, 3).add_(1), RuntimeError),
    (lambda x: x[:1].expand(4, 3).add_(1), RuntimeError),
    (lambda x: torch.zeros(2, dtype="float32"), TypeError),
    (lambda x: x.backward(), RuntimeError),
    (lambda x: bool(x), RuntimeError),
    (lambda x: torch.nn.functional.linear(x, torch.ones(2, 2)), RuntimeError),
])
def test_errors_are_of_pytorchs_classes(f: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        f(torch.tensor(X))


def test_runtime_errors_name_op_and_users_line() -> None:
    with pytest.raises(lazyloom.LoomError) as caught:
        torch.ones(3) + torch.ones(4)
    assert caught.value.op == "add"
    assert "test_tensors.py" in str(caught.value.site)


def test_generators_repeat_and_go_on() -> None:
    first = torch.randn(5, generator=torch.Generator().manual_seed(3)).tolist()
    generator = torch.Generator().manual_seed(3)
    assert torch.randn(5, generator=generator).tolist() == first
    state = generator.get_state()
    second = torch.rand(5, generator=generator).tolist()
    assert torch.rand(5, generator=torch.Generator().set_state(state)).tolist() == second
    torch.manual_seed(0)
    a = torch.rand(3).tolist()
    with torch.fork_rng():
        torch.rand(3)
    b = torch.rand(3).tolist()
    torch.manual_seed(0)
    assert (torch.rand(3).tolist(), torch.rand(3).tolist()) == (a, b)
    assert a != b


def test_draws_have_their_distribution() -> None:
    torch.manual_seed(5)
    u, n = torch.rand(20_000).numpy(), torch.randn(20_000).numpy()
    assert 0 <= u.min() and u.max() < 1 and abs(u.mean() - 0.5) < 0.01
    assert abs(n.mean()) < 0.03 and abs(n.std() - 1) < 0.03
    assert sorted(torch.randperm(50).tolist()) == list(range(50))
    i = torch.randint(2, 7, (1000,)).numpy()
    assert set(i.tolist()) == {2, 3, 4, 5, 6}
    assert abs(torch.bernoulli(torch.full((5000,), 0.3)).mean().item() - 0.3) < 0.03
    picks = torch.multinomial(torch.tensor([0.0, 1.0, 3.0]), 2000, replacement=True).numpy()
    assert 0 not in picks and abs((picks == 2).mean() - 0.75) < 0.05
    assert sorted(torch.multinomial(torch.ones(6), 6).tolist()) == list(range(6))


def test_a_copied_module_is_its_own_and_nothing_is_read() -> None:
    layer = torch.nn.Linear(2, 2)
    before = lazyloom.stats()["reads"]
    twin = copy.deepcopy(layer)
    assert lazyloom.stats()["reads"] == before
    with torch.no_grad():
        layer.weight.fill_(0)
    assert twin.weight.requires_grad and twin.weight.is_leaf
    assert float(twin.weight.abs().sum()) > 0


class _Labelled(torch.Tensor):
    def __new__(cls, data: Any, label: str = "", **options: Any) -> Any:
        made = torch.as_tensor(data, **options).as_subclass(cls)
        made.label = label
        return made


def test_subclasses() -> None:
    made = _Labelled([1.0, 2.0], label="a", dtype=torch.float64)
    assert type(made) is _Labelled and made.label == "a" and made.dtype is torch.float64
    assert type(made * 2) is torch.Tensor and (made * 2).tolist() == [2, 4]
    made.mul_(3)
    plain = made.as_subclass(torch.Tensor)
    assert type(plain) is torch.Tensor and plain.tolist() == [3, 6]
    plain[0] = 7
    assert made.tolist() == [7, 6]  # one memory
    x = torch.ones(2, requires_grad=True)
    (x * 2).as_subclass(_Labelled).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2, 2]
    leaf = torch.Tensor._make_subclass(_Labelled, torch.ones(2), True)
    assert type(leaf) is _Labelled and leaf.is_leaf and leaf.requires_grad
    for wrong in (int, 3):
        with pytest.raises(TypeError, match="subclass of Tensor"):
            x.as_subclass(wrong)
    with pytest.raises(TypeError, match="not nothing"):
        torch.Tensor([1.0], nothing=1)


def test_random_integers_below_a_number_with_a_size_by_name() -> None:
    assert torch.randint(1, size=(3,)).tolist() == [0, 0, 0]
    assert torch.randint(high=1, size=(2,)).tolist() == [0, 0]
    assert torch.randint(5, 6, size=(2,)).tolist() == [5, 5]
