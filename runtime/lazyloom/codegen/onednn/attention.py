"""Attention in bfloat16 and its gradient: one head at a time, whose scores stay in the cache."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy

from ...types import TensorType
from ..answers import Answer, Call, No
from ..generator import Layout, Region
from ..worth import at_least
from . import library, products
from .library import Object
from .plan import OneDnnPlan, PlanArray, parts_of, strides_of

#: the most heads of all sequences; each has primitives of its own
_HEADS: Final = 2048


def _given(call: Call) -> tuple[TensorType, TensorType, TensorType]:
    q, k, v = call.operands[:3]
    assert q is not None and k is not None and v is not None
    return q, k, v


def supports(call: Call) -> Answer:
    """Return YES if attention, or its gradient, is supported, or why not."""
    q, k, v = _given(call)
    if q.dtype.name != "bfloat16":
        return No(f"attention in {q.dtype.name}, in which it is not quicker than XLA",
                  deliberate=True)
    count = call.attributes.get("primals1", len(call.operands))
    if count > 3 and call.operands[3] is not None:
        return No("a mask, which its scores do not have")
    if call.op.endswith(".vjp") and (
        call.attributes["outnums1"] != (0,) or not set(call.attributes["argnums1"]) <= {0, 1, 2}
    ):
        return No("a derivative of another kind")
    if q.shape[:-2] != k.shape[:-2]:
        return No("leading axes that broadcast")
    if math.prod(q.shape[:-2]) > _HEADS:
        return No(f"{math.prod(q.shape[:-2])} heads, expected at most {_HEADS}")
    return at_least(work(call), products.SMALL, "multiplications")


def work(call: Call) -> int:
    """Return the number of multiplications of attention, or of its gradient."""
    q, k, v = _given(call)
    each = math.prod(q.shape[:-1]) * k.shape[-2]
    if not call.op.endswith(".vjp"):
        return each * (q.shape[-1] + v.shape[-1])
    return each * (3 * q.shape[-1] + 2 * v.shape[-1])


def layouts(region: Region) -> Sequence[Layout] | None:
    """Return layouts with heads after positions, as a product with all heads' features gives them.
    """
    return [(0, 2, 1, 3) if t.ndim == 4 else tuple(range(t.ndim))
            for t in (*region.operands, *region.results)]


def add(plan: OneDnnPlan, region: Region) -> None:
    """Add attention, or its gradient, to a plan: heads are divided among lanes."""
    q = _given(region.calls[0])[0]
    heads = math.prod(q.shape[:-2])
    plan.stage()
    mask = _Head.mask_of(plan, region.calls[0])
    for first, count in parts_of(
        heads, plan.lib.threads if work(region.calls[0]) >= products.SPLIT else 1
    ):
        plan.lane()
        head = _Head(plan, region, mask)
        for number in range(first, first + count):
            if region.calls[0].op.endswith(".vjp"):
                head.backward(number)
            else:
                head.forward(number)


class _Head:
    """The memory and primitives that the heads of a lane share."""

    def __init__(self, plan: OneDnnPlan, region: Region, mask: PlanArray | None) -> None:
        self.plan: Final = plan
        self.region: Final = region
        self.call: Final = region.calls[0]
        self.mask: Final = mask
        q, k, v = _given(self.call)
        scale = self.call.attributes["scale"]
        self.scale: Final = 1 / math.sqrt(max(q.shape[-1], 1)) if scale is None else float(scale)
        rows, columns = q.shape[-2], k.shape[-2]
        strided = plan.lib.strided
        half = strided((rows, columns), library.BF16, (columns, 1))
        turned = strided((columns, rows), library.BF16, (1, columns))
        whole = strided((rows, columns), library.F32, (columns, 1))
        #: in float32: the scores, then perhaps the weights; and the cotangents of the weights
        self.scores: Final = plan.value(whole)
        self.d: Final = plan.value(whole) if self.call.op.endswith(".vjp") else None
        #: for products: the weights, then perhaps the cotangents of the scores
        self.half: Final = plan.value(half)
        self.turned: Final = plan.part(self.half, turned)
        self.descs: Final[dict[str, Object]] = {}

    @staticmethod
    def mask_of(plan: OneDnnPlan, call: Call) -> PlanArray | None:
        """Return upper limits of the scores: infinity, or -infinity where a position is masked."""
        if not call.attributes["causal"]:
            return None
        q, k, _ = _given(call)
        rows, columns = q.shape[-2], k.shape[-2]
        seen = numpy.arange(columns) <= numpy.arange(rows)[:, None]
        array = numpy.where(seen, numpy.inf, -numpy.inf).astype(numpy.float32)
        return plan.constant(
            array, plan.lib.strided((rows, columns), library.F32, (columns, 1)))

    def _array(self, t: TensorType, buffer: int, number: int, turned: bool = False) -> PlanArray:
        """Return a head's part of an array of the region, or its transpose."""
        strides = strides_of(t.shape, self.region.layouts[buffer])
        offset = sum(s * k for s, k in zip(
            strides, numpy.unravel_index(number, t.shape[:-2] or (1,)), strict=False))
        step = -1 if turned else 1
        return self.plan.value(
            self.plan.lib.strided(t.shape[-2:][::step], library.BF16, strides[-2:][::step]),
            buffer, int(offset) * t.dtype.itemsize)

    def _operand(self, position: int, number: int, turned: bool = False) -> PlanArray:
        item = self.region.program.structure.instructions[0].operands[position]
        k: int = item.number  # type: ignore[union-attr]
        return self._array(self.region.operands[k], k, number, turned)

    def _product(
        self, name: str, a: PlanArray, b: PlanArray, out: PlanArray, after: Sequence[tuple[object,
            ...]] = (),
        more: Sequence[PlanArray] = (),
    ) -> None:
        """Add ``a @ b``, then the steps in ``after``."""
        if name not in self.descs:
            attributes = self.plan.lib.attributes_with({}, after) if after else None
            self.descs[name] = self.plan.primitive_desc(
                "matmul", a.desc, b.desc, None, out.desc, attributes=attributes)
        self.plan.run(self.descs[name], {
            library.SRC: a, library.WEIGHTS: b, library.DST: out,
            **{library.AFTER * (n + 2) | library.SRC_1: value for n, value in enumerate(more)}})

    def _scaled(self) -> tuple[object, ...]:
        return ("eltwise", library.LINEAR, self.scale, 0.0)

    def _softmax(self, number: int, weights: PlanArray) -> None:
        """Add the weights of a head."""
        hidden = () if self.mask is None else (("binary", library.BINARY_MIN, self.mask.desc),)
        self._product("scores", self._operand(0, number), self._operand(1, number, True),
                      self.scores, (self._scaled(), *hidden),
                      () if self.mask is None else (self.mask,))
        if "softmax" not in self.descs:
            self.descs["softmax"] = self.plan.primitive_desc(
                "softmax_forward", library.FORWARD_TRAINING, library.SOFTMAX, self.scores.desc,
                weights.desc, 1)
        self.plan.run(self.descs["softmax"], {library.SRC: self.scores, library.DST: weights})

    def forward(self, number: int) -> None:
        """Add ``softmax(q @ k.T * scale) @ v``."""
        self._softmax(number, self.half)
        out = self._array(self.region.results[0], len(self.region.operands), number)
        self._product("out", self.half, self._operand(2, number), out)

    def backward(self, number: int) -> None:
        """Add the gradients that are wanted, from weights that are computed again.

        Sums over the cotangents of the weights cancel: these, and the weights, are in float32.
        """
        assert self.d is not None
        self._softmax(number, self.scores)
        cotangent = self._operand(self.call.attributes["primals1"], number)
        by = {self.call.attributes["argnums1"][r]:
              self._array(self.region.results[k], len(self.region.operands) + k, number)
              for k, (_, r) in enumerate(self.region.program.outputs)}
        if 2 in by:
            self.plan.move(self.scores, self.half)
            self._product("v", self.turned, cotangent, by[2])
        if not by.keys() & {0, 1}:
            return
        if "d" not in self.descs:
            self.descs["d"] = self.plan.primitive_desc(
                "softmax_backward", library.SOFTMAX, self.half.desc, self.d.desc, self.scores.desc,
                1, self.descs["softmax"])
        self._product("weights", cotangent, self._operand(2, number, True), self.d)
        self.plan.run(self.descs["d"], {
            library.DST: self.scores, library.DIFF_DST: self.d, library.DIFF_SRC: self.half})
        if 0 in by:
            self._product("q", self.half, self._operand(1, number), by[0], (self._scaled(),))
        if 1 in by:
            self._product("k", self.turned, self._operand(0, number), by[1], (self._scaled(),))
