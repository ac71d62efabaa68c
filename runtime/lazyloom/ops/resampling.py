"""Images sampled at places that are data."""

from __future__ import annotations

import itertools
from typing import Any

from ._helpers import constant, convert, widened
from ._jax import jnp, lax
from .cases import Cases, case
from .kinds import Array, T
from .rules import windows as rules
from .spec import op
from .traits import Derivative

#: the cubic kernel's free parameter, as in PyTorch
_A = -0.75


@op(
    rules.grid_sample, T="floating", source="torch.nn.functional.grid_sample",
    samples=Cases(
        case((2, 3, 4, 5), (2, 2, 3, 2)),
        *[case((1, 2, 4, 3), (1, 3, 2, 2), mode=m, padding=p, align_corners=c) for m, p, c in (
            ("bilinear", "border", True), ("bilinear", "reflection", False),
            ("nearest", "reflection", True), ("bicubic", "reflection", True))],
        case((1, 2, 3, 4, 2), (1, 2, 1, 3, 3)),
        case((0, 2, 3, 3), (0, 2, 2, 2)), case((1, 2, 3, 3), (1, 0, 2, 2)), low=-1.3, high=1.3),
    tolerance=8.0, derivative=Derivative(linear="x"),
)  # fmt: skip
def grid_sample(
    x: T, grid: T, *, mode: str = "bilinear", padding: str = "zeros", align_corners: bool = False
) -> Array:  # fmt: skip
    """x (N, C, H, W) or (N, C, D, H, W) at the places of grid (N, ..., 2 or 3).

    A place is (x, y) or (x, y, z), from -1 at one end of the last axes to 1 at the other: of
    the centres of the outermost elements with ``align_corners``, of their outer edges
    otherwise. ``mode`` is "bilinear" (linear in each axis), "nearest" or, in 2D, "bicubic".
    ``padding`` says what lies outside: "zeros", the "border"'s elements, or a "reflection".
    Raises ShapeError, ArgumentError.
    """
    n = grid.shape[-1]
    sizes = x.shape[2:]
    if 0 in grid.shape or 0 in x.shape:
        return lax.full((*x.shape[:2], *grid.shape[1:-1]), 0, x.dtype)
    v, g = widened(x), widened(grid)
    flat = lax.reshape(v, (*x.shape[:2], _size(sizes)))
    # from the first spatial axis to the last; the grid has them in reverse order
    at = [_scaled(g[..., n - 1 - i], sizes[i], align_corners) for i in range(n)]
    if mode == "bicubic":
        return convert(_bicubic(flat, at, sizes, padding, align_corners), x.dtype)
    at = [_placed(p, s, padding, align_corners) for p, s in zip(at, sizes, strict=True)]
    if mode == "nearest":
        near = [lax.round(p, lax.RoundingMethod.TO_NEAREST_EVEN) for p in at]
        return convert(_fetch(flat, near, sizes), x.dtype)
    low = [lax.floor(p) for p in at]
    share = [lax.sub(p, f) for p, f in zip(at, low, strict=True)]
    total = None
    for corner in itertools.product((0, 1), repeat=n):
        weight = None
        for c, s in zip(corner, share, strict=True):
            part = s if c else lax.sub(constant(s, 1), s)
            weight = part if weight is None else lax.mul(weight, part)
        place = [lax.add(f, constant(f, c)) for f, c in zip(low, corner, strict=True)]
        part = lax.mul(_fetch(flat, place, sizes), _per_channel(weight, flat))
        total = part if total is None else lax.add(total, part)
    return convert(total, x.dtype)


def _size(sizes: Any) -> int:
    count = 1
    for s in sizes:
        count *= s
    return count


def _scaled(g: Array, size: int, corners: bool) -> Array:
    """Places from -1 to 1, converted to units of elements."""
    if corners:
        return lax.mul(lax.add(g, constant(g, 1)), constant(g, (size - 1) / 2))
    return lax.mul(lax.sub(lax.mul(lax.add(g, constant(g, 1)), constant(g, size)),
                           constant(g, 1)), constant(g, 0.5))


