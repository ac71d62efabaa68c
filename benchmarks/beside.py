"""Measure this build beside an earlier one: ``python benchmarks/beside.py PYTHON``.

PYTHON is the interpreter of an environment in which the earlier build is installed. Every row of
ours is measured in both, in turns, so that whatever else the machine does falls on both; what is
shown is the median of the rounds' quotients, this build's time divided by the earlier one's, with
its quartiles. The workloads are those of this checkout. Exit status 1 if a row got slower, by more
than the threshold in the median and by more than half of it in the lower quartile, or if a row
could not be measured.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from run import NAMES, probe, today, workload_of  # noqa: E402
from suite import machine  # noqa: E402
from suite.summary import in_words, paired_ratio, summary  # noqa: E402
from suite.turns import Arena  # noqa: E402
from suite.workload import EARLIER, Case, Workload  # noqa: E402

Json = dict[str, Any]


def both(workload: Workload) -> Workload:
    """The workload with our rows alone, each of them by this build and by the earlier one."""
    ours = [c for c in workload.contenders if c.peer == "lazyloom"]
    return replace(workload, contenders=[
        each for c in ours for each in (c, replace(c, name=c.name + EARLIER, peer="earlier"))])


def compared(workload: Workload, case: Case, samples: Json, missing: dict[str, str]) -> list[Json]:
    """An entry a row and measure: medians, and the quotient of the rounds."""
    found = []
    for contender in workload.contenders:
        if contender.peer != "lazyloom" or (contender.only and case.name not in contender.only):
            continue
        at = {"workload": workload.name, "case": case.name, "row": contender.name}
        names = (contender.name, contender.name + EARLIER)
        why = [f"{name} {missing[name]}" for name in names if name in missing]
        if why:
            found.append({**at, "absent": "; ".join(why)})
            continue
        new, old = (samples[name] for name in names)
        for measure in new["measures"]:
            mine, before = new["measures"][measure], old["measures"].get(measure, [])
            ratio = paired_ratio(mine, before)
            if ratio:
                found.append({
                    **at, "measure": measure, "unit": workload.measures.get(measure, "s"),
                    "threads": [new["threads"], old["threads"]],
                    "forms": [new.get("forms", []), old.get("forms", [])], "new": summary(mine),
                    "old": summary(before), "ratio": ratio})  # fmt: skip
    return found


def slower(entry: Json, threshold: float) -> bool:
    """Whether the row took longer: by the threshold in the median, half of it at the quartile."""
    ratio = entry.get("ratio")
    return bool(ratio) and ratio["median"] > 1 + threshold and (
        ratio["lower_quartile"] > 1 + threshold / 2)


def _counted(forms: list[str]) -> str:
    return ", ".join(f"{form or 'in none'} {n}" for form, n in Counter(forms).most_common())


def line_of(entry: Json) -> str:
    where = ": ".join(filter(None, (
        entry["workload"], entry["case"], entry["row"], entry.get("measure"))))
    if "absent" in entry:
        return f"{where}: {entry['absent']}"
    ratio = entry["ratio"]
    old, new = (in_words(entry[k]["median"], entry["unit"]) for k in ("old", "new"))
    now, before = entry["forms"]
    # a choice that was made while other processes warmed up, too: no change of either's speed
    forms = f" (rounds that ended {_counted(before)} -> {_counted(now)})" if (
        now != before) else ""
    return (f"{ratio['median']:.3f} ({ratio['lower_quartile']:.3f} to "
            f"{ratio['upper_quartile']:.3f})  {where}: {old} -> {new}{forms}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("earlier", help="the Python of the environment of the earlier build")
    parser.add_argument("--only", action="append", choices=NAMES, help="may be given repeatedly")
    parser.add_argument("--out", type=Path, default=HERE.parent / "out" / "beside.json")
    parser.add_argument("--quick", action="store_true", help="few rounds, to see that it works")
    parser.add_argument("--log", type=Path, help="where the contenders' output goes")
    parser.add_argument(
        "--threshold", type=float, default=0.05, help="smallest change that counts (0.05 is 5 %%)")
    options = parser.parse_args()
    os.environ["LAZYLOOM_BENCH_PYTHON_EARLIER"] = options.earlier
    versions, absent = probe(["lazyloom", "earlier"])
    if absent:
        print("; ".join(f"{name}: {why}" for name, why in absent.items()), file=sys.stderr)
        return 2
    options.out.parent.mkdir(parents=True, exist_ok=True)
    results: Json = {"machine": machine.describe(), "date": today(), "versions": versions,
                     "load": {"start": machine.load()}, "rows": []}  # fmt: skip
    log_path = options.log or Path(tempfile.gettempdir()) / "lazyloom-bench.log"
    with open(log_path, "w") as log:
        for name in options.only or NAMES:
            given = workload_of(name)
            reason = given.needs()
            if reason:
                print(f"{name}: skipped: {reason}", flush=True)
                continue
            workload = both(given)
            with tempfile.TemporaryDirectory(
                prefix="lazyloom-bench-", ignore_cleanup_errors=True
            ) as cache:
                arena = Arena(workload, absent, log, options.quick, cache)
                try:
                    for case in workload.cases:
                        if not (case.quick if options.quick else case.full):
                            continue
                        entries = compared(workload, case, *arena.run(case))
                        for entry in entries:
                            print(line_of(entry), flush=True)
                        results["rows"] += entries
                finally:
                    arena.close()
            results["load"]["end"] = machine.load()
            # written each time: what was measured is kept if the run is interrupted
            options.out.write_text(json.dumps(results, indent=1) + "\n")
    worse = [e for e in results["rows"] if slower(e, options.threshold)]
    gone = [e for e in results["rows"] if "absent" in e]
    for title, chosen in (("slower", worse), ("not measured", gone)):
        if chosen:
            print(f"{title}:")
            print("\n".join("  " + line_of(e) for e in chosen))
    print(f"{len(results['rows'])} rows, {len(worse)} slower; {options.out}")
    return 1 if worse or gone else 0


if __name__ == "__main__":
    sys.exit(main())
