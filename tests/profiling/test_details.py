"""What a report says of a program: memory, work, bounds, forms, generators, graph, failures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch as torch
from lazyloom import codegen
from lazyloom.__main__ import main
from lazyloom.backends.xla.analysis import kernels_in
from lazyloom.profiling import machine
from lazyloom.profiling.details import details_of
from lazyloom.profiling.events import SeenProgram, UserLine
from lazyloom.profiling.memory_plan import POINTS, memory_plan
from lazyloom.profiling.program_graph import MOST_BOXES, drawn, folded, graph_of
from lazyloom.profiling.reports import programs_text
from lazyloom.profiling.rules import found_in
from lazyloom.trace.source import Site
from tests.codegen.programs import Doing, written

KB = 1024 * 4


@pytest.fixture
def peaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[machine.MachinePeaks]:
    """A machine of 1 Gflop/s in float32, half of that in float64, and 100 MB/s."""
    monkeypatch.setenv("LAZYLOOM_CACHE_DIR", str(tmp_path))
    found = machine.MachinePeaks(
        machine.this_machine(), {"float32": 1e9, "float64": 5e8}, 1e8)
    (tmp_path / machine.FILE).write_text(json.dumps({
        found.machine: {"flops": found.flops, "bandwidth": found.bandwidth}}))
    yield found


def profiled(function: Any, runs: int = 1, **options: Any) -> dict[str, Any]:
    """The data of a profile of so many calls."""
    with lazyloom.options(**options), lazyloom.profile() as watched:
        for _ in range(runs):
            function()
    found: dict[str, Any] = watched.report.data
    return found


def told(function: Any, runs: int = 1, **options: Any) -> dict[str, Any]:
    """What is told of the program that has the most ops of those that a function runs."""
    found: dict[str, Any] = max(
        profiled(function, runs, **options)["programs"], key=lambda p: p["ops"])
    return found


def values(count: int) -> Any:
    return lazyloom.from_host(numpy.arange(count, dtype=numpy.float32))


# ---- memory --------------------------------------------------------------------------


def test_the_memory_over_the_ops_is_that_of_what_is_alive() -> None:
    a, b = values(1024), values(1024)
    t = lazyloom.record("add", [a, b])  # %0
    u = lazyloom.record("concatenate", [t, t], {"axis": 0})  # %1, twice as large
    v = lazyloom.record("sum", [u], {"axes": None})  # %2
    w = lazyloom.record("multiply", [a, v])  # %3
    program = lazyloom.program_of(w)
    plan = memory_plan(type(program)(program.structure, [(3, 0)], []))
    inputs = 2 * KB
    assert plan["live"] == [
        inputs, inputs + KB, inputs + 3 * KB, inputs + 2 * KB + 4, inputs + 4 + KB]
    assert (plan["peak"], plan["peak_op"]) == (inputs + 3 * KB, 1)
    assert [(v["name"], v["kind"], v["bytes"]) for v in plan["largest"]] == [
        ("%1 concatenate", "temporary", 2 * KB), ("%in0", "input", KB), ("%in1", "input", KB),
        ("%0 add", "temporary", KB)]
    # an input that is given up goes after its last use, %1's operand when %1 is a result does not
    given = memory_plan(type(program)(program.structure, [(3, 0), (1, 0)], [1]))
    assert given["live"] == [
        inputs, inputs + KB, KB + 3 * KB, KB + 2 * KB + 4, KB + 2 * KB + 4 + KB]


def test_a_long_program_has_a_short_curve() -> None:
    x = values(8)
    for _ in range(3 * POINTS):
        x = lazyloom.record("sin", [x])
    plan = memory_plan(lazyloom.program_of(x))
    # an operand and a result of eight numbers each; the input is given up
    assert len(plan["live"]) == POINTS and max(plan["live"]) == plan["peak"] == 64


def test_memory_is_what_the_compiler_says() -> None:
    x = np.ones((64, 64), dtype=np.float32)

    def run() -> None:
        float((np.tanh(x @ x) @ x).sum())

    p = told(run, reproducible=True)
    used, plan = p["details"]["memory"]["compiled"], p["details"]["memory"]["plan"]
    assert used["arguments"] == 64 * 64 * 4 and used["outputs"] >= 4 and used["aliased"] == 0
    assert used["temporaries"] >= 64 * 64 * 4
    assert used["peak"] == used["arguments"] + used["outputs"] + used["temporaries"]
    assert plan["peak"] >= 3 * 64 * 64 * 4


def test_donated_inputs_are_told() -> None:
    def run(keep: list[Any]) -> None:
        v, w = values(4096), lazyloom.from_host(numpy.ones((8, 8), numpy.float32))
        keep.append(v) if keep is not given else None
        s = lazyloom.record("add", [v, lazyloom.record(
            "sum", [w], {"axes": None})])
        del v, w
        s.read()

    given: list[Any] = []
    with lazyloom.options(reproducible=True):
        run(given)
        with lazyloom.profile() as watched:
            run(given)
            run([])
    data = watched.report.data
    (p,) = data["programs"]
    first, other = p["donation"]["reused"][0][0], 1 - p["donation"]["reused"][0][0]
    assert p["donation"]["reused"] == [[first, 0]]
    assert set(p["donation"]["given"]) == {first, other}
    assert p["donation"]["unmatched"] == [other] and p["donation"]["copied"] == [[first, 1]]
    (refused,) = data["failures"]
    assert refused["kind"] == "donation" and "float32[4096]" in refused["text"]
    assert refused["line"] == run.__code__.co_firstlineno + 6
    assert p["details"]["memory"]["compiled"]["aliased"] == 4 * 4096


# ---- work ----------------------------------------------------------------------------


def product() -> None:
    x = np.ones((96, 64), dtype=np.float32)
    float(np.exp(np.tanh(x @ x.T + 1) * 2).sum())


def softmax() -> None:
    x = torch.ones(8, 32, 32)
    (torch.softmax(x @ x.transpose(1, 2), -1) @ x).sum().item()


def convolution() -> None:
    x, w = torch.ones(2, 4, 16, 16), torch.ones(8, 4, 3, 3)
    torch.relu(torch.nn.functional.conv2d(x, w)).sum().item()


@pytest.mark.parametrize("function", [product, softmax, convolution])
def test_kernels_add_up_to_what_the_compiler_counts(function: Any) -> None:
    p = told(function, reproducible=True)
    cost = p["details"]["cost"]
    assert cost["source"] == "XLA" and cost["rows_in_all"] == len(cost["rows"])
    for name in ("flops", "transcendentals", "bytes"):
        assert sum(row[name] for row in cost["rows"]) == pytest.approx(cost[name], rel=0.02), name
    assert {op.split()[1] for row in cost["rows"] for op in row["ops"]} & {
        "matmul", "conv", "conv_general", "convolution", "softmax"}
    assert cost["measured"] is not None


def test_a_product_has_its_operations() -> None:
    def run() -> None:
        x = np.ones((48, 32), dtype=np.float32)
        (x @ np.ones((32, 16), dtype=np.float32)).tolist()

    rows = told(run, reproducible=True)["details"]["cost"]["rows"]
    (row,) = [r for r in rows if any("matmul" in op for op in r["ops"])]
    assert row["flops"] == 2 * 48 * 32 * 16 and row["times"] == 1
    assert row["bytes"] == 4 * (48 * 32 + 32 * 16 + 48 * 16)


HLO = """
%body (p: (s32[], f32[8,16])) -> (s32[], f32[8,16]) {
  %p = (s32[], f32[8,16]{1,0}) parameter(0)
  %n = s32[] get-tuple-element(%p), index=0
  %x = f32[8,16]{1,0} get-tuple-element(%p), index=1
  %t = f32[8,16]{1,0} tanh(%x), metadata={op_name="3:scan/1:tanh"}
  ROOT %r = (s32[], f32[8,16]{1,0}) tuple(%n, %t)
}

