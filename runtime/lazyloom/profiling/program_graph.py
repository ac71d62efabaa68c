"""The graph of a program as data of a report, and drawn from it for a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from ..codegen.drawing import DrawnBox, DrawnRegion, GraphDrawing, svg
from ..codegen.report import Report
from ..program.stream import Result
from .events import SeenProgram, UserLine

#: programs of more ops have neighbouring ops folded into one box
MOST_BOXES: Final = 200


def graph_of(report: Report, seen: SeenProgram) -> dict[str, Any]:
    """The graph of a program, as JSON has it.

    Returns a dict: ``boxes``, each with ``name``, ``type``, ``title``, ``generator`` ("" for XLA),
    ``left`` (heavy work that no generator does) and ``result`` (it gives a result), each after
    those that it needs; ``needs``, for each box the numbers of those whose values it takes;
    ``regions``, each with ``label``, ``generator``, ``members`` and ``outputs``; ``summary``,
    ``legend``; ``folded``, whether a box may stand for several ops, which the program's ops, in
    order, are those of.
    """
    instructions = report.program.structure.instructions
    needs = [list(dict.fromkeys([o.instruction for o in i.operands if isinstance(o, Result)]))
             for i in instructions]
    lines = [seen.line(n) for n in range(len(instructions))]
    if len(instructions) > MOST_BOXES:
        return _folded(report, needs, lines)
    drawing = report.drawing()
    # those of functions of loops come after the program's own, and have no lines
    titles = [f"{box.title}\n{line}" for box, line in zip(drawing.boxes, lines, strict=False)]
    titles += [box.title for box in drawing.boxes[len(lines):]]
    boxes = [{"name": box.name, "type": box.type, "title": title,
              "generator": box.generator, "left": box.left, "result": box.result}
             for box, title in zip(drawing.boxes, titles, strict=True)]
    regions = [{"label": r.label, "generator": r.generator, "members": list(r.members),
                "outputs": list(r.outputs)} for r in drawing.regions]
    return {"boxes": boxes, "needs": [list(each) for each in drawing.needs], "regions": regions,
            "summary": drawing.summary,
            "legend": [list(row) for row in drawing.legend], "folded": False}


def drawn(graph: dict[str, Any]) -> str:
    """A graph as an SVG element of a page."""
    return svg(GraphDrawing(
        [DrawnBox(**box) for box in graph["boxes"]], graph["needs"],
        [DrawnRegion(r["label"], r["label"], r["generator"], r["members"], r["outputs"])
         for r in graph["regions"]],
        graph["summary"], [(name, words) for name, words in graph["legend"]]), inline=True)


def _folded(
    report: Report, needs: Sequence[Sequence[int]], lines: Sequence[UserLine]
) -> dict[str, Any]:
    instructions = report.program.structure.instructions
    groups = folded(lines)
    home = [g for g, members in enumerate(groups) for _ in members]
    left = set(report.left_behind())
    results = {n for n, _ in report.program.outputs}
    boxes, group_needs = [], []
    for g, members in enumerate(groups):
        names = Counter(instructions[n].spec.op.name for n in members).most_common(3)
        at = [f"{count} at {line}" for line, count in
              Counter(lines[n] for n in members).most_common(4)]
        by = {report.generator(n) if report.partition.owner[n] >= 0 else "" for n in members}
        last = instructions[members[-1]].types
        first, end = members[0], members[-1]
        boxes.append({
            "name": f"%{first}" + (f" to %{end}" if end > first else "")
            + " " + ", ".join(name if k == 1 else f"{k} {name}" for name, k in names),
            "type": f"{len(members)} ops, last {last[0].text}" if last else f"{len(members)} ops",
            "title": "\n".join(at), "generator": by.pop() if len(by) == 1 else "",
            "left": any(n in left for n in members), "result": any(n in results for n in members)})
        group_needs.append(sorted({home[m] for n in members for m in needs[n]} - {g}))
    drawing = report.drawing()
    return {"boxes": boxes, "needs": group_needs, "regions": [],
            "summary": f"{drawing.summary}; {len(boxes)} boxes, each of neighbouring ops",
            "legend": [list(row) for row in drawing.legend], "folded": True}


def folded(lines: Sequence[UserLine], most: int = MOST_BOXES) -> list[range]:
    """Neighbouring ops, in the order of recording, as at most so many groups.

    Those that one line recorded stay together where that suffices; else groups of equal length. An
    op comes after what it needs, so no group needs a later one.
    """
    starts = [n for n in range(len(lines)) if not n or lines[n] != lines[n - 1]]
    if len(starts) > most:
        starts = starts[:: -(-len(starts) // most)]
    elif len(starts) < most // 4:
        # few long lines say little
        step = max(1, -(-len(lines) // (most // 2)))
        starts = sorted({*starts, *range(0, len(lines), step)})
    ends = [*starts[1:], len(lines)]
    return [range(a, b) for a, b in zip(starts, ends, strict=True)]
