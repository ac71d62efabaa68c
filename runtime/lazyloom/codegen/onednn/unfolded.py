"""Convolutions as products of matrices: of windows of the images, and the weights in their order.

oneDNN's convolutions want weights in blocks, and reordering them takes longer than the convolution
where there are many weights and few places. The product takes them in logical order: with a row for
each place of the window, whose elements are in the order of the weights, a convolution is
``rows @ w.T``, the weights' gradient ``dy.T @ rows``, and the images' ``dy @ w``, each row added to
where it comes from. A window of one element that takes every place of the images needs no rows: the
images are the rows. There are no groups, and images have their channels last. Rows that are added
up are in float32.

In bfloat16 reordering weights costs most: the gradients of a window of one element, from 2,048 to
512 channels of 4 images of 7 x 7, took 9.2 ms of processor time as a convolution and 4.0 as
products.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from ...types import TensorType
from ..answers import Call
from . import library
from .library import Object
from .plan import DTYPES, OneDnnPlan, PlanArray, parts_of

#: the most elements of a window, and channels, that the extension takes
PLACES, CHANNELS = 64, 8192
#: the number of rows from which on lanes divide the rows instead of the weights
MANY: Final = 256
#: the most rows per row of weights for which windows cost less than weights in blocks
RATIO: Final = 1.0
#: in bfloat16, where a product packs its operands in pairs: the most rows, and the fewest channels
#: on either side, for which a product of images that are the rows costs less
PAIRED_ROWS, PAIRED_CHANNELS = 16384, 32


class Geometry(NamedTuple):
    """The parameters of a convolution; dilation is 0 where elements are adjacent."""

    strides: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int


class ProductSizes(NamedTuple):
    """A convolution as a product: ``rows`` by ``inside`` by ``out``.

    Attributes:
        rows: places of the window in all images.
        channels: channels of the images.
        places: elements of a window in a channel.
        out: channels of the result.
        direct: whether the images are the rows.
    """

    rows: int
    channels: int
    places: int
    out: int
    direct: bool

    @property
    def inside(self) -> int:
        """Elements of a row."""
        return self.channels * self.places


def sizes_of(call: Call, g: Geometry) -> ProductSizes:
    """Return the product that a convolution, or its gradient, is."""
    x, w = call.operands[:2]
    assert x is not None and w is not None
    out = call.operands[2] if call.op.endswith(".vjp") else call.results[0]
    assert out is not None
    places = math.prod(w.shape[2:])
    direct = places == 1 and not any((*g.low, *g.high)) and set(g.strides) == {1}
    return ProductSizes(out.size // max(w.shape[0], 1), x.shape[1], places, w.shape[0], direct)


def better(call: Call, g: Geometry) -> bool:
    """Return True if a convolution, or its gradient, is best done as a product."""
    x = call.operands[0]
    assert x is not None
    s = sizes_of(call, g)
    if g.groups > 1:
        return False
    if s.direct:
        return x.dtype.name == "float32" or (
            s.rows <= PAIRED_ROWS and min(s.channels, s.out) >= PAIRED_CHANNELS)
    return s.places <= PLACES and s.channels <= CHANNELS and s.rows <= RATIO * s.out


class Product:
    """A convolution as a product, being added to a plan."""

    def __init__(self, plan: OneDnnPlan, call: Call, g: Geometry) -> None:
        self.plan: Final = plan
        self.call: Final = call
        self.geometry: Final = g
        self.sizes: Final = sizes_of(call, g)
        x = call.operands[0]
        assert x is not None
        self.x: Final[TensorType] = x
        self.bytes: Final[int] = x.dtype.numpy.itemsize

    def _matrix(self, rows: int, columns: int, apart: int, turned: bool = False,
                wide: bool = False) -> Object:  # fmt: skip
        """Return the description of a matrix, of float32 if ``wide``."""
        shape, strides = (rows, columns), (apart, 1)
        if turned:
            shape, strides = (columns, rows), (1, apart)
        dtype = library.F32 if wide else DTYPES[self.x.dtype.name]
        return self.plan.lib.strided(shape, dtype, strides)

    def _of(self, buffer: int, rows: int, columns: int, apart: int, begin: int = 0,
            turned: bool = False) -> PlanArray:  # fmt: skip
        """Return a matrix in a buffer of the region; ``begin`` is in elements."""
        return self.plan.value(
            self._matrix(rows, columns, apart, turned), buffer, self.bytes * begin)

    def _in(self, rows: PlanArray, begin: int, count: int, turned: bool = False) -> PlanArray:
        """Return some of the rows."""
        inside = self.sizes.inside
        return self.plan.part(
            rows, self._matrix(count, inside, inside, turned), self.bytes * begin * inside)

    def _multiply(self, a: PlanArray, b: PlanArray, out: PlanArray) -> None:
        desc = self.plan.primitive_desc("matmul", a.desc, b.desc, None, out.desc)
        self.plan.run(desc, {library.SRC: a, library.WEIGHTS: b, library.DST: out})

    def _window(
        self, first: int, rows: int, channel: int, channels: int, image_channels: int
    ) -> list[int]:
        """Return numbers for the extension: some rows of some of the images' channels."""
        x, g = self.x, self.geometry
        out = self.call.operands[2] if self.call.op.endswith(".vjp") else self.call.results[0]
        w = self.call.operands[1]
        assert out is not None and w is not None
        more = 3 - (x.ndim - 2)

        def three(values: Sequence[int], rest: int = 1) -> list[int]:
            return [rest] * more + list(values)

        inner = three(x.shape[2:])
        strides = [image_channels * math.prod(inner[d:]) for d in range(4)]
        return [first, rows, channel, channels, channels * self.sizes.places, *inner,
                *three(out.shape[2:]), *three(w.shape[2:]), *three(g.strides),
                *three([d + 1 for d in g.dilation]), *three(g.low, 0), *strides, x.shape[0]]

    def _rows(self) -> PlanArray:
        s = self.sizes
        return self.plan.value(self._matrix(s.rows, s.inside, s.inside))

    def _images(self, buffer: int) -> PlanArray:
        return self.plan.value(self._matrix(1, self.x.size, self.x.size), buffer)

    def _unfold(self, images: int, rows: PlanArray, first: int, count: int) -> None:
        channels = self.sizes.channels
        self.plan.windows(
            "unfold" if self.bytes == 4 else "unfold_halves", self._images(images),
            self._in(rows, first, count), self._window(first, count, 0, channels, channels))

    def _fold(self, rows: PlanArray, result: int, channel: int, count: int) -> None:
        """Add rows of float32 to where they come from: to some channels of the result."""
        plan, s = self.plan, self.sizes
        if self.bytes == 4:
            plan.windows("fold", self._images(result), rows,
                         self._window(0, s.rows, channel, count, s.channels))
            return
        pixels = self.x.size // s.channels
        sums = plan.value(self._matrix(pixels, count, count, wide=True))
        plan.windows("fold", sums, rows, self._window(0, s.rows, 0, count, count))
        plan.move(sums, self._of(result, pixels, count, s.channels, channel))

    def forward(self, buffers: tuple[int, ...], lanes: int) -> None:
        """Add ``rows @ w.T`` of images, weights and a result; divided by rows, or by the weights'
        rows."""
        images, weights, result = buffers
        plan, s = self.plan, self.sizes
        by_rows = s.rows >= MANY or s.out < 2 * lanes
        rows = None if s.direct else self._rows()
        parts = parts_of(s.rows, lanes)
        plan.stage()
        if rows is not None and not by_rows:
            for first, count in parts:
                plan.lane()
                self._unfold(images, rows, first, count)
            plan.stage()

        def some(first: int, count: int) -> PlanArray:
            if rows is None:
                return self._of(images, count, s.inside, s.inside, first * s.inside)
            return self._in(rows, first, count)

        if by_rows:
            for first, count in parts:
                plan.lane()
                if rows is not None:
                    self._unfold(images, rows, first, count)
                self._multiply(
                    some(first, count), self._of(weights, s.out, s.inside, s.inside, turned=True),
                    self._of(result, count, s.out, s.out, first * s.out))
            return
        for first, count in parts_of(s.out, lanes):
            plan.lane()
            self._multiply(
                some(0, s.rows),
                self._of(weights, count, s.inside, s.inside, first * s.inside, turned=True),
                self._of(result, s.rows, count, s.out, first))

    def images_gradient(self, cotangent: int, weights: int, result: int, lanes: int) -> None:
        """Add ``dy @ w``, divided by rows where these are the images, else by channels."""
        plan, s = self.plan, self.sizes
        if s.direct:
            for first, count in parts_of(s.rows, lanes):
                plan.lane()
                self._multiply(
                    self._of(cotangent, count, s.out, s.out, first * s.out),
                    self._of(weights, s.out, s.inside, s.inside),
                    self._of(result, count, s.inside, s.inside, first * s.inside))
            return
        for channel, count in parts_of(s.channels, lanes):
            plan.lane()
            columns = count * s.places
            rows = plan.value(self._matrix(s.rows, columns, columns, wide=True))
            self._multiply(
                self._of(cotangent, s.rows, s.out, s.out),
                self._of(weights, s.out, columns, s.inside, channel * s.places), rows)
            self._fold(rows, result, channel, count)

    def weights_gradient(self, images: int, cotangent: int, result: int, lanes: int) -> None:
        """Add ``dy.T @ rows``, divided by rows of the result; with several lanes, in two stages."""
        plan, s = self.plan, self.sizes
        rows = None if s.direct else self._rows()
        if rows is not None:
            for first, count in parts_of(s.rows, lanes):
                plan.lane()
                self._unfold(images, rows, first, count)
            if lanes > 1:
                plan.stage()
        for number, (first, count) in enumerate(parts_of(s.out, lanes)):
            if number or rows is None or lanes > 1:
                plan.lane()
            self._multiply(
                self._of(cotangent, s.rows, count, s.out, first, turned=True),
                self._of(images, s.rows, s.inside, s.inside) if rows is None
                else self._in(rows, 0, s.rows),
                self._of(result, count, s.inside, s.inside, first * s.inside))