%picked (param_0: f32[100,16], param_1: s32[]) -> f32[1,16] {
  %param_0 = f32[100,16]{1,0} parameter(0)
  %param_1 = s32[] parameter(1)
  %zero = s32[] constant(0)
  ROOT %d = f32[1,16]{1,0} dynamic-slice(%param_0, %param_1, %zero), dynamic_slice_sizes={1,16}
}

%placed (param_0.1: f32[100,16], param_1.1: f32[1,16], param_2: s32[]) -> f32[100,16] {
  %param_0.1 = f32[100,16]{1,0} parameter(0)
  %param_1.1 = f32[1,16]{1,0} parameter(1)
  %param_2 = s32[] parameter(2)
  %zero.1 = s32[] constant(0)
  ROOT %u = f32[100,16]{1,0} dynamic-update-slice(%param_0.1, %param_1.1, %param_2, %zero.1)
}

ENTRY %main (a: f32[100,16], i: s32[], b: f32[8,16]) -> f32[100,16] {
  %a = f32[100,16]{1,0} parameter(0)
  %i = s32[] parameter(1)
  %b = f32[8,16]{1,0} parameter(2)
  %start = (s32[], f32[8,16]{1,0}) tuple(%i, %b)
  %loop = (s32[], f32[8,16]{1,0}) while(%start), condition=%c, body=%body, LOOP
  %row = f32[1,16]{1,0} fusion(%a, %i), kind=kLoop, calls=%picked
  ROOT %out = f32[100,16]{1,0} fusion(%a, %row, %i), kind=kLoop, calls=%placed
}
"""


def test_kernels_of_loops_and_of_parts_of_arrays() -> None:
    known = HLO.replace("LOOP", 'backend_config={"known_trip_count":{"n":"5"}}')
    tanh, row, out = kernels_in(known)
    assert (tanh.kind, tanh.times, tanh.transcendentals) == ("tanh", 5, 5 * 128)
    assert tanh.ops == (1,) or tanh.ops == (3,)
    assert tanh.nbytes == 5 * 2 * 128 * 4
    # a row of the array is read, with its index, and written; then it is put in its place
    assert row.nbytes == 64 + 4 + 64 and out.nbytes == 64 + 4 + 64
    unknown, *_ = kernels_in(HLO)
    assert (unknown.times, unknown.transcendentals) == (0, 128)


def test_bounds_are_of_the_measured_machine(peaks: machine.MachinePeaks) -> None:
    assert machine.known_peaks() == peaks
    data = profiled(product, reproducible=True)
    assert data["machine"] == {"name": peaks.machine, "note": "", "peaks": {
        "flops": peaks.flops, "bandwidth": peaks.bandwidth}}
    cost = max(data["programs"], key=lambda p: p["ops"])["details"]["cost"]
    for row in cost["rows"]:
        operations, moved = (row["flops"] + row["transcendentals"]) / 1e9, row["bytes"] / 1e8
        assert row["bound"] == pytest.approx(max(operations, moved))
        assert row["limit"] == ("operations" if operations > moved else "memory")
    assert cost["bound"] == pytest.approx(sum(row["bound"] for row in cost["rows"]))
    assert [r["bound"] for r in cost["rows"]] == sorted(
        (r["bound"] for r in cost["rows"]), reverse=True)
    assert peaks.bound(1e9, 0, "float64") == 2 and peaks.limit(1, 1e8) == "memory"


def test_estimates_are_of_the_measured_machine(
    peaks: machine.MachinePeaks, tmp_path: Path
) -> None:
    x = np.array(numpy.ones((512, 512), numpy.float32))
    with lazyloom.options(reproducible=True), lazyloom.profile() as watched:
        for n in range(20):
            after = x * 0.999 + 0.001
            if n > 8:
                before = x  # noqa: F841 - so that it cannot be reused
            x = after
            del after
            float(x[0, 0])
    copied = sum(len(run.evaluation.copied) for run in watched.events.runs)

    def told() -> Any:
        (found,) = [f for f in found_in(watched.events, 0.0) if str(f.rule) == "LL08"]
        return found

    assert copied >= 4
    assert told().seconds == pytest.approx(2 * copied * 512 * 512 * 4 / peaks.bandwidth)
    assert told().evidence[-1] == "at 0.1 GB/s, as measured on this machine"
    (tmp_path / machine.FILE).unlink()
    assert told().seconds == pytest.approx(
        2 * copied * 512 * 512 * 4 / machine.ASSUMED_BANDWIDTH)
    assert machine.COMMAND in told().evidence[-1]


@pytest.mark.parametrize("text", [
    "", "{}", "[]", '{"flops": 1}', "null", '{"flops": {"float32": 1e999}, "bandwidth": 1}',
    '{"flops": {"float32": 1, "float64": NaN}, "bandwidth": 1}',
    '{"flops": {"float32": 1}, "bandwidth": 1' + 400 * "0" + "}", "[" * 100_000])
def test_a_damaged_file_of_peaks_is_none(text: str, peaks: Any, tmp_path: Path) -> None:
    (tmp_path / machine.FILE).write_text(text)
    assert machine.known_peaks() is None
    (tmp_path / machine.FILE).write_text(
        f"{{{json.dumps(machine.this_machine())}: {text or '1'}}}")
    assert machine.known_peaks() is None
    data = profiled(product, reproducible=True)
    assert data["machine"]["peaks"] is None and machine.COMMAND in data["machine"]["note"]


def test_a_machine_is_measured_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LAZYLOOM_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(machine, "EXTENT", 64)
    monkeypatch.setattr(machine, "ARRAY", 1 << 16)
    monkeypatch.setattr(machine, "RUNS", 2)
    found = machine.measure_peaks()
    assert set(found.flops) == {"float32", "float64"} and min(found.flops.values()) > 1e6
    assert found.bandwidth > 1e6 and machine.known_peaks() == found
    again = machine.measure_peaks()
    assert all(again.flops[name] >= found.flops[name] for name in found.flops)
    assert again.bandwidth >= found.bandwidth
    assert main(["profile", "--measure-machine"]) == 0
    assert f"{found.machine}: " in (told := capsys.readouterr().err) and "Gflop/s" in told
    with monkeypatch.context() as patched:
        patched.setenv("LAZYLOOM_CACHE", "0")
        assert main(["profile", "--measure-machine"]) == 1
        assert "cannot be kept: LAZYLOOM_CACHE=0" in capsys.readouterr().err
    assert main(["profile"]) == 2 and "no program was given" in capsys.readouterr().err
    monkeypatch.setattr(machine, "this_machine", lambda: "another")
    assert machine.known_peaks() is None


# ---- forms ---------------------------------------------------------------------------


def test_forms_and_reasons_are_counted() -> None:
    def run() -> None:
        float(np.cosh(np.ones((5, 3), dtype=np.float32) * 1.5).sum())

    p = told(run, 2)
    assert sum(ran["runs"] for ran in p["ran"]) == 2
    assert {ran["form"] for ran in p["ran"]} == {"op_by_op"}
    # or that it has not yet paid for a compilation, where the machine is busy
    assert all(ran["why"] and not ran["captured"] for ran in p["ran"]), p["ran"]
    cost = p["details"]["cost"]
    assert cost["source"] == "op table" and "not compiled" in cost["why_not"]
    assert [row["name"] for row in cost["rows"]] and cost["rows_in_all"] == p["ops"]
    compiled = told(run, 2, reproducible=True)
    assert [ran["form"] for ran in compiled["ran"]] == ["compiled"] * len(compiled["ran"])
    assert {"the options ask for compiled programs (reproducible, or without op_by_op)",
            "it was found in memory"} == {ran["why"] for ran in compiled["ran"]}


def test_captured_calls_are_told() -> None:
    @lazyloom.jit
    def f(x: Any) -> Any:
        return np.sin(x) * 2 + 1

    x = np.ones((6, 7), dtype=np.float32)
    for _ in range(4):
        float(f(x).sum())
    found = profiled(lambda: float(f(x).sum()), 3)
    assert any(ran["captured"] for p in found["programs"] for ran in p["ran"])


def test_loops_that_are_compiled_as_loops_are_told() -> None:
    def run() -> None:
        x = np.ones((3, 3), dtype=np.float32)
        for _ in range(120):
            x = np.sin(x) * 0.5 + np.cos(x)
        float(x.sum())

    p = told(run, reproducible=True)
    assert sum(times * ops for times, ops in p["details"]["loops"]) > 300


# ---- generators ----------------------------------------------------------------------


def test_generators_and_why_not() -> None:
    program = written("A:t(x) B:t(A) C:d(B) D:t(C)").program("D")
    places = [Site(None, 0, "model.py", n) for n in range(4)]
    seen = SeenProgram(program.structure, [(3, 0)], places)
    before = codegen.in_use()
    codegen.register(Doing())
    try:
        codegen.use(Doing().name)
        generators = details_of(program, seen, [], None)["generators"]
    finally:
        codegen.use(*before)
    assert generators["in_use"] == ["mine"] and not generators["placed"]
    assert generators["regions"] and generators["regions"][0].startswith("region 0: mine")
    assert sum(row["ops"] for row in generators["reasons"]) >= 1
    assert all(row["reason"].startswith("mine: ") for row in generators["reasons"])


def test_a_report_as_text_names_generators_where_they_take_a_part() -> None:
    program = written("A:t(x) B:t(A) C:d(B) D:t(C)").program("D")
    seen = SeenProgram(program.structure, [(3, 0)], [Site(None, 0, "model.py", 1)] * 4)
    row = {"ops": 4, "runs": 1, "seconds": 1.0, "file": "model.py", "line": 1, "ran": []}

    def text(use: list[str]) -> str:
        before = codegen.in_use()
        codegen.register(Doing())
        try:
            codegen.use(*use)
            details = details_of(program, seen, [], None)
        finally:
            codegen.use(*before)
        return "\n".join(programs_text({
            "programs": [row | {"details": details}], "machine": {"name": "cpu", "note": "none"}}))

    assert "region" in text(["mine"]) and "stay with XLA, mine: " in text(["mine"])
    # of these ops it takes none, which is nothing to tell
    assert "4 ops, 1 run, 1.000 s" in text(["c"]) and "generators" not in text(["c"])


# ---- the graph -----------------------------------------------------------------------


def test_a_graph_has_each_op_with_its_line() -> None:
    program = written("A:t(x) B:t(A) C:d(A,B) D:t(C)").program("D")
    places = [Site(None, 0, "model.py", n) for n in range(4)]
    seen = SeenProgram(program.structure, [(3, 0)], places)
    graph = graph_of(codegen.explain(program), seen)
    assert graph["needs"] == [[], [0], [0, 1], [2]] and not graph["folded"]
    assert [box["title"].splitlines()[-1] for box in graph["boxes"]] == [
        f"model.py:{n}" for n in range(4)]
    assert [box["result"] for box in graph["boxes"]] == [False, False, False, True]
    assert json.loads(json.dumps(graph)) == graph
    picture = drawn(graph)
    assert picture.startswith("<svg") and "http" not in picture and "<style" not in picture
    assert picture.count("data-op=") == 4 and " id=" not in picture


def test_a_long_graph_is_folded() -> None:
    x = values(8)
    for _ in range(150):
        x = lazyloom.record("sin", [x])
        x = lazyloom.record("add", [x, x])
        x = lazyloom.record("cos", [x])
    program = lazyloom.program_of(x)
    places = [Site(None, 0, "model.py", n % 3) for n in range(450)]
    seen = SeenProgram(program.structure, [(449, 0)], places)
    graph = graph_of(codegen.explain(program), seen)
    boxes = graph["boxes"]
    assert graph["folded"] and 20 < len(boxes) <= MOST_BOXES
    assert sum(int(box["type"].split()[0]) for box in boxes) == 450
    assert all(m < n for n, needs in enumerate(graph["needs"]) for m in needs)
    assert boxes[-1]["result"] and drawn(graph).count("data-op=") == len(boxes)


@pytest.mark.parametrize("lines", [[5], [1] * 1000, list(range(1000)), [1, 2] * 300,
                                   [1] * 150 + [2] * 150, list(range(201))])
def test_folded_groups_are_neighbours(lines: list[int]) -> None:
    groups = folded([UserLine("a.py", n) for n in lines])
    assert [n for group in groups for n in group] == list(range(len(lines)))
    assert len(groups) <= MOST_BOXES and all(groups)
    if len(lines) > MOST_BOXES:
        assert len(groups) > MOST_BOXES // 5


# ---- failures ------------------------------------------------------------------------


def test_failures_have_their_lines() -> None:
    def run() -> None:
        x = np.ones((9, 2), dtype=np.float32)
        with lazyloom.options(compiles="error"), pytest.raises(lazyloom.LoomError):
            (np.arctan(x) - np.cosh(x) * 0.2).sum().item()

    (failed,) = profiled(run)["failures"]
    assert failed["kind"] == "run" and "NewProgramError" in failed["text"]
    assert failed["line"] == run.__code__.co_firstlineno + 3 and failed["evaluation"] > 0


def test_the_text_has_programs_and_failures() -> None:
    x = np.ones((9, 2), dtype=np.float32)
    with lazyloom.options(reproducible=True), lazyloom.profile() as watched:
        product()
        with lazyloom.options(compiles="error"), pytest.raises(lazyloom.LoomError):
            (np.arctan(x) - np.cosh(x) * 0.7).sum().item()
    text = watched.report.text()
    assert "programs that took the longest:" in text and "as XLA counts" in text
    assert "failures and refused donations: 1" in text and "temporaries" in text
    assert "programs that took the longest:" not in watched.report.text(0)
