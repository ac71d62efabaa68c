"""Programs that read a value at several places: what XLA may fuse ends there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as onp
import pytest

import lazyloom
import lazyloom_numpy as np
from lazyloom.execute.stops import FUSED, stops


def life(m: Any, x: Any) -> Any:
    count = sum(m.roll(m.roll(x, dy, 0), dx, 1) for dy in (-1, 0, 1) for dx in (-1, 0, 1)
                if dy or dx)  # fmt: skip
    return ((count == 3) | ((x == 1) & (count == 2))).astype(x.dtype)


def heat(m: Any, u: Any) -> Any:
    ring = m.pad(u, 1, mode="wrap")
    around = ring[:-2, 1:-1] + ring[2:, 1:-1] + ring[1:-1, :-2] + ring[1:-1, 2:]
    return u + 0.1 * (around - 4.0 * u)


def in_place(m: Any, u: Any) -> Any:
    u[1:-1] += 0.25 * (u[:-2] - 2.0 * u[1:-1] + u[2:])
    return u


def wave(m: Any, u: Any) -> Any:
    return u + 0.1 * (m.roll(u, 1, 0) - m.roll(u, -1, 0))


def repeated(step: Callable[[Any, Any], Any], m: Any, x: Any, steps: int) -> Any:
    x = x.copy()
    for _ in range(steps):
        x = step(m, x)
    return x


@pytest.mark.parametrize("step", [life, heat, in_place, wave])
def test_steps_of_a_stencil_are_apart(step: Callable[[Any, Any], Any]) -> None:
    rng = onp.random.default_rng(0)
    data = rng.integers(0, 2, (8, 9)) if step is life else rng.random((8, 9))
    x = np.array(data)
    lazyloom.sync(x)
    result = repeated(step, np, x, 6)
    instructions = lazyloom.program_of(result).structure.instructions
    ends = stops(instructions, "cpu")
    assert 5 <= len(ends) <= 12  # once or twice a step
    between = onp.diff(sorted(ends))
    assert between.max() <= len(instructions) / 5 + 1
    assert not stops(instructions, "tpu")  # elsewhere the compiler has a measure of its own
    expected = repeated(step, onp, data, 6)
    onp.testing.assert_allclose(onp.asarray(result), expected, rtol=1e-12)


def test_what_is_read_in_one_place_is_not_ended() -> None:
    x = np.array(onp.random.default_rng(1).random((4, 12)))
    lazyloom.sync(x)
    gates = np.tanh(x * 2.0 + 1.0)
    a, b, c = gates[:, :4], gates[:, 4:8], gates[:, 8:]
    result = np.exp(a) * b + c
    for _ in range(20):
        result = result * 0.5 + np.sin(result)
    instructions = lazyloom.program_of(result).structure.instructions
    assert not stops(instructions, "cpu")


def test_a_long_chain_is_ended() -> None:
    x = np.array(onp.zeros(4))
    lazyloom.sync(x)
    result = x
    for k in range(2 * FUSED + 10):
        result = result + float(k + 2)
    instructions = lazyloom.program_of(result).structure.instructions
    for platform in ("cpu", "cuda"):
        assert stops(instructions, platform) == {FUSED - 1, 2 * FUSED - 1}
