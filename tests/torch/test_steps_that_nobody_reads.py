"""Steps of a loop that reads nothing are dispatched one by one, without gradients nobody wants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazyloom
import lazyloom_torch as torch

real = pytest.importorskip("torch")

X = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
ROUNDS = 8


class Loop:
    """The same loop in one library or the other."""

    def __init__(self, t: Any, optimizer: str = "SGD", **options: Any) -> None:
        self.t = t
        self.x = t.tensor(X)
        self.w = t.nn.Parameter(t.full((4, 3), 0.5))
        self.b = t.nn.Parameter(t.zeros(3))
        made = getattr(t.optim, optimizer)
        self.optimizer = made([self.w, self.b], lr=0.1, **options)

    def backward(self) -> Any:
        loss = (self.x @ self.w + self.b).square().mean()
        loss.backward()
        return loss.detach()

    def result(self) -> list[Any]:
        return [self.w.detach().tolist(), self.b.detach().tolist()]


def both(run: Any, optimizer: str = "SGD", **options: Any) -> Loop:
    """The loop, which gives what PyTorch's does."""
    mine, theirs = Loop(torch, optimizer, **options), Loop(real, optimizer, **options)
    found, expected = run(mine), run(theirs)
    for a, b in zip(mine.result(), theirs.result()):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)
    if found is not None:
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-6)
    return mine


def wanted() -> int:
    """Bytes of the results of the newest program."""
    newest = lazyloom.last_evaluation()
    assert newest is not None
    return newest.bytes_out


STATE = 4 * (12 + 3)


def last(loop: Loop) -> int:
    """Bytes of results of a further round, whose loss nobody keeps."""
    loop.optimizer.zero_grad()
    loop.backward()
    loop.optimizer.step()
    loop.optimizer.zero_grad()
    assert not loop.w.value.is_pending
    return wanted()


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_gradients_forgotten_after_the_step_are_no_results(momentum: float) -> None:
    def run(loop: Loop) -> None:
        for _ in range(ROUNDS):
            loop.backward()
            loop.optimizer.step()
            loop.optimizer.zero_grad()

    loop = both(run, momentum=momentum)
    assert last(loop) == STATE * (2 if momentum else 1)


def test_a_program_a_step() -> None:
    loop = Loop(torch)
    for _ in range(4):
        loop.backward()
        loop.optimizer.step()
        loop.optimizer.zero_grad()
    before = lazyloom.last_evaluation()
    assert before is not None
    for _ in range(5):
        loop.backward()
        loop.optimizer.step()
        loop.optimizer.zero_grad()
    newest = lazyloom.last_evaluation()
    assert newest is not None and newest.number - before.number == 5


def test_gradients_that_are_looked_at_between_steps() -> None:
    def run(loop: Loop) -> list[Any]:
        seen = []
        for k in range(ROUNDS):
            loop.backward()
            loop.optimizer.step()
            if k % 3 == 2:
                seen.append(loop.w.grad.norm().item())
            kept = loop.b.grad
            loop.optimizer.zero_grad()
            if k % 2:
                seen.append(kept.sum().item())
        return seen

    both(run)


@pytest.mark.parametrize("often", [1, 2, 3])
def test_gradients_that_are_forgotten_now_and_then(often: int) -> None:
    """A step whose dispatch waits for zero_grad() is not left to wait for ever."""
    def run(loop: Loop) -> None:
        for k in range(3 * ROUNDS):
            loop.backward()
            loop.optimizer.step()
            if k % often == 0 or k < 4:
                loop.optimizer.zero_grad()

    loop = both(run)
    loop.backward()
    loop.optimizer.step()
    loop.backward()
    loop.optimizer.step()
    assert not loop.w.value.is_pending


def test_zeros_in_place_of_gradients() -> None:
    def run(loop: Loop) -> None:
        for _ in range(ROUNDS):
            loop.backward()
            loop.optimizer.step()
            loop.optimizer.zero_grad(set_to_none=False)

    loop = both(run)
    assert not loop.w.value.is_pending


def test_zero_grad_first_dispatches_at_the_step() -> None:
    """Batches are made between the two: the step runs meanwhile."""
    def run(loop: Loop) -> None:
        for _ in range(ROUNDS):
            loop.x = loop.t.tensor(X)
            loop.optimizer.zero_grad()
            loop.backward()
            loop.optimizer.step()

    loop = both(run)
    assert not loop.w.value.is_pending


def test_an_optimizer_without_any_zero_grad() -> None:
    def run(loop: Loop) -> None:
        for _ in range(ROUNDS):
            loop.w.grad = loop.b.grad = None
            loop.backward()
            loop.optimizer.step()

    loop = both(run, "Adam")
    assert not loop.w.value.is_pending


def test_two_optimizers_by_turns() -> None:
    def run(loop: Loop) -> None:
        first = loop.t.optim.SGD([loop.w], lr=0.1)
        second = loop.t.optim.Adam([loop.b], lr=0.1)
        for _ in range(ROUNDS):
            first.zero_grad()
            loop.backward()
            first.step()
            second.zero_grad()
            loop.backward()
            second.step()

    both(run)


def test_a_step_that_is_due_when_the_optimizer_is_let_go_of() -> None:
    def run(loop: Loop) -> None:
        for _ in range(4):
            loop.backward()
            loop.optimizer.step()
            loop.optimizer.zero_grad()
        loop.backward()
        loop.optimizer.step()
        del loop.optimizer

    both(run)


def test_captured_steps_and_recorded_ones_by_turns() -> None:
    loop, other = Loop(torch), Loop(torch)

    def step() -> None:
        loop.backward()
        loop.optimizer.step()
        loop.optimizer.zero_grad()

    captured = torch.compile(step)
    for k in range(12):
        captured() if k % 4 else step()
        other.backward()
        other.optimizer.step()
        other.optimizer.zero_grad()
    assert loop.result() == other.result()
    assert captured.explain().runs > 0, captured.explain()
