"""``options(reads=, compiles=, transfers=, fallbacks=)``: what they find, and how they say it."""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
import lazyloom_numpy as lnp
from lazyloom import settings
from lazyloom.errors import (
    ArgumentError,
    ExecutionError,
    FallbackError,
    NewProgramError,
    ReadForbiddenError,
    TransferError,
)

STRICT = ("reads", "compiles", "transfers", "fallbacks")


def data(n: int, seed: int) -> np.ndarray:
    return (np.arange(n, dtype=np.float32) + seed) / n


def step(n: int, seed: int) -> ll.Value:
    x = ll.from_host(data(n, seed))
    return ll.record("tanh", [ll.record("multiply", [x, ll.record("cosh", [x])])])


def warned(function: Callable[[], Any]) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function()
    return [w for w in found if w.category is ll.PerformanceWarning]


# ---- compiles -------------------------------------------------------------------------


@pytest.mark.parametrize("reproducible", [True, False])
def test_known_programs_run_and_new_ones_are_errors(reproducible: bool) -> None:
    first, other = (123, 124) if reproducible else (223, 224)
    with ll.options(reproducible=reproducible):
        step(first, 0).read()
        with ll.options(compiles="error"):
            x = data(first, 1)
            assert np.allclose(step(first, 1).read(), np.tanh(x * np.cosh(x)))
            new = step(other, 0)
            for _ in range(2):
                with pytest.raises(NewProgramError, match="a new program of 3 ops was to run"):
                    new.read()
        with pytest.raises(ExecutionError):
            new.read()
        assert step(other, 0).read().shape == (other,)
        with ll.options(compiles="error"):
            assert step(other, 1).read().shape == (other,)


@pytest.mark.parametrize("reproducible", [True, False])
def test_what_differs_is_said(reproducible: bool) -> None:
    first, other = (323, 324) if reproducible else (423, 424)
    with ll.options(reproducible=reproducible):
        step(first, 0).read()
        with ll.options(compiles="error"), pytest.raises(NewProgramError) as caught:
            step(other, 0).read()
    text = str(caught.value)
    assert f"input 0 is float32[{other}], was float32[{first}]" in text and "\n" not in text
    assert "test_strict_modes.py" in text and caught.value.site is not None
    assert 'while options(compiles="error") is in force' in text


@pytest.mark.parametrize("reproducible", [True, False])
def test_a_program_is_new_once(reproducible: bool) -> None:
    size = 523 + reproducible
    with ll.options(reproducible=reproducible, compiles="warn"):
        found = warned(lambda: [step(size, seed).read() for seed in range(4)])
    (one,) = found
    assert one.category is ll.PerformanceWarning and one.filename == __file__
    assert "a new program of 3 ops was to run for a read" in str(one.message)


def test_a_program_that_is_compiled_again_is_new_again() -> None:
    """For a result that it did not return the first time."""
    def run(keep: bool) -> Any:
        x = ll.record("cosh", [ll.from_host(data(623, 0))])
        y = ll.record("tanh", [x])
        if not keep:
            del x
        y.read()
        return x if keep else None

    with ll.options(reproducible=True, compiles="warn"):
        assert len(warned(lambda: run(False))) == 1
        assert len(warned(lambda: run(True))) == 1
        assert not warned(lambda: (run(True), run(False)))


# ---- reads ----------------------------------------------------------------------------


READS: dict[str, Callable[[Any], Any]] = {
    "float": float, "item": lambda x: x.item(), "bool": bool, "print": str,
    "numpy": np.asarray, "tolist": lambda x: x.tolist(), "int": int,
    "shape": lambda x: lnp.nonzero(x.reshape(1)),
}


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("computed", [True, False], ids=["computed", "pending"])
def test_every_read_is_met_once(name: str, computed: bool) -> None:
    x = lnp.arange(3.0).sum()
    if computed:
        x.read()
    with ll.testing.counted() as counts:
        READS[name](x)
    (read,) = counts.reads
    assert read.line.startswith(__file__)
    with ll.options(reads="error"), pytest.raises(ReadForbiddenError) as caught:
        READS[name](x)
    assert str(caught.value.site).startswith(__file__) and "64[" in str(caught.value)
    # what was forbidden can be read afterwards
    READS[name](x)


def test_a_read_names_the_op_its_line_and_what_to_do() -> None:
    x = lnp.arange(3.0).sum()
    with ll.options(reads="error"), pytest.raises(ReadForbiddenError) as caught:
        float(x)
    text = str(caught.value)
    assert f"of the op sum recorded at {__file__}:" in text and caught.value.op == "sum"
    assert "keep the computation on tensors" in text


def test_nothing_is_met_by_recording_and_syncing() -> None:
    with ll.options(reads="error", transfers="error", fallbacks="error"):
        x = lnp.arange(5.0) * 2 + 1
        ll.sync(x, wait=True)
        x[1] = 3.0
        y = lnp.cumsum(x).reshape(5, 1)
    assert y.tolist() == [[1.0], [4.0], [9.0], [16.0], [25.0]]


# ---- transfers ------------------------------------------------------------------------


