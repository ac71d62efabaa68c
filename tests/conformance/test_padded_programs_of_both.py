"""Extents that differ: what one frontend had compiled for many, another one finds."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazyloom
from lazyloom.execute import costs
from lazyloom.execute.compiling import background
from lazyloom.execute.padded import members
from tests.conformance import programs_numpy, programs_torch
from tests.conformance.frontends import NumPy, Torch

pytestmark = [pytest.mark.op_by_op, pytest.mark.xla, pytest.mark.accelerator("padding")]
MOST = 24


@pytest.fixture(autouse=True)
def empty(fresh_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No program is known, and what is compiled is never too slow to be used."""
    assert fresh_cache
    members.clear()
    monkeypatch.setattr(costs, "WORTH", 0.0)
    monkeypatch.setattr(costs, "PART", 0.0)
    monkeypatch.setattr(costs, "EAGER_FACTOR", 1e9)
    monkeypatch.setattr(costs, "SLOWER", math.inf)
    with lazyloom.options(compiled_beside=64):
        yield
        assert background.wait(120)


def run(driver: Any, module: Any, n: int) -> lazyloom.Evaluation:
    """Attention four times over, of n keys; compared with the float64 result."""
    rng = np.random.default_rng(n)
    q, k, v = (rng.normal(size=(2, n, 8)).astype(np.float32) for _ in range(3))
    tensors = [driver.tensor(x) for x in (q, k, v)]
    for t in tensors:
        lazyloom.mark_dynamic(t, 1, max=MOST)
    found, wanted = tensors[0], q.astype(np.float64)
    for _ in range(4):
        found, _ = module.attention(found, *tensors[1:])
        scores = wanted @ k.transpose(0, 2, 1) * 0.25
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        wanted = weights / weights.sum(-1, keepdims=True) @ v
    np.testing.assert_allclose(driver.read(found), wanted, rtol=2e-5, atol=2e-5)
    record = lazyloom.last_evaluation()
    assert record is not None
    return record


def test_a_padded_program_is_the_same_in_both() -> None:
    end = time.monotonic() + 120
    n = 0
    while run(NumPy(), programs_numpy, 7 + n % 4).form != "padded":
        n += 1
        assert time.monotonic() < end, [f.refused for f in members.known()]
        background.wait(120)
    before = lazyloom.stats()
    for n in (11, 17, 24, 5):
        record = run(Torch(), programs_torch, n)
        assert record.form == "padded" and record.padding == [(n, MOST)]
    after = lazyloom.stats()
    for name in ("programs_compiled", "background_compiles", "programs_from_disk"):
        assert after[name] == before[name]
