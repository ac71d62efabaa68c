"""Values of a model that are others, reshaped and transposed: nothing is moved for them.

Chains of reshapes and transposes cost at most one transpose where an op needs the result, and none
where the op can work on what the chain began with. So a network that is written with another order
of axes than attention wants has the order that costs least.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..onnx import OnnxGraph


class FactoredView(NamedTuple):
    """A value as its base, with the base's axes divided into factors that are put in order.

    Attributes:
        name: the base's name in the graph.
        base: the base's shape.
        factors: the factors of the base's axes, none of them 1, slowest first.
        order: the numbers of the factors in the order in which the value has them.
        shape: the value's shape.
    """

    name: str
    base: tuple[int, ...]
    factors: tuple[int, ...]
    order: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def rows(self) -> bool:
        """Whether the last axis is the base's, so that rows of both are the same numbers."""
        if not self.shape or not self.base:
            return self.shape == self.base
        n = _count(self.factors, self.base[-1])
        total = len(self.factors)
        return (self.shape[-1] == self.base[-1]
                and self.order[total - n:] == tuple(range(total - n, total)))

    def like(self, other: FactoredView) -> bool:
        """Return True if another value has the same elements of its base in the same places."""
        return self[1:] == other[1:]

    def on(self, name: str) -> FactoredView:
        """Return the same view of another base of the same shape."""
        return self._replace(name=name)

    def with_rows(self, name: str, size: int) -> FactoredView:
        """Return the view of a base whose rows have another size. Only where :attr:`rows`."""
        n = _count(self.factors, self.base[-1])
        leading = len(self.factors) - n
        last = (size,) if size > 1 else ()
        return FactoredView(name, (*self.base[:-1], size), self.factors[:leading] + last,
                    self.order[:leading] + tuple(range(leading, leading + len(last))),
                    (*self.shape[:-1], size))

    def transposed(self, axes: Sequence[int]) -> FactoredView:
        """Return this value with its axes in another order."""
        groups: list[tuple[int, ...]] = []
        at = 0
        for size in self.shape:
            n = 0
            while math.prod(self.factors[k] for k in self.order[at:at + n]) != size:
                n += 1
            groups.append(self.order[at:at + n])
            at += n
        return self._replace(order=tuple(k for d in axes for k in groups[d]),
                             shape=tuple(self.shape[d] for d in axes))

    def reshaped(self, shape: Sequence[int]) -> FactoredView | None:
        """Return this value in another shape; None if that divides no factors evenly."""
        parts: list[list[int]] = [[] for _ in self.factors]
        left = list(self.factors)
        at = 0
        for size in shape:
            while size > 1:
                k = self.order[at]
                part = min(size, left[k])
                if size % part or left[k] % part:
                    return None
                parts[k].append(part)
                size //= part
                left[k] //= part
                at += left[k] == 1
        first = [0]
        for each in parts:
            first.append(first[-1] + len(each))
        return FactoredView(self.name, self.base, tuple(p for each in parts for p in each),
                    tuple(first[k] + n for k in self.order for n in range(len(parts[k]))),
                    tuple(shape))


def whole(name: str, shape: Sequence[int]) -> FactoredView:
    """Return a value of the graph as the view of itself."""
    factors = tuple(d for d in shape if d != 1)
    return FactoredView(name, tuple(shape), factors, tuple(range(len(factors))), tuple(shape))


def _count(factors: Sequence[int], size: int) -> int:
    """Return how many of the last factors make up an axis of some size."""
    n = 0
    while math.prod(factors[len(factors) - n:]) != size:
        n += 1
    return n


def add(graph: OnnxGraph, view: FactoredView) -> str:
    """Add what moves a base's elements to where a view has them; return the result's name."""
    # neighbours that stay neighbours move as one
    runs: list[list[int]] = []
    for k in view.order:
        if runs and runs[-1][-1] + 1 == k:
            runs[-1].append(k)
        else:
            runs.append([k])
    name, shape = view.name, view.base
    if len(runs) > 1:
        firsts = sorted(run[0] for run in runs)
        sizes = {run[0]: math.prod(view.factors[k] for k in run) for run in runs}
        split = tuple(sizes[k] for k in firsts)
        if split != shape:
            name = graph.add("Reshape", name, graph.ints(split))
        name = graph.add("Transpose", name, perm=[firsts.index(run[0]) for run in runs])
        shape = tuple(sizes[run[0]] for run in runs)
    if view.shape != shape:
        name = graph.add("Reshape", name, graph.ints(view.shape))
    return name
