"""NumPy's error state while kernels run, and after."""

from __future__ import annotations

import contextvars
import threading
import warnings
from typing import Any

import numpy as np
import pytest

from lazyloom.host import error_state
from lazyloom.host.error_state import ignore_errors, restore_errors
from tests.contract.helpers import host, rec


def test_the_variable_is_found() -> None:
    # with NumPy 2: otherwise every run op by op takes a microsecond more
    assert isinstance(error_state.VARIABLE, contextvars.ContextVar)


@pytest.mark.parametrize("variable", [error_state.VARIABLE, error_state.Blocks()])
def test_errors_are_ignored_and_the_state_is_put_back(variable: Any) -> None:
    with np.errstate(divide="raise", invalid="warn", over="print"):
        before = np.geterr()
        value = ignore_errors()
        ignoring = variable.get() if isinstance(variable, contextvars.ContextVar) else None
        restore_errors(value)
        outer = variable.set(ignoring)
        inner = variable.set(ignoring)
        assert set(np.geterr().values()) == {"ignore"}
        with warnings.catch_warnings(record=True) as said:
            assert np.isinf(np.float64(1) / np.float64(0))
        variable.reset(inner)
        assert set(np.geterr().values()) == {"ignore"}
        variable.reset(outer)
        assert np.geterr() == before and not said
        with pytest.raises(FloatingPointError):
            np.float64(1) / np.float64(0)


def test_other_threads_keep_theirs() -> None:
    seen = []
    token = ignore_errors()
    try:
        thread = threading.Thread(target=lambda: seen.append(np.geterr()))
        thread.start()
        thread.join()
    finally:
        restore_errors(token)
    assert seen == [np.geterr()]


@pytest.mark.parametrize("mode", ["raise", "warn"])
def test_a_run_says_nothing_and_leaves_the_programs_state(mode: str) -> None:
    zero = host([0.0])
    with np.errstate(all=mode), warnings.catch_warnings():  # type: ignore[call-overload]
        warnings.simplefilter("error")
        before = np.geterr()
        assert np.isnan(rec("divide", zero, zero).read()).all()
        assert np.geterr() == before
