"""Calibration: the ranges of values, from runs of a graph on data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import ArgumentError
from ..evaluate.reading import read
from ..evaluate.sync import sync
from ..trace.graph import Value
from ..trace.recording import record
from .graph import OpGraph, Source


class Ranges:
    """The smallest and the largest number of each value, over batches.

    With a percentile, the numbers between which that part of a batch's numbers is, the widest of
    all batches.
    """

    def __init__(self, graph: OpGraph, values: Sequence[Source], percentile: float | None) -> None:
        self.graph = graph
        self.values = values
        self.percentile = percentile
        self.found: list[tuple[float, float]] = []

    def add(self, arguments: Sequence[Value]) -> None:
        """Run a batch. Raises ArgumentError where a value is not finite."""
        values = self.graph.run(arguments, self.values)[len(self.graph.results):]
        if self.percentile is None:
            ends = [(record("min", [v], {}), record("max", [v], {})) for v in values]
            sync([v for pair in ends for v in pair], False)
            ranges = [(float(read(a)), float(read(b))) for a, b in ends]
        else:
            sync(values, False)
            ranges = [self._between(read(v)) for v in values]
        for value, pair in zip(self.values, ranges, strict=True):
            if not np.isfinite(pair).all():
                raise ArgumentError(
                    f"quantize: a {value.type.text} has numbers from {pair[0]} to {pair[1]} in a "
                    "batch, expected finite ones; look at the batch and at the model in float32")
        self.found = ranges if not self.found else [
            (min(a, c), max(b, d)) for (a, b), (c, d) in zip(self.found, ranges, strict=True)]

    def _between(self, data: np.ndarray) -> tuple[float, float]:
        assert self.percentile is not None
        rest = (100 - self.percentile) / 2
        low = 0.0 if data.min() >= 0 else float(np.percentile(data, rest))
        high = float(np.percentile(data, self.percentile if low == 0.0 else 100 - rest))
        return low, high