def test_transfers_are_of_more_than_one_element() -> None:
    x = lnp.arange(5.0)
    with ll.options(transfers="error"):
        # numbers and single elements
        y = x + 1 + np.float32(2) + lnp.asarray(3.0)
        assert float(y.sum()) == 40.0 and float(y[1]) == 7.0
        for give in (lambda: x + np.arange(5.0), lambda: lnp.asarray([1, 2]), lambda: x[[0, 2]]):
            with pytest.raises(TransferError, match=r"data of type \w+\[\d\] were taken from") as e:
                give()
            assert str(e.value.site).startswith(__file__)
        with pytest.raises(TransferError, match=r"a value of type float64\[5\].*was read"):
            y.tolist()
    assert y.tolist() == [6.0, 7.0, 8.0, 9.0, 10.0]


def test_a_large_array_that_is_given_up_is_one_read() -> None:
    with ll.testing.counted() as counts:
        np.asarray(lnp.zeros(300_000) + 1)
    assert len(counts.reads) == len(counts.transfers) == 1


# ---- fallbacks ------------------------------------------------------------------------


@pytest.mark.accelerator("capture")
def test_a_captured_function_whose_calls_are_recorded() -> None:
    @ll.jit
    def step(x: Any) -> Any:
        return x * (2 if float(x.sum()) > 0 else 3)

    x = lnp.arange(3.0)
    for _ in range(8):
        step(x)
    assert step.explain().refused
    (one,) = warned(lambda: _twice(step, x))
    assert "step was recorded, which is not captured (" in str(one.message)
    with ll.options(fallbacks="error"), pytest.raises(FallbackError, match="explain"):
        step(x)
    assert step(x).tolist() == [0.0, 2.0, 4.0]


def _twice(step: Callable[[Any], Any], x: Any) -> None:
    with ll.options(fallbacks="warn"):
        for _ in range(2):
            step(x)


# ---- modes ----------------------------------------------------------------------------


def test_a_line_is_warned_about_once() -> None:
    x = lnp.arange(3.0).sum()

    def reads() -> None:
        for _ in range(3):
            float(x)
        float(x)

    with ll.options(reads="warn"):
        found = warned(reads)
        assert len(found) == 2 and len({w.lineno for w in found}) == 2
        assert all(w.category is ll.PerformanceWarning for w in found)
        # other filters are another listener
        assert len(warned(reads)) == 2
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(ll.PerformanceWarning):
                float(x)
    assert not warned(reads)


def test_the_warm_up_lets_occurrences_of_each_kind_pass() -> None:
    x = lnp.arange(3.0).sum()
    with ll.options(reads="error", transfers="error", warmup=2):
        for _ in range(2):
            float(x)
        lnp.asarray([1.0, 2.0])
        with pytest.raises(ReadForbiddenError):
            float(x)
        lnp.asarray([1.0, 2.0])
        with pytest.raises(TransferError):
            lnp.asarray([1.0, 2.0])
        with ll.options(donate=False), pytest.raises(ReadForbiddenError):
            float(x)
        with ll.options(reads="error"):
            # a block of its own
            float(x)
        with pytest.raises(ReadForbiddenError):
            float(x)
    float(x)


def test_modes_belong_to_a_thread() -> None:
    x = lnp.arange(3.0).sum()
    failed: list[BaseException] = []

    def read() -> None:
        try:
            float(x)
        except BaseException as error:
            failed.append(error)

    with ll.options(reads="error"):
        thread = threading.Thread(target=read)
        thread.start()
        thread.join()
    assert not failed


@pytest.mark.parametrize("name", STRICT)
def test_a_mode_is_one_of_three(name: str) -> None:
    for wrong in ("errors", True, None, 2):
        with pytest.raises(ArgumentError, match=f"'{name}' is .*expected 'allow', 'warn', 'error'"):
            ll.set_option(name, wrong)
    for wrong in (-1, True, 1.5, "3"):
        with pytest.raises(ArgumentError, match="'warmup' is .*expected a number of occurrences"):
            ll.set_option("warmup", wrong)
    assert ll.get_option(name) == "allow" and ll.get_option("warmup") == 0
    assert settings.option_table()[name]["values"] == ["allow", "warn", "error"]


@pytest.mark.parametrize(("variables", "expected"), [
    ({"LAZYLOOM_READS": "error"}, "ReadForbiddenError"),
    ({"LAZYLOOM_READS": "error", "LAZYLOOM_WARMUP": "1"}, "read"),
    ({"LAZYLOOM_TRANSFERS": "warn"}, "read"),
    ({"LAZYLOOM_COMPILES": "never"},
     "the environment variable LAZYLOOM_COMPILES is 'never', expected allow, warn, error"),
    ({"LAZYLOOM_WARMUP": "some"}, "the environment variable LAZYLOOM_WARMUP is 'some', expected"),
])  # fmt: skip
def test_the_environment_has_the_defaults(
    variables: dict[str, str], expected: str, tmp_path: Path
) -> None:
    import os

    script = tmp_path / "program.py"
    script.write_text(
        "import lazyloom_numpy as np\nx = np.asarray([1.0, 2.0]) + 1\n"
        "print('read', float(x.sum()))\n")
    run = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=120,
        env={**os.environ, **variables})
    assert expected in (run.stdout if expected == "read" else run.stderr)
    assert (run.returncode == 0) == (expected == "read")
    if "LAZYLOOM_TRANSFERS" in variables:
        assert f"{script}:2: PerformanceWarning: data of type float64[2] were taken" in run.stderr
