"""What a leaf has collected goes with it, and so does all that was recorded for nobody else."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyloom
import lazyloom_torch as torch
from lazyloom.trace import graph


def pending() -> int:
    """How many nodes wait to be run, once what was let go of is taken apart."""
    gc.collect()
    one = lazyloom.from_host(np.ones(1))
    lazyloom.record("add", [one, one])
    return sum(len(c.nodes) for c in graph.trace.components)


def leaf() -> Any:
    return torch.tensor(np.ones((16, 16), np.float32)).requires_grad_()


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x * x * x
        ctx.save_for_backward(x, y)
        ctx.given = x
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient * ctx.saved_tensors[0] ** 2 * 3


def plain() -> None:
    (leaf() * 2).sum().backward()


def with_hooks() -> None:
    w = leaf()
    w.register_hook(lambda g: g * 2)
    w.register_post_accumulate_grad_hook(lambda t: None)
    (w * w).sum().backward()


def hooks_that_name_the_leaf() -> None:
    w = leaf()
    seen: list[Any] = []
    w.register_hook(lambda g: seen.append(w))
    w.register_post_accumulate_grad_hook(lambda t: seen.append(w.grad))
    (w * w).sum().backward()


def hooks_that_name_what_was_computed() -> None:
    w = leaf()
    y = w * 2
    y.retain_grad()
    y.register_hook(lambda g: y * g)
    (y * y).sum().backward()


def a_hook_on_what_was_written_in_place() -> None:
    y = leaf() * 2
    y.register_hook(lambda g: y * g)
    y.mul_(2)
    y.register_hook(lambda g: y * g)
    y.sum().backward()


def a_retained_gradient_and_a_leaf_that_is_read() -> None:
    w = leaf()
    y = w * 2
    y.retain_grad()
    y.sum().backward()
    w.sum().item()


def a_graph_that_is_kept() -> None:
    w = leaf()
    y = (w * w).sum()
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)


def a_gradient_with_a_graph() -> None:
    w = leaf()
    (w * w).sum().backward(create_graph=True)


def second_order() -> None:
    w = leaf()
    (g,) = torch.autograd.grad((w * w * w).sum(), w, create_graph=True)
    g.sum().backward()


def a_custom_function() -> None:
    Cube.apply(leaf()).sum().backward()


def a_custom_function_without_a_pass() -> None:
    Cube.apply(leaf()).sum()


def a_gradient_that_was_given() -> None:
    w = leaf()
    w.grad = w * 2


def attributes() -> None:
    w = leaf()
    w.double = w * 2
    w.itself = w
    w.part = w[1:]


def other_contents() -> None:
    w = leaf()
    w.data = w.data * 2
    (w * w).sum().backward()


def a_module_and_its_optimizer() -> None:
    module = torch.nn.Linear(16, 16)
    optimizer = torch.optim.Adam(module.parameters())
    module(torch.ones(2, 16)).sum().backward()
    optimizer.step()


def a_checkpoint() -> None:
    torch.utils.checkpoint.checkpoint(
        lambda x: (x * x).sin(), leaf(), use_reentrant=False).sum().backward()


def an_exception() -> None:
    try:
        (leaf() * 2).sum().backward()
        raise ValueError
    except ValueError:
        pass


def saved_tensors_elsewhere() -> None:
    with torch.autograd.graph.save_on_cpu():
        w = leaf()
        (w * w).sum().backward()


@pytest.mark.parametrize("step", [
    plain, with_hooks, hooks_that_name_the_leaf, hooks_that_name_what_was_computed,
    a_hook_on_what_was_written_in_place, a_retained_gradient_and_a_leaf_that_is_read,
    a_graph_that_is_kept, a_gradient_with_a_graph,
    second_order, a_custom_function, a_custom_function_without_a_pass, a_gradient_that_was_given,
    attributes, other_contents, a_module_and_its_optimizer, a_checkpoint, an_exception,
    saved_tensors_elsewhere], ids=lambda f: f.__name__)
def test_nothing_waits_for_ever(step: Callable[[], None]) -> None:
    step()
    before = pending()
    for _ in range(5):
        step()
    assert pending() <= before


def test_memory_goes_with_the_leaf() -> None:
    w = leaf()
    (w * 2).sum().backward()
    gradient = w.grad.value.node
    del w
    gc.collect()
    held = gradient.refs, gradient.handles
    assert held == (0, 0) or gradient.state == graph.DEAD


def test_hooks_of_a_leaf_that_is_gone_run_while_its_graph_is_there() -> None:
    """As in PyTorch, whose graph keeps the leaf."""
    seen: list[Any] = []
    w = leaf()
    w.register_hook(lambda g: seen.append(g.sum().item()))
    y = (w * 3).sum()
    del w
    gc.collect()
    y.backward()
    assert seen == [3.0 * 256]


def test_hooks_of_a_result_that_is_gone_run_while_its_graph_is_there() -> None:
    seen: list[Any] = []
    w = leaf()
    y = w * 3
    y.register_hook(lambda g: seen.append(g.sum().item()))
    z = (y * 2).sum()
    del y
    gc.collect()
    z.backward()
    assert seen == [2.0 * 256] and w.grad[0, 0].item() == 6.0
