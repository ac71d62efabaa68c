"""Graphs of programs as SVG: ops as boxes, regions in the colours of their generators.

The reports of code generators (:mod:`.picture`) and the pages of profiles draw with it.
"""

from __future__ import annotations

import colorsys
import re
from collections.abc import Collection, Sequence
from html import escape
from typing import Final, NamedTuple

from .layered import Line, PictureLayout, Point, layered

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


class DrawnBox(NamedTuple):
    """An op, or ops folded into one box.

    Attributes:
        name, type: its two lines of text; they are cut if they are too long.
        title: what is shown where the pointer rests.
        generator: the code generator that runs it; "" for XLA.
        left: heavy work that no generator does.
        result: it gives a result of the program.
    """

    name: str
    type: str
    title: str
    generator: str = ""
    left: bool = False
    result: bool = False


class DrawnRegion(NamedTuple):
    """A frame around boxes.

    Attributes:
        label, title: the text in it, which is cut if it is too long, and that of the pointer.
        generator: the code generator that runs it.
        members: numbers of its boxes, in order.
        outputs: those of them whose values others take.
    """

    label: str
    title: str
    generator: str
    members: Sequence[int]
    outputs: Sequence[int] = ()


class GraphDrawing(NamedTuple):
    """What is drawn.

    Attributes:
        boxes: each comes after those that it needs.
        needs: for each box, the numbers of those whose values it takes.
        regions: no box is in two.
        summary: the line above.
        legend: of each generator, "" for XLA, and the texts beside their colours.
    """

    boxes: Sequence[DrawnBox]
    needs: Sequence[Sequence[int]]
    regions: Sequence[DrawnRegion]
    summary: str
    legend: Sequence[tuple[str, str]]


def svg(drawing: GraphDrawing, inline: bool = False) -> str:
    """Return the drawing as SVG text.

    ``inline``: as an element of an HTML page that has :data:`STYLE`, or its like, and a background
    of its own.
    """
    return _Picture(drawing).text(inline)


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
    def __init__(self, drawing: GraphDrawing) -> None:
        self.drawing: Final = drawing
        boxes, needs = drawing.boxes, list(drawing.needs)
        self.names: Final = [(short(box.name), short(box.type)) for box in boxes]
        owner = [-1] * len(boxes)
        for p, region in enumerate(drawing.regions):
            for n in region.members:
                owner[n] = p
        #: the ops of each box, by its last op: a row of ops of which each is used by the next alone
        self.stacks: Final = _stacks(needs, owner, {n for n, b in enumerate(boxes) if b.result})
        sizes = [(0.0, 0.0)] * len(owner)
        for n, ops in self.stacks.items():
            width = max(_width(*self.names[k]) for k in ops)
            sizes[n] = width, STACKED * (len(ops) - 1) + BOX
            needs[n] = needs[ops[0]]
        self.sizes: Final = sizes
        #: for each box, the number of its frame
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
            outputs: Sequence[int] = ()
            label = ""
            if p >= 0:
                region = drawing.regions[p]
                firsts[p] = len(self.frames)
                members = [k for k in region.members if k in self.stacks]
                label, outputs = short(region.label, 60), region.outputs
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

    def text(self, inline: bool) -> str:
        drawing = self.drawing
        self.colour = colours(sorted({r.generator for r in drawing.regions} | {
            box.generator for box in drawing.boxes if box.generator}))
        legend, legend_width, top = self._legend()
        corners = [
            (EDGE + m - f.width / 2, top + t)
            for f, m, t in zip(self.frames, self.outer.middle, self.outer.top, strict=True)]
        frames, lines, ops = [], [], []
        for route in self.outer.routes:
            lines.append(_path([(EDGE + x, top + y) for x, y in route]))
        for frame, (x, y) in zip(self.frames, corners, strict=True):
            if frame.region >= 0:
                frames.append(self._region(frame, x, y, inline))
            for route in frame.routes:
                lines.append(_path([(x + frame.x + a, y + frame.y + b) for a, b in route]))
            for k, n in enumerate(frame.members):
                left = x + frame.x + frame.inner.middle[k] - self.sizes[n][0] / 2
                above = y + frame.y + frame.inner.top[k]
                ops += [self._op(op, left, above + STACKED * row, self.sizes[n][0], inline)
                        for row, op in enumerate(self.stacks[n])]
        width = max(self.outer.width, legend_width) + 2 * EDGE
        height = top + self.outer.height + EDGE
        extent = (f'width="{width:.0f}" height="{height:.0f}" '
                  f'viewBox="0 0 {width:.0f} {height:.0f}"')
        drawn = [*legend, *frames, *lines, *ops, "</svg>", ""]
        if inline:
            return "\n".join([f'<svg class="graph" {extent}>', *drawn])
        return "\n".join([
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<svg xmlns="http://www.w3.org/2000/svg" {extent}>',
            f"<style>{STYLE}</style>",
            f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>', *drawn])

    def _legend(self) -> tuple[list[str], float, float]:
        """Return the legend of the colours: its elements, its width, and where the graph begins."""
        drawing = self.drawing
        elements = [_words(EDGE, EDGE + 10, drawing.summary, "title")]
        y, width = EDGE + 24, len(drawing.summary) * 8.6
        rows = [(self.colour.get(generator, XLA_COLOUR), "", words)
                for generator, words in drawing.legend]
        left = sum(box.left for box in drawing.boxes)
        if left:
            rows.append((XLA_COLOUR, ' class="left"',
                         f"heavy work that no generator does: {_count(left, 'op')}"))
        for colour, kind, words in rows:
            elements.append(
                f'<g class="op{kind and " left"}"><rect x="{EDGE:.0f}" y="{y:.0f}" width="26" '
                f'height="14" rx="3" fill="{colour}"/></g>')
            elements.append(_words(EDGE + 34, y + 11, words, "label"))
            width = max(width, 34 + len(words) * LETTER)
            y += 20
        if drawing.boxes:
            elements.append(f'<path class="given" d="{_triangle(EDGE + 13, y + 3)}"/>')
            elements.append(_words(EDGE + 34, y + 11, "a result of the program", "label"))
            y += 20
        return elements, width, y + 14

    def _region(self, frame: _Frame, x: float, y: float, inline: bool) -> str:
        region = self.drawing.regions[frame.region]
        colour = self.colour[region.generator]
        name_of = "" if inline else f' id="region-{frame.region}"'
        return (
            f'<g class="region"{name_of}><title>{clean(region.title)}</title>'
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{frame.width:.1f}" '
            f'height="{frame.height:.1f}" rx="8" fill="{colour}" '
            f'stroke="{_darker(colour)}"/>'
            + _words(x + MARGIN, y + 12, frame.label, "label") + "</g>")

    def _op(self, n: int, x: float, y: float, width: float, inline: bool) -> str:
        box = self.drawing.boxes[n]
        colour = self.colour.get(box.generator, XLA_COLOUR)
        kind = "op" + " left" * box.left
        # a page has many drawings
        name_of = f' data-op="{n}"' if inline else f' id="op-{n}"'
        name, t = self.names[n]
        mark = (f'<path class="given" d="{_triangle(x + width / 2, y + BOX + 2)}"/>'
                if box.result else "")
        return (
            f'<g class="{kind}"{name_of}><title>{clean(box.title)}</title>'
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
