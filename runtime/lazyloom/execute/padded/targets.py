"""The padded programs of structures that differ in extents alone."""

from __future__ import annotations

import math
import operator
from typing import Final, final

from ...cache import memory
from ...errors import LoomError
from ...program import families
from ...program.extents import Form
from ...program.padding import Padding
from ...program.program import Structure
from ..comparison import stays_op_by_op
from ..history import history_of
from .extent_marks import Mark

#: buckets that a family may have, and how many are refused before all are
TARGETS: Final = 64
REFUSALS: Final = 3


@final
class Target:
    """The padded program of a bucket.

    Attributes:
        structure: at the bucket, with its padding.
        size: the product of the bucket's extents.
        values: the bytes of all its values.
    """

    __slots__ = ("structure", "donate", "padding", "size", "values")

    def __init__(self, structure: Structure, padding: Padding, donate: bool) -> None:
        self.structure: Final = structure
        self.donate: Final = donate
        self.padding: Final = padding
        self.size: Final = math.prod(padding.bucket)
        self.values: Final = sum(t.nbytes for t in structure.leaf_types) + sum(
            t.nbytes for i in structure.instructions for t in i.types)

    @property
    def entry(self) -> memory.Entry:
        """What is known of the program; memory may have forgotten it and begin again."""
        return memory.entry_of(self.structure, self.donate)

    @property
    def refused(self) -> str:
        """Why there is no such program, or ""."""
        entry = memory.known(self.structure, self.donate)
        return "" if entry is None else history_of(entry).unpadded

    def returns(self, wanted: list[tuple[int, int]]) -> bool:
        """Whether the program is there, gives these results and is not slower than op by op."""
        entry = memory.known(self.structure, self.donate)
        return entry is not None and entry.program is not None and (
            not stays_op_by_op(entry) and all(p in entry.position for p in wanted))


@final
class Variation:
    """How the extents of a family go together, as far as its members have shown.

    Attributes:
        form: how their numbers follow from symbols.
        targets: the padded programs, by whether they may donate, bucket and smallest extents.
    """

    __slots__ = ("form", "targets")

    def __init__(self, form: Form) -> None:
        self.form: Final = form
        self.targets: Final[dict[tuple[bool, tuple[int, ...], tuple[int, ...]], Target | None]] = {}

    def target(
        self, structure: Structure, donate: bool, values: tuple[int, ...], marks: dict[int, Mark]
    ) -> Target | None:
        """The padded program of the bucket of these values; None if there is none."""
        bucket = []
        lowest = []
        for symbol, n in enumerate(values):
            mark = marks.get(symbol)
            if mark is not None and mark.high is not None:
                high = mark.high
                # what definitions decide by the extent they do for small ones
                low = min(families.SMALLEST // 2, n)
            else:
                high = families.bucket_of(n)
                low = high // 2
            if mark is not None and mark.low is not None:
                low = max(low, mark.low)
            bucket.append(high)
            lowest.append(max(2, low))
        if not all(map(operator.le, lowest, values)) or not all(map(operator.le, values, bucket)):
            return None
        key = (donate, tuple(bucket), tuple(lowest))
        found = self.targets.get(key)
        if found is None and key not in self.targets and len(self.targets) < TARGETS:
            found = self.targets[key] = self._fitting(structure, donate, values, bucket, lowest)
        return found

    def _fitting(
        self, structure: Structure, donate: bool, values: tuple[int, ...], bucket: list[int],
        lowest: list[int],
    ) -> Target | None:  # fmt: skip
        """The program of that bucket, or of the largest part of it at which the shapes fit.

        A table of 100 rows has no 128, of which the first so many are taken.
        """
        try:
            return Target(*families.padded(structure, self.form, bucket, lowest), donate)
        except LoomError:
            if len(bucket) > 1:
                return None
        found: Target | None = None
        fits, fails = values[0], bucket[0]
        while fits < fails:
            middle = (fits + fails) // 2
            try:
                found = Target(*families.padded(structure, self.form, [middle], lowest), donate)
                fits = middle + 1
            except LoomError:
                fails = middle
        return found

    def serving(
        self, values: tuple[int, ...], donate: bool, wanted: list[tuple[int, int]]
    ) -> Target | None:
        """The smallest padded program in memory that is for these values."""
        best: Target | None = None
        for target in list(self.targets.values()):
            if target is not None and target.donate == donate and (
                (best is None or target.size < best.size)
                and target.padding.serves(values) and target.returns(wanted)
            ):
                best = target
        return best

    def refusal(self) -> str:
        """Why no program is to be expected any more: several were refused, and none is there."""
        reasons = [t.refused for t in list(self.targets.values()) if t is not None and t.refused]
        if len(reasons) < REFUSALS or any(
            t is not None and t.returns([]) for t in list(self.targets.values())
        ):
            return ""
        return reasons[-1]
