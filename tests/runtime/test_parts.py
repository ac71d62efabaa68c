"""Long products of host kernels in parts, on several threads."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

from lazyloom.host import parts


@pytest.fixture(autouse=True)
def three_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts.allowed, "threads", 3)


def test_every_number_is_worked_on_once() -> None:
    for count in (0, 1, 2, 3, 7, 100):
        done = np.zeros(count, int)

        def work(start: int, end: int, done: np.ndarray = done) -> None:
            done[start:end] += 1

        parts.in_parts(count, work)
        assert (done == 1).all()


def test_parts_run_at_the_same_time() -> None:
    together = threading.Barrier(3)
    parts.in_parts(3, lambda start, end: together.wait(60) and None)


@pytest.mark.parametrize("shapes", [
    ((40, 9), (9, 5)), ((5, 9), (9, 40)), ((1, 9), (9, 40)), ((2, 5, 9), (2, 9, 4)),
    ((0, 9), (9, 40)), ((4, 0), (0, 7)),
])  # fmt: skip
@pytest.mark.parametrize("turned", [False, True])
def test_products(shapes: tuple[tuple[int, ...], tuple[int, ...]], turned: bool) -> None:
    random = np.random.default_rng(4)
    a, b = (random.random(shape, np.float32) for shape in shapes)
    if turned:
        b = np.ascontiguousarray(b.swapaxes(-1, -2)).swapaxes(-1, -2)
    found = parts.product(a, b)
    assert found.flags.c_contiguous
    np.testing.assert_allclose(found, np.matmul(a, b), rtol=1e-5)


def test_errors_of_parts_are_raised() -> None:
    def work(start: int, end: int) -> None:
        if end == 9:
            raise MemoryError("no room")

    for _ in range(3):
        with pytest.raises(MemoryError, match="no room"):
            parts.in_parts(9, work)


def test_helpers_have_no_parts_of_their_own_and_ignore_signals_of_numbers() -> None:
    seen = []

    def work(start: int, end: int) -> None:
        if threading.current_thread() is not threading.main_thread():
            seen.append((parts.allowed.threads, np.geterr()["divide"]))

    for _ in range(50):
        parts.in_parts(3, work)
    assert set(seen) <= {(1, "ignore")}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process")
def test_after_a_fork_there_are_new_helpers() -> None:
    parts.in_parts(3, lambda start, end: None)
    child = os.fork()
    if not child:
        done = np.zeros(9, int)

        def work(start: int, end: int) -> None:
            done[start:end] += 1

        parts.in_parts(9, work)
        os._exit(0 if (done == 1).all() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
