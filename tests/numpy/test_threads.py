"""Threads that write to one array: nothing is lost, as in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as onp
import pytest

import lazyloom_numpy as np
from tests.contract.helpers import in_threads, switching

THREADS = 3
EACH = 40


def together(function: Callable[[int], Any]) -> list[Any]:
    """Call a function in threads, with the number of each."""
    with switching():
        return in_threads([lambda k=k: function(k) for k in range(THREADS)])  # type: ignore[misc]


#: what adds one to each of three elements, by one call
ADDITIONS: dict[str, Callable[[Any], Any]] = {
    "operator": lambda a: a.__iadd__(1),
    "operator with an array": lambda a: a.__isub__(onp.full(3, -1.0)),
    "out": lambda a: np.add(a, 1, out=a),
    "out and where": lambda a: np.subtract(a, -1.0, out=a, where=onp.ones(3, bool)),
    "at": lambda a: np.add.at(a, onp.array([0, 1, 2]), 1.0),
    "at, in rounds": lambda a: np.subtract.at(a, (onp.array([0, 1, 2]),), -1.0),
}


@pytest.mark.parametrize("name", ADDITIONS)
@pytest.mark.parametrize("part", [False, True])
def test_what_is_added_by_one_call_is_not_lost(name: str, part: bool) -> None:
    whole = np.zeros((2, 3))
    target = whole[1] if part else np.zeros(3)
    step = ADDITIONS[name]

    def work(k: int) -> None:
        for _ in range(EACH):
            step(whole[1] if part and k else target)

    together(work)
    assert target.tolist() == [THREADS * EACH] * 3
    assert whole[0].tolist() == [0.0] * 3


def test_what_is_computed_in_place_by_functions_is_one_step() -> None:
    """A step that reads before, and writes after, another thread's would lose that one's."""
    a = np.zeros(3)

    def work(k: int) -> None:
        for _ in range(EACH):
            if k == 0:
                np.clip(a, -1.0, 1e6, out=a)
                a.sort()
                np.nan_to_num(a, copy=False)
                np.round(a, out=a)
                a.partition(1)
                np.random.shuffle(a)
            else:
                a.__iadd__(1)

    together(work)
    assert a.tolist() == [(THREADS - 1) * EACH] * 3


#: what writes a one to the element j of n, by one call
ELEMENTS: list[Callable[[Any, int, int], Any]] = [
    lambda a, j, n: a.__setitem__(j, 1.0),
    lambda a, j, n: a.__setitem__([j], 1.0),
    lambda a, j, n: a.__setitem__(onp.arange(n) == j, 1.0),
    lambda a, j, n: a.__setitem__(np.arange(n) == j, [1.0]),
    lambda a, j, n: a[j:j + 1].fill(1.0),
    lambda a, j, n: a.reshape(n, 1)[j].__setitem__(Ellipsis, 1.0),
    lambda a, j, n: a.flat.__setitem__(j, 1.0),
    lambda a, j, n: a.put([j], 1.0),
    lambda a, j, n: np.putmask(a, onp.arange(n) == j, 1.0),
    lambda a, j, n: np.place(a, onp.arange(n) == j, [1.0]),
    lambda a, j, n: np.copyto(a, 1.0, where=onp.arange(n) == j),
    lambda a, j, n: np.put_along_axis(a, onp.array([j]), 1.0, 0),
    lambda a, j, n: np.cos(onp.zeros(n), out=a, where=onp.arange(n) == j),
    lambda a, j, n: np.maximum.at(a, [j], 1.0),
]


def test_different_elements_are_written_by_every_call_that_can() -> None:
    n = THREADS * len(ELEMENTS) * 3
    target = np.zeros(n)

    def work(k: int) -> None:
        for number, j in enumerate(range(k, n, THREADS)):
            ELEMENTS[number % len(ELEMENTS)](target, j, n)

    together(work)
    assert target.tolist() == [1.0] * n


@pytest.mark.parametrize("kind", ["Generator", "RandomState"])
def test_draws_are_those_of_one_thread(kind: str) -> None:
    def made() -> Any:
        return np.random.default_rng(7) if kind == "Generator" else np.random.RandomState(7)

    shared, alone = made(), made()

    def work(k: int) -> list[float]:
        return [float(shared.standard_normal()) for _ in range(EACH)]

    drawn = [x for found in together(work) for x in found]
    expected = [float(alone.standard_normal()) for _ in range(THREADS * EACH)]
    onp.testing.assert_allclose(sorted(drawn), sorted(expected), rtol=1e-12)
