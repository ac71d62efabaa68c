"""Line 14: waiting for compilers is bounded, whatever a program's shapes and branches do."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import lazyloom
import lazyloom_numpy as np
from lazyloom.execute.compiling import messages

# a backend without kernels compiles every program first
pytestmark = [pytest.mark.op_by_op, pytest.mark.xla]

UNARY = ("tanh", "exp", "sin", "negative", "absolute", "floor", "square")

#: the bound of waiting is what running op by op first is for
op_by_op = pytest.mark.accelerator("op_by_op")


def differing(draw: random.Random, length: int) -> np.ndarray:
    """A program of random ops on a random shape."""
    x = np.linspace(0.0, 1.0, 3 * length).reshape(3, length)
    for _ in range(draw.randrange(5, 40)):
        kind = draw.randrange(4)
        if kind == 0:
            x = getattr(np, draw.choice(UNARY))(x)
        elif kind == 1:
            x = x * draw.random() + x
        elif kind == 2:
            x = x - x.mean(axis=draw.randrange(2), keepdims=True)
        else:
            x = np.clip(x, -3.0, 3.0)[:, ::-1]
    return x.sum()


@op_by_op
def test_programs_that_differ_every_time_wait_for_no_compiler(fresh_cache: Path) -> None:
    draw = random.Random(14)
    before = lazyloom.stats()
    for step in range(100):
        assert float(differing(draw, 5 + step)) is not None
    after = lazyloom.stats()
    assert after["compile_wait_us"] == before["compile_wait_us"]
    assert after["programs_compiled"] == before["programs_compiled"]


@op_by_op
def test_an_op_without_a_kernel_waits_once_for_each_type(fresh_cache: Path) -> None:
    def cosines(n: int, factor: float) -> float:
        return float((np.cosh(np.zeros(n, complex)) * factor).real.sum())

    cosines(3, 1.0)
    waited = lazyloom.stats()["compile_wait_us"]
    assert waited > 0
    for k in range(20):
        assert cosines(3, k) == pytest.approx(3.0 * k)
    assert lazyloom.stats()["compile_wait_us"] == waited
    cosines(4, 1.0)
    assert lazyloom.stats()["compile_wait_us"] > waited


@op_by_op
def test_a_whole_program_is_compiled_first_only_where_that_is_estimated_to_be_faster(
    fresh_cache: Path,
) -> None:
    def chain(elements: int) -> str:
        x = np.full(elements, 0.5)
        for _ in range(10):
            x = np.tanh(x) + 0.1
        float(x[0])
        return lazyloom.last_evaluation().form

    assert chain(100) == "op_by_op"
    # twenty passes over 96 MB take longer than compiling twenty ops, and than importing JAX
    assert chain(12_000_000) == "compiled"


@pytest.mark.parametrize(("reproducible", "cache"), [(False, "1"), (True, "1"), (False, "0")])
def test_a_long_wait_is_explained(
    fresh_cache: Path, reproducible: bool, cache: str, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What is said while a program waits advises against an option only where it is set.

    It promises that the program is kept only where there is a cache on disk.
    """
    monkeypatch.setattr(messages, "AFTER", -1.0)
    monkeypatch.setattr(messages, "start", lambda thread: thread.run())
    monkeypatch.setenv("LAZYLOOM_CACHE", cache)
    with lazyloom.options(reproducible=reproducible):
        # it has no kernel of the host, so it is compiled in either mode; only here in this size
        size = 37 + reproducible + 2 * int(cache)
        np.cosh(np.full(size, complex(random.random()))).sum().item()
    record = caplog.records[-1]
    said = record.getMessage()
    assert record.name == "lazyloom.compile" and record.levelname == "WARNING"
    assert "goes on; " + ("it is kept on disk" if cache == "1" else "the next run compiles") in said
    assert ("reproducible=True" in said) == reproducible
