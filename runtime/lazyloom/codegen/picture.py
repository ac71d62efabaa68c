"""A report as a drawing: a program's graph, with regions in the colours of their generators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ..program.program import Program
from ..program.stream import Result
from .drawing import DrawnBox, DrawnRegion, GraphDrawing, short
from .partition import Partition


class Described(Protocol):
    """What a picture shows of a :class:`~lazyloom.codegen.report.Report`."""

    @property
    def program(self) -> Program: ...
    @property
    def partition(self) -> Partition: ...
    @property
    def bodies(self) -> Mapping[str, Described]: ...
    def generator(self, number: int) -> str: ...
    def left_behind(self) -> list[int]: ...
    def line(self, number: int) -> str: ...
    def summary(self) -> str: ...
    def describe(self, number: int) -> str: ...


def drawing_of(report: Described) -> GraphDrawing:
    """Return what is drawn of a report: a box for each op, a frame for each region."""
    partition = report.partition
    instructions = report.program.structure.instructions
    left = set(report.left_behind())
    results = {n for n, _ in report.program.outputs}
    boxes = [
        DrawnBox(
            f"%{n} {short(i.spec.op.name, 28)}",
            short(i.types[0].text + (f", +{len(i.types) - 1}" if len(i.types) > 1 else ""))
            if i.types else "",
            report.line(n), report.generator(n) if partition.owner[n] >= 0 else "", n in left,
            n in results)
        for n, i in enumerate(instructions)]
    needs = [
        list(dict.fromkeys(o.instruction for o in i.operands if isinstance(o, Result)))
        for i in instructions]
    regions = [
        DrawnRegion(report.describe(p), report.describe(p), part.generator.name, part.members,
                    list(dict.fromkeys(k for k, _ in part.outputs)))
        for p, part in enumerate(partition.parts)]
    legend = legend_of(partition)
    for path, body in report.bodies.items():
        inside = drawing_of(body)
        first = len(boxes)
        boxes += [box._replace(name=f"{path}.{box.name.removeprefix('%')}",
                               title=f"{path}: {box.title}") for box in inside.boxes]
        needs += [[first + n for n in each] for each in inside.needs]
        regions += [region._replace(
            label=f"{path}, {region.label}", title=f"{path}, {region.title}",
            members=[first + n for n in region.members],
            outputs=[first + n for n in region.outputs]) for region in inside.regions]
        legend += [(name, f"{path}, {text}") for name, text in inside.legend if name or text]
    return GraphDrawing(boxes, needs, regions, report.summary(), legend)


def legend_of(partition: Partition) -> list[tuple[str, str]]:
    """Return the generators of a partition, "" for XLA, each with how much it runs."""
    rows = []
    for name in sorted({p.generator.name for p in partition.parts}):
        mine = [p for p in partition.parts if p.generator.name == name]
        ops = sum(len(p.members) for p in mine)
        rows.append((name, f"{name}: {_count(ops, 'op')} in {_count(len(mine), 'region')}"))
    others = len(partition.owner) - sum(len(p.members) for p in partition.parts)
    return [*rows, ("", f"XLA: {_count(others, 'op')}")]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + "s" * (number != 1)
