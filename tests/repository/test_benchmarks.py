"""The benchmark suite runs, writes what its page shows, and notices what got slower."""

from __future__ import annotations

import copy
import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "benchmarks"


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=300
    )


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``--quick`` of the lightest workload writes."""
    pytest.importorskip("matplotlib")
    out = tmp_path_factory.mktemp("benchmarks")
    done = run(FOLDER / "run.py", "--quick", "--only", "import_time", "--out", out,
               "--log", out / "log")  # fmt: skip
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.slow
def test_a_workload_gives_figures_page_and_picture(quick: Path) -> None:
    results = json.loads((quick / "results.json").read_text())
    assert results["machine"]["cores"] >= 1 and results["versions"]["jax"]
    workload = results["workloads"]["import_time"]
    page = (quick / "README.md").read_text()
    assert f"## {workload['title']}" in page
    assert (quick / workload["plot"]).stat().st_size > 5_000
    assert set(workload["tables"]) == {"import", "whole process"}
    for table in workload["tables"].values():
        rows = table["rows"]
        assert {"lazyloom", "lazyloom_numpy", "lazyloom_torch", "numpy", "jax"} <= set(rows)
        for name, row in rows.items():
            assert 0 < row["least"] <= row["lower_quartile"] <= row["median"]
            assert row["median"] <= row["upper_quartile"]
            assert row["ratio"]["median"] > 0
            assert name in page
    assert workload["tables"]["import"]["rows"]["lazyloom_torch"]["ratio"]["median"] == 1
    assert {t["row"] for t in workload["targets"]} == {"lazyloom", "lazyloom_numpy",
                                                       "lazyloom_torch"}  # fmt: skip


@pytest.mark.slow
def test_an_absent_peer_is_named(quick: Path, tmp_path: Path) -> None:
    """Of the peers some are always missing somewhere: each is a row or is named with a reason."""
    results = json.loads((quick / "results.json").read_text())
    table = results["workloads"]["import_time"]["tables"]["import"]
    page = (quick / "README.md").read_text()
    everyone = {"numpy", "jax", "torch", "mlx.core", "tinygrad", "torch_xla"}
    assert everyone <= set(table["rows"]) | set(table["absent"])
    for name, reason in table["absent"].items():
        assert reason and f"| {name} | " in page


def fabricated(scale: float = 1.0, machine: float = 1.0) -> dict[str, Any]:
    """A results file with one table: our row ``scale`` times as slow, and all ``machine`` times."""

    def row(peer: str, median: float) -> dict[str, Any]:
        return {"peer": peer, "median": median, "lower_quartile": 0.98 * median,
                "upper_quartile": 1.02 * median}  # fmt: skip

    rows = {"ours": row("lazyloom", 1e-3 * scale * machine), "theirs": row("jax", 2e-3 * machine)}
    table = {"unit": "s", "rows": rows}
    return {"machine": {}, "workloads": {"mlp": {"tables": {"loss read": table}}}}


@pytest.mark.parametrize(
    "new, status, said",
    [
        (fabricated(), 0, "1 without a change"),
        (fabricated(scale=1.3), 1, "slower:"),
        (fabricated(scale=0.7), 0, "faster:"),
        (fabricated(scale=1.05), 0, "1 without a change"),
        (fabricated(machine=1.5), 0, "1 without a change"),
        (fabricated(scale=1.3, machine=0.7), 1, "1.30 times, the others 0.70 times"),
    ],
    ids=["same", "slower", "faster", "below the threshold", "a slow machine", "a fast machine"],
)
def test_compare_finds_what_got_slower(
    tmp_path: Path, new: dict[str, Any], status: int, said: str
) -> None:
    (tmp_path / "old.json").write_text(json.dumps(fabricated()))
    (tmp_path / "new.json").write_text(json.dumps(new))
    done = run(FOLDER / "compare.py", tmp_path / "old.json", tmp_path / "new.json")
    assert done.returncode == status, done.stdout + done.stderr
    assert said in done.stdout


def test_compare_counts_noise_as_noise_and_names_what_is_gone(tmp_path: Path) -> None:
    noisy = fabricated(scale=1.3)
    noisy["workloads"]["mlp"]["tables"]["loss read"]["rows"]["ours"]["lower_quartile"] = 0.9e-3
    gone = copy.deepcopy(fabricated())
    del gone["workloads"]["mlp"]["tables"]["loss read"]["rows"]["ours"]
    for name, content in (("old", fabricated()), ("noisy", noisy), ("gone", gone)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    done = run(FOLDER / "compare.py", tmp_path / "old.json", tmp_path / "noisy.json")
    assert done.returncode == 0 and "slower" not in done.stdout
    done = run(FOLDER / "compare.py", tmp_path / "old.json", tmp_path / "gone.json")
    assert done.returncode == 1 and "gone:" in done.stdout


def test_every_workload_is_listed_and_the_stored_results_are_of_this_suite() -> None:
    done = run(FOLDER / "run.py", "--list")
    assert done.returncode == 0, done.stderr
    listed = [line.split()[0] for line in done.stdout.splitlines()]
    files = {p.stem for p in (FOLDER / "workloads").glob("*.py")} - {"__init__"}
    assert set(listed) == files
    stored = ROOT / "docs" / "benchmarks" / "results.json"
    results = json.loads(stored.read_text())
    assert list(results["workloads"]) == [n for n in listed if n in results["workloads"]]
    assert "mlp" in results["workloads"]
    for workload in results["workloads"].values():
        assert "plot" not in workload or (stored.parent / workload["plot"]).exists()


def test_what_fails_of_ours_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    module = importlib.import_module("run")
    workload = module.workload_of("lstm")
    ours, theirs = (next(c.name for c in workload.contenders if (c.peer == "lazyloom") is own)
                    for own in (True, False))  # fmt: skip
    found = {"tables": {"64 steps": {"absent": {
        ours: "failed: ValueError: wrong", theirs: "failed: ValueError: theirs"}}}}
    assert module.failures(workload, found) == [
        f"lstm, 64 steps: {ours} failed: ValueError: wrong"]
    found["tables"]["64 steps"]["absent"] = {ours: "No module named 'lazyloom'"}
    assert not module.failures(workload, found)


@pytest.mark.slow
def test_a_build_beside_another(tmp_path: Path) -> None:
    done = run(FOLDER / "beside.py", sys.executable, "--quick", "--only", "import_time",
               "--threshold", 50, "--out", tmp_path / "rows.json", "--log", tmp_path / "log")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert {r["row"] for r in rows} == {"lazyloom", "lazyloom_numpy", "lazyloom_torch"}
    assert all(0.02 < r["ratio"]["median"] < 50 and r["new"]["samples"] for r in rows)
    done = run(FOLDER / "beside.py", tmp_path / "no-python", "--quick", "--out", tmp_path / "none")
    assert done.returncode == 2 and "no-python" in done.stderr


@pytest.mark.parametrize("scale, status", [(1.0, False), (1.04, False), (1.2, True), (0.7, False)])
def test_a_slower_build_is_told_from_noise(
    scale: float, status: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    beside = importlib.import_module("beside")
    workload = beside.both(beside.workload_of("lstm"))
    case = workload.cases[0]
    names = [c.name for c in workload.contenders if not c.only or case.name in c.only]
    old = [1.0, 3.0, 1.1, 0.9, 2.0]  # the machine's share falls on both
    samples = {name: {"threads": 1, "measures": {"": [
        x * (1 if name.endswith(", earlier") else scale) for x in old]}} for name in names}
    entries = beside.compared(workload, case, samples, {})
    assert len(entries) == len(names) // 2 > 0
    assert [beside.slower(e, 0.05) for e in entries] == [status] * len(entries)
    assert f"{scale:.3f} (" in beside.line_of(entries[0])
    (gone,) = beside.compared(
        workload, case, samples, {names[0]: "failed: ValueError: wrong"})[:1]
    assert "failed: ValueError" in beside.line_of(gone) and not beside.slower(gone, 0.05)


TINY = {
    "transformer": ({"width": 32, "heads": 2, "batch": 2, "length": 16}, "lazyloom_numpy", 2),
    "lstm": ({"length": 2}, "lazyloom_torch", 3),
}


@pytest.mark.slow
@pytest.mark.parametrize("workload", TINY)
def test_contenders_compute_the_same(workload: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compared is the same work: the losses of the first steps agree with jax.jit's."""
    monkeypatch.syspath_prepend(str(FOLDER))
    module = importlib.import_module(f"workloads.{workload}")
    arguments, ours, steps = TINY[workload]
    monkeypatch.setattr(module, "LAYERS", 1, raising=False)
    losses = {}
    for maker in (ours, "jax_jit" if workload == "transformer" else "jax_unrolled"):
        turn = getattr(module, maker)(**arguments)
        turn(steps)
        losses[maker] = turn.losses
    first, second = losses.values()
    assert len(first) == steps
    numpy.testing.assert_allclose(first, second, rtol=1e-4)
    assert first[-1] < first[0]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["recorded", "captured"])
