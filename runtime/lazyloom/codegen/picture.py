"""A report as a drawing: a program's graph, with regions in the colours of their generators."""

from __future__ import annotations

import colorsys
import re
from collections.abc import Collection, Sequence
from html import escape
from typing import Final, Protocol

from ..program.program import Program
from ..program.stream import Result
from .layered import Line, PictureLayout, Point, layered
from .partition import Partition

#: the width of a letter in boxes, the height of a box, and the distance of those that are stacked
LETTER: Final = 6.7
BOX: Final = 20.0
STACKED: Final = 22.0
#: the width of a box beside its text, and of the space between name and type
PADDING: Final = 14.0
SPACE: Final = 10.0
#: the distance from a region's frame to its contents, and the height of the label above
MARGIN: Final = 10.0
HEAD: Final = 18.0
#: the margin around everything
EDGE: Final = 24.0
#: the most boxes of a stack: what is higher is no easier to read
HIGHEST: Final = 64
LONGEST: Final = 34
XLA_COLOUR: Final = "#eceff1"
STYLE: Final = """
text { font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
       font-size: 11px; fill: #1c2733; }
.name { font-weight: bold; } .type { fill: #55616d; font-size: 10px; }
.label { fill: #37424d; font-size: 10px; } .title { font-size: 14px; font-weight: bold; }
.op rect { stroke: #78848f; stroke-width: 1; } .op.left rect { stroke: #c62828;
       stroke-width: 2.5; stroke-dasharray: 5 3; }
.given { fill: #37424d; }
.region rect { stroke-width: 1.5; fill-opacity: 0.35; }
.line { fill: none; stroke: #7b8894; stroke-width: 1; stroke-opacity: 0.75; }
"""
#: characters that XML cannot hold, even escaped
_NO_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: str) -> str:
    """Return a text escaped for XML."""
    return escape(_NO_XML.sub("\ufffd", text))


def short(text: str, longest: int = LONGEST) -> str:
    """Return a text, cut if it is too long for a box."""
    return text if len(text) <= longest else text[: longest - 1] + "\u2026"


