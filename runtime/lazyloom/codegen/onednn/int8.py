"""Convolutions, products and maxima over windows of int8 numbers, as primitives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from ...types import TensorType
from ..answers import YES, Answer, Call, No
from ..generator import Layout, Region
from . import convolution, library
from .library import Object
from .plan import OneDnnPlan, PlanArray, parts_of, strides_of
from .quantized import NARROW, PREFIX, PRODUCTS, QuantizedGroup, group_of, summed_axis, work

#: dtypes of arrays here, as oneDNN numbers them
_DTYPES: Final = {"int8": library.S8, "uint8": library.U8, "float32": library.F32}
#: the smallest modulus of a scale by which numbers are divided
_SMALLEST: Final = 1e-10


def is_group(region: Region) -> bool:
    """Return True if a region is one of the groups of :mod:`.quantized`."""
    return any(name.startswith(PREFIX) for name, _ in region.composites)


def worthwhile(region: Region) -> Answer:
    """Return YES if a group is wired as required, or why not."""
    group = group_of(region)
    return group if isinstance(group, No) else YES


def supports_pooling(call: Call) -> Answer:
    """Return YES for maxima over windows of quantised images with channels, or why not."""
    x = call.operands[0]
    assert x is not None
    if x.dtype.name not in NARROW:
        return No(f"dtype {x.dtype.name}, expected {' or '.join(NARROW)}: its maxima of others do "
                  "not keep NaN", deliberate=True)
    if not 3 <= x.ndim <= 5 or len(call.attributes["window"]) != x.ndim - 2:
        return No("windows over other axes than those behind samples and channels")
    if min(*_window(call).low, *_window(call).high) < 0:
        return No("negative padding")
    return YES


def pooling_layouts(region: Region) -> Sequence[Layout]:
    """Return layouts with channels last."""
    ndim = region.results[0].ndim
    return [(0, *range(2, ndim), 1)] * 2


def layouts(region: Region) -> Sequence[Layout] | None:
    """Return layouts with the channels of images last; everything else keeps logical order."""
    group = group_of(region)
    assert isinstance(group, QuantizedGroup)
    if group.call.op in PRODUCTS:
        return None
    ndim = group.call.results[0].ndim
    last: Layout = (0, *range(2, ndim), 1)
    orders: list[Layout] = [tuple(range(t.ndim)) for t in region.operands]
    orders[group.image.data] = last
    if group.other is not None:
        orders[group.other.data] = last
    return [*orders, last]


def constants(region: Region) -> Sequence[int]:
    """Return the weights of a group."""
    group = group_of(region)
    assert isinstance(group, QuantizedGroup)
    return (group.weight.data,)


class _Window(NamedTuple):
    """A window that moves over images, with one number per axis; dilation 0 means adjacent."""

    size: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]


def _window(call: Call) -> _Window:
    a = call.attributes
    if call.op == "conv":
        w = call.operands[1]
        assert w is not None
        g = convolution.geometry_of(call)
        return _Window(w.shape[2:], g.strides, g.dilation, g.low, g.high)
    n = len(a["window"])

    def spread(name: str, default: int) -> tuple[int, ...]:
        return tuple(a[name]) if a[name] is not None else (default,) * n

    return _Window(tuple(a["window"]), spread("strides", 1),
                   tuple(d - 1 for d in spread("dilation", 1)), spread("padding_low", 0),
                   spread("padding_high", 0))


class _Piece(NamedTuple):
    """A part of the work: some rows of some images, and the rows that they are computed from.

    Attributes:
        first, images: the first image, and the number of images.
        made: the first row of the result, and the number of rows.
        read: the first row of the operand, and the number of rows.
        low, high: rows of padding.
    """

    first: int
    images: int
    made: tuple[int, int]
    read: tuple[int, int]
    low: int
    high: int


def _pieces(x: TensorType, out: TensorType, w: _Window, lanes: int) -> list[_Piece]:
    """Return pieces of whole images, or of some rows of one if there are fewer than lanes."""
    rows, height = out.shape[2], x.shape[2]
    if out.shape[0] >= lanes:
        return [_Piece(first, count, (0, rows), (0, height), w.low[0], w.high[0])
                for first, count in parts_of(out.shape[0], lanes)]
    pieces = []
    for image in range(out.shape[0]):
        for begin, count in parts_of(rows, -(-lanes // out.shape[0])):
            above = begin * w.strides[0] - w.low[0]
            below = above + (count - 1) * w.strides[0] + (w.dilation[0] + 1) * (w.size[0] - 1) + 1
            first, last = max(above, 0), min(below, height)
            if last <= first:
                # rows of only padding
                return [_Piece(0, out.shape[0], (0, rows), (0, height), w.low[0], w.high[0])]
            pieces.append(_Piece(image, 1, (begin, count), (first, last - first),
                                first - above, max(below - height, 0)))
    return pieces


def _images(
    plan: OneDnnPlan, t: TensorType, k: int, part: tuple[int, int], rows: tuple[int, int]
) -> PlanArray:
    """Return some rows of some images of an array with channels last."""
    last = (0, *range(2, t.ndim), 1)
    strides = strides_of(t.shape, last)
    shape = (part[1], t.shape[1], rows[1], *t.shape[3:])
    begin = part[0] * strides[0] + rows[0] * strides[2]
    # one image with fewer rows is described as an array of its own
    desc = plan.lib.strided(shape, _DTYPES[t.dtype.name], strides_of(shape, last))
    return plan.value(desc, k, begin * t.dtype.numpy.itemsize)


def _lanes(plan: OneDnnPlan, size: int) -> int:
    if size < convolution.SPLIT:
        return 1
    return plan.lib.threads * convolution.finer(size)


def pooling(plan: OneDnnPlan, region: Region) -> None:
    """Add maxima over windows to a plan."""
    call = region.calls[0]
    x, out = region.operands[0], region.results[0]
    w = _window(call)
    plan.stage()
    dims = plan.lib.dims
    for p in _pieces(x, out, w, _lanes(plan, out.size * math.prod(w.size))):
        plan.lane()
        image = _images(plan, x, 0, (p.first, p.images), p.read)
        result = _images(plan, out, 1, (p.first, p.images), p.made)
        desc = plan.primitive_desc(
            "pooling_forward", library.FORWARD_INFERENCE, library.POOLING_MAX, image.desc,
            result.desc, dims(w.strides), dims(w.size), dims(w.dilation),
            dims((p.low, *w.low[1:])), dims((p.high, *w.high[1:])))
        plan.run(desc, {library.SRC: image, library.DST: result})


class _Adding:
    """A group that is being added to a plan.

    oneDNN multiplies the sum of products by both scales, adds the bias, applies the further steps,
    and divides by the scale of the result. The other summand has a scale of its own, which is the
    unit of all the others: it is added as its integers.
    """

    def __init__(self, plan: OneDnnPlan, region: Region, group: QuantizedGroup) -> None:
        self.plan: Final = plan
        self.region: Final = region
        self.group: Final = group
        w = group.call.operands[1]
        assert w is not None
        self.weight: Final = region.operands[group.weight.data]
        self.result: Final = region.results[0]
        self.outputs: Final = (
            w.shape[0] if group.call.op == "conv" else w.shape[1 - summed_axis(group.call)])
        plan.stage()
        self._check()
        self.scale: Final = self._in_units(group.image.scale, 1)
        self.bias: Final = (
            None if group.bias is None else self._in_units(group.bias, self.outputs))
        self.made: Final = None if group.scale is None else self._in_units(group.scale, 1)

    def _check(self) -> None:
        """Have runs fail whose scales oneDNN computes otherwise with; then the host computes them.
        """
        group = self.group
        # a channel whose weights are all 0 may have a scale of 0
        of = [(group.image.scale, 1, 0.0),
              (group.weight.scale, self.outputs if group.channels else 1, 0.0)]
        if group.bias is not None:
            of.append((group.bias, self.outputs, 0.0))
        of += [(k, 1, _SMALLEST) for k in (group.other and group.other.scale, group.scale)
               if k is not None]
        for k, size, smallest in of:
            self.plan.after("scales", [self.plan.value(self._vector(size), k)], size,
                            library.F32, smallest)

    def _vector(self, size: int) -> Object:
        return self.plan.lib.strided((size,), library.F32, (1,))

    def _in_units(self, k: int, size: int) -> PlanArray:
        """Return numbers of the region divided by the scale of the other summand."""
        value = self.plan.value(self._vector(size), k)
        if self.group.other is None:
            return value
        quotient = self.plan.value(self._vector(size))
        unit = self.plan.value(self._vector(1), self.group.other.scale)
        desc = self.plan.primitive_desc(
            "binary", library.BINARY_DIV, value.desc, unit.desc, quotient.desc)
        self.plan.run(desc, {library.SRC: value, library.SRC_1: unit, library.DST: quotient})
        return quotient

    def attributes(self, mask: int, added: PlanArray | None) -> Object:
        """Return the primitive's attributes; ``mask`` says which axes of the weights are channels.
        """
        scales = {library.SRC: 0, library.WEIGHTS: mask if self.group.channels else 0}
        if self.made is not None:
            scales[library.DST] = 0
        after: list[tuple[object, ...]] = []
        if added is not None:
            after.append(("binary", library.BINARY_ADD, added.desc))
        if self.group.after == "relu":
            after.append(("eltwise", library.RELU, 0.0, 0.0))
        elif self.group.after == "relu6":
            after.append(("eltwise", library.CLIP, 0.0, 6.0))
        return self.plan.lib.attributes_with(scales, after)

    def scales(self, first: int, count: int) -> dict[int, PlanArray]:
        """Return the arguments with scales, for some channels of the result."""
        each = self.group.channels
        arguments = {
            library.SCALES | library.SRC: self.scale,
            library.SCALES | library.WEIGHTS: self.plan.value(
                self._vector(count if each else 1), self.group.weight.scale,
                4 * first if each else 0)}
        if self.made is not None:
            arguments[library.SCALES | library.DST] = self.made
        return arguments

    def convolution(self) -> None:
        """Add lanes for parts of the images, after the weights' reorder."""
        plan, lib, group = self.plan, self.plan.lib, self.group
        x = self.region.operands[group.image.data]
        g = convolution.geometry_of(group.call)
        w = _window(group.call)
        shape = list(self.weight.shape)
        if g.groups > 1:
            shape = [g.groups, shape[0] // g.groups, *shape[1:]]
        weights_array = plan.value(
            lib.strided(shape, library.S8, strides_of(shape, tuple(range(len(shape))))),
            group.weight.data)
        orders: list[PlanArray] = []
        todo = []
        result_at = len(self.region.operands)
        size = convolution.work(group.call)
        for p in _pieces(x, self.result, w, _lanes(plan, size)):
            image = _images(plan, x, group.image.data, (p.first, p.images), p.read)
            result = _images(plan, self.result, result_at, (p.first, p.images), p.made)
            added = None if group.other is None else _images(
                plan, self.region.operands[group.other.data], group.other.data,
                (p.first, p.images), p.made)
            attributes = self.attributes(3 if g.groups > 1 else 1, added)
            dims = lib.dims

            def described(weights: Object) -> Object:
                return plan.primitive_desc(
                    "convolution_forward", library.FORWARD_INFERENCE, library.CONVOLUTION_DIRECT,
                    image.desc, weights, self.bias and self.bias.desc, result.desc,  # noqa: B023
                    dims(w.strides), dims(w.dilation), dims((p.low, *w.low[1:])),  # noqa: B023
                    dims((p.high, *w.high[1:])), attributes=attributes)  # noqa: B023

            desc, weights = _chosen(
                plan, orders, weights_array, described, lib.any(shape, library.S8))
            arguments = {library.SRC: image, library.WEIGHTS: weights, library.DST: result,
                         **self.scales(0, self.outputs)}
            if self.bias is not None:
                arguments[library.BIAS] = self.bias
            if added is not None:
                arguments[library.AFTER | library.SRC_1] = added
            todo.append((desc, arguments))
        plan.stage()
        for desc, arguments in todo:
            plan.lane()
            plan.run(desc, arguments)

    def product(self) -> None:
        """Add lanes for parts of the rows, or of the columns if the rows are few."""
        plan, lib, group = self.plan, self.plan.lib, self.group
        x = self.region.operands[group.image.data]
        inner = x.shape[-1]
        rows, columns = x.size // inner, self.outputs
        lanes = _lanes(plan, work([group.call]))
        turned = summed_axis(group.call) == 1
        by_rows = rows >= 16 * lanes
        parts = [(at, count, 0, columns) for at, count in parts_of(rows, lanes)] if by_rows else [
            (0, rows, at, count) for at, count in parts_of(columns, lanes)]
        todo = []
        orders: list[PlanArray] = []
        for row, height, column, width in parts:
            image = self._matrix(group.image.data, x, row * inner, height, inner, inner)
            result = self._matrix(len(self.region.operands), self.result, row * columns + column,
                                  height, width, columns)
            added = None if group.other is None else self._matrix(
                group.other.data, self.region.operands[group.other.data],
                row * columns + column, height, width, columns)
            weights_array = plan.value(lib.strided(
                (inner, width), library.S8, (1, inner) if turned else (columns, 1)),
                group.weight.data, column * (inner if turned else 1))
            bias = None
            if self.bias is not None:
                bias = plan.part(self.bias, lib.strided((1, width), library.F32, (width, 1)),
                                 4 * column)
            attributes = self.attributes(2, added)

            def described(weights: Object) -> Object:
                return plan.primitive_desc(
                    "matmul", image.desc, weights, bias and bias.desc, result.desc,  # noqa: B023
                    attributes=attributes)  # noqa: B023

            if not by_rows:
                orders = []
            desc, weights = _chosen(
                plan, orders, weights_array, described, lib.any((inner, width), library.S8))
            arguments = {library.SRC: image, library.WEIGHTS: weights, library.DST: result,
                         **self.scales(column, width)}
            if bias is not None:
                arguments[library.BIAS] = bias
            if added is not None:
                arguments[library.AFTER | library.SRC_1] = added
            todo.append((desc, arguments))
        plan.stage()
        for desc, arguments in todo:
            plan.lane()
            plan.run(desc, arguments)

    def _matrix(
        self, k: int, t: TensorType, begin: int, rows: int, columns: int, apart: int
    ) -> PlanArray:
        """Return a part of an array of the region as rows that are ``apart`` numbers apart."""
        desc = self.plan.lib.strided((rows, columns), _DTYPES[t.dtype.name], (apart, 1))
        return self.plan.value(desc, k, begin * t.dtype.numpy.itemsize)


def _chosen(
    plan: OneDnnPlan, orders: list[PlanArray], weights: PlanArray, described: Callable[[Object],
        Object],
    free: Object,
) -> tuple[Object, PlanArray]:  # fmt: skip
    """Return a primitive and its weights, in an order that another part already has or any order.
    """
    for order in orders:
        try:
            return described(order.desc), order
        except library.OneDnnError:
            pass  # it has none for that order
    desc = described(free)
    orders.append(plan.once(weights, plan.lib.asked(desc, library.WEIGHTS_MD)))
    return desc, orders[-1]


def add(plan: OneDnnPlan, region: Region) -> None:
    """Add a group to a plan."""
    group = group_of(region)
    assert isinstance(group, QuantizedGroup)
    adding = _Adding(plan, region, group)
    if group.call.op == "conv":
        adding.convolution()
    else:
        adding.product()
