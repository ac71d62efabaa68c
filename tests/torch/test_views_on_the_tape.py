"""A view of a view passes its gradient by way of the view that it was taken from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lazyloom_torch as torch

pytestmark = pytest.mark.usefixtures("quick_compiler")

VIEWS: dict[str, Callable[[Any], Any]] = {
    "view": lambda h: h.view(2, 6), "slice": lambda h: h[1:], "t": lambda h: h.t(),
    "unsqueeze": lambda h: h.unsqueeze(0), "expand": lambda h: h.unsqueeze(0).expand(2, 3, 4),
    "same": lambda h: h.view(3, 4),
}  # fmt: skip
OF_VIEWS: dict[str, Callable[[Any], Any]] = {
    "reshape": lambda f: f.reshape(-1), "index": lambda f: f[0],
    "swap": lambda f: f.transpose(0, 1), "split": lambda f: f.split(1)[0], "copy": lambda f: f * 1,
}  # fmt: skip


@pytest.mark.parametrize("second", OF_VIEWS)
@pytest.mark.parametrize("first", VIEWS)
def test_gradients_with_respect_to_a_view(first: str, second: str) -> None:
    x = torch.arange(12.0).reshape(3, 4).requires_grad_()
    f = VIEWS[first](x * 2)
    seen: list[Any] = []
    f.register_hook(lambda g: seen.append(g.tolist()))
    loss = (OF_VIEWS[second](f) ** 2).sum()
    (direct,) = torch.autograd.grad(loss, f, retain_graph=True)
    leaf = f.detach().clone().requires_grad_()
    (OF_VIEWS[second](leaf) ** 2).sum().backward()
    assert direct.tolist() == leaf.grad.tolist()
    seen.clear()
    f.retain_grad()
    loss.backward()
    assert seen == [leaf.grad.tolist()] and f.grad.tolist() == leaf.grad.tolist()


def test_a_hook_of_a_view_changes_what_flows_to_its_base() -> None:
    x = torch.arange(4.0).requires_grad_()
    f = (x * 2).view(2, 2)
    v = f[0]
    v.register_hook(lambda g: g * 3)
    f.register_hook(lambda g: g * 10)
    v.sum().backward()
    assert x.grad.tolist() == [60, 60, 0, 0]


def test_a_hook_of_a_view_of_everything_is_not_one_of_its_base() -> None:
    x = torch.arange(4.0).requires_grad_()
    h = x * 2
    h.view(4).register_hook(lambda g: g * 10)
    h.sum().backward()
    assert x.grad.tolist() == [2, 2, 2, 2]
    x.grad = None
    f = (x * 2).view(4)
    f.register_hook(lambda g: g * 10)
    f.view(2, 2).sum().backward()
    assert x.grad.tolist() == [20, 20, 20, 20]


def test_a_write_takes_the_views_off_that_way() -> None:
    x = torch.arange(4.0).requires_grad_()
    h = x * 2
    f = h.view(2, 2)
    v = f[0]
    h.mul_(3)
    (after,) = torch.autograd.grad(v.sum(), x)
    assert after.tolist() == [6, 6, 0, 0]
    base = torch.zeros(2, 2)
    row = base[0]
    end = row[1:]
    row.copy_(x[:2])
    end.sum().backward()
    assert x.grad.tolist() == [0, 1, 0, 0]


def test_views_of_a_leaf_outlive_a_backward_pass() -> None:
    x = torch.arange(4.0).requires_grad_()
    w = x.view(2, 2)
    a, b = w[0], w[1]
    a.sum().backward()
    (b * 3).sum().backward()
    (a * b).sum().backward()
    assert x.grad.tolist() == [3, 4, 3, 4]


def test_the_penalty_on_a_generators_gradient() -> None:
    # the pattern of gradient penalties: the generator ends in a view, the critic begins with one
    x = torch.ones(2, 3).requires_grad_()
    image = (x * 2).view(2, 1, 3)
    score = image.view(2, -1).pow(2).sum(1, keepdim=True)
    (g,) = torch.autograd.grad(score, image, torch.ones(2, 1), create_graph=True)
    (g**2).sum().backward()
    assert g.tolist() == [[[4.0] * 3]] * 2 and x.grad.tolist() == [[32.0] * 3] * 2


@pytest.mark.parametrize("index", [(), (slice(None),), (0,)])
def test_a_leaf_is_not_written_even_with_what_it_holds(index: Any) -> None:
    leaf = torch.tensor([[1.0, 2.0]], requires_grad=True)
    target = leaf if index else leaf[0, 0]
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        target[index] = target[index]
    with torch.no_grad():
        target[index] = target[index]
    computed = leaf * 2
    computed[index or (0, 0)] += 1  # ends with a write of what is there
    assert computed.sum().item() in (7, 8)


def test_a_view_of_what_requires_a_gradient_requires_one_whatever_is_written() -> None:
    leaf = torch.ones(3, 4, requires_grad=True)
    for written in (torch.tensor(1.0), torch.zeros(2)):
        base = torch.zeros(3, 4)
        row = base.select(0, 0)
        part = row.narrow(0, 1, 2)
        base.add_(leaf)
        part.copy_(written)
        assert [t.requires_grad for t in (base, row, part)] == [True] * 3
        assert [t.is_leaf for t in (base, row, part)] == [False] * 3
    base.sum().backward()
    assert leaf.grad.tolist() == [[1, 0, 0, 1], [1] * 4, [1] * 4]


@pytest.mark.parametrize("read", [lambda v: v.sigmoid(), lambda v: v.tolist()])
@pytest.mark.parametrize("shape", [(), (2,)])
def test_a_view_of_data_that_is_read_without_gradients_keeps_its_own(
    read: Any, shape: tuple[int, ...]
) -> None:
    leaf = torch.full(shape, 0.5).requires_grad_()
    alias = leaf.data
    view, data = alias.reshape(-1), leaf.data
    alias.mul_(leaf)
    with torch.no_grad():
        read(view)
        read(data)
    assert view.requires_grad and not view.is_leaf and not data.requires_grad
    view.sum().backward()
    assert leaf.grad.flatten().tolist() == [0.5] * view.numel()


def test_elements_written_where_they_are_through_another_alias_bring_their_history() -> None:
    leaf = torch.ones(3, 1, requires_grad=True)
    computed = torch.cat([leaf, torch.zeros(3, 1)])
    alias = computed.detach()
    alias[:, -1] = computed.view(6)
    assert alias.requires_grad and not alias.is_leaf
    (alias * 3).sum().backward(retain_graph=True)
    assert leaf.grad.tolist() == [[3]] * 3
    first, second = computed.detach(), computed.detach().requires_grad_()
    first[0:2] = second[0:2]
    first.sum().backward()
    assert second.grad.tolist() == [[1]] * 2 + [[0]] * 4


def test_elements_written_where_they_are_without_gradient_end_theirs() -> None:
    leaf = torch.ones(3, requires_grad=True)
    computed = leaf * 2
    computed[:2] = computed.detach()[:2]
    computed.sum().backward()
    assert leaf.grad.tolist() == [0, 0, 2]


#: leaves that are views, and tensors that are computed
LEAVES: dict[str, Callable[[], Any]] = {
    "whole": lambda: torch.ones(3).requires_grad_(),
    "reshape": lambda: torch.ones(1, 3).reshape(3).requires_grad_(),
    "slice": lambda: torch.ones(3)[:].requires_grad_(),
    "detach": lambda: torch.ones(3).detach().requires_grad_(),
    "part": lambda: torch.ones(2, 3)[1].requires_grad_(),
    "parameter": lambda: torch.nn.Parameter(torch.ones(1, 3).view(-1)),
    "computed": lambda: torch.ones(3).requires_grad_() * 1,
    "view of computed": lambda: (torch.ones(1, 3).requires_grad_() * 1).view(3),
}  # fmt: skip
#: what has the same elements in the same order, and is another tensor
ALIASES: dict[str, Callable[[Any], Any]] = {
    "slice": lambda x: x[:], "view": lambda x: x.view(3), "expand": lambda x: x.expand(3),
    "permute": lambda x: x.permute(0), "narrow": lambda x: x.narrow(0, 0, 3),
    "split": lambda x: x.split(3)[0], "there and back": lambda x: x.unsqueeze(0).squeeze(0),
    "clone": lambda x: x.clone(), "strided": lambda x: x.as_strided((3,), (1,)),
    "copy_": lambda x: torch.zeros(3).copy_(x), "scatter": lambda x: x.slice_scatter(x),
    "setitem": lambda x: _written(torch.zeros(3), x),
    "view of written": lambda x: _written(torch.zeros(1, 3), x).view(3),
}  # fmt: skip


def _written(to: Any, x: Any) -> Any:
    to[...] = x
    return to


@pytest.mark.parametrize("alias", ALIASES)
@pytest.mark.parametrize("leaf", LEAVES)
def test_what_has_the_same_elements_has_hooks_and_a_gradient_of_its_own(
    leaf: str, alias: str
) -> None:
    def made() -> tuple[Any, Any]:
        x = LEAVES[leaf]()
        if not x.is_leaf:
            x.retain_grad()
        return x, ALIASES[alias](x)

    x, y = made()
    y.register_hook(lambda g: g * 10)
    (x * 2).sum().backward()  # does not use y
    assert x.grad.tolist() == [2, 2, 2]
    x, y = made()
    loss = (x * 2).sum() + (y * 3).sum()
    assert torch.autograd.grad(loss, y, retain_graph=True)[0].tolist() == [3, 3, 3]
    y.register_hook(lambda g: g * 10)  # after it was used
    loss.backward()
    assert x.grad.tolist() == [32, 32, 32]
    x, y = made()
    y.retain_grad()
    x.register_hook(lambda g: g * 10)
    ((x * 2).sum() + y.sum()).backward()
    assert y.grad.tolist() == [1, 1, 1] and x.grad.tolist() == [30, 30, 30]


def test_strides_of_a_view_keep_the_gradient_of_the_view() -> None:
    x = torch.arange(6.0).requires_grad_()
    h = (x * 1)[1:]
    (windows := h.as_strided((2, 3), (2, 1))).sum().backward(inputs=[h])
    assert windows.tolist() == [[1, 2, 3], [3, 4, 5]] and h.grad.tolist() == [1, 1, 2, 1, 1]
