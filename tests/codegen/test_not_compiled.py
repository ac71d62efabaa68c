"""A program that XLA does not compile with regions in it is compiled without them."""

from __future__ import annotations

import contextlib
import warnings
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
from lazyloom import codegen
from lazyloom.backends.xla import jax_compat
from lazyloom.backends.xla.regions import engines
from lazyloom.cache import memory
from tests.codegen.generators import InC, InNumPy

pytestmark = [
    pytest.mark.xla,
    pytest.mark.skipif(bool(engines.available()), reason=engines.available() or "there is none"),
    pytest.mark.usefixtures("fresh_cache"),
]

A = numpy.linspace(-2, 2, 30, dtype="float32").reshape(5, 6)


def refuse(monkeypatch: pytest.MonkeyPatch, what: str) -> list[bool]:
    """Have XLA compile nothing whose text has something in it; whether each text had it."""
    compiles = jax_compat.compile_text
    asked: list[bool] = []

    def compile_text(text: str, target: Any = None) -> Any:
        asked.append(what in text)
        if what in text:
            raise RuntimeError("INTERNAL: no such call")
        return compiles(text, target)

    monkeypatch.setattr(jax_compat, "compile_text", compile_text)
    return asked


def value() -> Any:
    x = np.asarray(A)
    return np.tanh(x + x) * np.exp(x)


def told(run: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run()
    return [str(w.message) for w in found if "code generator" in str(w.message)]


@pytest.mark.parametrize("mode", [contextlib.nullcontext, codegen.verify, codegen.segmented])
def test_it_is_compiled_without_them(mode: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = refuse(monkeypatch, "lazyloom_region")
    codegen.register(InNumPy("tanh"))
    codegen.register(InC())

    def run() -> None:
        for _ in range(3):
            numpy.testing.assert_allclose(
                numpy.asarray(value()), numpy.tanh(A + A) * numpy.exp(A), rtol=1e-5)

    with codegen.use("in_numpy", "in_c"), mode():
        (warning,) = told(run)
        record = lazyloom.last_evaluation()
        assert record is not None and record.form == "compiled"
        assert record.regions.run == ()
        assert [r.generator for r in record.regions.failed] == ["in_c", "in_numpy", "in_c"]
        assert asked.count(True) == 1, "it was tried more than once"
        with lazyloom.testing.assert_fallbacks(3) as counts:
            run_once = value()
            run_once.read()
        assert "XLA runs a region (tanh) at which the code generator 'in_numpy' failed" in (
            counts.text("fallbacks"))
        with lazyloom.options(fallbacks="error"), pytest.raises(lazyloom.errors.FallbackError):
            value().read()
    assert "with what the code generator 'in_c, in_numpy' does of it (add, tanh, multiply)" in (
        warning)
    assert "RuntimeError: INTERNAL: no such call" in warning
    (failure,) = codegen.failures()
    assert failure.when == "compile" and failure.generator == "in_c, in_numpy"


def test_it_is_not_kept_on_disk(monkeypatch: pytest.MonkeyPatch, fresh_cache: Path) -> None:
    with monkeypatch.context() as patched:
        refuse(patched, "lazyloom_region")
        codegen.register(InNumPy("tanh"))
        with codegen.use("in_numpy"):
            assert len(told(lambda: value().tolist())) == 1
    assert not list(fresh_cache.glob("program/*/*"))
    memory.clear()
    with codegen.use("in_numpy"):
        assert told(lambda: value().tolist()) == []
    record = lazyloom.last_evaluation()
    assert record is not None and len(record.regions.run) == 1 and not record.regions.failed
    assert list(fresh_cache.glob("program/*/*"))


def test_regions_are_not_blamed_for_what_xla_does_not_compile_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refuse(monkeypatch, "func")
    codegen.register(InNumPy("tanh"))
    with codegen.use("in_numpy"):
        y = value()

        def read() -> None:
            with pytest.raises(lazyloom.LoomError, match="no such call"):
                y.tolist()

        assert told(read) == []
    assert codegen.failures() == []
