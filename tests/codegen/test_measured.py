"""Regions are measured beside XLA when that is asked for, and programs are divided by it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
from lazyloom import codegen, errors, settings
from lazyloom.backends.xla import compiling
from lazyloom.backends.xla.backend import Xla
from lazyloom.backends.xla.regions import engines, timing
from lazyloom.cache import memory
from lazyloom.codegen import Generator, Region, verdicts
from lazyloom.codegen.check import check
from lazyloom.execute.compiling import background, trials
from lazyloom_capi.client import Client
from tests.codegen.generators import InNumPy

pytestmark = [
    pytest.mark.xla,
    pytest.mark.skipif(bool(engines.available()), reason=engines.available() or "there is none"),
    pytest.mark.usefixtures("fresh_cache", "no_verdicts"),
]

A = numpy.linspace(-2, 2, 30, dtype="float32").reshape(5, 6)


@pytest.fixture
def no_verdicts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """None at first, and none of the test's after it; nothing was measured beside programs.

    Programs run whole, as if they were reproducible, and are divided by what was measured.
    """
    monkeypatch.setattr(verdicts, "reproducible", lambda: False)
    monkeypatch.setattr(trials, "_failed", set())
    monkeypatch.setattr(trials, "_spent", [0.0])
    verdicts.adopt(None)
    yield
    verdicts.adopt(None)


def seconds(monkeypatch: pytest.MonkeyPatch, **of: float) -> None:
    """Have a region of an op take so many seconds, where XLA takes one."""

    def timed(self: Xla, generator: Generator, region: Region) -> list[tuple[float, float]]:
        if not of:
            raise OSError("cannot be measured")
        return [(of[region.calls[0].op], 1.0)] * 9

    monkeypatch.setattr(Xla, "timed", timed)


def value() -> Any:
    x = np.asarray(A)
    return np.exp(np.tanh(x) @ np.asarray(A.T))


def record() -> str:
    """What the record of a run says of its regions, whose value is right."""
    found = numpy.asarray(value())
    numpy.testing.assert_allclose(found, numpy.exp(numpy.tanh(A) @ A.T), rtol=1e-5)
    evaluation = lazyloom.last_evaluation()
    assert evaluation is not None and evaluation.form == "compiled"
    return evaluation.regions.text().partition(";")[0]


@pytest.fixture
def generator() -> Iterator[InNumPy]:
    found = InNumPy("tanh", "exp")
    codegen.register(found)
    with codegen.use("in_numpy"):
        yield found


def test_what_was_measured_decides(
    generator: InNumPy, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds(monkeypatch, tanh=0.5, exp=2.0)
    assert record() == "2 by in_numpy"
    report = codegen.measure()
    assert report.measured_gain == 0.5 and len(report.partition.parts) == 1
    assert "tanh; measured 500 ms, XLA 1e+03 ms" in report.text()
    assert "(in_numpy: measured 2e+03 ms, XLA 1e+03 ms)" in report.text()
    before = lazyloom.stats()["programs_compiled"]
    for _ in range(3):
        assert record() == "1 by in_numpy (1 measured: 500 ms, without 1e+03 ms)"
    assert lazyloom.stats()["programs_compiled"] == before + 1
    # measured again, by other times
    seconds(monkeypatch, tanh=2.0, exp=0.5)
    codegen.measure(lazyloom.program_of(value()))
    assert record() == "1 by in_numpy (1 measured: 500 ms, without 1e+03 ms)"
    seconds(monkeypatch, tanh=1.0, exp=1.0)
    codegen.measure()
    assert record() == "2 by in_numpy (2 measured: 2e+03 ms, without 2e+03 ms)"


def test_the_report_is_the_same_from_c(
    generator: InNumPy, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds(monkeypatch, tanh=0.5, exp=2.0)
    client = Client()
    report = codegen.measure(lazyloom.program_of(value())).text()
    record()
    last = client.out("loom_program *", client.lib.loom_last_program)
    assert client.text(client.lib.loom_program_explain, last) == report
    client.check(client.lib.loom_program_release(last))


def test_what_is_too_small_is_made_where_it_is_quicker(monkeypatch: pytest.MonkeyPatch) -> None:
    class Choosy(InNumPy):
        merges = False

        def supports(self, call: codegen.Call) -> codegen.Answer:
            found = super().supports(call)
            return codegen.at_least(call.results[0].size, 1000, "elements") if found else found

    codegen.register(Choosy("tanh", "exp"))
    seconds(monkeypatch, tanh=0.5, exp=2.0)
    with codegen.use("in_numpy"):
        assert record() == ""
        codegen.measure()
        assert record() == "1 by in_numpy (1 measured: 500 ms, without 1e+03 ms)"


def test_a_region_that_cannot_be_measured_stays(
    generator: InNumPy, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds(monkeypatch)
    assert record() == "2 by in_numpy"
    assert codegen.measure().measured_gain is None
    assert record() == "2 by in_numpy"


def test_wrong_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(errors.ArgumentError, match="a int was given, expected a program"):
        codegen.measure(3)  # type: ignore[arg-type]
    monkeypatch.setattr("lazyloom.codegen.report.last_evaluation", lambda: None)
    with pytest.raises(errors.ArgumentError, match="nothing was evaluated yet"):
        codegen.measure()


def test_programs_on_disk_are_told_apart(
    generator: InNumPy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> str:
        memory.clear()
        record()
        evaluation = lazyloom.last_evaluation()
        assert evaluation is not None
        return f"{evaluation.found} {len(evaluation.regions.run)}"

    assert [found(), found()] == ["compiled 2", "disk 2"]
    seconds(monkeypatch, tanh=1.0, exp=2.0)
    codegen.measure()
    assert [found(), found()] == ["compiled 1", "disk 1"]
    # a new process reads them
    verdicts.adopt(None)
    assert found() == "disk 1"
    # back as it was: the first program is there still
    seconds(monkeypatch, tanh=1.0, exp=0.5)
    codegen.measure()
    assert found() == "disk 2"
    assert record() == "2 by in_numpy (2 measured: 1.5e+03 ms, without 2e+03 ms)"


def test_bad_bytes_on_disk_are_no_verdicts(
    generator: InNumPy, monkeypatch: pytest.MonkeyPatch, fresh_cache: Path
) -> None:
    seconds(monkeypatch, tanh=2.0, exp=2.0)
    record()
    codegen.measure()
    assert record() == ""
    (file,) = [p for p in (fresh_cache / "verdict").rglob("*") if p.is_file()]
    file.write_bytes(file.read_bytes()[:-5])
    verdicts.adopt(None)
    memory.clear()
    before = lazyloom.stats()["disk_errors"]
    assert record() == "2 by in_numpy"
    assert lazyloom.stats()["disk_errors"] == before + 1


def test_what_two_processes_measure_is_kept(
    generator: InNumPy, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds(monkeypatch, tanh=2.0, exp=0.5)
    tanh = lazyloom.program_of(np.tanh(np.asarray(A)))
    exp = lazyloom.program_of(np.exp(np.asarray(A)))
    codegen.measure(tanh)
    verdicts.adopt(verdicts.NONE)  # as in a process that began before
    codegen.measure(exp)
    verdicts.adopt(None)
    assert {v.calls for v in verdicts.current().found.values()} == {
        (verdicts.call_key(p.structure.instructions[0]),) for p in (tanh, exp)}


@pytest.mark.parametrize("order", [False, True])
def test_both_that_are_timed_do_what_the_region_does(
    order: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With arrays as they lie where the generator has an order of its own."""
    generator = InNumPy("tanh", "multiply", order=order)
    codegen.register(generator)
    results: list[list[Any]] = []
    runs = timing._run

    def run(program: Any, arrays: Any) -> float:
        results.append([numpy.asarray(x) for x in program.run(*arrays)])
        return runs(program, arrays)

    def compiled(request: Any, found: Any, started: Any = None) -> Any:
        if found is not None:
            check(request.structure, request.outputs, found)
        return compiling._compiled(request, found, started)

    monkeypatch.setattr(timing, "_run", run)
    x, y = np.asarray(A), np.asarray(A[:, :1].copy())
    z = np.tanh(x)
    program = lazyloom.program_of(z * x, np.tanh(z * y))
    with codegen.use("in_numpy"):
        (part,) = codegen.explain(program).partition.parts
    pairs = timing.timed(generator, part.region, compiled)
    assert len(pairs) >= timing.FEWEST and all(a > 0 and b > 0 for a, b in pairs)
    assert generator.calls >= 2 * len(pairs)
    for mine, by_xla in zip(results[0], results[1], strict=True):
        assert mine.shape == ((6, 5) if order else (5, 6))
        numpy.testing.assert_allclose(mine, by_xla, rtol=1e-6)
    measured = verdicts.verdict(generator, part.region, pairs, True)
    assert measured.runs == len(pairs) and measured.seconds > 0


