"""What runs op by op gives the same the first time, when it is written down, and after that."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
from lazyloom.cache import memory
from lazyloom.execute import costs
from lazyloom.execute.op_by_op.schedule import Schedule
from tests.contract.helpers import counted, host, number, rec

pytestmark = [pytest.mark.op_by_op, pytest.mark.xla]

X = np.linspace(-2.0, 2.0, 12, dtype=np.float32).reshape(3, 4)
LARGE = np.random.default_rng(0).normal(size=(100, 300)).astype(np.float32)


def several(x: np.ndarray, extra: int) -> list[Any]:
    """Results of several at once, some of them not used; ``extra`` ops make another structure."""
    v, i = rec("top_k", host(x), k=2, axis=-1)
    w, _ = rec("top_k", host(x), k=2, axis=-1)
    for _ in range(extra):
        v = rec("add", v, number(0.5))
    return [rec("multiply", v, v), i, w]


def absent(x: np.ndarray, extra: int) -> list[Any]:
    """An op without its optional operands, numbers of two dtypes, and constants."""
    y = rec("layer_norm", host(x), None, None, normalized_ndim=1, eps=1e-5)
    for k in range(extra):
        y = rec("add", rec("multiply", y, number(1.5 + k)), number(1.0))
    whole = rec("add", rec("argmax", y, axis=-1, keepdims=False), ll.Scalar(7, ll.dtypes.int64))
    return [y, whole]


def aliases(x: np.ndarray, extra: int) -> list[Any]:
    """Results that are views of each other, of an operand, and the same twice."""
    a = host(x)
    b = rec("exp", a)
    for _ in range(extra):
        b = rec("negative", b)
    turned = rec("transpose", b, axes=(1, 0))
    return [b, turned, rec("reshape", turned, shape=(x.size,)), rec("reshape", a, shape=(x.size,)),
            rec("add", b, b)]


@pytest.mark.parametrize("x", [X, LARGE, X[:1], X[:, :2]], ids=["small", "large", "row", "two"])
@pytest.mark.parametrize("make", [several, absent, aliases], ids=["several", "absent", "aliases"])
def test_it_is_the_same_each_time(
    make: Callable[[np.ndarray, int], list[Any]], x: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    # nothing is worth compiling, and what other tests compiled is forgotten
    memory.clear()
    monkeypatch.setattr(costs, "WORTH", 10.0)

    def run(extra: int) -> list[np.ndarray]:
        values = make(x, extra)
        ll.sync(*values)
        return [v.read() for v in values]

    # no function in C takes the place of a kernel meanwhile, however slow the machine is
    with ll.options(function_after=0):
        run(1)  # finds the kernels
        with counted() as delta:
            found = {extra: [run(extra) for _ in range(4)] for extra in (2, 3)}
    assert delta.runs_op_by_op >= 8 and delta.executions == 0
    for extra, times in found.items():
        with ll.options(reproducible=True):
            wanted = run(extra)
        for results in times:
            for got, want in zip(results, wanted, strict=True):
                assert got.dtype == want.dtype and got.shape == want.shape
                np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)
        for a, b in zip(times[0], times[3], strict=True):
            assert a.tobytes() == b.tobytes()


def test_large_results_go_after_their_last_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "WORTH", 10.0)
    x = np.full((512, 512), 0.5, np.float32)

    def chain(length: int) -> np.ndarray:
        value = host(x)
        for k in range(length):
            value = rec("add", rec("multiply", value, number(0.5)), number(float(k % 3) + 2.5))
            rec("exp", value)  # nobody wants it
        return np.asarray(value.read())

    chain(3)
    for length in (40, 40, 40):
        tracemalloc.start()
        try:
            chain(length)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 8 * x.nbytes, f"{peak / x.nbytes:.1f} arrays at once"


def test_many_small_results_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "WORTH", 10.0)
    x = np.full(4096, 0.5, np.float32)

    def chain(length: int) -> np.ndarray:
        value = host(x)
        for k in range(length):
            value = rec("add", rec("multiply", value, number(0.5)), number(float(k % 3) + 2.5))
        return np.asarray(value.read())

    chain(3)
    tracemalloc.start()
    try:
        # 40 MB of results in one structure
        with ll.options(cut_depth=100_000, cut_size=100_000, cut_ops=50_000):
            chain(1250)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 30e6


def test_how_a_program_ran_is_forgotten_with_it() -> None:
    def known() -> int:
        gc.collect()
        return sum(type(o) is Schedule for o in gc.get_objects())

    memory.clear()
    before = known()
    most = 0
    with ll.options(programs_kept=8, records_kept=1):
        for n in range(2, 42):
            for _ in range(3):
                rec("add", rec("multiply", host(np.ones(n)), number(1.5)), number(0.5)).read()
            most = max(most, known() - before)
    assert 0 < most <= 2 * 8, "of 8 programs that donate and of 8 that do not"
