"""The order of hooks in a backward pass, and hooks on several gradients; beside PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lazyloom_torch as torch

pytestmark = pytest.mark.usefixtures("quick_compiler")


def leaf(t: Any) -> Any:
    return t.ones(2, requires_grad=True)


def order(t: Any) -> list[str]:
    """Who is called when, of hooks of tensors and nodes registered in another order."""
    log: list[str] = []
    a = leaf(t)
    b = a * 2
    c = b * 3
    c.grad_fn.register_hook(lambda i, o: log.append("node after"))
    c.grad_fn.register_prehook(lambda o: log.append("node before"))
    c.register_hook(lambda g: log.append("tensor"))
    c.grad_fn.register_prehook(lambda o: log.append("node before, too"))
    b.grad_fn.register_prehook(lambda o: log.append("inner node before"))
    b.register_hook(lambda g: log.append("inner tensor"))
    accumulate = b.grad_fn.next_functions[0][0]
    accumulate.register_hook(lambda i, o: log.append("leaf node after"))
    accumulate.register_prehook(lambda o: log.append("leaf node before"))
    a.register_post_accumulate_grad_hook(lambda x: log.append("leaf accumulated"))
    a.register_hook(lambda g: log.append("leaf"))
    c.sum().backward()
    return log


def changes(t: Any) -> tuple[Any, ...]:
    """What each kind of hook sees of what the others changed, and what is retained."""
    log: list[Any] = []
    a = leaf(t)
    c = a * 2 * 3
    c.retain_grad()
    c.grad_fn.register_hook(lambda i, o: log.append((i[0].tolist(), o[0].tolist())))
    c.grad_fn.register_prehook(lambda o: (o[0] * 5,))
    c.register_hook(lambda g: g * 7)
    c.sum().backward()
    return log, c.grad.tolist(), a.grad.tolist()


def several(t: Any, mode: str) -> list[Any]:
    """What a hook on several tensors is called with in each of five passes."""
    log: list[Any] = []
    a, b = leaf(t), leaf(t)
    c, d = a * b, a + 1
    told = (lambda g: log.append(g.tolist())) if mode == "any" else (
        lambda g: log.append([None if x is None else x.tolist() for x in g]))
    handle = t.autograd.graph.register_multi_grad_hook([c, d, b], told, mode=mode)
    c.sum().backward(retain_graph=True)
    (c.sum() * 2 + d.sum()).backward(retain_graph=True)
    d.sum().backward(retain_graph=True)
    (a * 1).sum().backward()
    handle.remove()
    c.sum().backward()
    return log


def by_grad(t: Any) -> list[Any]:
    """The same where gradients are asked for, twice over one graph."""
    log: list[Any] = []
    a = leaf(t)
    c = a * 2
    d = c * c
    t.autograd.graph.register_multi_grad_hook([c, d], lambda g: log.append(len(g)))
    (g,) = t.autograd.grad(d.sum(), a, create_graph=True)
    g.sum().backward()
    t.autograd.grad(d.sum(), c)
    return log


PROGRAMS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "order": (order, [
        "tensor", "node before", "node before, too", "node after", "inner tensor",
        "inner node before", "leaf", "leaf node before", "leaf accumulated", "leaf node after"]),
    "changes": (changes, ([([105.0] * 2, [35.0] * 2)], [7.0] * 2, [210.0] * 2)),
    "all": (lambda t: several(t, "all"), [
        [[1.0] * 2, None, [1.0] * 2], [[2.0] * 2, [1.0] * 2, [2.0] * 2], [None, [1.0] * 2, None]]),
    "any": (lambda t: several(t, "any"), [[1.0] * 2, [1.0] * 2, [1.0] * 2]),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_hooks(name: str) -> None:
    program, expected = PROGRAMS[name]
    assert program(torch) == expected


@pytest.mark.parametrize("name", PROGRAMS)
def test_pytorch_calls_the_same_hooks(name: str) -> None:
    theirs = pytest.importorskip("torch")
    program, expected = PROGRAMS[name]
    assert program(theirs) == expected


def test_a_hook_on_several_gradients_of_autograd_grad() -> None:
    assert by_grad(torch) == [2, 2, 2]


def test_a_pass_inside_a_hook_on_several_gradients() -> None:
    log: list[str] = []
    a, b = leaf(torch), leaf(torch)
    inner = b * 1
    torch.autograd.graph.register_multi_grad_hook(
        [a, a * 1], lambda g: (log.append("outer"), inner.sum().backward()))
    torch.autograd.graph.register_multi_grad_hook([b, inner], lambda g: log.append("inner"))
    (a * 2).sum().backward()
    assert log == ["outer", "inner"]


def test_a_pass_that_fails_calls_no_hook_later() -> None:
    log: list[int] = []
    a, b = leaf(torch), leaf(torch)

    def fails(gradient: Any) -> None:
        raise ValueError("no")

    handle = b.register_hook(fails)
    torch.autograd.graph.register_multi_grad_hook([a, b], lambda g: log.append(len(g)))
    with pytest.raises(ValueError, match="no"):
        (a + b).sum().backward()
    handle.remove()
    assert log == []
    (a * 1).sum().backward()
    assert log == [2]


def test_a_hook_of_a_node_has_to_return_a_tuple() -> None:
    b = leaf(torch) * 2
    b.grad_fn.register_prehook(lambda g: g[0] * 2)
    with pytest.raises(TypeError, match="expected tuple"):
        b.sum().backward()


def test_hooks_that_pack_what_is_saved_are_refused_by_name() -> None:
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)
    with pytest.raises(NotImplementedError, match="saved_tensors_hooks"):
        hooks.__enter__()
    a = leaf(torch)
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        loss = (a * a).sum()
    loss.backward()
    assert a.grad.tolist() == [2, 2]
    on_cpu = torch.autograd.graph.save_on_cpu()
    with torch.autograd.graph.disable_saved_tensors_hooks("not now"), \
            pytest.raises(RuntimeError, match="not now"):
        on_cpu.__enter__()
