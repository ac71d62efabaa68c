"""Layered graph layout of a picture.

The usual four steps: layers by the longest path; an order within each with few crossings, by means
over neighbours; positions, by least squares with that order kept; and lines that bend where
they pass a layer.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

#: distances between adjacent boxes, between lines, and between layers
BESIDE: Final = 18.0
LINE: Final = 7.0
BETWEEN: Final = 30.0
#: the greatest width of a layer, unless one of its boxes is wider
WIDEST: Final = 2600.0
#: the number of bends beyond which long lines go straight through
MOST_BENDS: Final = 40_000
#: the number of boxes and bends from which on less is done for their order
MANY: Final = 4_000

Point = tuple[float, float]


class Line(NamedTuple):
    """A line between two boxes, and how far from their middles it ends."""

    source: int
    target: int
    out: float = 0.0
    into: float = 0.0


class PictureLayout(NamedTuple):
    """Where everything is; all coordinates are at least 0.

    Attributes:
        middle: for each box, the x of its middle.
        top: for each box, the y of its upper edge.
        routes: for each line, the points that it passes, starting at its box, or where it leaves
            an earlier line from the same place.
        width, height: the size of the whole picture.
    """

    middle: list[float]
    top: list[float]
    routes: list[list[Point]]
    width: float
    height: float


def layered(
    sizes: Sequence[tuple[float, float]], lines: Sequence[Line],
    first: Collection[int] = (), last: Collection[int] = (),
) -> PictureLayout:  # fmt: skip
    """Lay out boxes of some widths and heights; the lines must have no cycle.

    ``first`` are boxes without incoming lines to put in the first layer, ``last`` boxes without
    outgoing lines to put in the last.
    """
    if not sizes:
        return PictureLayout([], [], [], 0.0, 0.0)
    return _Layers(sizes, lines, first, last).layout()


def ranks(
    sizes: Sequence[tuple[float, float]], lines: Sequence[Line],
    first: Collection[int] = (), last: Collection[int] = (),
) -> list[int]:  # fmt: skip
    """Return the layer of each box: below all sources of its lines, and late if it has none."""
    count = len(sizes)
    after: list[list[int]] = [[] for _ in range(count)]
    before: list[list[int]] = [[] for _ in range(count)]
    for line in lines:
        after[line.source].append(line.target)
        before[line.target].append(line.source)
    missing = [len(b) for b in before]
    order = [n for n in range(count) if not missing[n]]
    rank = [0] * count
    for n in order:
        for m in after[n]:
            rank[m] = max(rank[m], rank[n] + 1)
            missing[m] -= 1
            if not missing[m]:
                order.append(m)
    assert len(order) == count, "the lines have a cycle"
    pinned = set(first)
    for n in range(count):
        if not before[n] and after[n] and n not in pinned:
            rank[n] = min(rank[m] for m in after[n]) - 1
    # a full layer continues in the next
    used: dict[int, float] = {}
    place = {n: k for k, n in enumerate(order)}
    for n in sorted(range(count), key=lambda n: (rank[n], place[n])):
        at = max([rank[m] + 1 for m in before[n]], default=0)
        if n not in pinned:
            at = max(at, rank[n])
            while used.get(at, 0.0) and used[at] + sizes[n][0] > WIDEST:
                at += 1
        rank[n] = at
        used[at] = used.get(at, 0.0) + sizes[n][0] + BESIDE
    lowest = max((rank[n] for n in range(count) if n not in set(last)), default=0)
    for n in last:
        rank[n] = lowest + 1
    return rank


class _Layers:
    """Boxes and bends in layers. Those from ``len(sizes)`` on are bends."""

    def __init__(
        self, sizes: Sequence[tuple[float, float]], lines: Sequence[Line],
        first: Collection[int], last: Collection[int],
    ) -> None:  # fmt: skip
        self.sizes: Final = list(sizes)
        self.boxes: Final = len(sizes)
        self.lines: Final = lines
        self.rank: Final = ranks(sizes, lines, first, last)
        #: for each box and bend, its links to the next layer and to the one before: the other end,
        #: and how far from the middle the link ends here, and there
        self.down: Final[list[list[tuple[int, float, float]]]] = [[] for _ in sizes]
        self.up: Final[list[list[tuple[int, float, float]]]] = [[] for _ in sizes]
        #: for each line, the bends that it passes, without those that it shares with earlier lines,
        #: except the last of these; and whether there is a shared one
        self.bends: Final[list[list[int]]] = []
        self.shares: Final[list[bool]] = []
        self._bend()
        self.layers: list[list[int]] = [[] for _ in range(max(self.rank) + 1)]
        for n, r in enumerate(self.rank):
            self.layers[r].append(n)
        self.middle: Final = [0.0] * len(self.sizes)
        self.sweeps: Final = 10 if len(self.sizes) < MANY else 2

    def _bend(self) -> None:
        """Add bends wherever a line passes a layer; lines from the same place share them."""
        rank = self.rank
        reach: dict[tuple[int, float], int] = {}
        for line in self.lines:
            at = (line.source, line.out)
            reach[at] = max(reach.get(at, 0), rank[line.target])
        bends = sum(max(r - rank[at[0]] - 1, 0) for at, r in reach.items())
        chains: dict[tuple[int, float], list[int]] = {}
        for line in self.lines:
            at = (line.source, line.out)
            span = rank[line.target] - rank[line.source] - 1 if bends <= MOST_BENDS else 0
            chain = chains.setdefault(at, [])
            shared = min(len(chain), span)
            while len(chain) < span:
                self.sizes.append((1.0, 0.0))
                rank.append(rank[line.source] + len(chain) + 1)
                self.down.append([])
                self.up.append([])
                self._link(chain[-1] if chain else line.source, len(rank) - 1,
                           0.0 if chain else line.out, 0.0)
                chain.append(len(rank) - 1)
            passed = chain[max(shared - 1, 0) : span]
            self.bends.append(passed)
            self.shares.append(shared > 0)
            self._link(passed[-1] if passed else line.source, line.target,
                       0.0 if passed else line.out, line.into)

    def _link(self, a: int, b: int, out: float, into: float) -> None:
        self.down[a].append((b, out, into))
        self.up[b].append((a, into, out))

    def layout(self) -> PictureLayout:
        self._order()
        self._spread()
        tops, top = [], 0.0
        for layer in self.layers:
            tops.append(top)
            top += max((self.sizes[n][1] for n in layer), default=0.0) + BETWEEN
        tops.append(top)
        leftmost = min(self.middle[n] - self.sizes[n][0] / 2 for n in range(len(self.sizes)))
        middle = [x - leftmost for x in self.middle]
        bottom = [tops[r + 1] - BETWEEN for r in range(len(self.layers))]
        upper = [
            (tops[self.rank[n]] + bottom[self.rank[n]] - self.sizes[n][1]) / 2
            for n in range(self.boxes)]
        routes = []
        for line, bends, shares in zip(self.lines, self.bends, self.shares, strict=True):
            a, b = line.source, line.target
            x = middle[a] + line.out
            route = [(x, upper[a] + self.sizes[a][1]), (x, bottom[self.rank[a]])]
            if shares:
                route = [(middle[bends[0]], bottom[self.rank[bends[0]]])]
            for n in bends[shares:]:
                route += [(middle[n], tops[self.rank[n]]), (middle[n], bottom[self.rank[n]])]
            x = middle[b] + line.into
            route += [(x, tops[self.rank[b]]), (x, upper[b])]
            routes.append(route)
        width = max(middle[n] + self.sizes[n][0] / 2 for n in range(len(self.sizes)))
        return PictureLayout(middle[: self.boxes], upper, routes, width, top - BETWEEN)

    # the order within layers

    def _order(self) -> None:
        best, fewest = [list(layer) for layer in self.layers], self._crossings()
        for sweep in range(self.sweeps):
            if not fewest:
                break
            links = self.up if sweep % 2 == 0 else self.down
            layers = self.layers if sweep % 2 == 0 else self.layers[::-1]
            place: dict[int, float] = {}
            for layer in layers:
                for k, n in enumerate(layer):
                    place[n] = k
                means: dict[int, float] = {}
                for n in layer:
                    near = [place[m] + out / 1e4 for m, _, out in links[n] if m in place]
                    means[n] = sum(near) / len(near) if near else place[n]
                layer.sort(key=means.__getitem__)
                for k, n in enumerate(layer):
                    place[n] = k
            crossings = self._crossings()
            if crossings < fewest:
                best, fewest = [list(layer) for layer in self.layers], crossings
        self.layers = best

    def _crossings(self) -> int:
        """Return how many links cross each other."""
        total = 0
        for above, below in zip(self.layers, self.layers[1:], strict=False):
            place = {n: k for k, n in enumerate(below)}
            seen: list[tuple[int, float]] = []
            for n in above:
                ends = sorted(
                    (out, place[m], into) for m, out, into in self.down[n] if m in place)
                for _, end, into in ends:
                    at = (end, into)
                    total += len(seen) - bisect_right(seen, at)
                    insort(seen, at)
        return total

    # positions

    def _spread(self) -> None:
        for layer in self.layers:
            self._place(layer, [0.0] * len(layer), [1.0] * len(layer))
        for sweep in range(2 * (self.sweeps // 2) + 1):
            layers = self.layers if sweep % 2 == 0 else self.layers[::-1]
            for layer in layers:
                wanted, weights = [], []
                for n in layer:
                    near = self.up[n] if sweep % 2 == 0 else self.down[n]
                    if sweep == self.sweeps:
                        near = self.up[n] + self.down[n]
                    total = weight = 0.0
                    for m, here, there in near:
                        # long lines should be straight
                        w = 6.0 if n >= self.boxes and m >= self.boxes else 1.0
                        total += w * (self.middle[m] + there - here)
                        weight += w
                    wanted.append(total / weight if weight else self.middle[n])
                    weights.append(weight or 0.1)
                self._place(layer, wanted, weights)

    def _place(self, layer: Sequence[int], wanted: Sequence[float], weights: Sequence[float]) -> (
        None
    ):
        """Set the positions nearest to those wanted that keep the order and the distances.

        With distances subtracted, positions must not decrease: where they would, neighbours get
        their common mean.
        """
        offset, offsets = 0.0, []
        for k, n in enumerate(layer):
            if k:
                m = layer[k - 1]
                gap = BESIDE if n < self.boxes or m < self.boxes else LINE
                offset += (self.sizes[m][0] + self.sizes[n][0]) / 2 + gap
            offsets.append(offset)
        blocks: list[tuple[float, float, int]] = []  # mean, weight, how many
        for x, weight, off in zip(wanted, weights, offsets, strict=True):
            mean, total, count = x - off, weight, 1
            while blocks and blocks[-1][0] > mean:
                other, w, c = blocks.pop()
                mean, total, count = (mean * total + other * w) / (total + w), total + w, count + c
            blocks.append((mean, total, count))
        k = 0
        for mean, _, count in blocks:
            for _ in range(count):
                self.middle[layer[k]] = mean + offsets[k]
                k += 1
