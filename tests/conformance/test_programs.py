"""Eleven programs, each written for the three frontends: one key, one compilation, equal bits."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyloom
from tests.conformance import compare, programs_c, programs_numpy, programs_torch
from tests.conformance.frontends import Driver, drivers, several

MODULES = {"c": programs_c, "numpy": programs_numpy, "torch": programs_torch}
rng = np.random.default_rng(8)


def normal(*shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


MLP = (normal(8, 5), rng.integers(0, 3, 8).astype(np.int64), normal(5, 6), normal(6),
       normal(6, 3), normal(3))  # fmt: skip
PROGRAMS: dict[str, tuple[np.ndarray, ...]] = {
    "mlp_step": MLP,
    "attention": (normal(2, 3, 4), normal(2, 5, 4), normal(2, 5, 4)),
    "convnet_step": (normal(2, 1, 6, 6), np.array([0, 2], np.int64), normal(3, 1, 3, 3),
                     normal(27, 3)),
    "normalised_residual": (normal(4, 7), normal(7), normal(7)),
    "slices": (normal(10, 5),),
    "reductions": (normal(6, 4), normal(6, 1)),
    "random_numbers": (np.array([3, 14159], np.uint32),),
    "complex_numbers": ((normal(4, 3) + 1j * normal(4, 3)).astype(np.complex64),
                        np.asarray(0.25 - 0.5j, np.complex64)),
    "sorting": (normal(3, 9),),
    "recurrence": (normal(8, 2, 3), normal(2, 3), normal(3, 3)),
    "integers": (rng.integers(0, 99, (3, 4)), rng.integers(0, 7, (4,))),
}  # fmt: skip


class Outcome:
    """What one frontend made of a program: key and text of what it recorded, and results."""

    def __init__(self, driver: Driver, name: str, **options: Any) -> None:
        function: Callable[..., Any] = getattr(MODULES[driver.name], name)
        inputs = [driver.tensor(x) for x in PROGRAMS[name]]
        pending = several(function(*inputs, **options))
        self.key = driver.key(*pending)
        before = prepared()
        self.results = [driver.read(x) for x in pending]
        record = lazyloom.last_evaluation()
        assert record is not None
        self.text = record.program.text()
        self.prepared = prepared() - before


def prepared() -> int:
    """Programs compiled, or found on disk."""
    stats = lazyloom.stats()
    return int(stats["programs_compiled"] + stats["programs_from_disk"])


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_the_same_in_the_three(name: str, fresh_cache: Any) -> None:
    outcomes = [Outcome(driver, name) for driver in drivers()]
    first = outcomes[0]
    for driver, other in zip(drivers()[1:], outcomes[1:]):
        assert other.key == first.key, "\n".join(difflib.unified_diff(
            first.text.splitlines(), other.text.splitlines(), "c", driver.name, lineterm=""))
        for a, b in zip(other.results, first.results, strict=True):
            assert compare.difference(a, b) is None
    assert [o.prepared for o in outcomes] == [1, 0, 0]


def test_another_activation_is_another_program() -> None:
    keys = {}
    for activation in ("relu", "silu"):
        outcomes = [Outcome(driver, "mlp_step", activation=activation) for driver in drivers()]
        keys[activation] = {o.key for o in outcomes}
        assert len(keys[activation]) == 1
    assert keys["relu"] != keys["silu"]
