"""Threads that write to one tensor, or add to one gradient: nothing is lost, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lazyloom
import lazyloom_torch as torch
from tests.contract.helpers import in_threads, switching

THREADS = 3
EACH = 40


def together(function: Callable[[int], Any]) -> list[Any]:
    """Call a function in threads, with the number of each."""
    with switching():
        return in_threads([lambda k=k: function(k) for k in range(THREADS)])  # type: ignore[misc]


ones, at = torch.ones(3), torch.tensor([0, 1, 2])

#: what adds one to each of three elements, by one call
ADDITIONS: dict[str, Callable[[Any], Any]] = {
    "add_": lambda t: t.add_(1),
    "operator": lambda t: t.__iadd__(1),
    "out": lambda t: torch.add(t, 1, out=t),
    "out of a generic function": lambda t: torch.addcmul(t, ones, ones, out=t),
    "addcdiv_": lambda t: t.addcdiv_(ones, ones),
    "sub_": lambda t: t.sub_(-ones),
    "index_add_": lambda t: t.index_add_(0, at, ones),
    "index_put_": lambda t: t.index_put_((at,), ones, accumulate=True),
    "scatter_add_": lambda t: t.scatter_add_(0, at, ones),
    "scatter_reduce_": lambda t: t.scatter_reduce_(0, at, ones, "sum"),
    "put_": lambda t: t.put_(at, ones, accumulate=True),
    "baddbmm_ of a view": lambda t: t.view(1, 1, 3).baddbmm_(
        ones.view(1, 1, 3), torch.eye(3)[None]),
}


@pytest.mark.parametrize("name", ADDITIONS)
@pytest.mark.parametrize("part", [False, True])
def test_what_is_added_by_one_call_is_not_lost(name: str, part: bool) -> None:
    whole = torch.zeros(2, 3)
    target = whole[1] if part else torch.zeros(3)
    step = ADDITIONS[name]

    def work(k: int) -> None:
        for _ in range(EACH):
            step(whole[1] if part and k else target)

    together(work)
    assert target.tolist() == [THREADS * EACH] * 3
    assert whole[0].tolist() == [0.0] * 3


def test_parameters_are_added_to_without_recording_gradients() -> None:
    p = torch.nn.Parameter(torch.zeros(3))

    def work(k: int) -> None:
        with torch.no_grad():
            for _ in range(EACH):
                p.add_(1)
                p.data.add_(1)
                torch.nn.functional.relu(p.detach(), inplace=True)

    together(work)
    assert p.tolist() == [2 * THREADS * EACH] * 3 and p.requires_grad and p.is_leaf


#: what writes a one to the element j of n, by one call
ELEMENTS: list[Callable[[Any, int, int], Any]] = [
    lambda t, j, n: t.__setitem__(j, 1.0),
    lambda t, j, n: t.__setitem__([j], 1.0),
    lambda t, j, n: t.__setitem__(torch.arange(n) == j, 1.0),
    lambda t, j, n: t[j:j + 1].fill_(1),
    lambda t, j, n: t.view(n, 1)[j].copy_(torch.ones(1)),
    lambda t, j, n: t.masked_fill_(torch.arange(n) == j, 1.0),
    lambda t, j, n: t.masked_scatter_(torch.arange(n) == j, torch.ones(1)),
    lambda t, j, n: t.index_fill_(0, torch.tensor([j]), 1.0),
    lambda t, j, n: t.index_copy_(0, torch.tensor([j]), torch.ones(1)),
    lambda t, j, n: t.scatter_(0, torch.tensor([j]), torch.ones(1)),
    lambda t, j, n: t.put_(torch.tensor([j]), torch.ones(1)),
    lambda t, j, n: torch.sin(torch.full((1,), torch.pi / 2), out=t.narrow(0, j, 1)),
]


def test_different_elements_are_written_by_every_call_that_can() -> None:
    n = THREADS * len(ELEMENTS) * 3
    target = torch.zeros(n)

    def work(k: int) -> None:
        for number, j in enumerate(range(k, n, THREADS)):
            ELEMENTS[number % len(ELEMENTS)](target, j, n)

    together(work)
    assert target.tolist() == [1.0] * n


def test_gradients_of_one_module_add_up() -> None:
    module = torch.nn.Linear(3, 2)
    module.weight.register_hook(lambda g: g)
    counted: list[int] = []
    module.bias.register_post_accumulate_grad_hook(lambda p: counted.append(1))

    def work(k: int) -> None:
        for _ in range(EACH):
            module(torch.ones(1, 3)).sum().backward()

    together(work)
    assert module.bias.grad.tolist() == [THREADS * EACH] * 2
    assert module.weight.grad.tolist() == [[THREADS * EACH] * 3] * 2
    assert len(counted) == THREADS * EACH


def test_retained_gradients_add_up() -> None:
    leaf = torch.ones(3, requires_grad=True)
    middle = leaf * 2
    middle.retain_grad()

    def work(k: int) -> None:
        for _ in range(EACH):
            (middle * 1).sum().backward(retain_graph=True)

    together(work)
    assert middle.grad.tolist() == [THREADS * EACH] * 3
    assert leaf.grad.tolist() == [2 * THREADS * EACH] * 3


@pytest.mark.parametrize("options", [{}, {"momentum": 0.0, "weight_decay": 0.0}])
def test_steps_of_several_optimizers_add_up(options: dict[str, Any]) -> None:
    params = [torch.nn.Parameter(torch.zeros(3)) for _ in range(2)]
    for p in params:
        p.grad = -torch.ones(3)

    def work(k: int) -> None:
        optimizer = torch.optim.SGD(params if k else params[::-1], lr=1.0, **options)
        for _ in range(EACH):
            optimizer.step()

    together(work)
    assert [p.tolist() for p in params] == [[THREADS * EACH] * 3] * 2


def test_running_moments_see_every_batch() -> None:
    module = torch.nn.BatchNorm1d(2, momentum=None)
    other = torch.nn.BatchNorm1d(2, momentum=0.5)
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])

    def work(k: int) -> None:
        for _ in range(EACH):
            module(x)
            other(x)

    together(work)
    assert int(module.num_batches_tracked) == THREADS * EACH
    assert torch.allclose(other.running_mean, torch.tensor([2.0, 3.0]))


def test_a_captured_call_that_writes_loses_nothing() -> None:
    count = torch.zeros(3)

    @lazyloom.jit
    def add(x: Any) -> Any:
        count.add_(x)
        return count * 1

    for _ in range(6):
        add(ones)
    assert add.explain().captures
    count.zero_()

    def work(k: int) -> list[float]:
        return [add(ones)[0].item() if n % 8 == 0 else (add(ones), -1.0)[1] for n in range(EACH)]

    seen = [x for found in together(work) for x in found if x >= 0]
    assert count.tolist() == [THREADS * EACH] * 3
    assert len(set(seen)) == len(seen)  # each result is the count that its call left


def test_draws_are_those_of_one_thread() -> None:
    generator = torch.Generator()
    generator.manual_seed(7)

    def work(k: int) -> list[float]:
        return [torch.rand(1, generator=generator).item() for _ in range(EACH)]

    drawn = [x for found in together(work) for x in found]
    generator.manual_seed(7)
    assert sorted(drawn) == sorted(
        torch.rand(1, generator=generator).item() for _ in range(THREADS * EACH))
