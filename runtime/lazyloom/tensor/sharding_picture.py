"""A picture of how an array lies on devices: its blocks, and who has each of them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from ..codegen.drawing import clean, colours
from ..errors import ArgumentError, type_name
from ..evaluate.sync import sync
from ..placements import DEFAULT_PLACEMENT, Axes, Placement
from ..trace.graph import Value
from ..types import TensorType
from .moving import placement_now
from .placing import default_device
from .tensor import Tensor

#: the first and the end of a block along a dimension
Range = tuple[int, int]

#: of the drawing, in pixels: the longer side of the array, the shortest one of a block, the margin,
#: the height of a line of text, the width of a letter
LONGEST: Final = 420.0
SHORTEST: Final = 26.0
EDGE: Final = 14.0
ROW: Final = 18.0
LETTER: Final = 7.0
STYLE: Final = """
text { font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
       font-size: 11px; fill: #1c2733; }
.title { font-size: 12px; font-weight: bold; } .range { fill: #55616d; font-size: 10px; }
.device { text-anchor: middle; } .row { text-anchor: end; } .column { text-anchor: middle; }
.block rect { stroke: #37424d; stroke-width: 1; }
"""


class Block(NamedTuple):
    """A part of an array that a device has, or several of them have.

    Attributes:
        ranges: for each dimension the first index and the end of the part.
        devices: names of the devices that have it, in the order of the mesh, such as "cpu:3"; on a
            mesh of several processes "cpu:1 of rank 3".
    """

    ranges: tuple[Range, ...]
    devices: tuple[str, ...]


class ShardingPicture:
    """How an array lies on devices. As text by ``str``; drawn in notebooks, by :meth:`svg`.

    Attributes:
        shape: of the array.
        placement: where it lies.
        blocks: its parts in row-major order, with the devices that have each.
    """

    def __init__(self, t: TensorType, placement: Placement) -> None:
        self.shape: Final = t.shape
        self.placement: Final = placement
        indexed = _blocks(t.shape, placement)
        self._indices: Final = [index for index, _ in indexed]
        self.blocks: Final = tuple([block for _, block in indexed])
        self._dtype = t.dtype.name
        rows, columns = _shown(t.shape, placement)
        self._rows, self._columns = rows, columns
        #: dimensions that are not drawn and are divided: a drawing for each of their blocks
        self._others = [d for d, axes in enumerate(placement.spec or ())
                        if axes and d not in (rows, columns)]

    def __str__(self) -> str:
        lines = [self._title()]
        for heading, down, across, cells in self._drawings():
            lines += [heading] if heading else []
            lines += _table(down, across, [[_short(b.devices) for b in row] for row in cells])
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_svg_(self) -> str:
        return self.svg()

    def svg(self) -> str:
        """Return the picture as SVG text: blocks by size, a colour for each group of devices."""
        return _svg(self._title(), self._drawings(), self._sizes())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the drawing to a file, ``"array.svg"``, or the text to one that ends in .txt.

        Raises ArgumentError for a name that ends otherwise.
        """
        ending = os.path.splitext(path)[1].lower()
        if ending not in (".svg", ".txt"):
            raise ArgumentError(
                f"save: {os.fspath(path)!r} was given, expected a name that ends in .svg, or in "
                ".txt for the text")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg() if ending == ".svg" else str(self) + "\n")

    def _title(self) -> str:
        extents = ",".join(map(str, self.shape))
        what = f"{self._dtype}[{extents}]"
        mesh = self.placement.mesh
        if mesh is None:
            return f"{what} on {self.blocks[0].devices[0]}"
        grid = ", ".join(f"{name}={n}" for name, n in mesh.axes)
        divided = [f"dimension {d} by {' and '.join(axes)}"
                   for d, axes in enumerate(self.placement.spec or ()) if axes]
        return f"{what} on the mesh {grid}: {', '.join(divided) or 'whole on every device'}"

    def _drawings(self) -> list[Drawing]:
        """The grids of blocks, one for each block of the dimensions that are not drawn."""
        rows, columns = self._rows, self._columns
        found: dict[tuple[int, ...], dict[int, list[Block]]] = {}
        for index, block in zip(self._indices, self.blocks, strict=True):
            key = tuple([index[d] for d in self._others])
            row = found.setdefault(key, {})
            row.setdefault(0 if rows is None else index[rows], []).append(block)
        drawings = []
        for by_row in found.values():
            cells = list(by_row.values())
            first = cells[0]
            ranges = first[0].ranges
            heading = "[" + ", ".join(
                _range(r) if d in self._others else ":" for d, r in enumerate(ranges)) + "]"
            drawings.append(Drawing(
                heading if self._others else "",
                [] if rows is None else [_range(row[0].ranges[rows]) for row in cells],
                [] if columns is None else [_range(block.ranges[columns]) for block in first],
                cells))
        return drawings

    def _sizes(self) -> tuple[int, int]:
        """How many elements the drawn dimensions have."""
        height, width = (1 if d is None else max(self.shape[d], 1)
                         for d in (self._rows, self._columns))
        return height, width


class Drawing(NamedTuple):
    """A grid of blocks: what stands above it, beside its rows and above its columns."""

    heading: str
    down: list[str]
    across: list[str]
    cells: list[list[Block]]


def visualize_sharding(x: Any) -> ShardingPicture:
    """A picture of how an array lies on devices, which prints as text and draws as SVG.

    Two dimensions are shown as rows and columns: the first two that a mesh divides, or that there
    are. Where it divides more, there is a grid for each block of the others. A pending result whose
    division XLA chooses is computed first.

    Args:
        x: a tensor or a value, of any shape and dtype.

    Raises ArgumentError where ``x`` is no tensor, and the error of a result that cannot be
    computed.
    """
    value = x.value if isinstance(x, Tensor) else x
    if not isinstance(value, Value):
        raise ArgumentError(
            f"visualize_sharding: a {type_name(x)} was given, expected a tensor or a Value")
    placement = placement_now(value)
    if placement.is_propagated:
        sync([value], True)
        placement = placement_now(value)
    return ShardingPicture(value.type, placement)


def _blocks(
    shape: tuple[int, ...], placement: Placement
) -> list[tuple[tuple[int, ...], Block]]:
    """The parts of an array, in row-major order, each with its number along every dimension."""
    mesh, spec = placement.mesh, placement.spec or ()
    if mesh is None:
        device = default_device() if placement is DEFAULT_PLACEMENT else placement.device
        return [((0,) * len(shape), Block(tuple([(0, n) for n in shape]), (device,)))]
    sizes = mesh.shape
    by_dimension: list[Axes] = [spec[d] if d < len(spec) else () for d in range(len(shape))]
    holders: dict[tuple[int, ...], list[str]] = {}
    for place, name in zip(
        itertools.product(*[range(n) for _, n in mesh.axes]), mesh.names, strict=True
    ):
        at = dict(zip(sizes, place, strict=True))
        index = []
        for axes in by_dimension:
            part = 0
            for axis in axes:
                part = part * sizes[axis] + at[axis]
            index.append(part)
        holders.setdefault(tuple(index), []).append(name)
    parts = [_product([sizes[axis] for axis in axes]) for axes in by_dimension]
    blocks = []
    for numbers, devices in sorted(holders.items()):
        ranges = [(k * n // p, (k + 1) * n // p)
                  for k, n, p in zip(numbers, shape, parts, strict=True)]
        blocks.append((numbers, Block(tuple(ranges), tuple(devices))))
    return blocks


def _product(numbers: Sequence[int]) -> int:
    product = 1
    for n in numbers:
        product *= n
    return product


def _shown(shape: tuple[int, ...], placement: Placement) -> tuple[int | None, int | None]:
    """The dimensions that are drawn as rows and as columns."""
    divided = [d for d, axes in enumerate(placement.spec or ()) if axes]
    rest = [d for d in range(len(shape)) if d not in divided]
    chosen = sorted((divided + rest)[:2])
    if not chosen:
        return None, None
    # a single dimension lies along the page
    return (None, chosen[0]) if len(chosen) == 1 else (chosen[0], chosen[1])


def _range(of: Range) -> str:
    return f"{of[0]}:{of[1]}"


def _short(devices: Sequence[str]) -> str:
    """Names of devices of one platform together, such as ``cpu:0-7`` or ``cpu:0,1 of ranks 0-3``.
    """
    platform = devices[0].partition(":")[0]
    #: the devices of each rank, or of "" in a process that is alone
    by_rank: dict[str, list[int]] = {}
    for name in devices:
        number, _, rank = name.partition(":")[2].partition(" of rank ")
        by_rank.setdefault(rank, []).append(int(number))
    #: the ranks that have the same devices
    alike: dict[str, list[str]] = {}
    for rank, numbers in by_rank.items():
        alike.setdefault(f"{platform}:{_runs(numbers)}", []).append(rank)
    return "; ".join([name + _of(ranks) for name, ranks in alike.items()])


def _of(ranks: list[str]) -> str:
    if ranks == [""]:
        return ""
    return f" of rank{'s' * (len(ranks) > 1)} {_runs(map(int, ranks))}"


def _runs(numbers: Iterable[int]) -> str:
    """Numbers with runs in short, such as ``0,1`` and ``0-7``."""
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][-1] + 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    return ",".join([f"{r[0]}-{r[-1]}" if len(r) > 2 else ",".join(map(str, r)) for r in runs])


def _table(down: list[str], across: list[str], cells: list[list[str]]) -> list[str]:
    """A grid of texts, with ranges above its columns and beside its rows."""
    wide = max(len(text) for text in [*across, *itertools.chain(*cells)]) + 2
    count = len(cells[0])
    margin = max(map(len, down), default=0)
    left = " " * (margin + 1) if down else ""

    def rule(first: str, middle: str, last: str) -> str:
        return left + first + middle.join(["\u2500" * wide] * count) + last

    lines = [left + " " + " ".join(text.center(wide) for text in across).rstrip()] if across else []
    lines.append(rule("\u250c", "\u252c", "\u2510"))
    for n, row in enumerate(cells):
        if n:
            lines.append(rule("\u251c", "\u253c", "\u2524"))
        beside = down[n].rjust(margin) + " " if down else ""
        lines.append(
            beside + "\u2502" + "\u2502".join(t.center(wide) for t in row) + "\u2502")
    lines.append(rule("\u2514", "\u2534", "\u2518"))
    return lines


def _svg(title: str, drawings: list[Drawing], sizes: tuple[int, int]) -> str:
    names = list(dict.fromkeys(
        _short(b.devices) for d in drawings for row in d.cells for b in row))
    colour = colours(names)
    down, across = len(drawings[0].cells), len(drawings[0].cells[0])
    longest = max(sizes)
    # proportions up to one to four, so that each block has room for its label
    height, width = (LONGEST * max(n / longest, 0.25) for n in sizes)
    letters = max(map(len, names)) * LETTER + 10
    block_height, block_width = max(height / down, SHORTEST), max(width / across, letters)
    left = EDGE + max((len(t) for t in drawings[0].down), default=-1) * LETTER + LETTER
    elements = [_text(EDGE, EDGE + 12, title, "title")]
    y = EDGE + 24
    for drawing in drawings:
        if drawing.heading:
            y += ROW
            elements.append(_text(EDGE, y - 4, drawing.heading, "heading"))
        if drawing.across:
            y += ROW
            elements += [_text(left + (k + 0.5) * block_width, y - 5, text, "range column")
                         for k, text in enumerate(drawing.across)]
        for n, row in enumerate(drawing.cells):
            top = y + n * block_height
            if drawing.down:
                elements.append(
                    _text(left - 6, top + block_height / 2 + 4, drawing.down[n], "range row"))
            for k, block in enumerate(row):
                name = _short(block.devices)
                x = left + k * block_width
                ranges = ", ".join(map(_range, block.ranges))
                elements.append(
                    f'<g class="block"><title>{clean(f"[{ranges}] on {name}")}</title>'
                    f'<rect x="{x:.1f}" y="{top:.1f}" width="{block_width:.1f}" '
                    f'height="{block_height:.1f}" fill="{colour[name]}"/>'
                    + _text(x + block_width / 2, top + block_height / 2 + 4, name, "device")
                    + "</g>")
        y += down * block_height + EDGE / 2
    full = max(left + across * block_width, EDGE + len(title) * 7.6) + EDGE
    high = y + EDGE / 2
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{full:.0f}" height="{high:.0f}" '
        f'viewBox="0 0 {full:.0f} {high:.0f}">',
        f"<style>{STYLE}</style>",
        f'<rect width="{full:.0f}" height="{high:.0f}" fill="#ffffff"/>',
        *elements, "</svg>", ""])


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{clean(text)}</text>'
