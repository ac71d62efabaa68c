"""What a report says of the programs that took longest: memory, work, generators, graph.

It is worked out when a report is asked for; nothing of it is noted while programs run.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import median
from typing import Any, Final

from ..backends.analysis import KernelWork, ProgramAnalysis
from ..cache import memory
from ..codegen.partition import partition
from ..codegen.registry import in_use
from ..codegen.report import Report, explain
from ..hooks import hooks
from ..interrupts import reraise_from_handler
from ..program.evaluations import Evaluation
from ..program.program import Program
from ..program.reasons import (
    CAPTURED,
    COMPILE,
    LOAD,
    LOOKUP,
    LOWER,
    OP_BY_OP,
    PREPARE,
    START,
    WAIT,
)
from ..types import common_placement
from .events import Run, SeenProgram
from .machine import MachinePeaks
from .memory_plan import memory_plan
from .program_graph import graph_of
from .rules import work_of

#: so many programs, those that took longest, are told in detail
DETAILED: Final = 50
#: programs of more ops are neither divided nor drawn
MOST_OPS: Final = 4000
#: so many kernels of a program are told, those that take longest by the roofline
MOST_KERNELS: Final = 40
#: what a run does before its program is handed over
_BEFORE: Final = (START, LOOKUP, LOAD, LOWER, COMPILE, PREPARE)
#: HLO's names of dtypes of which a peak may be known
_DTYPES: Final = {"f64": "float64", "c128": "float64"}


def forms_of(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """In which forms a program ran, and why: each with its runs and their seconds."""
    found: dict[tuple[str, str, bool], list[float]] = {}
    for run in runs:
        e = run.evaluation
        form = e.form or ("failed" if e.error is not None else "not run")
        why = e.why or (f"it was found {_found(e)}" if e.form == "compiled" else "")
        if e.form == "padded":
            why = "one program of many extents, padded: " + ", ".join(
                f"{n} to {size}" for n, size in e.padding)
        if e.failure:
            why += f": {e.failure}"
        found.setdefault((form, why, e.cause == CAPTURED), []).append(run.seconds)
    return [{"form": form, "why": why, "captured": captured, "runs": len(seconds),
             "seconds": sum(seconds)} for (form, why, captured), seconds in found.items()]


def _found(e: Evaluation) -> str:
    return {"memory": "in memory", "disk": "on disk"}.get(e.found, e.found or "nowhere")


def donation_of(seen: SeenProgram, runs: Sequence[Run]) -> dict[str, Any]:
    """What became of the inputs that a program may write over.

    Returns a dict: ``given``, the inputs that nothing else needed in the first run; ``reused``, as
    [input, result] by number, where the compiled program is in memory; ``unmatched``, of those
    given, for which it has no result of their type; ``copied``, [input, runs] of those that it
    reuses and that were alive.
    """
    copied = Counter(k for run in runs for k in run.evaluation.copied)
    aliases = _aliases(seen)
    reused = [] if aliases is None else sorted(map(list, aliases.items()))
    return {
        "given": list(seen.given), "reused": reused,
        "unmatched": [] if aliases is None else [k for k in seen.given if k not in aliases],
        "copied": [list(pair) for pair in copied.most_common()],
    }


def details_of(
    program: Program, seen: SeenProgram, runs: Sequence[Run], peaks: MachinePeaks | None
) -> dict[str, Any]:
    """Memory, work, loops, code generators and graph of a program."""
    analysis, why = _analysis(program)
    compiled = None
    if analysis is not None and analysis.memory is not None:
        compiled = analysis.memory._asdict()
    told: dict[str, Any] = {
        "memory": {"plan": memory_plan(program), "compiled": compiled, "why_not": why},
        "cost": _cost(program, analysis, why, runs, peaks),
        "loops": [], "generators": None, "graph": None,
    }
    ran_compiled = any(run.evaluation.form == "compiled" for run in runs)
    if ran_compiled:
        told["loops"] = [list(loop) for loop in hooks.loops(program)]
    if len(program.structure.specs) <= MOST_OPS:
        placed = common_placement(program.structure.leaf_types) is not None
        # no generator is asked about what lies on several devices
        report = explain(program) if not placed else Report(
            program, partition(program.structure, program.outputs, []))
        told["generators"] = _generators(report, placed)
        told["graph"] = graph_of(report, seen)
    return told


def _analysis(program: Program) -> tuple[ProgramAnalysis | None, str]:
    """What the backend says of the compiled program, or why nothing."""
    for donate in (True, False):
        entry = memory.known(program.structure, donate)
        if entry is not None and entry.program is not None:
            try:
                found: ProgramAnalysis | None = entry.program.analysis()
            except Exception as error:
                reraise_from_handler(error)
                return None, f"the backend failed to tell: {error}"
            return found, "" if found is not None else "the backend does not tell"
    return None, "the program is not compiled, or not in memory any more"


def _aliases(seen: SeenProgram) -> dict[int, int] | None:
    for donate in (True, False):
        entry = memory.known(seen.structure, donate)
        if entry is not None and entry.program is not None:
            return dict(entry.aliases)
    return None


def measured_seconds(runs: Sequence[Run]) -> float | None:
    """The median time of a run until its results are there, of those that were waited for.

    None if there is none. The quickest is no measure: what goes on between a run's being handed
    over and the wait for it is not seen.
    """
    found = []
    for run in runs:
        timings = run.evaluation.timings
        if WAIT in timings or OP_BY_OP in timings:
            # what checks of data wait for is no phase of its own
            before = sum(timings.get(phase, 0.0) for phase in _BEFORE)
            found.append(run.seconds - before + timings.get(WAIT, 0.0))
    return median(found) if found else None


def _cost(
    program: Program, analysis: ProgramAnalysis | None, why: str, runs: Sequence[Run],
    peaks: MachinePeaks | None,
) -> dict[str, Any]:  # fmt: skip
    compiled = [run for run in runs if run.evaluation.form == "compiled"]
    if analysis is None or not compiled:
        rows, dtypes = _by_op(program)
        source = "op table"
        flops, transcendentals, nbytes = _sums(rows)
    else:
        rows, dtypes = _by_kernel(program, analysis)
        source = "XLA"
        flops, transcendentals, nbytes = _sums(rows)
        # the compiler's own sums, where it has them
        flops = flops if analysis.flops is None else analysis.flops
        if analysis.transcendentals is not None:
            transcendentals = analysis.transcendentals
        nbytes = nbytes if analysis.nbytes is None else analysis.nbytes
    bound, limit = None, ""
    if peaks is not None:
        for row, dtype in zip(rows, dtypes, strict=True):
            row["bound"] = peaks.bound(row["flops"] + row["transcendentals"], row["bytes"], dtype)
            row["limit"] = peaks.limit(row["flops"] + row["transcendentals"], row["bytes"], dtype)
        # kernels run one after the other
        bound = sum(row["bound"] for row in rows)
        of_operations = sum(row["bound"] for row in rows if row["limit"] == "operations")
        limit = "operations" if of_operations > bound / 2 else "memory"
    key = "bound" if peaks is not None else "bytes"
    shown = sorted(rows, key=lambda row: -row[key])[:MOST_KERNELS]
    return {
        "source": source, "why_not": why if source != "XLA" else "", "flops": flops,
        "transcendentals": transcendentals, "bytes": nbytes, "bound": bound, "limit": limit,
        "measured": measured_seconds(compiled if source == "XLA" else runs),
        "rows": shown, "rows_in_all": len(rows),
    }


def _sums(rows: Sequence[dict[str, Any]]) -> tuple[float, float, float]:
    flops, transcendentals, nbytes = (
        sum(row[name] for row in rows) for name in ("flops", "transcendentals", "bytes"))
    return flops, transcendentals, nbytes


def _by_kernel(
    program: Program, analysis: ProgramAnalysis
) -> tuple[list[dict[str, Any]], list[str]]:
    instructions = program.structure.instructions
    rows = [{
        "name": k.name, "kind": k.kind, "ops": _names(k, instructions), "flops": k.flops,
        "transcendentals": k.transcendentals, "bytes": k.nbytes, "times": k.times,
        "bound": None, "limit": "",
    } for k in analysis.kernels]
    return rows, [_DTYPES.get(k.dtype, "float32") for k in analysis.kernels]


def _names(kernel: KernelWork, instructions: Sequence[Any]) -> list[str]:
    return [f"%{n} {instructions[n].spec.op.name}" for n in kernel.ops if n < len(instructions)]


def _by_op(program: Program) -> tuple[list[dict[str, Any]], list[str]]:
    """The work of ops one by one: each reads its operands and writes its results."""
    rows, dtypes = [], []
    for n, i in enumerate(program.structure.instructions):
        nbytes = sum(t.nbytes for t in i.operand_types if t is not None) + sum(
            t.nbytes for t in i.types)
        rows.append({
            "name": f"%{n}", "kind": "op", "ops": [f"%{n} {i.spec.op.name}"],
            "flops": work_of(i) if i.spec.heavy else 0.0, "transcendentals": 0.0,
            "bytes": float(nbytes), "times": 1, "bound": None, "limit": ""})
        dtypes.append("float64" if i.types and i.types[0].dtype.name in ("float64", "complex128")
                      else "float32")
    return rows, dtypes


def _generators(report: Report, placed: bool) -> dict[str, Any]:
    """Which code generator runs what of a program, and why none does the rest."""
    owner = report.partition.owner
    reasons: defaultdict[str, list[int]] = defaultdict(list)
    for n, by_generator in enumerate(report.partition.reasons):
        if owner[n] < 0:
            for name, reason in by_generator.items():
                reasons[f"{name}: {reason}"].append(n)
    return {
        "in_use": list(in_use()), "placed": placed,
        "summary": report.summary(),
        "regions": [report.describe(p) for p in range(len(report.partition.parts))],
        "reasons": [{"reason": reason, "ops": len(ops), "first": ops[0]} for reason, ops in sorted(
            reasons.items(), key=lambda item: -len(item[1]))],
        "left": [report.line(n) for n in report.left_behind()],
    }
