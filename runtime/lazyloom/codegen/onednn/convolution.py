"""Convolutions and their gradients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from ...types import TensorType
from ..generator import YES, Answer, Call, Layout, No, Region
from . import library
from .library import Object
from .plan import DTYPES, Plan, Value, strides_of

#: multiplications below which a call of oneDNN is not worth it
SMALL: Final = 200_000


class _Geometry(NamedTuple):
    strides: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    #: as oneDNN counts: 0 where elements are neighbours
    dilation: tuple[int, ...]
    groups: int


def _geometry(call: Call) -> _Geometry:
    n = len(call.operands[0].shape) - 2 if call.operands[0] is not None else 0
    a = call.attributes

    def spread(name: str, default: int) -> tuple[int, ...]:
        return tuple(a[name]) if a[name] is not None else (default,) * n

    return _Geometry(
        spread("strides", 1), spread("padding_low", 0), spread("padding_high", 0),
        tuple(d - 1 for d in spread("dilation", 1)), int(a["groups"]))


def _first(call: Call) -> tuple[TensorType, TensorType]:
    x, w = call.operands[:2]
    assert x is not None and w is not None
    return x, w


def supports(call: Call) -> Answer:
    """Whether oneDNN does a convolution, or its gradient."""
    x, w = _first(call)
    if x.dtype.name not in DTYPES:
        return No(f"dtype {x.dtype.name}, expected {' or '.join(DTYPES)}")
    if not 3 <= x.ndim <= 5:
        return No(f"{x.ndim - 2} spatial axes, expected 1 to 3")
    away = call.attributes["input_dilation"]
    if away is not None and any(d != 1 for d in away):
        return No(f"input_dilation={away}, expected 1")
    geometry = _geometry(call)
    if min((*geometry.low, *geometry.high)) < 0:
        return No(f"negative padding {geometry.low} {geometry.high}")
    if call.op.endswith(".vjp") and (
        call.attributes["outnums1"] != (0,) or call.attributes["primals1"] != 2
        or not set(call.attributes["argnums1"]) <= {0, 1}
    ):
        return No("a derivative of another kind")
    if work(call) < SMALL:
        return No(f"{work(call)} multiplications, expected {SMALL} or more to be worth a call")
    return YES


def work(call: Call) -> int:
    """Multiplications of a convolution, and of its gradient."""
    x, w = _first(call)
    out = call.operands[2] if call.op.endswith(".vjp") else call.results[0]
    assert out is not None
    each = math.prod(out.shape) * math.prod(w.shape[1:])
    return each * (len(call.attributes["argnums1"]) if call.op.endswith(".vjp") else 1)


def layouts(region: Region) -> Sequence[Layout]:
    """Images have their channels last; weights lie as they do."""
    call = region.calls[0]
    x, _ = _first(call)
    last: Layout = (0, *range(2, x.ndim), 1)
    plain: Layout = tuple(range(x.ndim))
    # operands that are one value are given once
    of_operands = [plain] * len(region.operands)
    for position, item in enumerate(region.program.structure.instructions[0].operands):
        if position != 1:
            of_operands[item.number] = last  # type: ignore[union-attr]
    if not call.op.endswith(".vjp"):
        return [*of_operands, last]
    return [*of_operands, *(last if w == 0 else plain for w in _given(region))]


def _given(region: Region) -> list[int]:
    """The operand whose gradient each result of a region is."""
    return [region.calls[0].attributes["argnums1"][r] for _, r in region.program.outputs]


class _Arrays:
    """A convolution's arrays as oneDNN sees them: weights in groups have one axis more."""

    def __init__(self, plan: Plan, region: Region) -> None:
        self.plan: Final = plan
        self.region: Final = region
        self.call: Final = region.calls[0]
        self.geometry: Final = _geometry(self.call)
        self.dtype: Final = DTYPES[_first(self.call)[0].dtype.name]

    def _grouped(self, shape: Sequence[int]) -> list[int]:
        g = self.geometry.groups
        return [g, shape[0] // g, *shape[1:]] if g > 1 else list(shape)

    def any(self, t: TensorType, weight: bool) -> Object:
        return self.plan.lib.any(self._grouped(t.shape) if weight else t.shape, self.dtype)

    def desc(self, t: TensorType, layout: Layout, weight: bool) -> Object:
        """The description of an operand or result as it lies."""
        strides = strides_of(t.shape, layout)
        if weight and self.geometry.groups > 1:
            strides = [strides[0] * (t.shape[0] // self.geometry.groups), *strides]
        return self.plan.lib.strided(
            self._grouped(t.shape) if weight else t.shape, self.dtype, strides)

    def operand(self, position: int) -> Value:
        """The operand of the op at a position."""
        item = self.region.program.structure.instructions[0].operands[position]
        k = item.number  # type: ignore[union-attr]
        return self.plan.value(
            self.desc(self.region.operands[k], self.region.layouts[k], position == 1), k)

    def result(self, number: int, weight: bool) -> Value:
        """The region's result of that number."""
        k = len(self.region.operands) + number
        return self.plan.value(
            self.desc(self.region.results[number], self.region.layouts[k], weight), k)

    def image(self, value: Value, t: TensorType) -> Object:
        """What is asked for an image: as it lies with channels last, else what oneDNN likes."""
        last = self.desc(t, (0, *range(2, t.ndim), 1), False)
        return value.desc if self.plan.lib.equal(value.desc, last) else self.any(t, False)

    def numbers(self) -> list[object]:
        dims, g = self.plan.lib.dims, self.geometry
        return [dims(g.strides), dims(g.dilation), dims(g.low), dims(g.high)]


def forward(plan: Plan, region: Region) -> None:
    """Add a convolution to a plan."""
    a = _Arrays(plan, region)
    x, w = _first(a.call)
    image, weight, out = a.operand(0), a.operand(1), a.result(0, False)
    desc = _forward_desc(a, a.image(image, x), a.any(w, True), a.image(out, a.call.results[0]))
    asked = plan.lib.asked
    made = plan.made(out, asked(desc, library.DST_MD))
    plan.run(desc, {
        library.SRC: plan.given(image, asked(desc, library.SRC_MD)),
        library.WEIGHTS: plan.given(weight, asked(desc, library.WEIGHTS_MD)), library.DST: made})
    plan.move(made, out)


def _forward_desc(a: _Arrays, image: Object, weight: Object, out: Object) -> Object:
    return a.plan.lib.primitive_desc(
        "convolution_forward", library.FORWARD_TRAINING, library.CONVOLUTION_DIRECT, image, weight,
        None, out, *a.numbers())


def backward(plan: Plan, region: Region) -> None:
    """Add the gradients of a convolution to a plan."""
    a = _Arrays(plan, region)
    x, w = _first(a.call)
    dy = a.call.operands[2]
    assert dy is not None
    asked = plan.lib.asked
    cotangent = a.operand(2)
    for number, by in enumerate(_given(region)):
        out = a.result(number, by == 1)
        outer = a.image(cotangent, dy)
        if by == 0:
            inner = a.image(out, x)
            hint = _forward_desc(a, inner, a.any(w, True), outer)
            desc = plan.lib.primitive_desc(
                "convolution_backward_data", library.CONVOLUTION_DIRECT, inner, a.any(w, True),
                outer, *a.numbers(), hint)
            made = plan.made(out, asked(desc, library.DIFF_SRC_MD))
            plan.run(desc, {
                library.DIFF_DST: plan.given(cotangent, asked(desc, library.DIFF_DST_MD)),
                library.WEIGHTS: plan.given(a.operand(1), asked(desc, library.WEIGHTS_MD)),
                library.DIFF_SRC: made})
        else:
            image = a.operand(0)
            inner = a.image(image, x)
            hint = _forward_desc(a, inner, a.any(w, True), outer)
            desc = plan.lib.primitive_desc(
                "convolution_backward_weights", library.CONVOLUTION_DIRECT, inner, a.any(w, True),
                None, outer, *a.numbers(), hint)
            made = plan.made(out, asked(desc, library.DIFF_WEIGHTS_MD))
            plan.run(desc, {
                library.SRC: plan.given(image, asked(desc, library.SRC_MD)),
                library.DIFF_DST: plan.given(cotangent, asked(desc, library.DIFF_DST_MD)),
                library.DIFF_WEIGHTS: made})
        plan.move(made, out)
