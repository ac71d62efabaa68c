"""Threads that write what a call knows while that call is recorded.

What they record is no part of the call: it would be done again with every run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import lazyloom
import lazyloom_torch as torch
from lazyloom.capture import call

pytestmark = pytest.mark.usefixtures("quick_compiler")


def in_another_thread(work: Callable[[], Any]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


#: what another thread does to the count, by ways of writing
WRITES: dict[str, Callable[[Any], Any]] = {
    "add_": lambda t: t.add_(10), "+=": lambda t: t.__iadd__(10),
    "a part": lambda t: t[:1].add_(10), "item": lambda t: t.__setitem__(0, t[0] + 10),
    "out": lambda t: torch.add(t, 10, out=t), "optimizer": lambda t: step(t),
    "captured": lambda t: plus_ten(t),
}


def step(count: Any) -> None:
    count.grad = torch.full_like(count, -1.0)
    torch.optim.SGD([count], lr=10.0).step()


@lazyloom.jit
def plus_ten(t: Any) -> None:
    t.add_(10)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", WRITES)
def test_their_writes_are_no_part_of_the_call(
    name: str, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    count, ones = torch.zeros(3), torch.ones(3)
    disturbances = [0, 0]

    def disturb(original: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any) -> Any:
            if disturbances[0] < disturbances[1]:
                disturbances[0] += 1
                in_another_thread(lambda: WRITES[name](count))
            return original(*args)

        return wrapper

    if when == "after":
        monkeypatch.setattr(call, "settle_all", disturb(call.settle_all))
    else:
        monkeypatch.setattr(call.Watch, "__enter__", disturb(call.Watch.__enter__))

    @lazyloom.jit
    def add(x: Any) -> Any:
        count.add_(x)
        return count * 1

    for _ in range(2):
        plus_ten(torch.zeros(3))
    disturbances[1] = 4
    calls = 0
    while not add.explain().captures:
        add(ones)
        calls += 1
        assert calls < 30
    for _ in range(5):
        add(ones)
    ten = 10.0 * disturbances[0]
    rest = 0.0 if name in ("a part", "item") else ten
    assert disturbances[0] and count.tolist() == [calls + 5 + t for t in (ten, rest, rest)]


def test_first_calls_of_many_threads_lose_and_add_nothing() -> None:
    ones = torch.ones(3)
    for _ in range(10):
        count = torch.zeros(3)

        @lazyloom.jit
        def add(x: Any, count: Any = count) -> Any:
            count.add_(x)
            return count * 1

        threads = [threading.Thread(target=lambda f=add: [f(ones) for _ in range(10)])
                   for _ in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for _ in range(5):
            add(ones)
        assert count.tolist() == [35.0] * 3
