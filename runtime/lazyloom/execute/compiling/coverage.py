"""The strict mode of code generators: the least part of a program's ops that they have to run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...cache import memory
from ...codegen import registry
from ...codegen.report import explain
from ...errors import FallbackError
from ...program.evaluations import Evaluation
from ...program.program import Program, Structure
from ...program.regions import ProgramRegions


def check(
    structure: Structure, outputs: Sequence[tuple[int, int]], regions: ProgramRegions,
    evaluation: Evaluation, least: float,
) -> None:  # fmt: skip
    """Raise FallbackError unless generators run so much of a program."""
    if least != least:
        raise FallbackError(
            f"{memory.COVERAGE} is no number from 0 to 1; give the least part of each program's "
            "ops that code generators have to run, such as 0.9")
    total = len(structure.instructions)
    done = sum(len(region.ops) for region in regions.run)
    report = None
    if any(i.spec.op.root.signature.bodies for i in structure.instructions):
        # a loop counts as the ops of its functions
        report = explain(Program(structure, outputs, []))
        total = report.partition.counts()[1]
    if not total or done >= least * total:
        return
    if report is None:
        report = explain(Program(structure, outputs, []))
    # those of functions of loops, too
    lines = [line.strip() for line in report.grouped().split("\n")
             if line.lstrip().startswith("xla: ")]
    names = ", ".join(registry.in_use()) or "no code generator"
    site: Any = evaluation.site
    raise FallbackError(
        f"{names} would run {done} of {total} ops ({done / total:.0%}) of a program at {site}, "
        f"expected at least {least:.0%} by codegen.use(coverage={least:g}); {'; '.join(lines)}. "
        "Leave what is missing out, or ask for less", site=str(site))
