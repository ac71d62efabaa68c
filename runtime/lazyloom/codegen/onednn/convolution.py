"""Convolutions and their gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from ...types import TensorType
from ..answers import Answer, Call, No
from ..generator import Layout, Region
from ..worth import at_least
from . import library
from .library import Object
from .plan import DTYPES, OneDnnPlan, PlanArray, parts_of, strides_of
from .post_ops import Part, PostOps
from .unfolded import Geometry, Product, better

#: the number of multiplications below which a call of oneDNN is not worthwhile
SMALL: Final = 200_000
#: the number of multiplications from which on it is divided among threads
SPLIT: Final = 1_000_000


def geometry_of(call: Call) -> Geometry:
    n = len(call.operands[0].shape) - 2 if call.operands[0] is not None else 0
    a = call.attributes

    def spread(name: str, default: int) -> tuple[int, ...]:
        return tuple(a[name]) if a[name] is not None else (default,) * n

    return Geometry(
        spread("strides", 1), spread("padding_low", 0), spread("padding_high", 0),
        tuple(d - 1 for d in spread("dilation", 1)), int(a["groups"]))


def _first(call: Call) -> tuple[TensorType, TensorType]:
    x, w = call.operands[:2]
    assert x is not None and w is not None
    return x, w


def supports(call: Call) -> Answer:
    """Return YES if a convolution, or its gradient, is supported, or why not."""
    x, w = _first(call)
    if x.dtype.name not in DTYPES:
        return No(f"dtype {x.dtype.name}, expected {' or '.join(DTYPES)}")
    if not 3 <= x.ndim <= 5:
        return No(f"{x.ndim - 2} spatial axes, expected 1 to 3")
    away = call.attributes["input_dilation"]
    if away is not None and any(d != 1 for d in away):
        return No(f"input_dilation={away}, expected 1")
    geometry = geometry_of(call)
    if min((*geometry.low, *geometry.high)) < 0:
        return No(f"negative padding {geometry.low} {geometry.high}")
    if call.op.endswith(".vjp") and (
        call.attributes["outnums1"] != (0,) or call.attributes["primals1"] != 2
        or not set(call.attributes["argnums1"]) <= {0, 1}
    ):
        return No("a derivative of another kind")
    if x.dtype.name == "bfloat16" and _pairs_reach_over(call, geometry):
        return No("an odd number of channels of bfloat16 to sum over: pairs of them reach into the "
                  "next place, whose NaN they bring along", deliberate=True)
    return at_least(work(call), SMALL, "multiplications")


def _pairs_reach_over(call: Call, g: Geometry) -> bool:
    """Return True if pairs of channels are multiplied, the last with one of another place.

    That one's product is with 0, which is NaN for NaN and infinity. A convolution sums over the
    channels of images, their gradient over those of the result. There are implementations of their
    own for the first convolution of a network and for one channel in and out of each group.
    """
    x, w = _first(call)
    if g.groups == x.shape[1] == w.shape[0]:
        return False
    if call.op.endswith(".vjp"):
        return 0 in call.attributes["argnums1"] and w.shape[0] // g.groups % 2 == 1
    first = g.groups == 1 and x.shape[1] <= 3 and math.prod(w.shape[2:]) > 1
    return w.shape[1] % 2 == 1 and not first


def work(call: Call) -> int:
    """Return the number of multiplications of a convolution, or of its gradient."""
    x, w = _first(call)
    out = call.operands[2] if call.op.endswith(".vjp") else call.results[0]
    assert out is not None
    each = math.prod(out.shape) * math.prod(w.shape[1:])
    return each * (len(call.attributes["argnums1"]) if call.op.endswith(".vjp") else 1)


def layouts(region: Region) -> Sequence[Layout]:
    """Return layouts with the channels of images last; weights keep logical order."""
    call = region.calls[0]
    x, _ = _first(call)
    last: Layout = (0, *range(2, x.ndim), 1)
    plain: Layout = tuple(range(x.ndim))
    # operands that are the same value are passed once
    of_operands: list[Layout] = [tuple(range(t.ndim)) for t in region.operands]
    for position, item in enumerate(region.program.structure.instructions[0].operands):
        if position != 1:
            of_operands[item.number] = last  # type: ignore[union-attr]
    if not call.op.endswith(".vjp"):
        return [*of_operands, last]
    return [*of_operands, *(last if w == 0 else plain for w in _given(region))]


def _given(region: Region) -> list[int]:
    """For each result of a region, return the operand whose gradient it is."""
    return [region.calls[0].attributes["argnums1"][r] for _, r in region.program.outputs]


class _Arrays:
    """A convolution's arrays as oneDNN sees them: weights in groups have an additional axis.

    Images can be taken in part, as (first, count) of a batch.
    """

    def __init__(self, plan: OneDnnPlan, region: Region) -> None:
        self.plan: Final = plan
        self.region: Final = region
        self.call: Final = region.calls[0]
        self.geometry: Final = geometry_of(self.call)
        self.dtype: Final = DTYPES[_first(self.call)[0].dtype.name]

    def _grouped(self, shape: Sequence[int]) -> list[int]:
        g = self.geometry.groups
        return [g, shape[0] // g, *shape[1:]] if g > 1 else list(shape)

    def any(self, shape: Sequence[int], weight: bool) -> Object:
        return self.plan.lib.any(self._grouped(shape) if weight else shape, self.dtype)

    def _image(self, t: TensorType, layout: Layout, k: int, part: Part) -> PlanArray:
        strides = strides_of(t.shape, layout)
        desc = self.plan.lib.strided((part[1], *t.shape[1:]), self.dtype, strides)
        return self.plan.value(desc, k, part[0] * strides[0] * t.dtype.numpy.itemsize)

    def _weight(self, t: TensorType, layout: Layout, k: int) -> PlanArray:
        strides = strides_of(t.shape, layout)
        if self.geometry.groups > 1:
            strides = [strides[0] * (t.shape[0] // self.geometry.groups), *strides]
        return self.plan.value(
            self.plan.lib.strided(self._grouped(t.shape), self.dtype, strides), k)

    @property
    def as_product(self) -> bool:
        """True if it is done as a product of matrices, which saves the weights' reorder."""
        if self.plan.bound or not better(self.call, self.geometry):
            return False
        wanted_layouts = layouts(self.region)
        types = (*self.region.operands, *self.region.results)
        own = {*self.operands(3 if self.call.op.endswith(".vjp") else 2),
               *self.results(len(self.region.results))}
        return all(
            strides_of(t.shape, wanted) == strides_of(t.shape, layout)
            for k, (t, wanted, layout) in enumerate(
                zip(types, wanted_layouts, self.region.layouts, strict=True)) if k in own)

    def operands(self, count: int) -> list[int]:
        """Return the numbers of the op's first operands among the region's arrays."""
        items = self.region.program.structure.instructions[0].operands
        return [item.number for item in items[:count]]  # type: ignore[union-attr]

    def results(self, count: int) -> list[int]:
        """Return the numbers of the region's results among its arrays."""
        return [len(self.region.operands) + r for r in range(count)]

    def _operand(self, position: int) -> tuple[TensorType, Layout, int]:
        item = self.region.program.structure.instructions[0].operands[position]
        k = item.number  # type: ignore[union-attr]
        return self.region.operands[k], self.region.layouts[k], k

    def _result(self, number: int) -> tuple[TensorType, Layout, int]:
        k = len(self.region.operands) + number
        return self.region.results[number], self.region.layouts[k], k

    def image(self, position: int, part: Part) -> PlanArray:
        """Return the operand at a position, which is images."""
        return self._image(*self._operand(position), part)

    def weight(self) -> PlanArray:
        """Return the weights."""
        return self._weight(*self._operand(1))

    def made_image(self, number: int, part: Part) -> PlanArray:
        """Return a result of the region, which is images."""
        return self._image(*self._result(number), part)

    def made_weight(self, number: int) -> PlanArray:
        """Return a result of the region, which is weights."""
        return self._weight(*self._result(number))

    def asked(self, value: PlanArray, shape: Sequence[int]) -> Object:
        """Return the description to request for images: their own if channels are last, else any.
        """
        last = self.plan.lib.strided(
            shape, self.dtype, strides_of(shape, (0, *range(2, len(shape)), 1)))
        return value.desc if self.plan.lib.equal(value.desc, last) else self.any(shape, False)

    def desc(
        self, kind: str, image: Object, weight: Object, out: Object,
        attributes: Object | None = None,
    ) -> Object:  # fmt: skip
        """Return a primitive of a kind; those of gradients need the forward one as a hint."""
        dims, g = self.plan.lib.dims, self.geometry
        numbers = [dims(g.strides), dims(g.dilation), dims(g.low), dims(g.high)]
        make, direct = self.plan.primitive_desc, library.CONVOLUTION_DIRECT
        forward = make("convolution_forward", library.FORWARD_TRAINING, direct, image, weight,
                       None, out, *numbers, attributes=attributes)
        if kind == "forward":
            return forward
        bias = (None,) if kind == "backward_weights" else ()
        return make(f"convolution_{kind}", direct, image, weight, *bias, out, *numbers, forward)


