"""What follows a convolution: sums, batch normalisation by given statistics, ReLU and ReLU6.

A convolution does sums and normalisation itself, as post-ops. A limit is a step of its own
(``native/onednn/after.h``), since oneDNN's ReLU of NaN is 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from ...program.program import Instruction
from ...program.stream import Leaf, Operand, Result
from ...trace.scalars import Baked
from ...types import TensorType
from ..answers import Call
from ..generator import Region
from . import library
from .library import Object
from .plan import DTYPES, OneDnnPlan, PlanArray, parts_of, strides_of

#: the ops that limit a result, which come last
LIMITS: Final = ("relu", "relu6")
#: twice its operand: the sum of a value with itself
_TWICE: Final = ("eltwise", library.LINEAR, 2.0, 0.0)

#: a part of a batch: the first image and their number
Part = tuple[int, int]


class _Step(NamedTuple):
    """A post-op: a product or sum with an array, or twice what it is given if there is none.

    Attributes:
        kind: how oneDNN numbers the product or sum.
        value: the array, or None.
        image: the number of the region's operand that is added element by element, or None.
    """

    kind: int
    value: PlanArray | None
    image: int | None


def operands_like(region: Region) -> list[int]:
    """Return the numbers of operands that are added element by element to the result."""
    shape = region.results[0].shape
    return [item.number for i in region.program.structure.instructions[1:]
            for item, t in zip(i.operands[:2], i.operand_types, strict=False)
            if isinstance(item, Leaf) and t is not None and t.shape == shape]


class PostOps:
    """The ops of a region that follow its convolution, being added to a plan.

    Those that compute numbers for channels are added to the plan's stage when this is made.
    """

    def __init__(self, plan: OneDnnPlan, region: Region) -> None:
        self.plan: Final = plan
        self.region: Final = region
        self.result: Final = region.results[0]
        self.dtype: Final = DTYPES[self.result.dtype.name]
        self.limit = ""
        self.steps: Final[list[_Step]] = []
        for number, i in enumerate(region.program.structure.instructions[1:]):
            name = Call.of(i).op
            if name in LIMITS:
                self.limit = name
            elif name == "batch_norm_infer":
                self._normalization(i)
            else:
                self._sum(i, Result(number, 0))

    def _channels(self) -> Object:
        c = self.result.shape[1]
        ones = [1] * (self.result.ndim - 2)
        return self.plan.lib.strided((1, c, *ones), library.F32, (c, 1, *ones))

    def _normalization(self, i: Instruction) -> None:
        plan, channels = self.plan, self.result.shape[1]
        vector = plan.lib.strided((channels,), self.dtype, (1,))
        given = [None if item is None else self._vector(item, vector)
                 for item in (*i.operands[1:], None, None)[:4]]
        scale, shift = plan.value(self._channels()), plan.value(self._channels())
        plan.after("scale_shift", [*given, scale, shift], channels, self.dtype,
                   float(Call.of(i).attributes["eps"]))
        self.steps.append(_Step(library.BINARY_MUL, scale, None))
        self.steps.append(_Step(library.BINARY_ADD, shift, None))

    def _vector(self, item: Operand, desc: Object) -> PlanArray:
        assert isinstance(item, Leaf), "a constant has no axis of channels"
        return self.plan.value(desc, item.number)

    def _sum(self, i: Instruction, onward: Operand) -> None:
        others = [(item, t) for item, t in zip(i.operands, i.operand_types, strict=True)
                  if item != onward]
        if not others:
            self.steps.append(_Step(0, None, None))
            return
        ((item, t),) = others
        ones = (1,) * self.result.ndim
        if isinstance(item, Baked):
            number = np.full(ones, item.number, np.float32)
            value = self.plan.constant(number, self.plan.lib.strided(ones, library.F32, ones))
            self.steps.append(_Step(library.BINARY_ADD, value, None))
            return
        assert isinstance(item, Leaf) and t is not None
        if t.shape == self.result.shape:
            self.steps.append(_Step(library.BINARY_ADD, None, item.number))
            return
        shape = (*ones, *t.shape)[-self.result.ndim:] if t.shape else ones
        strides = strides_of(shape, tuple(range(len(shape))))
        value = self.plan.value(self.plan.lib.strided(shape, self.dtype, strides), item.number)
        self.steps.append(_Step(library.BINARY_ADD, value, None))

    def image(self, t: TensorType, k: int, part: Part) -> PlanArray:
        """Return a part of images among the region's arrays."""
        strides = strides_of(t.shape, self.region.layouts[k])
        desc = self.plan.lib.strided((part[1], *t.shape[1:]), self.dtype, strides)
        return self.plan.value(desc, k, part[0] * strides[0] * t.dtype.numpy.itemsize)

    def _values(self, part: Part) -> list[tuple[int, PlanArray | None]]:
        """Return each step's kind and array, for a part of the batch."""
        return [(s.kind, s.value if s.image is None else self.image(self.result, s.image, part))
                for s in self.steps]

    def attributes(self, part: Part) -> tuple[Object, dict[int, PlanArray]]:
        """Return a convolution's attributes, and their arguments, for a part of the batch."""
        return self._attributes(self._values(part))

    def _attributes(
        self, values: Sequence[tuple[int, PlanArray | None]]
    ) -> tuple[Object, dict[int, PlanArray]]:
        steps = [_TWICE if value is None else ("binary", kind, value.desc)
                 for kind, value in values]
        arguments = {library.AFTER * (n + 1) | library.SRC_1: value
                     for n, (_, value) in enumerate(values) if value is not None}
        return self.plan.lib.attributes_with({}, steps), arguments

    def apart(self, result: PlanArray, part: Part) -> None:
        """Add the steps, but for a limit, as a primitive that overwrites a part of the result."""
        values = self._values(part)
        if not values:
            return
        kind, first = values[0]
        attributes, arguments = self._attributes(values[1:])
        arguments |= {library.SRC: result, library.DST: result}
        if first is None:
            desc = self.plan.primitive_desc(
                "eltwise_forward", library.FORWARD_INFERENCE, library.LINEAR, result.desc,
                result.desc, *self.plan.lib.floats(2.0, 0.0), attributes=attributes)
        else:
            desc = self.plan.primitive_desc(
                "binary", kind, result.desc, first.desc, result.desc, attributes=attributes)
            arguments[library.SRC_1] = first
        self.plan.run(desc, arguments)

    def limited(self, result: PlanArray, part: Part, lanes: int = 1) -> None:
        """Add the limit of a part of the result, if there is one; in several lanes, as a stage.

        Images are slowest in memory, so that a part of them lies in one piece.
        """
        if not self.limit:
            return
        plan, bytes_of = self.plan, self.result.dtype.numpy.itemsize
        size = part[1] * math.prod(self.result.shape[1:])
        if lanes > 1:
            plan.stage()
        for first, count in parts_of(size, lanes):
            if lanes > 1:
                plan.lane()
            piece = plan.part(
                result, plan.lib.strided((count,), self.dtype, (1,)), first * bytes_of)
            plan.after(self.limit, [piece], count, self.dtype)
