"""A profile as data: what the page, the JSON file and the text are made of."""

from __future__ import annotations

import os
import platform
import sys
from collections import Counter, defaultdict
from typing import Any, Final

from ..hooks import hooks
from ..program.evaluations import Evaluation
from ..program.reasons import (
    COLLECT,
    COMPILE,
    DISPATCH,
    LOAD,
    LOOKUP,
    LOWER,
    OP_BY_OP,
    PREPARE,
    START,
    WAIT,
)
from .comparing import contrast
from .details import DETAILED, details_of, donation_of, forms_of
from .events import Events, Run, UserLine
from .failures import failures_of, restarts_of
from .findings import Finding
from .machine import COMMAND, MachinePeaks, known_peaks, this_machine

FORMAT: Final = 1
#: phases of a run by what they are called in a report
KINDS: Final = {
    START: "starting", COLLECT: "scheduling", LOOKUP: "scheduling", LOWER: "compiling",
    COMPILE: "compiling", LOAD: "compiling", PREPARE: "compiling", DISPATCH: "running",
    OP_BY_OP: "running", WAIT: "waiting",
}
#: what is measured of a line; the rest of its time is Python, and recording ops
MEASURED: Final = ("starting", "scheduling", "compiling", "running", "waiting", "uploading")
#: programs of more ops are told without their text
LONGEST_TEXT: Final = 400


def phases_of(evaluation: Evaluation) -> dict[str, float]:
    """Seconds of an evaluation that went into what, but for waiting, which reads are told to."""
    seconds = dict.fromkeys(("starting", "scheduling", "compiling", "running"), 0.0)
    for name, took in evaluation.timings.items():
        if name != WAIT:
            seconds[KINDS[name]] += took
    return seconds


def document_of(events: Events, found: list[Finding], sources: bool) -> dict[str, Any]:
    """The profile as JSON has it.

    Columns that are long stand as lists of equal length, one for each column.
    """
    peaks = known_peaks()
    return {
        "format": FORMAT,
        "about": _about(events),
        "machine": _machine(peaks),
        "findings": [_finding(f, sources) for f in found],
        "failures": failures_of(events, events.generator_failures),
        "restarts": restarts_of(events.counters),
        "lines": lines_of(events, sources),
        "programs": _programs(events, peaks),
        "evaluations": _evaluations(events),
        "counters": {k: v for k, v in events.counters.items() if v},
    }


def _about(events: Events) -> dict[str, Any]:
    return {
        "lazyloom": hooks.version, "python": platform.python_version(),
        "program": sys.argv[0] if sys.argv else "", "machine": platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count(),
        "seconds": events.seconds, "processor_seconds": events.processor,
        "runs": len(events.runs), "runs_not_noted": events.dropped,
    }


def _machine(peaks: MachinePeaks | None) -> dict[str, Any]:
    """What bounds are made of; without measured peaks there are none."""
    told: dict[str, Any] = {"name": this_machine(), "peaks": None, "note": ""}
    if peaks is None:
        told["note"] = f"not measured: {COMMAND} does, once, in some seconds"
    else:
        told["peaks"] = {"flops": peaks.flops, "bandwidth": peaks.bandwidth}
    return told


def _finding(f: Finding, sources: bool) -> dict[str, Any]:
    return {
        "rule": str(f.rule), "page": f.rule.name, "file": f.line.file, "line": f.line.line,
        "source": f.source if sources else "", "seconds": f.seconds, "text": f.text,
        "advice": f.rule.advice, "evidence": f.evidence,
    }


def lines_of(events: Events, sources: bool) -> list[dict[str, Any]]:
    """By line of the user's: seconds in all, and for what, the costliest first."""
    rows: defaultdict[UserLine, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for run in events.runs:
        row = rows[run.line]
        row["runs"] += 1
        for phase, seconds in phases_of(run.evaluation).items():
            row[phase] += seconds
    for line, reads in events.reads.items():
        rows[line]["reads"] += reads.count
        rows[line]["waiting"] += reads.seconds
    for (line, _), uploads in events.uploads.items():
        rows[line]["uploads"] += uploads.count
        rows[line]["uploading"] += uploads.seconds
    for line, seconds in events.samples.items():
        rows[line]["seconds"] += seconds
    told = []
    for line, row in rows.items():
        known = sum(row[k] for k in MEASURED)
        seconds = max(row["seconds"], known)
        told.append({
            "file": line.file, "line": line.line,
            "source": line.source if sources else "",
            "seconds": seconds, "recording": max(0.0, seconds - known),
            **{k: row[k] for k in MEASURED},
            **{k: int(row[k]) for k in ("runs", "reads", "uploads")},
        })
    return sorted(told, key=lambda row: -row["seconds"])


def _programs(events: Events, peaks: MachinePeaks | None) -> list[dict[str, Any]]:
    runs: defaultdict[int, list[Run]] = defaultdict(list)
    for run in events.runs:
        runs[run.program].append(run)
    seconds = {number: sum(run.seconds for run in of) for number, of in runs.items()}
    detailed = set(sorted(seconds, key=lambda n: -seconds[n])[:DETAILED])
    latest: dict[UserLine, int] = {}
    told = []
    for number, program in enumerate(events.programs):
        of = runs[number]
        first = of[0]
        line = first.line
        before = latest.get(line)
        latest[line] = number
        structure = program.structure
        ops = len(structure.specs)
        whole = first.evaluation.program
        told.append({
            "key": "" if whole is None else whole.key[:16], "ops": ops,
            "file": line.file, "line": line.line, "runs": len(of),
            "seconds": seconds[number],
            "fastest": min(run.seconds for run in of),
            "forms": dict(Counter(run.evaluation.form for run in of)),
            "ran": forms_of(of),
            "found": dict(Counter(run.evaluation.found for run in of)),
            "why": first.evaluation.why,
            "differs_from": before,
            "difference": "" if before is None else contrast(
                events.programs[before].structure, structure).text,
            "names": dict(Counter(s.op.name for s in structure.specs).most_common(8)),
            "bytes_in": sum(t.nbytes for t in structure.leaf_types),
            "bytes_out": sum(program.result_bytes()),
            "text": whole.text() if whole is not None and ops <= LONGEST_TEXT else "",
            "donation": donation_of(program, of),
            "details": None if whole is None or number not in detailed else details_of(
                whole, program, of, peaks),
        })
    return told


def _evaluations(events: Events) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {name: [] for name in (
        "number", "began", "seconds", "thread", "program", "reason", "file", "line", "form",
        "found", "starting", "scheduling", "compiling", "running", "donated", "copied", "error")}
    threads: dict[int, int] = {}
    for run in events.runs:
        e: Evaluation = run.evaluation
        line = run.line
        phases = phases_of(e)
        row = (
            e.number, run.began - events.began, run.seconds,
            threads.setdefault(run.thread, len(threads)), run.program, e.reason, line.file,
            line.line, e.form, e.found, phases["starting"], phases["scheduling"],
            phases["compiling"], phases["running"], e.bytes_donated, len(e.copied),
            "" if e.error is None else str(e.error))
        for column, item in zip(columns.values(), row, strict=True):
            column.append(round(item, 7) if isinstance(item, float) else item)
    return columns