def _lanes(plan: OneDnnPlan, batch: int, work: int, among: int) -> tuple[list[Part], int]:
    """Return a batch in parts for lanes, and the number of threads of each lane.

    ``among`` is the number of arrays that there are lanes for.
    """
    if work < SPLIT:
        return parts_of(batch, 1), 1
    threads = -(-plan.lib.threads // among)
    parts = parts_of(batch, threads * finer(work))
    return parts, max(threads // len(parts), 1)


def finer(work: int) -> int:
    """Return the lanes per thread: with several, a thread that is late or disturbed does less."""
    return 2 if work >= 8 * SPLIT else 1


def constants(region: Region) -> Sequence[int]:
    """Return the weights of a convolution."""
    images, weight = region.program.structure.instructions[0].operands[:2]
    return () if images == weight else (weight.number,)  # type: ignore[union-attr]


def forward(plan: OneDnnPlan, region: Region, after: PostOps | None = None) -> None:
    """Add a convolution, and what follows it, to a plan.

    There are lanes for parts of the batch, after the weights' reorder.
    """
    a = _Arrays(plan, region)
    if a.as_product:
        size = work(a.call)
        lanes = plan.lib.threads * finer(size) if size >= SPLIT else 1
        buffers = (*a.operands(2), *a.results(1))
        Product(plan, a.call, a.geometry).forward(buffers, lanes)
        if after is not None:
            plan.stage()
            for part in parts_of(a.call.results[0].shape[0], lanes):
                plan.lane()
                result = a.made_image(0, part)
                after.apart(result, part)
                after.limited(result, part)
        return
    out = a.call.results[0]
    parts, threads = _lanes(plan, out.shape[0], work(a.call), 1)
    plan.stage(threads)
    weights = _Weights(a)
    todo = []
    for part in parts:
        image, result = a.image(0, part), a.made_image(0, part)
        shape = _first(a.call)[0].shape
        todo.append((part, image, result, _with_post_ops(
            weights, a.asked(image, (part[1], *shape[1:])),
            a.asked(result, (part[1], *out.shape[1:])), after, part)))
    plan.stage(threads)
    chosen_desc = plan.lib.asked
    for part, image, result, (desc, weight, arguments) in todo:
        plan.lane()
        output = plan.made(result, chosen_desc(desc, library.DST_MD))
        plan.run(desc, {library.SRC: plan.given(image, chosen_desc(desc, library.SRC_MD)),
                        library.WEIGHTS: weight, library.DST: output, **(arguments or {})})
        plan.move(output, result)
        if after is not None:
            if arguments is None:
                after.apart(result, part)
            after.limited(result, part, threads)


def _with_post_ops(
    weights: _Weights, image: Object, out: Object, after: PostOps | None, part: Part
) -> tuple[Object, PlanArray, dict[int, PlanArray] | None]:
    """Return a convolution, its weights, and the arguments of its post-ops.

    These are None where they are to be done apart: oneDNN has no such convolution with them, or
    only loops for any case.
    """
    if after is None or not after.steps:
        return (*weights.used_by("forward", image, out), {})
    attributes, arguments = after.attributes(part)
    implementation = weights.a.plan.lib.implementation
    try:
        found = weights.used_by("forward", image, out, attributes)
    except library.OneDnnError:
        return (*weights.used_by("forward", image, out), None)
    if implementation(found[0]).startswith("ref"):
        alone = weights.used_by("forward", image, out)
        if not implementation(alone[0]).startswith("ref"):
            return (*alone, None)
    return (*found, arguments)


class _Weights:
    """The weights in the order that primitives want; they are reordered once."""

    def __init__(self, a: _Arrays) -> None:
        self.a: Final = a
        self.given: Final = a.weight()
        self.orders: Final[list[PlanArray]] = []

    def used_by(
        self, kind: str, image: Object, out: Object, attributes: Object | None = None
    ) -> tuple[Object, PlanArray]:
        """Return a primitive that reads weights, and the weights in the first primitive's order, if
        possible."""
        a, lib = self.a, self.a.plan.lib
        shape = _first(a.call)[1].shape
        if self.orders:
            try:
                return a.desc(kind, image, self.orders[0].desc, out, attributes), self.orders[0]
            except library.OneDnnError:
                pass  # it has none for that order
        desc = a.desc(kind, image, a.any(shape, True), out, attributes)
        wanted = lib.asked(desc, library.WEIGHTS_MD)
        for order in self.orders:
            if lib.equal(order.desc, wanted):
                return desc, order
        self.orders.append(
            a.plan.once(self.given, wanted) if a.plan.bound and kind == "forward"
            else a.plan.given(self._nearer(kind), wanted))
        return desc, self.orders[-1]

    def _nearer(self, kind: str) -> PlanArray:
        """Return the weights in the order from which they are reordered.

        In bfloat16 a convolution wants pairs of input channels together. Reordering from an order
        that has these adjacent takes a sixth of the time, and reordering to that one a sixth, too.
        """
        a, shape = self.a, _first(self.a.call)[1].shape
        if kind != "forward" or a.dtype != library.BF16 or a.geometry.groups > 1 or (
            math.prod(shape[2:]) == 1
        ):
            return self.given
        last = strides_of(shape, (0, *range(2, len(shape)), 1))
        return a.plan.given(self.given, a.plan.lib.strided(shape, a.dtype, last))


def backward(plan: OneDnnPlan, region: Region) -> None:
    """Add the gradients of a convolution to a plan.

    The gradient of the images has a lane for each part of the batch, and so has that of the
    weights, whose parts are added up at the end. Where there are both, each gets half of the
    threads.
    """
    a = _Arrays(plan, region)
    argnums = _given(region)
    if a.as_product:
        _as_product(a, argnums)
        return
    dy = a.call.operands[2]
    assert dy is not None
    parts, threads = _lanes(plan, dy.shape[0], work(a.call), len(argnums))
    plan.stage(threads)
    weights = _Weights(a)
    images = [_image_gradient(a, weights, number, part)
              for number, by in enumerate(argnums) if by == 0 for part in parts]
    if len(images) > 1:
        plan.stage(threads)
    elif images:
        # after the weights' reorder
        images.pop()()
    # the weights' gradient before the images': its lanes take longest
    fewer = parts_of(dy.shape[0], -(-len(parts) // finer(work(a.call))))
    plan.lane()
    sums = [_weight_gradient(a, number, fewer) for number, by in enumerate(argnums) if by == 1]
    for add in images:
        plan.lane()
        add()
    plan.stage(threads)
    for add in sums:
        plan.lane()
        add()


def _as_product(a: _Arrays, argnums: Sequence[int]) -> None:
    """Add gradients by products of matrices."""
    plan = a.plan
    product = Product(plan, a.call, a.geometry)
    images, weight, cotangent = a.operands(3)
    size = work(a.call)
    lanes = -(-plan.lib.threads // len(argnums)) * finer(size) if size >= SPLIT else 1
    plan.stage()
    # the images' gradient first: the weights' may begin another stage
    for by, result in sorted(zip(argnums, a.results(len(argnums)), strict=True)):
        plan.lane()
        if by == 0:
            product.images_gradient(cotangent, weight, result, lanes)
        else:
            product.weights_gradient(images, cotangent, result, lanes)


def _image_gradient(
    a: _Arrays, weights: _Weights, number: int, part: Part
) -> Callable[[], None]:
    """Return a function that adds the gradient of a part of the images; the weights' reorder is
    added here."""
    plan, chosen_desc = a.plan, a.plan.lib.asked
    x, dy = _first(a.call)[0], a.call.operands[2]
    assert dy is not None
    result, cotangent = a.made_image(number, part), a.image(2, part)
    desc, weight = weights.used_by(
        "backward_data", a.asked(result, (part[1], *x.shape[1:])),
        a.asked(cotangent, (part[1], *dy.shape[1:])))

    def add() -> None:
        gradient = plan.made(result, chosen_desc(desc, library.DIFF_SRC_MD))
        plan.run(desc, {
            library.DIFF_DST: plan.given(cotangent, chosen_desc(desc, library.DIFF_DST_MD)),
            library.WEIGHTS: weight, library.DIFF_SRC: gradient})
        plan.move(gradient, result)

    return add


def _weight_gradient(a: _Arrays, number: int, parts: Sequence[Part]) -> Callable[[], None]:
    """Add lanes for the weights' gradients by parts of the batch; return a function that adds
    their sum."""
    plan, chosen_desc = a.plan, a.plan.lib.asked
    (x, w), dy = _first(a.call), a.call.operands[2]
    assert dy is not None
    result = a.made_weight(number)
    gradients: list[PlanArray] = []
    for part in parts:
        plan.lane()
        image, cotangent = a.image(0, part), a.image(2, part)
        wanted = gradients[0].desc if gradients else a.any(w.shape, True)
        desc = a.desc("backward_weights", a.asked(image, (part[1], *x.shape[1:])), wanted,
                      a.asked(cotangent, (part[1], *dy.shape[1:])))
        chosen = chosen_desc(desc, library.DIFF_WEIGHTS_MD)
        gradients.append(plan.value(chosen) if len(parts) > 1 else plan.made(result, chosen))
        plan.run(desc, {
            library.SRC: plan.given(image, chosen_desc(desc, library.SRC_MD)),
            library.DIFF_DST: plan.given(cotangent, chosen_desc(desc, library.DIFF_DST_MD)),
            library.DIFF_WEIGHTS: gradients[-1]})
        if len(parts) == 1:
            plan.move(gradients[0], result)

    def add() -> None:
        if len(parts) > 1:
            whole = plan.made(result, gradients[0].desc)
            plan.total(gradients, whole)
            plan.move(whole, result)

    return add