def test_the_transformer_in_c_computes_what_torch_like_does(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setenv("LAZYLOOM_REPRODUCIBLE", "1")
    module = importlib.import_module("workloads.characters")
    monkeypatch.setattr(module, "settle", lambda turn, units: None)
    in_c, torch_like = module.lazyloom_c(how), module.lazyloom_torch()
    for turn in (in_c, torch_like):
        turn(3)
    assert numpy.float32(in_c.losses[-1]) == numpy.float32(torch_like.losses[-1])


@pytest.mark.parametrize(
    "program", ["black_scholes", "n_body", "jacobi", "k_means", "mandelbrot"]
)
def test_numpy_programs_compute_what_numpy_does(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    module = importlib.import_module("workloads.numpy_programs")
    monkeypatch.setattr(module, "SWEEPS", 2)
    monkeypatch.setattr(module, "DAYS", 2)
    monkeypatch.setattr(module, "ROUNDS", 2)
    monkeypatch.setattr(module, "ITERATIONS", 3)
    results = []
    for make in (module.lazyloom_numpy, module.numpy_itself):
        turn = make(program, 100)
        turn(1)
        results.append([numpy.asarray(r) for r in turn.results])
    for ours, theirs in zip(*results, strict=True):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("library", ["numpy_itself", "lazyloom_numpy", "lazyloom_torch"])
def test_small_arrays_are_read_as_described(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The makers compare with NumPy, and a turn says what one unit took where it measures it."""
    monkeypatch.syspath_prepend(str(FOLDER))
    module = importlib.import_module("workloads.small_arrays")
    for name, few in (("BATCH", 3), ("LENGTH", 5), ("SIDE", 2)):
        monkeypatch.setattr(module, name, few)
    make = module.doing(getattr(module, library))
    for what in (module.READ, module.DROPPED):
        assert make(what, 10)(2) is None
    assert make(module.KEPT, 10)(4)[""] > 0
    assert all(seconds > 0 for seconds in make(module.NUMBER)(4).values())
    for what in (module.BY_ONE, module.BY_TWO):
        assert make(what)(2)[""] > 0


def test_a_small_array_program_is_compared_with_numpys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    module = importlib.import_module("workloads.small_arrays")
    monkeypatch.setitem(module.PROGRAMS, "wrong", ("numpy_examples", {"name": "none", "runs": 1}))
    monkeypatch.setitem(module.PROGRAMS, "smoke", (
        "small_programs", {"name": "smoke", "runs": 1, "tiny": 1}))  # fmt: skip
    make = module.doing(module.lazyloom_numpy, "lazyloom_numpy")
    assert make(module.PROGRAM, title="smoke")(2)[""] > 0
    with pytest.raises(ValueError, match="name is 'none'"):
        make(module.PROGRAM, title="wrong")


def scaling(latency: float, bandwidth: float, module: Any) -> dict[str, Any]:
    """Results of a machine whose all-reduces are rings, and that computes 20 ms an image."""
    workload = importlib.import_module("workloads.scaling")
    ring, four = module.Ring(latency, bandwidth), 4
    tables: dict[str, Any] = {}
    for case in workload.WORKLOAD.cases:
        of_sizes = case.name == workload.REDUCTION
        steps = (workload.STEP, workload.RATE_OF_IMAGES, workload.SHARE)
        for measure in workload.SIZES if of_sizes else steps:
            rows = {}
            for library, n, _ in workload.ROWS:
                if of_sizes:
                    value = ring.seconds(n, 4 * workload.SIZES[measure])
                else:
                    images = case.parameters.get("each", 0) * n or case.parameters["total"]
                    alone, together = 0.02 * images / min(n, 2), module.communication(ring, n)
                    step = alone + together
                    value = {workload.STEP: step, workload.RATE_OF_IMAGES: images / step,
                             workload.SHARE: together / step}[measure]
                rows[workload.name_of(library, n)] = {"median": value}
            tables[f"{case.name}: {measure}"] = {"rows": rows}
    assert four in workload.PROCESSES
    return {"machine": {"cores": 2, "processor": "processor"},
            "workloads": {"scaling": {"tables": tables, "date": "today"}}}


def test_the_cost_model_finds_latency_and_bandwidth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    module = importlib.import_module("scaling_model")
    ring = module.Ring(40e-6, 2e9)
    points = [(n, size, ring.seconds(n, size)) for n in (2, 4) for size in (1e3, 1e6, 6e7)]
    found = module.fitted(points)
    assert found.latency == pytest.approx(40e-6) and found.bandwidth == pytest.approx(2e9)
    # every message of a ring of four is a quarter, and there are six of them
    assert ring.seconds(4, 8e9) == pytest.approx(6 * (40e-6 + 1.0))
    assert ring.seconds(1, 1e9) == 0
    assert module.Ring(1e-6, 1e9, 2).seconds(16, 0) == pytest.approx(2 * 2 * 3 * 1e-6)
    assert sum(module.buckets()) == module.GRADIENTS and len(module.buckets()) == 4
    text = module.page(scaling(40e-6, 2e9, module))
    assert "| processes | 40 us | 2 GB/s |" in text
    checked = [line for line in text.splitlines() if line.endswith(" % |") and (
        line.startswith(("| all-reduce of", "| step of")))]
    assert len(checked) == 11 and all(line.endswith(("| +0 % |", "| -0 % |")) for line in checked)


def test_the_page_of_the_cost_model_is_that_of_the_stored_results(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    module = importlib.import_module("scaling_model")
    results = json.loads(module.RESULTS.read_text())
    if "scaling" in results["workloads"]:
        assert module.PAGE.read_text() == module.page(results)
