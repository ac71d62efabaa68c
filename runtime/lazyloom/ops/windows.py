"""What the windows of pooling see: their elements, sums over them, positions of the largest."""

from __future__ import annotations

import numpy as np

from ._helpers import constant, convert, is_inexact, isnan
from ._jax import jax, jnp, lax
from .cases import Cases, case, distinct
from .kinds import Array, Ints, T
from .pooling import _least, _slices
from .rules import windows as rules
from .rules.windows import spread
from .spec import op
from .traits import NOT_DIFFERENTIABLE, Derivative


@op(
    rules.patches, T="any", source="torch.nn.functional.unfold",
    samples=Cases(
        case((2, 3, 6), window=(2,), strides=(2,)),
        case((1, 2, 5, 4), window=(3, 2), strides=(2, 1), padding_low=(1, 0), padding_high=(1, 1)),
        case((2, 7), window=(3,), dilation=(2,)), case((0, 4), window=(2,)),
        case((6,), window=(6,))), derivative=Derivative(linear="x"),
)  # fmt: skip
def patches(
    x: T, *, window: Ints, strides: Ints | None = None, padding_low: Ints | None = None,
    padding_high: Ints | None = None, dilation: Ints | None = None,
) -> Array:  # fmt: skip
    """The elements that a window sees in each of its places, as it moves over the last axes.

    The result has the window's axes and then the places' axes in place of the axes moved over.
    Attributes as for ``max_pool``; places outside are zero. Raises ShapeError, ArgumentError.
    """
    n = len(window)
    lead = x.ndim - n
    edges = zip(spread(padding_low, n, 0), spread(padding_high, n, 0), strict=True)
    steps, away = spread(strides, n, 1), spread(dilation, n, 1)
    x = lax.pad(x, np.zeros((), x.dtype), [(0, 0, 0)] * lead + [(a, b, 0) for a, b in edges])
    # one axis at a time: the number of slices is the sum of the window's sizes, not their product
    for i in range(n):
        axis = lead + 2 * i
        places = (x.shape[axis] - (window[i] - 1) * away[i] - 1) // steps[i] + 1
        parts = [
            lax.slice_in_dim(x, at * away[i], at * away[i] + (places - 1) * steps[i] + 1,
                             steps[i], axis) for at in range(window[i])]
        x = lax.concatenate([lax.expand_dims(p, (axis,)) for p in parts], axis)
    return lax.transpose(x, (*range(lead), *range(lead, x.ndim, 2), *range(lead + 1, x.ndim, 2)))


@op(
    rules.patches_sum, T="inexact", source="torch.nn.functional.fold",
    samples=Cases(
        case((2, 3, 2, 3), sizes=(6,), window=(2,), strides=(2,)),
        case((1, 2, 3, 2, 3, 4), sizes=(5, 4), window=(3, 2), strides=(2, 1), padding_low=(1, 0),
             padding_high=(1, 1)),
        case((2, 3, 3), sizes=(7,), window=(3,), dilation=(2,)),
        case((0, 2, 3), sizes=(4,), window=(2,)), case((6, 1), sizes=(6,), window=(6,))),
    derivative=Derivative(linear="x"),
)  # fmt: skip
def patches_sum(
    x: T, *, sizes: Ints, window: Ints, strides: Ints | None = None,
    padding_low: Ints | None = None, padding_high: Ints | None = None,
    dilation: Ints | None = None,
) -> Array:  # fmt: skip
    """The transpose of ``patches``: each element of an array of last axes ``sizes`` is the sum
    of what x holds for it in the windows that see it.

    x has the shape that ``patches`` of the same attributes gives. Raises ShapeError,
    ArgumentError.
    """
    lead = x.shape[:x.ndim - 2 * len(window)]
    like = jax.ShapeDtypeStruct((*lead, *sizes), x.dtype)

    def forward(y: Array) -> Array:
        return patches(y, window=window, strides=strides, padding_low=padding_low,
                       padding_high=padding_high, dilation=dilation)

    return jax.linear_transpose(forward, like)(x)[0]


@op(
    rules.pool_indices, T="real", source="torch.nn.functional.max_pool2d, return_indices",
    derivative=NOT_DIFFERENTIABLE,
    samples=Cases(
        case(distinct(2, 3, 6), window=(2,), strides=(2,)),
        case(distinct(1, 2, 5, 5), window=(3, 3), strides=(2, 2), padding_low=(1, 1),
             padding_high=(1, 1)),
        case(distinct(2, 7), window=(3,), dilation=(2,)), case(distinct(6), window=(6,)),
        case((0, 4), window=(2,)), case(np.full((1, 4), -np.inf), window=(2,), strides=(2,))),
)  # fmt: skip
def max_pool_indices(
    x: T, *, window: Ints, strides: Ints | None = None, padding_low: Ints | None = None,
    padding_high: Ints | None = None, dilation: Ints | None = None,
) -> Array:  # fmt: skip
    """Where ``max_pool`` finds its results: positions (int64) in the axes moved over, flat.

    The first of equal elements is taken, the last NaN, and nothing outside; a window wholly
    outside has -1. Raises ShapeError, ArgumentError.
    """
    n = len(window)
    steps, away = spread(strides, n, 1), spread(dilation, n, 1)
    low, high = spread(padding_low, n, 0), spread(padding_high, n, 0)
    sizes = x.shape[x.ndim - n:]
    count = int(np.prod(sizes, dtype=np.int64))
    kind = np.dtype("int32" if count < 2**31 else "int64")
    places = lax.reshape(lax.iota(kind, count), sizes)
    values = _slices(x, _least(x.dtype), window, steps, low, high, away)
    positions = _slices(places, np.array(-1, kind), window, steps, low, high, away)
    best = next(values)
    best_at = lax.broadcast_in_dim(next(positions), best.shape, range(best.ndim - n, best.ndim))
    for value, position in zip(values, positions, strict=True):
        at = lax.broadcast_in_dim(position, best.shape, range(best.ndim - n, best.ndim))
        better = lax.bitwise_or(lax.gt(value, best), lax.lt(best_at, constant(best_at, 0)))
        if is_inexact(x):
            better = lax.bitwise_or(better, isnan(value))
        better = lax.bitwise_and(better, lax.ge(at, constant(at, 0)))
        best, best_at = lax.select(better, value, best), lax.select(better, at, best_at)
    return convert(best_at, jnp.int64)