def test_a_region_that_fails_while_it_is_timed_has_no_verdict() -> None:
    class Failing(InNumPy):
        def before(self, operands: Any) -> None:
            raise OSError("the device fell off")

    codegen.register(Failing("tanh"))
    with codegen.use("in_numpy"):
        program = lazyloom.program_of(np.tanh(np.asarray(A)))
        with pytest.warns(RuntimeWarning, match="fell off"):
            report = codegen.measure(program)
    assert report.coverage == 0 and verdicts.current().found == {}


@pytest.mark.parametrize("fails", [False, True])
def test_regions_are_measured_while_programs_run_where_a_variable_says_so(
    fails: bool, generator: InNumPy, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def timed(
        self: Xla, generator: Generator, region: Region, ends: Any = None
    ) -> list[tuple[float, float]]:
        asked.append(region.calls[0].op)
        if fails:
            raise OSError("cannot be measured")
        return [(0.5 if region.calls[0].op == "tanh" else 2.0, 1.0)] * 9

    monkeypatch.setattr(Xla, "timed", timed)
    monkeypatch.setattr(trials, "RUNS", 3)
    monkeypatch.setenv(trials.VARIABLE, "1")
    for _ in range(3):
        assert record() == "2 by in_numpy"
    assert asked == [], "its first runs are as they are"
    for _ in range(5):
        # this process goes on as it began
        assert record() == "2 by in_numpy"
    background.settle()
    assert sorted(asked) == ["exp", "tanh"], "each is measured once"
    memory.clear()
    assert record() == "2 by in_numpy"
    background.settle()
    # one that is loaded from disk, in a process that knows what was measured
    verdicts.adopt(None)
    memory.clear()
    for _ in range(5):
        assert record() == "2 by in_numpy" if fails else (
            "1 by in_numpy (1 measured: 500 ms, without 1e+03 ms)")
    background.settle()
    assert len(asked) == 2


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What is measured beside programs, and by which thread; a clock on which each takes 4 s."""
    found: list[tuple[str, str]] = []
    now = [0.0]

    def timed(
        self: Xla, generator: Generator, region: Region, ends: Any = None
    ) -> list[tuple[float, float]]:
        found.append((region.calls[0].op, threading.current_thread().name))
        now[0] += 4.0
        return [(0.5, 1.0)] * 9

    monkeypatch.setattr(Xla, "timed", timed)
    monkeypatch.setattr(trials, "clock", lambda: now[0])
    monkeypatch.setattr(trials, "RUNS", 1)
    monkeypatch.setenv(trials.VARIABLE, "1")
    return found


@pytest.mark.parametrize(("seconds", "count"), [(0, 0), (4, 1), (5, 2), (10, 2)])
def test_what_is_measured_beside_takes_no_more_than_it_may(
    seconds: int, count: int, generator: InNumPy, asked: list[tuple[str, str]]
) -> None:
    lazyloom.set_option("measuring_seconds", seconds)
    try:
        for _ in range(4):
            record()
        background.settle()
    finally:
        lazyloom.set_option("measuring_seconds", 10)
    assert len(asked) == count
    assert all(thread == "lazyloom-compiler" for _, thread in asked)


def test_reproducible_runs_measure_nothing(
    generator: InNumPy, asked: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdicts, "reproducible", settings.reproducible)
    with lazyloom.options(reproducible=True):
        for _ in range(6):
            record()
    background.settle()
    assert asked == []


def test_without_the_variable_nothing_is_measured(
    generator: InNumPy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(trials.VARIABLE, raising=False)
    monkeypatch.setattr(trials, "RUNS", 1)
    monkeypatch.setattr(Xla, "timed", lambda *given: pytest.fail("it was measured"))
    for _ in range(4):
        assert record() == "2 by in_numpy"


_INSTALLED = """
import sys
sys.path.insert(0, {root!r})
from tests.codegen.generators import InNumPy

def made():
    return InNumPy("tanh", "exp", name="beside")
"""
_USER = """
import numpy, lazyloom
import lazyloom_numpy as np
from lazyloom import codegen, errors, settings
from lazyloom.execute import costs
from lazyloom.execute.compiling import background
from lazyloom.backends.xla.backend import Xla
costs.WORTH, costs.PART, costs.SLOWER, costs.START_EARLY = 0.0, 0.0, float("inf"), 0.0
costs.EAGER_FACTOR = 1e9
costs.HEAVY_PART = 0.0
Xla.timed = lambda self, generator, region: [
    (0.5 if region.calls[0].op == "tanh" else 2.0, 1.0)] * 9
a = numpy.arange(40_000, dtype="float32").reshape(200, 200) / 40_000
def value():
    x = np.asarray(a)
    return np.exp(np.tanh(x) @ x)
codegen.measure(lazyloom.program_of(value()))
for _ in range(4000):
    numpy.asarray(value())
    record = lazyloom.last_evaluation()
    if record.form == "compiled":
        break
    assert background.wait(100)
print(record.form, [r.ops for r in record.regions.run], lazyloom.stats()["programs_compiled"])
"""


def test_the_process_that_compiles_beside_divides_by_the_same_verdicts(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text(
        _INSTALLED.format(root=str(Path(__file__).resolve().parents[2])))
    info = tmp_path / "beside-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: beside\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[lazyloom.generators]\nbeside = beside:made\n")
    # with no disk on which it could find them
    environment: dict[str, Any] = {
        **os.environ, "LAZYLOOM_CACHE": "0", "LAZYLOOM_CODEGEN": "beside",
        "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    environment.pop("LAZYLOOM_REPRODUCIBLE", None)
    done = subprocess.run(
        [sys.executable, "-c", _USER], capture_output=True, text=True, timeout=120,
        env=environment)
    assert done.returncode == 0, done.stderr
    # it compiled it, and not this process
    assert done.stdout.strip() == "compiled [('tanh',)] 0"
