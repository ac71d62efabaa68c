"""Layer normalisation and its gradient: each lane does some of the rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from ...types import TensorType
from ..answers import Answer, Call, No
from ..generator import Layout, Region
from ..worth import at_least
from . import library
from .library import Object
from .plan import DTYPES, OneDnnPlan, PlanArray, parts_of

#: the numbers of elements from which on a call is worthwhile, and is divided among threads
SMALL: Final = 65_536
SPLIT: Final = 131_072


def _x(call: Call) -> TensorType:
    x = call.operands[0]
    assert x is not None
    return x


def supports(call: Call) -> Answer:
    """Return YES if an op is supported, or why not."""
    x = _x(call)
    if x.dtype.name not in DTYPES:
        return No(f"dtype {x.dtype.name}, expected {' or '.join(DTYPES)}")
    if call.op.endswith(".vjp") and call.attributes["outnums1"] != (0,):
        return No("a derivative of another kind")
    return at_least(x.size, SMALL, "elements")


def work(call: Call) -> int:
    """Return the number of multiplications that take as long."""
    return 8 * _x(call).size


def layouts(region: Region) -> Sequence[Layout] | None:
    """Return None: logical order."""
    return None


def add(plan: OneDnnPlan, region: Region) -> None:
    """Add an op to a plan."""
    rows = _Rows(plan, region)
    if rows.call.op.endswith(".vjp"):
        rows.backward()
    else:
        rows.forward()


class _Rows:
    """An op that is being added to a plan."""

    def __init__(self, plan: OneDnnPlan, region: Region) -> None:
        self.plan: Final = plan
        self.region: Final = region
        self.call: Final = region.calls[0]
        x = _x(self.call)
        self.dtype: Final = DTYPES[x.dtype.name]
        self.size: Final = x.dtype.itemsize
        self.lanes: Final = plan.lib.threads if x.size >= SPLIT else 1
        self.columns: Final[int] = math.prod(
            x.shape[x.ndim - self.call.attributes["normalized_ndim"]:])
        self.rows: Final = x.size // self.columns
        self.items: Final = region.program.structure.instructions[0].operands
        self.made: Final = {r: len(region.operands) + k
                            for k, (_, r) in enumerate(region.program.outputs)}

    def desc(self, *shape: int, dtype: int = library.F32) -> Object:
        return self.plan.lib.strided(
            shape, dtype, [math.prod(shape[d + 1:]) for d in range(len(shape))])

    def some(self, buffer: int, first: int, count: int) -> PlanArray:
        """Return some rows of an array of the region."""
        return self.plan.value(self.desc(count, self.columns, dtype=self.dtype), buffer,
                               first * self.columns * self.size)

    def operand(self, position: int) -> int | None:
        """Return the number of an operand among the region's arrays."""
        item = self.items[position]
        return None if item is None else item.number  # type: ignore[union-attr]

    def between(self, *shape: int) -> PlanArray:
        return self.plan.value(self.desc(*shape))

    def per_column(self, buffer: int) -> PlanArray:
        """Return an array of one number per column, in the op's dtype."""
        return self.plan.value(self.desc(self.columns, dtype=self.dtype), buffer)

    def _numbers(self) -> dict[int, PlanArray]:
        """Return scale and shift, in float32, by the primitive's argument numbers."""
        arrays = {}
        for position, argument in ((1, library.SCALE), (2, library.SHIFT)):
            buffer = self.operand(position) if position < self._primals else None
            if buffer is not None:
                arrays[argument] = self.plan.given(self.per_column(buffer), self.desc(self.columns))
        return arrays

    @property
    def _primals(self) -> int:
        return int(self.call.attributes.get("primals1", len(self.items)))

    def _forward(
        self, x: PlanArray, out: PlanArray, count: int, numbers: dict[int, PlanArray]
    ) -> tuple[Object, dict[int, PlanArray]]:
        """Add the primitive; return its description and its statistics."""
        flags = sum({library.SCALE: 2, library.SHIFT: 4}[a] for a in numbers)
        stats = {library.MEAN: self.between(count), library.VARIANCE: self.between(count)}
        desc = self.plan.primitive_desc(
            "layer_normalization_forward", library.FORWARD_TRAINING, x.desc, out.desc,
            stats[library.MEAN].desc, *self.plan.lib.floats(self.call.attributes["eps"]), flags)
        self.plan.run(desc, {library.SRC: x, library.DST: out, **stats, **numbers})
        return desc, stats

    def forward(self) -> None:
        """Add a primitive for some rows in each lane."""
        self.plan.stage()
        numbers = self._numbers()
        self.plan.stage()
        for first, count in parts_of(self.rows, self.lanes):
            self.plan.lane()
            self._forward(self.some(self.operand(0) or 0, first, count),
                          self.some(self.made[0], first, count), count, numbers)

    def backward(self) -> None:
        """Add the statistics again, then the gradients; those of scale and shift are added up."""
        plan, attrs = self.plan, self.call.attributes
        by = {attrs["argnums1"][r]: buffer for r, buffer in self.made.items()}
        plan.stage()
        numbers = self._numbers()
        flags = sum({library.SCALE: 2, library.SHIFT: 4}[a] for a in numbers)
        gradients = {library.SCALE: library.DIFF_SCALE, library.SHIFT: library.DIFF_SHIFT}
        sums: dict[int, list[PlanArray]] = {gradients[a]: [] for a in numbers}
        plan.stage()
        for first, count in parts_of(self.rows, self.lanes):
            plan.lane()
            x = self.some(self.operand(0) or 0, first, count)
            cotangent = self.some(self.operand(self._primals) or 0, first, count)
            # its result is not needed: the gradient overwrites it
            out = self.some(by.get(0, -1), first, count)
            desc, stats = self._forward(x, out, count, numbers)
            desc = plan.primitive_desc(
                "layer_normalization_backward", library.BACKWARD, out.desc, cotangent.desc, x.desc,
                stats[library.MEAN].desc, *plan.lib.floats(attrs["eps"]), flags, desc)
            for partial in sums.values():
                partial.append(self.between(self.columns))
            plan.run(desc, {library.SRC: x, library.DIFF_DST: cotangent, library.DIFF_SRC: out,
                            **stats, **numbers,
                            **{a: partial[-1] for a, partial in sums.items()}})
        plan.stage()
        for argnum, argument in ((1, library.DIFF_SCALE), (2, library.DIFF_SHIFT)):
            if argnum in by:
                plan.lane()
                result = self.per_column(by[argnum])
                total = plan.made(result, self.desc(self.columns))
                plan.total(sums[argument], total)
                plan.move(total, result)
