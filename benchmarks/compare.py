"""What got slower: ``python benchmarks/compare.py OLD.json NEW.json``.

A row is slower if its median grew by more than the threshold and the quartiles of old and new
do not overlap. Where both files have a contender of another peer in the same table, what got
slower for all of them alike is the machine: the change is judged relative to the median change
of the peers' rows. Exit status 1 if something of ours got slower.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from suite.summary import in_words  # noqa: E402

Json = dict[str, Any]


def drift_of(old: Json, new: Json) -> float:
    """By what factor the others' rows of a table changed: the machine's share; 1 without any."""
    changes = [
        row["median"] / old[name]["median"]
        for name, row in new.items()
        if row["peer"] != "lazyloom" and name in old and old[name]["median"] > 0
    ]
    return statistics.median(changes) if changes else 1.0


def changes(old: Json, new: Json, threshold: float) -> list[Json]:
    """Rows in both files: their change, and whether it is more than noise."""
    found = []
    for name, workload in new["workloads"].items():
        before = old["workloads"].get(name, {}).get("tables", {})
        for table_name, table in workload.get("tables", {}).items():
            if table_name not in before:
                continue
            rows, earlier = table["rows"], before[table_name]["rows"]
            drift = drift_of(earlier, rows)
            for row_name, row in rows.items():
                was = earlier.get(row_name)
                if was is None or was["median"] <= 0:
                    continue
                own = drift if row["peer"] == "lazyloom" else 1.0
                change = row["median"] / was["median"] / own
                apart = row["lower_quartile"] / own > was["upper_quartile"]
                apart_below = row["upper_quartile"] / own < was["lower_quartile"]
                verdict = ""
                if change > 1 + threshold and apart:
                    verdict = "slower"
                elif change < 1 / (1 + threshold) and apart_below:
                    verdict = "faster"
                found.append({
                    "workload": name, "table": table_name, "row": row_name, "peer": row["peer"],
                    "old": was["median"], "new": row["median"], "unit": table["unit"],
                    "change": change, "drift": drift, "verdict": verdict,
                })  # fmt: skip
    return found


def vanished(old: Json, new: Json) -> list[str]:
    """Rows of ours that the old file has and the new one has not, in tables that were run."""
    missing = []
    for name, workload in old["workloads"].items():
        tables = new["workloads"].get(name, {}).get("tables", {})
        for table_name, table in workload.get("tables", {}).items():
            for row_name, row in table["rows"].items():
                if row["peer"] != "lazyloom" or table_name not in tables:
                    continue
                if row_name not in tables[table_name]["rows"]:
                    missing.append(f"{name}, {table_name}: {row_name}")
    return missing


def line_of(entry: Json) -> str:
    label = f"{entry['workload']}: {entry['table']}: {entry['row']}".replace(": :", ":")
    times = f"{in_words(entry['old'], entry['unit'])} -> {in_words(entry['new'], entry['unit'])}"
    drift = "" if abs(entry["drift"] - 1) < 0.02 else f", the others {entry['drift']:.2f} times"
    return f"{label}: {times} ({entry['change']:.2f} times{drift})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument(
        "--threshold", type=float, default=0.1, help="smallest change that counts (0.1 is 10 %%)")
    parser.add_argument("--all", action="store_true", help="other libraries' rows, too")
    options = parser.parse_args()
    old, new = (json.loads(path.read_text()) for path in (options.old, options.new))
    if old["machine"] != new["machine"]:
        print("note: the machines differ; only ratios within a file can be compared")
    entries = changes(old, new, options.threshold)
    shown = [e for e in entries if options.all or e["peer"] == "lazyloom"]
    status = 0
    for verdict in ("slower", "faster"):
        chosen = sorted((e for e in shown if e["verdict"] == verdict),
                        key=lambda e: e["change"], reverse=verdict == "slower")  # fmt: skip
        if chosen:
            print(f"{verdict}:")
            print("\n".join("  " + line_of(e) for e in chosen))
        if verdict == "slower" and any(e["peer"] == "lazyloom" for e in chosen):
            status = 1
    gone = vanished(old, new)
    if gone:
        print("gone:")
        print("\n".join("  " + name for name in gone))
        status = 1
    quiet = sum(1 for e in shown if not e["verdict"])
    print(f"{len(shown)} rows compared, {quiet} without a change that counts")
    return status


if __name__ == "__main__":
    sys.exit(main())