def colours(names: Sequence[str]) -> dict[str, str]:
    """Return a light colour for each generator, all of them different."""
    by_name = {}
    for k, name in enumerate(names):
        # the golden angle: each new hue is far from those before
        hue = (0.58 + k * 0.381966) % 1.0
        red, green, blue = colorsys.hls_to_rgb(hue, 0.82 - 0.04 * (k // 13 % 3), 0.75)
        by_name[name] = f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"
    return by_name


class Described(Protocol):
    """What a picture shows of a :class:`~lazyloom.codegen.report.Report`."""

    @property
    def program(self) -> Program: ...
    @property
    def partition(self) -> Partition: ...
    def generator(self, number: int) -> str: ...
    def left_behind(self) -> list[int]: ...
    def line(self, number: int) -> str: ...
    def summary(self) -> str: ...
    def describe(self, number: int) -> str: ...


def svg(report: Described) -> str:
    """Return the drawing as SVG text."""
    return _Picture(report).text()


class _Frame:
    """A region, or a stack of ops outside of regions: the layout of its ops, and where values
    enter and leave."""

    def __init__(
        self, members: Sequence[int], label: str, region: int,
        sizes: Sequence[tuple[float, float]], needs: Sequence[Sequence[int]],
        outputs: Sequence[int],
    ) -> None:  # fmt: skip
        self.members: Final = members
        self.label: Final = label
        self.region: Final = region
        inside = {n: k for k, n in enumerate(members)}
        boxes = [sizes[n] for n in members]
        lines = [Line(inside[m], k) for n, k in inside.items() for m in needs[n] if m in inside]
        #: for each outside op whose value enters, and each inside op whose value leaves, how far
        #: from the middle this happens
        self.into: Final[dict[int, float]] = {}
        self.out: Final[dict[int, float]] = {}
        entries: dict[int, int] = {}
        exits: dict[int, int] = {}
        if len(members) > 1:
            # places at the frame, so that lines pass around unrelated boxes
            for n, k in inside.items():
                for m in needs[n]:
                    if m not in inside:
                        if m not in entries:
                            entries[m] = len(boxes)
                            boxes.append((LETTER, 0.0))
                        lines.append(Line(entries[m], k))
            for n in outputs:
                exits[n] = len(boxes)
                boxes.append((LETTER, 0.0))
                lines.append(Line(inside[n], exits[n]))
        self.inner: Final[PictureLayout] = layered(
            boxes, lines, list(entries.values()), list(exits.values()))
        #: where the layout is in the frame
        self.x, self.y = 0.0, 0.0
        self.width, self.height = self.inner.width, self.inner.height
        if region >= 0:
            self.width = max(self.width, len(label) * LETTER * 0.92) + 2 * MARGIN
            self.height += HEAD + MARGIN
            self.x, self.y = (self.width - self.inner.width) / 2, HEAD
        #: the lines inside, extended to the frame where they cross it
        self.routes: Final = [list(route) for route in self.inner.routes]
        begun: set[int] = set()
        for line, route in zip(lines, self.routes, strict=True):
            if line.source >= len(members) and line.source not in begun:
                begun.add(line.source)
                route.insert(0, (route[0][0], -HEAD))
            if line.target >= len(members):
                route.append((route[-1][0], self.inner.height + MARGIN))
        for places, offsets in ((entries, self.into), (exits, self.out)):
            for n, k in places.items():
                offsets[n] = self.x + self.inner.middle[k] - self.width / 2


class _Picture:
    def __init__(self, report: Described) -> None:
        self.report: Final = report
        partition = report.partition
        instructions = report.program.structure.instructions
        self.left: Final = set(report.left_behind())
        self.results: Final = {n for n, _ in report.program.outputs}
        self.names: Final = [
            (f"%{n} {short(i.spec.op.name, 28)}",
             short(i.types[0].text + (f", +{len(i.types) - 1}" if len(i.types) > 1 else ""))
             if i.types else "")
            for n, i in enumerate(instructions)]
        owner = partition.owner
        needs = [
            list(dict.fromkeys(o.instruction for o in i.operands if isinstance(o, Result)))
            for i in instructions]
        #: the ops of each box, by its last op: a row of ops of which each is used by the next alone
        self.stacks: Final = _stacks(needs, owner, self.results)
        sizes = [(0.0, 0.0)] * len(owner)
        for n, ops in self.stacks.items():
            width = max(_width(*self.names[k]) for k in ops)
            sizes[n] = width, STACKED * (len(ops) - 1) + BOX
            needs[n] = needs[ops[0]]
        self.sizes: Final = sizes
        #: for each op, the number of its frame
        self.home: Final = list(range(len(owner)))
        self.frames: Final[list[_Frame]] = []
        firsts: dict[int, int] = {}
        for n in sorted(self.stacks):
            p = owner[n]
            if p >= 0 and p in firsts:
                self.home[n] = firsts[p]
                continue
            self.home[n] = len(self.frames)
            members: Sequence[int] = (n,)
            outputs: list[int] = []
            label = ""
            if p >= 0:
                part = partition.parts[p]
                firsts[p] = len(self.frames)
                members = [k for k in part.members if k in self.stacks]
                label = short(report.describe(p), 60)
                outputs = list(dict.fromkeys(k for k, _ in part.outputs))
            self.frames.append(_Frame(members, label, p, sizes, needs, outputs))
        lines: list[Line] = []
        for n in self.stacks:
            for m in needs[n]:
                a, b = self.home[m], self.home[n]
                if a != b:
                    line = Line(a, b, self.frames[a].out.get(m, 0.0),
                                self.frames[b].into.get(m, 0.0))
                    lines.append(line)
        self.lines: Final = list(dict.fromkeys(lines))
        self.outer: Final = layered([(f.width, f.height) for f in self.frames], self.lines)

    def text(self) -> str:
        used = sorted({p.generator.name for p in self.report.partition.parts})
        self.colour = colours(used)
        legend, legend_width, top = self._legend(used)
        corners = [
            (EDGE + m - f.width / 2, top + t)
            for f, m, t in zip(self.frames, self.outer.middle, self.outer.top, strict=True)]
        frames, lines, ops = [], [], []
        for route in self.outer.routes:
            lines.append(_path([(EDGE + x, top + y) for x, y in route]))
        for frame, (x, y) in zip(self.frames, corners, strict=True):
            if frame.region >= 0:
                frames.append(self._region(frame, x, y))
            for route in frame.routes:
                lines.append(_path([(x + frame.x + a, y + frame.y + b) for a, b in route]))
            for k, n in enumerate(frame.members):
                left = x + frame.x + frame.inner.middle[k] - self.sizes[n][0] / 2
                above = y + frame.y + frame.inner.top[k]
                ops += [self._op(op, left, above + STACKED * row, self.sizes[n][0])
                        for row, op in enumerate(self.stacks[n])]
        width = max(self.outer.width, legend_width) + 2 * EDGE
        height = top + self.outer.height + EDGE
        return "\n".join([
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}">',
            f"<style>{STYLE}</style>",
            f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
            *legend, *frames, *lines, *ops, "</svg>", ""])

    def _legend(self, used: Sequence[str]) -> tuple[list[str], float, float]:
        """Return the legend of the colours: its elements, its width, and where the graph begins."""
        report = self.report
        total = len(report.partition.owner)
        elements = [_words(EDGE, EDGE + 10, report.summary(), "title")]
        y, width = EDGE + 24, len(report.summary()) * 8.6
        rows = []
        for name in used:
            mine = [p for p in report.partition.parts if p.generator.name == name]
            ops = sum(len(p.members) for p in mine)
            rows.append((self.colour[name], "",
                         f"{name}: {_count(ops, 'op')} in {_count(len(mine), 'region')}"))
        others = total - sum(len(p.members) for p in report.partition.parts)
        rows.append((XLA_COLOUR, "", f"XLA: {_count(others, 'op')}"))
        if self.left:
            rows.append((XLA_COLOUR, ' class="left"',
                         f"heavy work that no generator does: {_count(len(self.left), 'op')}"))
        for colour, kind, words in rows:
            elements.append(
                f'<g class="op{kind and " left"}"><rect x="{EDGE:.0f}" y="{y:.0f}" width="26" '
                f'height="14" rx="3" fill="{colour}"/></g>')
            elements.append(_words(EDGE + 34, y + 11, words, "label"))
            width = max(width, 34 + len(words) * LETTER)
            y += 20
        if total:
            elements.append(f'<path class="given" d="{_triangle(EDGE + 13, y + 3)}"/>')
            elements.append(_words(EDGE + 34, y + 11, "a result of the program", "label"))
            y += 20
        return elements, width, y + 14

    def _region(self, frame: _Frame, x: float, y: float) -> str:
        p = frame.region
        name = self.report.partition.parts[p].generator.name
        return (
            f'<g class="region" id="region-{p}"><title>{clean(self.report.describe(p))}</title>'
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{frame.width:.1f}" '
            f'height="{frame.height:.1f}" rx="8" fill="{self.colour[name]}" '
            f'stroke="{_darker(self.colour[name])}"/>'
            + _words(x + MARGIN, y + 12, frame.label, "label") + "</g>")

    def _op(self, n: int, x: float, y: float, width: float) -> str:
        generator = self.report.generator(n)
        colour = self.colour.get(generator, XLA_COLOUR) if (
            self.report.partition.owner[n] >= 0) else XLA_COLOUR
        kind = "op" + " left" * (n in self.left)
        name, t = self.names[n]
        mark = (f'<path class="given" d="{_triangle(x + width / 2, y + BOX + 2)}"/>'
                if n in self.results else "")
        return (
            f'<g class="{kind}" id="op-{n}"><title>{clean(self.report.line(n))}</title>'
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{BOX:.1f}" rx="4" '
            f'fill="{colour}"/>'
            + _words(x + PADDING / 2, y + 14, name, "name")
            + _words(x + PADDING / 2 + len(name) * LETTER + SPACE, y + 14, t, "type")
            + mark + "</g>")


def _width(name: str, t: str) -> float:
    """Return the width of an op's box: its name and beside it the type of its result."""
    return len(name) * LETTER + SPACE + len(t) * LETTER * 0.92 + PADDING


def _stacks(
    needs: Sequence[Sequence[int]], owner: Sequence[int], results: Collection[int]
) -> dict[int, list[int]]:
    """Return the ops in rows that are drawn as one stack of boxes, by the last op of each.

    In a row each op is used by the next alone, which uses nothing else that is drawn, and all are
    in one region, or in none.
    """
    readers = [0] * len(needs)
    for before in needs:
        for m in before:
            readers[m] += 1
    stacks: dict[int, list[int]] = {}
    for n, before in enumerate(needs):
        ops = [n]
        if len(before) == 1:
            (m,) = before
            if readers[m] == 1 and m not in results and owner[m] == owner[n]:
                if len(stacks[m]) < HIGHEST:
                    ops = [*stacks.pop(m), n]
        stacks[n] = ops
    return stacks


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + "s" * (number != 1)


def _words(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{clean(text)}</text>'


def _triangle(x: float, y: float) -> str:
    return f"M{x - 5:.1f} {y:.1f} h10 l-5 7 z"


def _path(route: Sequence[Point]) -> str:
    """Return a line through points, vertical at each of them."""
    (x, y), *others = route
    text = [f"M{x:.1f} {y:.1f}"]
    for a, b in others:
        if abs(a - x) < 0.1:
            text.append(f"V{b:.1f}")
        elif b != y:
            half = (y + b) / 2
            text.append(f"C{x:.1f} {half:.1f} {a:.1f} {half:.1f} {a:.1f} {b:.1f}")
        x, y = a, b
    return f'<path class="line" d="{" ".join(text)}"/>'


def _darker(colour: str) -> str:
    parts = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return "#" + "".join(f"{int(0.6 * p):02x}" for p in parts)
