"""Measure, and write ``docs/benchmarks/``: results.json, README.md and a picture a workload.

``--quick`` shows that it works, ``--only NAME`` runs one workload (and keeps the others of an
earlier results file), ``--list`` names them.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from suite import machine, peers, plot, report  # noqa: E402
from suite.turns import Arena  # noqa: E402
from suite.workload import Workload  # noqa: E402

#: the order of the page
NAMES = (
    "record", "dispatch", "mlp", "transformer", "lstm", "resnet", "device_time", "codegen",
    "inference", "inference_float32", "small_arrays", "numpy_programs", "sorting",
    "complete_programs", "example_steps", "characters", "first_step", "saved_cache",
    "dynamic_programs", "numpy_first_runs", "unrolled_loops", "cold_models", "memory", "edges",
    "import_time", "devices", "processes", "scaling", "profiling", "gpu",
)  # fmt: skip

Json = dict[str, Any]


def workload_of(name: str) -> Workload:
    found: Workload = importlib.import_module(f"workloads.{name}").WORKLOAD
    return found


def today() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")


def measure(workload: Workload, absent: dict[str, str], quick: bool, log: Any) -> Json:
    """One workload's part of the results."""
    result: Json = {"title": workload.title, "about": workload.about, "date": today()}
    reason = workload.needs()
    if reason:
        return {**result, "skipped": reason, "tables": {}, "targets": []}
    started = time.monotonic()
    tables: dict[str, Json] = {}
    # a process that compiles for one that is gone may still store something
    with tempfile.TemporaryDirectory(
        prefix="lazyloom-bench-", ignore_cleanup_errors=True
    ) as cache:
        arena = Arena(workload, absent, log, quick, cache)
        try:
            for case in workload.cases:
                if not (case.quick if quick else case.full):
                    continue
                print(f"{workload.name}: {case.name}", flush=True)
                samples, missing = arena.run(case)
                tables.update(report.tables_of(workload, case, samples, missing))
        finally:
            arena.close()
    targets = [entry for limit in workload.limits for entry in report.judged(limit, tables)]
    return {
        **result, "seconds": round(time.monotonic() - started, 1),
        "headline": list(workload.headline), "columns": workload.columns,
        "tables": report.without_samples(tables), "targets": targets,
    }  # fmt: skip


def probe(names: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Versions of the peers that are there, and why the others are not."""
    versions: dict[str, str] = {}
    absent: dict[str, str] = {}
    for name in names:
        found, reason = peers.probe(name)
        if reason:
            absent[name] = reason
            continue
        own = found.pop("python")
        title = peers.PEERS[name].title
        if peers.python_of(name) == sys.executable:
            versions.update(found)
        else:
            # of another environment: these are not everybody's versions
            versions.update({
                n if n == name else f"{n} of {title}": v for n, v in found.items()})
            if own != machine.describe()["python"]:
                versions[f"Python of {title}"] = own
    return versions, absent


def write(results: Json, out: Path) -> None:
    """The results so far, as JSON and as a page."""
    done = results["workloads"]
    results["workloads"] = {name: done[name] for name in NAMES if name in done}
    results["load"]["end"] = machine.load()
    (out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (out / "README.md").write_text(report.page(results))


def failures(workload: Workload, found: Json) -> list[str]:
    """What of ours failed, a line each: no row of a table says so."""
    ours = {c.name for c in workload.contenders if c.peer == "lazyloom"}
    return [f"{workload.name}, {name}: {contender} {reason}"
            for name, table in found["tables"].items()
            for contender, reason in table["absent"].items()
            if contender in ours and reason.startswith("failed")]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs" / "benchmarks")
    parser.add_argument("--quick", action="store_true", help="few rounds, to see that it works")
    parser.add_argument("--only", action="append", choices=NAMES, help="may be given repeatedly")
    parser.add_argument("--list", action="store_true", help="name the workloads")
    parser.add_argument("--log", type=Path, help="where the contenders' output goes")
    options = parser.parse_args()
    if options.list:
        for name in NAMES:
            print(f"{name:20}{workload_of(name).title}")
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "results.json"
    names = [n for n in NAMES if not options.only or n in options.only]
    workloads = [workload_of(name) for name in names]
    needed = {c.peer for w in workloads if not w.needs() for c in w.contenders}
    results: Json = {"format": 2, "machine": machine.describe(), "quick": options.quick,
                     "date": today(),
                     "load": {"start": machine.load()}, "versions": {}, "absent": {},
                     "workloads": {}}  # fmt: skip
    if options.only and file.exists():
        before = json.loads(file.read_text())
        if before.get("format") == results["format"] and before["quick"] == options.quick:
            results["versions"], results["absent"] = before["versions"], before["absent"]
            results["workloads"] = before["workloads"]
            for found in results["workloads"].values():
                found.setdefault("date", before["date"])
    versions, absent = probe([p for p in peers.PEERS if p in needed])
    for peer in peers.PEERS:
        if peer in needed:
            results["absent"].pop(peers.PEERS[peer].title, None)
            if peer in absent:
                results["absent"][peers.PEERS[peer].title] = absent[peer]
    results["versions"].update(versions)
    log_path = options.log or Path(tempfile.gettempdir()) / "lazyloom-bench.log"
    failed: list[str] = []
    with open(log_path, "w") as log:
        for workload in workloads:
            found = measure(workload, absent, options.quick, log)
            if found["tables"]:
                picture = options.out / f"{workload.name}.png"
                if plot.draw(found, picture):
                    found["plot"] = picture.name
            results["workloads"][workload.name] = found
            failed += failures(workload, found)
            # written each time: what was measured is kept if the run is interrupted
            write(results, options.out)
    print((options.out / "README.md").read_text())
    print(f"what the contenders printed is in {log_path}")
    if failed:
        print("\n".join(["failed:", *failed]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