def _placed(at: Array, size: int, padding: str, corners: bool) -> Array:
    """Places moved inside, with PyTorch's derivative: 0 at and beyond the border."""
    if padding == "zeros":
        return at
    if padding == "reflection":
        low, high = (0.0, size - 1.0) if corners else (-0.5, size - 0.5)
        span = high - low
        if span == 0:
            return lax.mul(at, constant(at, 0))
        shifted = lax.sub(at, constant(at, low))
        away = lax.select(lax.lt(shifted, constant(at, 0)), lax.neg(shifted), shifted)
        turns = lax.stop_gradient(lax.floor(lax.div(away, constant(at, span))))
        rest = lax.sub(away, lax.mul(turns, constant(at, span)))
        even = lax.eq(lax.rem(turns, constant(at, 2)), constant(at, 0))
        at = lax.select(even, lax.add(rest, constant(at, low)),
                        lax.sub(constant(at, high), rest))
    low_end, high_end = constant(at, 0), constant(at, size - 1)
    at = lax.select(lax.le(at, low_end), low_end, at)
    return lax.select(lax.ge(at, high_end), high_end, at)


def _fetch(flat: Array, at: list[Array], sizes: Any) -> Array:
    """Elements (N, C, ...) at integral places (N, ...) along each axis; zero outside."""
    inside: Any = None
    index: Any = None
    for p, size in zip(at, sizes, strict=True):
        p = lax.stop_gradient(p)
        here = lax.bitwise_and(lax.ge(p, constant(p, 0)), lax.le(p, constant(p, size - 1)))
        inside = here if inside is None else lax.bitwise_and(inside, here)
        whole = convert(lax.clamp(constant(p, 0), p, constant(p, size - 1)), jnp.int32)
        whole = lax.clamp(constant(whole, 0), whole, constant(whole, size - 1))  # for NaN
        index = whole if index is None else lax.add(
            lax.mul(index, constant(whole, size)), whole)
    batch, channels = flat.shape[:2]
    rows = lax.reshape(index, (batch, 1, index.size // batch))
    taken = jnp.take_along_axis(flat, rows, axis=2, mode="promise_in_bounds")
    taken = lax.reshape(taken, (batch, channels, *index.shape[1:]))
    seen = _per_channel(inside, flat)
    return lax.select(seen, taken, constant(taken, 0))


def _per_channel(x: Array, flat: Array) -> Array:
    shape = (x.shape[0], flat.shape[1], *x.shape[1:])
    return lax.broadcast_in_dim(x, shape, (0, *range(2, len(shape))))


def _bicubic(flat: Array, at: list[Array], sizes: Any, padding: str, corners: bool) -> Array:
    low = [lax.floor(p) for p in at]
    weights = [_cubic(lax.sub(p, f)) for p, f in zip(at, low, strict=True)]
    total = None
    for offsets in itertools.product(range(4), repeat=2):
        place = [
            lax.stop_gradient(_placed(lax.add(f, constant(f, o - 1)), s, padding, corners))
            for f, o, s in zip(low, offsets, sizes, strict=True)]
        weight = lax.mul(weights[0][offsets[0]], weights[1][offsets[1]])
        part = lax.mul(_fetch(flat, place, sizes), _per_channel(weight, flat))
        total = part if total is None else lax.add(total, part)
    return total


def _cubic(t: Array) -> list[Array]:
    """The weights of the four neighbours of a place that lies t beyond the second one."""

    def inner(x: Array) -> Array:
        square = lax.mul(x, x)
        return lax.add(lax.mul(lax.sub(lax.mul(constant(x, _A + 2), x), constant(x, _A + 3)),
                               square), constant(x, 1))

    def outer(x: Array) -> Array:
        curve = lax.sub(lax.mul(constant(x, _A), x), constant(x, 5 * _A))
        curve = lax.add(lax.mul(curve, x), constant(x, 8 * _A))
        return lax.sub(lax.mul(curve, x), constant(x, 4 * _A))

    rest = lax.sub(constant(t, 1), t)
    return [outer(lax.add(t, constant(t, 1))), inner(t), inner(rest),
            outer(lax.add(rest, constant(t, 1)))]
