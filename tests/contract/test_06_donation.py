"""Line 6: donation cannot be observed, and shared memory is never donated."""

from __future__ import annotations

import gc
import random
import threading
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from tests.contract.ffi import Handlers
from tests.contract.helpers import counted, host, number


def rec(op: str, *operands: Any, **attributes: Any) -> Any:
    return ll.record(op, operands, attributes)


N = 64


def aligned(data: Any) -> np.ndarray:
    """The data as float32 in memory that XLA takes as it lies; other memory it copies."""
    values = np.asarray(data, np.float32)
    memory = np.empty(values.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    found = memory[start : start + values.nbytes].view(np.float32)
    found[:] = values
    return found


@pytest.mark.compiled
def test_an_input_nobody_can_see_is_donated(fresh_cache: Any) -> None:
    # the other tests would hold vacuously if nothing ever were
    v = rec("add", host(np.ones(N)), number(2.0))
    v.read()
    v = rec("multiply", v, number(3.0))
    v.read()
    record = ll.last_evaluation()
    assert record is not None and record.bytes_donated == 4 * N


def test_nothing_is_donated_without_donation() -> None:
    with ll.options(donate=False):
        v = host(np.ones(N))
        for k in range(3):
            v = rec("multiply", v, number(3.0 + k))
            v.read()
            record = ll.last_evaluation()
            assert record is not None and record.bytes_donated == 0
            assert record.program is not None and record.program.donated == ()
    np.testing.assert_array_equal(v.read(), np.full(N, 60.0))


def test_host_memory_is_copied_when_it_is_given() -> None:
    a = np.ones(N, np.float32)
    v = ll.from_host(a)
    a[:] = 5
    np.testing.assert_array_equal(rec("add", v, number(2.0)).read(), np.full(N, 3.0))
    np.testing.assert_array_equal(v.read(), np.ones(N))


@pytest.mark.parametrize("size", [1, 16, 4096])
def test_host_memory_is_never_written(size: int) -> None:
    for share in (False, True):
        a = aligned(np.arange(size))
        before = a.copy()
        v = ll.from_host(a, share=share)
        for k in range(4):
            v = rec("add", rec("multiply", v, number(3.0)), number(2.0 + k))
            v.read()
        np.testing.assert_array_equal(a, before)


def test_reads_are_copies_that_nothing_changes() -> None:
    v = rec("add", host(np.zeros(N)), number(2.0))
    seen = []
    for k in range(5):
        a = v.read()
        seen.append((a, a.copy()))
        v = rec("add", v, number(2.0 + k))
    for a, copy in seen:
        np.testing.assert_array_equal(a, copy)
        a[:] = -1
    v = rec("add", v, number(0.0))
    np.testing.assert_array_equal(v.read(), np.full(N, 2.0 + sum(2.0 + k for k in range(5))))


def test_writing_into_a_read_changes_no_value() -> None:
    for v in (host(np.ones(N)), rec("add", host(np.ones(N)), number(0.0))):
        a = v.read()
        a[:] = 9
        np.testing.assert_array_equal(v.read(), np.ones(N))


def test_memory_taken_over_by_dlpack_is_never_donated() -> None:
    a = aligned(np.arange(N))
    before = a.copy()
    v = ll.from_dlpack(a)
    for k in range(4):
        v = rec("add", v, number(2.0 + k))
        v.read()
    np.testing.assert_array_equal(a, before)


def test_memory_given_out_by_dlpack_is_never_donated() -> None:
    class Given:
        def __init__(self, value: ll.Value) -> None:
            self.value = value

        def __dlpack__(self, **options: Any) -> Any:
            return ll.to_dlpack(self.value)

        def __dlpack_device__(self) -> tuple[int, int]:
            return ll.dlpack_device(self.value)

    for v in (host(np.ones(N)), rec("add", host(np.ones(N)), number(0.0))):
        view = np.from_dlpack(Given(v))
        np.testing.assert_array_equal(view, np.ones(N))
        for k in range(4):
            v = rec("multiply", v, number(2.0 + k))
            v.read()
            gc.collect()
        np.testing.assert_array_equal(view, np.ones(N))


def test_dlpack_round_trip_shares_memory_and_changes_nothing() -> None:
    a = aligned(np.arange(N))
    v = ll.from_dlpack(a)

    class Given:
        def __dlpack__(self, **options: Any) -> Any:
            return ll.to_dlpack(v)

        def __dlpack_device__(self) -> tuple[int, int]:
            return ll.dlpack_device(v)

    view = np.from_dlpack(Given())
    assert np.shares_memory(view, a)
    np.testing.assert_array_equal(view, np.arange(N))


def test_the_old_value_of_a_tensor_survives_its_overwriting() -> None:
    x = ll.Tensor(host(np.ones(N)))
    old = []
    for k in range(4):
        old.append(x.value)
        x._write(rec("add", x.value, number(2.0 + k)))
        if k % 2:
            x.read()
    total = 1.0
    for k, v in enumerate(old):
        np.testing.assert_array_equal(v.read(), np.full(N, total))
        total += 2.0 + k


def test_a_value_that_a_tape_needs_is_not_donated() -> None:
    w = host(np.full(N, 0.5)).as_leaf("w")
    for _ in range(3):
        h = rec("matmul", w, w)
        loss = rec("sum", rec("multiply", h, h), axes=None, keepdims=False)
        del h
        loss.read()
        (g,) = ll.gradients([loss], [w], retain_graph=False)
        assert g is not None
        # d/dw (w.w)^2 = 4 (w.w) w
        np.testing.assert_allclose(g.read(), np.full(N, 4 * N * 0.25 * 0.5), rtol=1e-6)
    np.testing.assert_array_equal(w.read(), np.full(N, 0.5))


@pytest.mark.parametrize("seed", range(8))
def test_random_programs_with_aliases_agree_with_numpy(seed: int) -> None:
    """Values are kept, dropped, read, aliased and shared at random; all must stay what they are."""
    rng = random.Random(seed)
    alive: list[tuple[Any, np.ndarray]] = []
    outside: list[tuple[np.ndarray, np.ndarray]] = []
    for _ in range(120):
        move = rng.random()
        if move < 0.15 or not alive:
            a = aligned([rng.randrange(-8, 9) for _ in range(4)])
            kind = rng.randrange(3)
            if kind == 2:
                alive.append((ll.from_dlpack(a), a.copy()))
                outside.append((a, a.copy()))
            else:
                alive.append((ll.from_host(a, share=bool(kind)), a.copy()))
                outside.append((a, a.copy()))
        elif move < 0.6:
            (v, x), (w, y) = rng.choice(alive), rng.choice(alive)
            op, f = rng.choice([
                ("add", np.add), ("subtract", np.subtract), ("maximum", np.maximum),
                ("minimum", np.minimum),
            ])  # fmt: skip
            alive.append((rec(op, v, w), f(x, y)))
        elif move < 0.65:
            v, x = rng.choice(alive)
            alive.append((v.as_leaf(object()).detach(), x))
        elif move < 0.85:
            alive.pop(rng.randrange(len(alive)))
        else:
            v, x = rng.choice(alive)
            got = v.read()
            np.testing.assert_array_equal(got, x)
            outside.append((got, x.copy()))
    for v, x in alive:
        np.testing.assert_array_equal(v.read(), x)
    for a, x in outside:
        np.testing.assert_array_equal(a, x)


def test_an_input_that_another_thread_is_about_to_use_is_not_donated(handlers: Handlers) -> None:
    """One thread compiles a program of x while another drops x and runs a program of it."""
    rng = np.random.default_rng(0)
    for attempt in range(3):
        shape = (8, 9 + attempt)
        a = rng.normal(size=shape).astype(np.float32)
        x = rec("add", host(a), number(3.0))
        x.read()
        slow = x
        for k in range(60):
            slow = rec("tanh", rec("multiply", slow, number(0.5 + k)))
        fails: list[BaseException] = []

        def reader(v: ll.Value, fails: list[BaseException] = fails) -> None:
            try:
                v.read()
            except BaseException as error:
                fails.append(error)

        with counted():
            thread = threading.Thread(target=reader, args=(slow,))
            thread.start()
            while slow.is_pending:
                pass
            y = rec("multiply", x, number(2.0))
            del x
            np.testing.assert_array_equal(y.read(), (a + 3) * 2)
            thread.join(60)
        assert not thread.is_alive()
        assert not fails, fails[0]
        expected = a + 3
        for k in range(60):
            expected = np.tanh(expected * np.float32(0.5 + k))
        np.testing.assert_allclose(slow.read(), expected, rtol=1e-4)
