"""The strict mode of code generators: a least part of a program's ops, or an error at its line."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import lazyloom as ll
import lazyloom_numpy as lnp
from docs.pages import ROOT
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.cache import memory
from lazyloom.errors import ArgumentError, FallbackError
from tests.codegen.generators import InNumPy

pytestmark = [
    pytest.mark.xla,
    pytest.mark.skipif(bool(engines.available()), reason=engines.available() or "there is none"),
]
A = np.linspace(-1, 1, 12, dtype=np.float32)


def value() -> Any:
    """Four ops, of which the generator does three."""
    x = lnp.asarray(A)
    return np.asarray(lnp.exp(x * x + x) - x)


EXPECTED = np.exp(A * A + A) - A


@pytest.fixture(autouse=True)
def generator() -> InNumPy:
    mine = InNumPy("multiply", "add", "subtract")
    codegen.register(mine)
    return mine


def test_enough_is_enough(generator: InNumPy) -> None:
    with codegen.use("in_numpy", coverage=0.75):
        np.testing.assert_allclose(value(), EXPECTED, rtol=1e-6)
        np.testing.assert_allclose(value(), EXPECTED, rtol=1e-6)
    assert generator.calls


def test_less_is_an_error_at_the_line_that_says_what_is_missing() -> None:
    with codegen.use("in_numpy", coverage=0.8):
        for _ in range(2):
            x = lnp.asarray(A)
            result = lnp.exp(x * x + x) - x
            with pytest.raises(FallbackError) as raised:
                np.asarray(result)
            text = str(raised.value)
            assert "in_numpy would run 3 of 4 ops (75%)" in text and "at least 80%" in text
            assert "xla: 1 exp (in_numpy: it is not one of multiply, add, subtract)" in text
            assert f"{os.path.basename(__file__)}:" in text
    # outside of the block nothing is asked for
    with codegen.use("in_numpy"):
        np.testing.assert_allclose(value(), EXPECTED, rtol=1e-6)


def test_programs_do_not_run_op_by_op_before() -> None:
    with codegen.use("in_numpy", coverage=0.8), ll.options(reproducible=False), (
        pytest.raises(FallbackError)
    ):
        value()


def test_the_generators_in_use_stay() -> None:
    with codegen.use("in_numpy"), codegen.use(coverage=1):
        assert codegen.in_use() == ("in_numpy",)
        with pytest.raises(FallbackError):
            value()
        assert memory.selected().coverage == 1.0
    assert memory.selected().coverage == 0.0
    with codegen.use("xla", coverage=0.1), pytest.raises(FallbackError, match="no code generator"):
        value()


def test_a_region_that_fails_counts_as_missing(generator: InNumPy) -> None:
    def fails(region: codegen.Region) -> codegen.Code:
        raise RuntimeError("no engine")

    generator.build = fails  # type: ignore[method-assign]
    with codegen.use("in_numpy", coverage=0.5), pytest.warns(RuntimeWarning, match="no engine"), (
        pytest.raises(FallbackError, match="it failed here before")
    ):
        value()


@pytest.mark.parametrize("coverage", [-0.1, 1.1, float("nan"), "0.9", True, None])
def test_what_is_no_part(coverage: Any) -> None:
    with pytest.raises(ArgumentError, match="coverage is .*, expected the least part"):
        codegen.use("in_numpy", coverage=coverage)


def test_the_environment() -> None:
    text = """
import lazyloom, lazyloom_numpy as np
from lazyloom import codegen
try:
    print(float((np.arange(3.0) + 1).sum()))
except lazyloom.LoomError as error:
    print(error)
"""
    for value_, expected in [("0.9", "would run 0 of"), ("", "6.0"), ("0", "6.0"),
                             ("90%", "LAZYLOOM_CODEGEN_COVERAGE is no number from 0 to 1")]:
        done = subprocess.run(
            [sys.executable, "-c", text], text=True, capture_output=True, cwd=ROOT, timeout=120,
            env={**os.environ, "LAZYLOOM_CODEGEN_COVERAGE": value_})
        assert done.returncode == 0 and expected in done.stdout, (value_, done.stdout, done.stderr)
