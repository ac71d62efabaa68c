"""Pooling over windows of the last axes."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np

from ._helpers import is_inexact, widened
from ._jax import lax
from .cases import Cases, case, distinct
from .kinds import Array, Ints, T
from .rules import windows as rules
from .rules.shape import product
from .rules.windows import spread
from .spec import op
from .traits import HEAVY, Derivative

#: Windows of up to this many elements are computed slice by slice, which fuses: on two CPU cores
#: max_pool of 2x2 in 16x32x56x56 takes 0.2 ms and 3.6 with its derivative, with StableHLO's
#: reduce_window and select_and_scatter 1.5 and 31 ms. For larger ones, the many slices cost more.
_UNROLLED = 16


@op(
    rules.pool, T="real", source="StableHLO reduce_window", execution=HEAVY,
    samples=Cases(
        case(distinct(2, 3, 6), window=(2,), strides=(2,)),
        case(distinct(1, 2, 5, 5), window=(3, 3), strides=(2, 2), padding_low=(1, 1),
             padding_high=(1, 1)),
        case(distinct(2, 7), window=(3,), dilation=(2,)), case(distinct(6), window=(6,)),
        case(distinct(1, 9, 9), window=(5, 5), strides=(2, 2), padding_low=(2, 2),
             padding_high=(2, 2)),
        case(distinct(1, 9, 9), window=(5, 5), dilation=(2, 1)),
        case((0, 4), window=(2,)), case((2, 3, 4), window=(1, 1, 2))),
)  # fmt: skip
def max_pool(
    x: T, *, window: Ints, strides: Ints | None = None, padding_low: Ints | None = None,
    padding_high: Ints | None = None, dilation: Ints | None = None,
) -> Array:  # fmt: skip
    """The largest element in each place of a window that moves over the last axes.

    ``window`` has a size per axis, and so have the others: steps (1 by default), places
    outside before and after, distance of the window's elements. Places outside count
    as the smallest value. NaN wins. The derivative goes to the first of equal elements.
    Raises ShapeError, ArgumentError.
    """
    n = len(window)
    steps, away = spread(strides, n, 1), spread(dilation, n, 1)
    low, high = spread(padding_low, n, 0), spread(padding_high, n, 0)
    if product(window) > _UNROLLED and away == (1,) * n:
        lead = x.ndim - n
        return lax.reduce_window(
            x, _least(x.dtype), lax.max, (1,) * lead + window, (1,) * lead + steps,
            [(0, 0)] * lead + list(zip(low, high, strict=True)))
    # XLA would round each select of the chain to half precision, not recognizing it as exact
    original = x
    x = widened(x)
    parts = _slices(x, _least(x.dtype), window, steps, low, high, away)
    best = next(parts)
    for part in parts:
        better = lax.gt(part, best)
        if is_inexact(x):
            better = lax.bitwise_or(better, lax.ne(part, part))
        best = lax.select(better, part, best)
    return lax.convert_element_type(best, original.dtype)


@op(
    rules.pool, T="floating", source="StableHLO reduce_window", execution=HEAVY,
    samples=Cases(
        case((2, 3, 6), window=(2,), strides=(2,)),
        case((1, 2, 5, 5), window=(3, 3), strides=(2, 2), padding_low=(1, 1), padding_high=(1, 1)),
        case((1, 2, 5, 5), window=(3, 3), strides=(2, 2), padding_low=(1, 1), padding_high=(1, 2),
             count_include_pad=False),
        case((2, 7), window=(3,), dilation=(2,), padding_low=(1,), count_include_pad=False),
        case((0, 4), window=(2,)), case((6,), window=(6,)),
        case((1, 9, 9), window=(5, 5), strides=(2, 2), padding_low=(2, 2), padding_high=(2, 2))),
    derivative=Derivative(linear="x"),
)  # fmt: skip
def avg_pool(
    x: T, *, window: Ints, strides: Ints | None = None, padding_low: Ints | None = None,
    padding_high: Ints | None = None, dilation: Ints | None = None,
    count_include_pad: bool = True,
) -> Array:  # fmt: skip
    """The mean of each place of a window that moves over the last axes.

    Attributes as for ``max_pool``. Places outside count as zeros; with
    ``count_include_pad`` false they do not count, and a window wholly outside is NaN.
    Raises ShapeError, ArgumentError.
    """
    n = len(window)
    steps, away = spread(strides, n, 1), spread(dilation, n, 1)
    low, high = spread(padding_low, n, 0), spread(padding_high, n, 0)
    lead = x.ndim - n
    v = widened(x)
    zero = np.zeros((), v.dtype)
    if product(window) <= _UNROLLED:
        total = functools.reduce(lax.add, _slices(v, zero, window, steps, low, high, away))
    else:
        total = lax.reduce_window(
            v, zero, lax.add, (1,) * lead + window, (1,) * lead + steps,
            [(0, 0)] * lead + list(zip(low, high, strict=True)),
            window_dilation=(1,) * lead + away)
    if count_include_pad:
        count = lax.full_like(total, product(window))
    else:
        count = lax.full_like(total, 1.0)
        for i in range(n):
            shape = (total.shape[lead + i], window[i])
            at = lax.add(
                lax.mul(lax.broadcasted_iota("int32", shape, 0), _int(shape, steps[i])),
                lax.mul(lax.broadcasted_iota("int32", shape, 1), _int(shape, away[i])))
            inside = lax.bitwise_and(
                lax.ge(at, _int(shape, low[i])),
                lax.lt(at, _int(shape, low[i] + x.shape[lead + i])))
            here = lax.reduce_sum(lax.convert_element_type(inside, v.dtype), (1,))
            count = lax.mul(count, lax.broadcast_in_dim(here, total.shape, (lead + i,)))
    return lax.convert_element_type(lax.div(total, count), x.dtype)


@op(
    rules.adaptive_pool, T="floating", source="torch.nn.functional.adaptive_avg_pool2d",
    samples=Cases(
        case((2, 3, 6), output=(3,)), case((1, 2, 5, 7), output=(2, 3)),
        case((2, 4, 4), output=(1, 1)), case((2, 3), output=(5,)), case((0, 4), output=(2,))),
    derivative=Derivative(linear="x"),
)  # fmt: skip
def adaptive_avg_pool(x: T, *, output: Ints) -> Array:
    """The mean of parts of the last axes, ``output`` of them in each, as even as possible.

    Part ``i`` of an axis of size n runs from floor(i * n / o) to ceil((i + 1) * n / o).
    Raises ShapeError, ArgumentError.
    """
    v = widened(x)
    for i, parts in enumerate(output):
        axis = x.ndim - len(output) + i
        if parts == 1:
            total = lax.reduce_sum(v, (axis,))
            v = lax.expand_dims(lax.div(total, lax.full_like(total, x.shape[axis])), (axis,))
            continue
        inside = lax.convert_element_type(_parts(x.shape[axis], parts), v.dtype)
        size = lax.reduce_sum(inside, (1,))
        share = lax.div(inside, lax.broadcast_in_dim(size, inside.shape, (0,)))
        v = lax.dot_general(v, share, (((axis,), (1,)), ((), ())))
        v = lax.transpose(v, (*range(axis), v.ndim - 1, *range(axis, v.ndim - 1)))
    return lax.convert_element_type(v, x.dtype)


@op(
    rules.adaptive_pool, T="floating", source="torch.nn.functional.adaptive_max_pool2d",
    samples=Cases(
        case(distinct(2, 3, 6), output=(3,)), case(distinct(1, 2, 5, 7), output=(2, 3)),
        case(distinct(2, 4, 4), output=(1, 1)), case(distinct(2, 3), output=(5,)),
        case((0, 4), output=(2,))),
)  # fmt: skip
def adaptive_max_pool(x: T, *, output: Ints) -> Array:
    """The largest element of parts of the last axes; parts as for ``adaptive_avg_pool``.

    The derivative is shared by equal elements. Raises ShapeError, ArgumentError.
    """
    for i, parts in enumerate(output):
        axis = x.ndim - len(output) + i
        shape = (*x.shape[:axis], parts, *x.shape[axis:])
        inside = lax.broadcast_in_dim(
            _parts(x.shape[axis], parts), shape, (axis, axis + 1))
        each = lax.broadcast_in_dim(x, shape, [d for d in range(len(shape)) if d != axis])
        x = lax.reduce_max(
            lax.select(inside, each, lax.full(shape, -math.inf, x.dtype)), (axis + 1,))
    return x


def _least(dtype: Any) -> Any:
    # a host constant, by which JAX recognizes the reduction and its derivative
    return np.array(np.iinfo(dtype).min if dtype.kind in "iu" else -math.inf, dtype)


def _int(shape: Ints, value: int) -> Array:
    return lax.full(shape, value, "int32")


def _slices(
    x: Array, fill: Any, window: Ints, steps: Ints, low: Ints, high: Ints, away: Ints
) -> Any:
    """For each place in the window, the elements that it covers."""
    lead = x.ndim - len(window)
    if any(low) or any(high):
        x = lax.pad(x, fill, [(0, 0, 0)] * lead
                    + [(a, b, 0) for a, b in zip(low, high, strict=True)])
    sizes = x.shape[lead:]
    counts = [(s - d * (w - 1) - 1) // t + 1
              for s, w, t, d in zip(sizes, window, steps, away, strict=True)]
    for place in itertools.product(*map(range, window)):
        start = [p * d for p, d in zip(place, away, strict=True)]
        stop = [a + (c - 1) * t + 1 for a, c, t in zip(start, counts, steps, strict=True)]
        yield lax.slice(x, [0] * lead + start, [*x.shape[:lead], *stop], [1] * lead + list(steps))


def _parts(size: int, parts: int) -> Array:
    """bool[parts, size]: which elements belong to which part."""
    shape = (parts, size)
    part = lax.broadcasted_iota("int64", shape, 0)
    at = lax.broadcasted_iota("int64", shape, 1)

    def const(value: int) -> Array:
        return lax.full(shape, value, "int64")

    first = lax.div(lax.mul(part, const(size)), const(parts))
    last = lax.div(lax.sub(lax.mul(lax.add(part, const(1)), const(size)), const(1)), const(parts))
    return lax.bitwise_and(lax.ge(at, first), lax.le(at, last))
