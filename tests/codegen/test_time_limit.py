"""Builds that hang are given up: XLA does the region, and what they started is killed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
from lazyloom import codegen
from lazyloom.backends.xla.regions import engines
from lazyloom.backends.xla.regions.time_limit import within

from .generators import InC, InNumPy

pytestmark = [
    pytest.mark.xla,
    pytest.mark.skipif(bool(engines.available()), reason=engines.available() or "there is none"),
]

X = numpy.linspace(-1, 1, 12, dtype="float32")


class Hanging(InNumPy):
    """Its builds wait until they are released."""

    def __init__(self) -> None:
        super().__init__("tanh", name="hanging")
        self.released = threading.Event()

    def build(self, region: codegen.Region) -> codegen.Code:
        self.released.wait()
        return super().build(region)


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_build_that_hangs_is_xlas_and_explain_says_why() -> None:
    generator = Hanging()
    codegen.register(generator)
    try:
        with codegen.use("hanging"), lazyloom.options(build_seconds=1):
            with pytest.warns(RuntimeWarning, match="'hanging' failed to build .* longer than 1 s"):
                found = numpy.asarray(np.tanh(np.asarray(X)))
            numpy.testing.assert_allclose(found, numpy.tanh(X), rtol=1e-6)
            evaluation = lazyloom.last_evaluation()
            assert evaluation is not None and evaluation.program is not None
            report = codegen.explain(evaluation.program).text()
            assert "hanging: it failed here before: TimeoutError: it took longer than 1 s" in report
            # it is not tried again
            assert numpy.asarray(np.tanh(np.asarray(X))).shape == (12,)
            assert len(codegen.failures()) == 1 and not generator.calls
    finally:
        generator.released.set()


class Binding(Hanging):
    """Only what binds constants hangs."""

    def constants(self, region: codegen.Region) -> list[int]:
        return [0]

    def build(self, region: codegen.Region) -> codegen.Code:
        return InNumPy.build(self, region)

    def bound(self, region: codegen.Region, values: object) -> codegen.Code:
        self.released.wait()
        return InNumPy.build(self, region)


def test_constants_that_are_bound_for_too_long_are_not() -> None:
    generator = Binding()
    codegen.register(generator)
    try:
        with codegen.use("hanging"), lazyloom.options(build_seconds=1):
            x = np.asarray(X)
            lazyloom.sync(x)
            numpy.asarray(np.tanh(x))
            with pytest.warns(RuntimeWarning, match="failed to bind .* longer than 1 s"):
                numpy.asarray(np.tanh(x))
            assert numpy.asarray(np.tanh(x)).shape == (12,)
        assert generator.calls == 3
    finally:
        generator.released.set()


def test_a_c_compiler_that_hangs_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAZYLOOM_CACHE_DIR", str(tmp_path / "cache"))
    script = tmp_path / "cc"
    script.write_text(f"#!/bin/sh\nsleep 1000 &\necho $$ $! > {tmp_path}/pids\nwait\n")
    script.chmod(0o700)
    monkeypatch.setenv("CC", str(script))
    codegen.register(InC())
    x = np.asarray(X)
    with (
        codegen.use("in_c"), lazyloom.options(build_seconds=1),
        pytest.warns(RuntimeWarning, match="failed to build .* took longer than 1 s"),
    ):
        found = numpy.asarray(x * x + x)
    numpy.testing.assert_allclose(found, X * X + X, rtol=1e-6)
    pids = [int(word) for word in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 2
    for pid in pids:
        for _ in range(100):
            if not alive(pid):
                break
            time.sleep(0.05)
        assert not alive(pid)


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="the system tells no children")
def test_processes_that_a_given_up_build_started_are_killed() -> None:
    started: list[subprocess.Popen[bytes]] = []
    ended = threading.Event()

    def build() -> None:
        inner = "import subprocess; subprocess.run(['sleep', '1000'])"
        started.append(subprocess.Popen([sys.executable, "-c", inner]))
        started[0].wait()
        ended.set()

    with pytest.raises(TimeoutError, match="longer than 1 s and was given up; the option build_s"):
        within(1, build)
    assert ended.wait(30) and started[0].returncode == -9


def test_what_a_build_raises_is_raised() -> None:
    def build() -> None:
        raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing"):
        within(5, build)
    here = threading.get_ident()
    assert within(5, threading.get_ident) != here
