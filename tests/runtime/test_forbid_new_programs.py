"""``options(forbid_new_programs=True)``: what differs between steps that should be the same."""

from __future__ import annotations

import numpy as np
import pytest

import lazyloom as ll
from lazyloom.errors import ExecutionError, NewProgramError


def data(n: int, seed: int) -> np.ndarray:
    return (np.arange(n, dtype=np.float32) + seed) / n


def step(n: int, seed: int) -> ll.Value:
    x = ll.from_host(data(n, seed))
    return ll.record("tanh", [ll.record("multiply", [x, ll.record("cosh", [x])])])


@pytest.mark.parametrize("reproducible", [True, False])
def test_known_programs_run_and_new_ones_are_errors(reproducible: bool) -> None:
    first, other = (123, 124) if reproducible else (223, 224)
    with ll.options(reproducible=reproducible):
        step(first, 0).read()
        with ll.options(forbid_new_programs=True):
            x = data(first, 1)
            assert np.allclose(step(first, 1).read(), np.tanh(x * np.cosh(x)))
            new = step(other, 0)
            for _ in range(2):
                with pytest.raises(NewProgramError, match="a new program of 3 ops was to run"):
                    new.read()
        with pytest.raises(ExecutionError):
            new.read()
        assert step(other, 0).read().shape == (other,)
        with ll.options(forbid_new_programs=True):
            assert step(other, 1).read().shape == (other,)


def test_what_differs_is_said() -> None:
    with ll.options(reproducible=True):
        step(323, 0).read()
        with ll.options(forbid_new_programs=True), pytest.raises(NewProgramError) as caught:
            step(324, 0).read()
    assert "324" in str(caught.value) and "test_forbid_new_programs.py" in str(caught.value)
    assert caught.value.site is not None
