"""The programs of ``benchmarks/programs``: both libraries compute the same; a limit ends them."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "benchmarks"
FIRST = 2

pytestmark = pytest.mark.usefixtures("quick_compiler")

#: by program and arguments: what PyTorch 2.13 gives for the first samples at the small size
LOSSES: list[tuple[str, dict[str, Any], list[float]]] = [
    ("wordseg", {}, [4.84864, 4.60102]),
    ("tree_lstm", {}, [1.59697, 1.60826]),
    ("reinforce", {}, [0.194807, 0.204796]),
    ("spinn", {}, [1.74184, 1.77044]),
    ("lstm_steps", {}, [0.442123, 0.434849]),
    ("lstm_steps", {"layer": "module"}, [0.442123, 0.434849]),
    ("layer_stack", {}, [1.72602, 1.65089]),
    ("lengths", {}, [2.38654, 1.55801]),
    ("generation", {}, [221, 222]),
    ("extents", {"what": "mask"}, [1.8, 3.6001]),
    ("extents", {"what": "slice"}, [1.8, 3.6001]),
    ("extents", {"what": "roll"}, [1806.66, 1806.66]),
    ("extents", {"what": "pad"}, [3801, 3802]),
    ("extents", {"what": "power"}, [1900, 1806.67]),
    ("first_steps", {"model": "gpt"}, [4.01271, 4.00236]),
    ("first_steps", {"model": "resnet50"}, [2.73549, 2.31042]),
    ("first_steps", {"model": "roberta"}, [3.94439, 3.93519]),
    ("first_steps", {"model": "swin"}, [2.3788, 2.34637]),
    ("first_steps", {"model": "mobilenet"}, [2.31494, 1.94557]),
]  # fmt: skip
NUMPY = [("ekf", {}), ("growing_cache", {}), ("particle_filter", {}), ("char_rnn", {}),
         ("numpy_examples", {}),
         *(("small_programs", {"name": name})
           for name in ("life", "mandelbrot", "smoke", "ray_tracer"))]  # fmt: skip
#: those that compute in single precision
SINGLE = ("growing_cache",)


def named(value: Any) -> str | None:
    if isinstance(value, dict):
        return "-".join(map(str, value.values())) or "default"
    return value if isinstance(value, str) else ""


class Enough(Exception):
    """As many samples as are compared."""


def first_samples(
    name: str, module: ModuleType, arguments: dict[str, Any], count: int = FIRST
) -> list[list[float]]:
    """What a program gives for its first samples at its small size."""
    program = importlib.import_module(f"benchmarks.programs.{name}")
    from benchmarks.programs import Progress

    class Few(Progress):
        def sample(self, value: Any) -> None:
            super().sample(value)
            if sum(len(e.values) for e in self.epochs) == count:
                raise Enough

    progress = Few()
    try:
        program.run(module, progress, **{**program.SIZES["small"], **arguments})
    except Enough:
        pass
    return [value for epoch in progress.epochs for value in epoch.values]


@pytest.mark.slow
@pytest.mark.parametrize("name, arguments, losses", LOSSES, ids=named)
def test_the_frontend_computes_what_pytorch_does(
    name: str, arguments: dict[str, Any], losses: list[float]
) -> None:
    import lazyloom_torch

    found = first_samples(name, lazyloom_torch, arguments, len(losses))
    numpy.testing.assert_allclose(numpy.ravel(found), losses, rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name, arguments, losses", LOSSES, ids=named)
def test_the_stored_losses_are_pytorchs(
    name: str, arguments: dict[str, Any], losses: list[float]
) -> None:
    torch = pytest.importorskip("torch")
    found = first_samples(name, torch, arguments, len(losses))
    numpy.testing.assert_allclose(numpy.ravel(found), losses, rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name, arguments", NUMPY, ids=named)
def test_the_frontend_computes_what_numpy_does(name: str, arguments: dict[str, Any]) -> None:
    import lazyloom_numpy

    ours = first_samples(name, lazyloom_numpy, arguments)
    theirs = first_samples(name, numpy, arguments)
    assert len(ours) == len(theirs) > 0
    rtol = 1e-5 if name in SINGLE else 1e-9
    numpy.testing.assert_allclose(ours, theirs, rtol=rtol, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("tiny", [
    True, pytest.param(False, marks=pytest.mark.thorough)], ids=["tiny", "full"])
@pytest.mark.parametrize("name", ["life", "mandelbrot", "smoke", "ray_tracer"])
def test_every_array_of_a_small_program_is_numpys(name: str, tiny: bool) -> None:
    import lazyloom_numpy

    programs = importlib.import_module("benchmarks.programs.small_programs")
    ours, theirs = (programs.results(np, name, tiny) for np in (lazyloom_numpy, numpy))
    assert list(ours) == list(theirs)
    for key, wanted in theirs.items():
        assert ours[key].dtype == wanted.dtype and numpy.abs(wanted).max() > 0, key
        numpy.testing.assert_allclose(ours[key], wanted, rtol=1e-9, atol=1e-12, err_msg=key)


def runner(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.programs", *arguments], capture_output=True,
        text=True, timeout=120, cwd=ROOT,
    )  # fmt: skip


def test_the_runner_says_how_long_everything_took() -> None:
    done = runner("ekf", "--library", "numpy", "--size", "small", "--set", "runs=3", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["over"] is None and found["samples"] == [1, 1, 1]
    assert found["total"] >= sum(found["epochs"]) > 0
    assert [len(e) for e in found["values"]] == [1, 1, 1]
    done = runner("ekf", "--library", "numpy", "--size", "small")
    assert "epoch 2" in done.stdout and "over" not in done.stdout


def test_a_program_that_is_not_done_is_ended() -> None:
    done = runner("char_rnn", "--library", "numpy", "--set", "epochs=10000", "--limit", "2")
    assert done.returncode == 124
    assert "2 s: ended" in done.stdout and "epoch 1" in done.stdout


def test_a_wrong_argument_is_named() -> None:
    done = runner("ekf", "--library", "numpy", "--set", "step=3")
    assert done.returncode and "it has steps, runs" in done.stderr
    done = runner("ekf", "--library", "torch")
    assert done.returncode and "takes lazyloom or numpy" in done.stderr


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("suite")


def judged(suite: Any, ours: dict[str, Any], theirs: float, **bound: Any) -> tuple[str, str]:
    """The target's line on the page and the table's, for one round of two contenders."""
    report = importlib.import_module("suite.report")
    case = suite.Case("a program", limit=40.0)
    limit = suite.Limit("beside the peer", ["a program"], ["ours"], against=["peer"], **bound)
    workload = suite.Workload(
        "w", "W", "", [case], [suite.Contender("ours", "lazyloom", lambda: None),
                               suite.Contender("peer", "torch", lambda: None)],
        base="peer", limits=[limit])  # fmt: skip
    samples = {"ours": {"threads": 2, "note": "", **ours},
               "peer": {"threads": 2, "note": "", "measures": {"first": [theirs]}}}  # fmt: skip
    tables = report.tables_of(workload, case, samples, {})
    targets = report.judged(limit, tables)
    lines = report._targets({"workloads": {"w": {"targets": targets}}})
    table = report._table("first", report.without_samples(tables)["a program: first"])
    return lines[-1], next(line for line in table if line.startswith("| ours"))


def test_what_was_ended_misses_its_target_and_is_shown(suite: Any) -> None:
    target, row = judged(suite, {"measures": {}, "ended": ["first"]}, 2.0, at_most=3.0)
    assert "| over 40 s | **no** |" in target
    assert "over 40 s: ended" in row


@pytest.mark.parametrize("ours, met", [(15.9, "yes"), (16.1, "**no**"), (4.0, "yes")])
def test_seconds_are_allowed_on_top_of_a_multiple(suite: Any, ours: float, met: str) -> None:
    given = {"measures": {"first": [ours]}}
    target, _ = judged(suite, given, 2.0, at_most=3.0, plus=10.0)
    assert "| 3 and 10 s |" in target and target.endswith(f"| {met} |")
