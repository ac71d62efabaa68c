"""Shape ops: the same elements in another arrangement, by themselves or with others.

No op here computes on values, so each takes every dtype. Sizes and positions that
are attributes are part of the program's structure; the slices whose start is data
are in :mod:`lazyloom.ops.indexing`.
"""

from __future__ import annotations

from ._jax import lax
from .cases import Cases, case
from .kinds import Array, Ints, T
from .rules import shape as rules
from .spec import op
from .traits import Access, Derivative, Signature


@op(
    rules.reshape, source="array API reshape", reference="numpy.reshape",
    samples=Cases(
        case((2, 3), shape=(3, 2)), case((2, 6), shape=(3, -1)), case((), shape=(1, 1)),
        case((1,), shape=()), case((0, 3), shape=(3, 0)), case((2, 3), shape=(6,))),
    derivative=Derivative(linear="x"), access=Access(layout="reshape", data_movement=True),
)  # fmt: skip
def reshape(x: T, *, shape: Ints) -> Array:
    """The elements of x, in row-major order, in another shape.

    ``shape`` may hold one ``-1``, which stands for the size that is left over.
    Raises ShapeError where the sizes differ.
    """
    return lax.reshape(x, rules.resolved_shape(x.size, shape))


@op(
    rules.transpose, source="array API permute_dims", reference="numpy.transpose",
    samples=Cases(
        case((2, 3, 4), axes=(2, 0, 1)), case((2, 3)), case((), axes=()), case((0, 3)),
        case((2, 3, 4), axes=(-1, 0, -2))), derivative=Derivative(linear="x"),
    access=Access(layout="transpose", data_movement=True),
)  # fmt: skip
def transpose(x: T, *, axes: Ints | None = None) -> Array:
    """x with its axes permuted: axis ``i`` of the result is axis ``axes[i]`` of x.

    Without ``axes`` the order is reversed. Raises ArgumentError where ``axes`` is no
    permutation.
    """
    if axes is None:
        return lax.transpose(x, tuple(range(x.ndim))[::-1])
    return lax.transpose(x, rules.all_axes(axes, x.ndim))


@op(
    rules.moveaxis, source="array API moveaxis", reference="numpy.moveaxis",
    samples=Cases(
        case((2, 3, 4), source=(0,), destination=(-1,)),
        case((0, 3), source=(1,), destination=(0,)),
        case((2, 3, 4), source=(2, 0), destination=(0, 1)), case((2,), source=(), destination=())),
    derivative=Derivative(linear="x"), access=Access(data_movement=True),
)  # fmt: skip
def moveaxis(x: T, *, source: Ints, destination: Ints) -> Array:
    """x with axis ``source[i]`` at position ``destination[i]``, the others in order.

    Raises ArgumentError where the two differ in length or repeat an axis.
    """
    return lax.transpose(x, rules.moved_axes(x.ndim, source, destination))


@op(
    rules.swapaxes, source="NumPy swapaxes", reference="numpy.swapaxes",
    samples=Cases(
        case((2, 3, 4), axis1=0, axis2=-1), case((0, 3), axis1=0, axis2=1),
        case((2, 3), axis1=1, axis2=1)), derivative=Derivative(linear="x"),
    access=Access(data_movement=True),
)  # fmt: skip
def swapaxes(x: T, *, axis1: int, axis2: int) -> Array:
    """x with two axes exchanged. Raises ArgumentError for an axis out of range."""
    axes = list(range(x.ndim))
    a = axis1 % x.ndim
    b = axis2 % x.ndim
    axes[a], axes[b] = b, a
    return lax.transpose(x, axes)


@op(
    rules.squeeze, source="array API squeeze", reference="numpy.squeeze",
    samples=Cases(
        case((1, 3, 1), axes=(0,)), case((1, 3, 1)), case((1, 3, 1), axes=(-1, 0)), case(()),
        case((1, 0), axes=(0,))), derivative=Derivative(linear="x"),
    access=Access(data_movement=True),
)  # fmt: skip
def squeeze(x: T, *, axes: Ints | None = None) -> Array:
    """x without these axes of size 1; without any such axis if ``axes`` is None.

    Raises ShapeError where a named axis has another size.
    """
    return lax.reshape(x, rules.squeezed(x.shape, axes))


@op(
    rules.expand_dims, source="array API expand_dims", reference="numpy.expand_dims",
    samples=Cases(
        case((2, 3), axes=(1,)), case((), axes=(0,)), case((2, 3), axes=(0, -1)),
        case((0,), axes=(0,)), case((2,), axes=())), derivative=Derivative(linear="x"),
    access=Access(data_movement=True),
)  # fmt: skip
def expand_dims(x: T, *, axes: Ints) -> Array:
    """x with axes of size 1 put in, at these positions of the result."""
    return lax.reshape(x, rules.expanded(x.shape, axes))


@op(
    rules.broadcast_to, source="array API broadcast_to", reference="numpy.broadcast_to",
    samples=Cases(
        case((3, 1), shape=(2, 3, 4)), case((), shape=(2, 3)), case((1,), shape=(0,)),
        case((2, 3), shape=(2, 3)), case((), shape=())), derivative=Derivative(linear="x"),
    access=Access(data_movement=True),
)  # fmt: skip
def broadcast_to(x: T, *, shape: Ints) -> Array:
    """x repeated to ``shape`` by NumPy's broadcasting rules. Raises ShapeError."""
    return lax.broadcast_in_dim(x, shape, tuple(range(len(shape) - x.ndim, len(shape))))


@op(
    rules.concatenate, source="array API concat",
    samples=Cases(
        case((2, 3), (1, 3), axis=0), case((2, 3), (2, 0), (2, 1), axis=-1), case((2,)),
        case((0, 3), (0, 3))), derivative=Derivative(linear="xs"),
)  # fmt: skip
def concatenate(*xs: T, axis: int = 0) -> Array:
    """The operands joined along an existing axis; their other sizes are equal.

    At least one operand, of rank 1 or more. Raises ShapeError.
    """
    if len(xs) == 1:
        return xs[0]
    return lax.concatenate(xs, axis % xs[0].ndim)


@op(
    rules.stack, source="array API stack",
    samples=Cases(
        case((2, 3), (2, 3), axis=1), case((), (), ()), case((2, 3), axis=-1),
        case((2, 0), (2, 0), axis=2)), derivative=Derivative(linear="xs"),
)  # fmt: skip
def stack(*xs: T, axis: int = 0) -> Array:
    """The operands, all of one shape, joined along a new axis at position ``axis``.

    At least one operand. Raises ShapeError.
    """
    at = axis % (xs[0].ndim + 1)
    return lax.concatenate([lax.expand_dims(x, (at,)) for x in xs], at)


@op(
    rules.split, source="array API split, with sizes",
    signature=Signature(lists=True, output_notes={"result": "one for each size"}),
    samples=Cases(
        case((5, 2), sizes=(2, 3)), case((2, 4), sizes=(1, 0, 3), axis=-1), case((3,), sizes=(3,)),
        case((0, 2), sizes=(0, 0))), derivative=Derivative(linear="x"),
)  # fmt: skip
def split(x: T, *, sizes: Ints, axis: int = 0) -> Array:
    """x cut along an axis into parts of these sizes: one result for each.

    Raises ShapeError where the sizes do not add up to the axis.
    """
    at = axis % x.ndim
    return tuple(lax.split(x, sizes, at))


@op(
    rules.pad, source="StableHLO pad",
    samples=Cases(
        case((2, 3), (), low=(1, 0), high=(0, 2)), case((), (), low=(), high=()),
        case((2, 3), (), low=(0, 1), high=(1, 0), interior=(1, 2)),
        case((4, 3), (), low=(-1, 1), high=(-2, 1)), case((0, 2), (), low=(1, 0), high=(1, 0))),
    derivative=Derivative(linear="x value"), access=Access(offset_reads=True, spreads=True),
)  # fmt: skip
def pad(x: T, value: T, *, low: Ints, high: Ints, interior: Ints | None = None) -> Array:
    """x with ``value`` (0-d) before, after and between its elements, counts per axis.

    A negative count in ``low`` or ``high`` takes elements away, after ``interior``
    was put in. Raises ShapeError where the lengths differ from the rank of x or a
    size would be negative.
    """
    between = interior or (0,) * x.ndim
    return lax.pad(x, value, list(zip(low, high, between, strict=True)))


@op(
    rules.flip, source="array API flip", reference="numpy.flip",
    samples=Cases(
        case((2, 3), axes=(1,)), case((2, 3)), case(()), case((0, 3)), case((2, 3), axes=(-2,))),
    derivative=Derivative(linear="x"), access=Access(offset_reads=True, data_movement=True),
)  # fmt: skip
def flip(x: T, *, axes: Ints | None = None) -> Array:
    """x with the order along these axes (all of them if None) reversed."""
    return lax.rev(x, rules.all_axes(axes, x.ndim))


@op(
    rules.roll, source="array API roll", reference="numpy.roll",
    samples=Cases(
        case((3, 4), shifts=(1,), axes=(1,)), case((3, 4), shifts=(5,)),
        case((3, 4), shifts=(-1, 2), axes=(0, -1)), case((), shifts=(2,)),
        case((0, 3), shifts=(1,), axes=(0,)), case((3, 4), shifts=(1, 1), axes=(0, 0))),
    derivative=Derivative(linear="x"), access=Access(offset_reads=True, data_movement=True),
)  # fmt: skip
def roll(x: T, *, shifts: Ints, axes: Ints | None = None) -> Array:
    """x shifted around along axes: element ``i`` moves to ``(i + shift) % size``.

    One shift per axis; an axis named twice is shifted by the sum. Without ``axes``
    there is one shift, of the flattened elements. Raises ArgumentError.
    """
    if axes is None:
        flat = lax.reshape(x, (x.size,))
        return lax.reshape(roll(flat, shifts=shifts, axes=(0,)), x.shape)
    for shift, axis in zip(shifts, axes, strict=True):
        at = axis % x.ndim
        size = x.shape[at]
        cut = -shift % size if size else 0
        if cut:
            x = lax.concatenate([
                lax.slice_in_dim(x, cut, size, axis=at), lax.slice_in_dim(x, 0, cut, axis=at),
            ], at)  # fmt: skip
    return x


@op(
    rules.strided, source="NumPy basic indexing",
    samples=Cases(
        case((4, 5), starts=(1, 4), stops=(4, -1), strides=(2, -2)),
        case((4, 5), starts=(0, 1), stops=(4, 3)), case((), starts=(), stops=()),
        case((4,), starts=(3,), stops=(-1,), strides=(-1,)), case((4,), starts=(2,), stops=(2,)),
        case((0, 3), starts=(0, 0), stops=(0, 3), strides=(1, 2))),
    derivative=Derivative(linear="x"), access=Access(offset_reads=True, data_movement=True),
)  # fmt: skip
def slice_(x: T, *, starts: Ints, stops: Ints, strides: Ints | None = None) -> Array:
    """The elements at ``range(start, stop, stride)`` along each axis.

    The three hold one number per axis; strides may be negative. Positions are final:
    nothing wraps, so a negative stride that ends at element 0 has the stop ``-1``.
    Raises ArgumentError where a range leaves the axis, ShapeError where the lengths
    differ from the rank of x.
    """
    box, reverse = rules.slice_box(x.shape, starts, stops, strides)
    low, high, steps = zip(*box, strict=True) if box else ((), (), ())
    return _reversed(lax.slice(x, low, high, steps), reverse)


@op(
    rules.slice_update, source="NumPy basic assignment",
    samples=Cases(
        case((4, 5), (2, 3), starts=(1, 4), stops=(4, -1), strides=(2, -2)),
        case((4, 5), (2,), starts=(0, 1), stops=(4, 3)), case((), (), starts=(), stops=()),
        case((4,), (), starts=(3,), stops=(-1,), strides=(-1,)),
        case((4,), (4,), starts=(0,), stops=(4,)), case((7,), (2,), starts=(1,), stops=(6,),
                                                        strides=(3,)),
        case((4,), (0,), starts=(2,), stops=(2,)),
        case((0, 3), (0, 2), starts=(0, 0), stops=(0, 3), strides=(1, 2))),
    derivative=Derivative(linear="x update"),
)  # fmt: skip
def slice_update(
    x: T, update: T, *, starts: Ints, stops: Ints, strides: Ints | None = None
) -> Array:
    """x with the elements that ``slice`` of the same attributes takes replaced.

    ``update`` is broadcast to the slice's shape. Raises as ``slice`` does, and
    ShapeError where ``update`` does not broadcast.
    """
    box, reverse = rules.slice_box(x.shape, starts, stops, strides)
    shape = tuple(-((low - high) // step) for low, high, step in box)
    if 0 in shape:
        return x
    update = _reversed(broadcast_to(update, shape=shape), reverse)
    if any(step > 1 for _, _, step in box):
        # a select over the bounding box fuses; a scatter would be a serial loop
        sizes = tuple(high - low for low, high, _ in box)
        inside = lax.slice(x, [b[0] for b in box], [b[1] for b in box])
        spread = lax.pad(update, _zero(x), [(0, 0, step - 1) for _, _, step in box])
        hit = None
        for axis, (_, _, step) in enumerate(box):
            if step > 1:
                position = lax.broadcasted_iota("int32", sizes, axis)
                on = lax.eq(lax.rem(position, lax.full_like(position, step)),
                            lax.full_like(position, 0))
                hit = on if hit is None else lax.bitwise_and(hit, on)
        update = lax.select(hit, spread, inside)
    if update.shape == x.shape:
        return update
    wide = "int64" if max(x.shape) >= 2**31 else "int32"
    return lax.dynamic_update_slice(x, update, [lax.full((), low, wide) for low, _, _ in box])


@op(
    rules.repeat, source="array API repeat, with one count", reference="numpy.repeat",
    samples=Cases(
        case((2, 3), repeats=2, axis=1), case((2, 3), repeats=3), case((), repeats=2),
        case((2, 3), repeats=0, axis=0), case((0, 2), repeats=2, axis=-1)),
    derivative=Derivative(linear="x"), access=Access(data_movement=True),
)  # fmt: skip
def repeat(x: T, *, repeats: int, axis: int | None = None) -> Array:
    """x with every element taken ``repeats`` times in a row, along an axis.

    Without ``axis`` the flattened elements are. Raises ArgumentError where
    ``repeats`` is negative.
    """
    if axis is None:
        x, axis = lax.reshape(x, (x.size,)), 0
    at = axis % x.ndim
    shape = (*x.shape[:at + 1], repeats, *x.shape[at + 1:])
    spread = lax.broadcast_in_dim(x, shape, [d for d in range(x.ndim + 1) if d != at + 1])
    return lax.reshape(spread, (*x.shape[:at], x.shape[at] * repeats, *x.shape[at + 1:]))


@op(
    rules.tile, source="array API tile",
    samples=Cases(
        case((2, 3), repeats=(2, 1)), case((3,), repeats=(2, 2)), case((2, 3), repeats=(2,)),
        case((), repeats=(2,)), case((2,), repeats=()), case((0, 2), repeats=(2, 2)),
        case((2,), repeats=(0,))), derivative=Derivative(linear="x"),
    access=Access(data_movement=True),
)  # fmt: skip
def tile(x: T, *, repeats: Ints) -> Array:
    """x laid side by side, ``repeats[i]`` times along axis ``i``.

    The shorter of ``repeats`` and the shape of x is extended by ones in front.
    Raises ArgumentError where a count is negative.
    """
    rank = max(len(repeats), x.ndim)
    counts = (1,) * (rank - len(repeats)) + repeats
    shape = (1,) * (rank - x.ndim) + tuple(x.shape)
    spread = tuple(n for pair in zip(counts, shape, strict=True) for n in pair)
    axes = tuple(range(2 * (rank - x.ndim) + 1, 2 * rank, 2))
    return lax.reshape(lax.broadcast_in_dim(x, spread, axes),
                       tuple(c * n for c, n in zip(counts, shape, strict=True)))


@op(
    rules.triangle, source="array API triu", reference="numpy.triu",
    samples=Cases(
        case((3, 4)), case((2, 3, 3), k=1), case((3, 3), k=-1), case((0, 3)), case((2, 2), k=9)),
    derivative=Derivative(linear="x"),
)  # fmt: skip
def triu(x: T, *, k: int = 0) -> Array:
    """The upper triangles of matrices (..., m, n): zero below the k-th diagonal."""
    return lax.select(_on_or_above(x.shape, k), x, lax.full_like(x, 0))


@op(
    rules.triangle, source="array API tril", reference="numpy.tril",
    samples=Cases(
        case((3, 4)), case((2, 3, 3), k=1), case((3, 3), k=-1), case((0, 3)), case((2, 2), k=-9)),
    derivative=Derivative(linear="x"),
)  # fmt: skip
def tril(x: T, *, k: int = 0) -> Array:
    """The lower triangles of matrices (..., m, n): zero above the k-th diagonal."""
    return lax.select(_on_or_above(x.shape, k + 1), lax.full_like(x, 0), x)


@op(
    rules.diagonal, source="NumPy diagonal", reference="numpy.diagonal",
    samples=Cases(
        case((3, 4)), case((2, 3, 4), offset=1, axis1=-1, axis2=0), case((3, 4), offset=-2),
        case((3, 4), offset=7), case((0, 3)), case((2, 3, 3), axis1=1, axis2=2)),
    derivative=Derivative(linear="x"), access=Access(data_movement=True),
)  # fmt: skip
def diagonal(x: T, *, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The diagonals of the planes of two axes: those axes go, the diagonal comes last.

    Element ``i`` is at ``(i, i + offset)``, or ``(i - offset, i)`` for a negative
    offset. Raises ArgumentError where the axes are equal or out of range.
    """
    x = lax.transpose(x, rules.plane_last(x.ndim, axis1, axis2))
    row, column, count = rules.diagonal_start(x.shape[-2], x.shape[-1], offset)
    lead = x.shape[:-2]
    if not count or 0 in lead:
        return lax.full((*lead, count), _zero(x))
    # cutting out a square and picking every (n+1)-th element of it is a strided slice,
    # whose derivative is a pad: no gather, no scatter
    square = lax.slice(x, (0,) * len(lead) + (row, column),
                       (*lead, row + count, column + count))
    flat = lax.reshape(square, (*lead, count * count))
    return lax.slice(flat, (0,) * (len(lead) + 1), flat.shape, (1,) * len(lead) + (count + 1,))


@op(
    rules.diagonal_update, source="NumPy assignment to a diagonal view",
    samples=Cases(
        case((3, 4), (3,)), case((2, 3, 4), (3, 1), offset=1, axis1=-1, axis2=0),
        case((3, 4), (), offset=-2), case((3, 4), (0,), offset=7), case((0, 3), (0,)),
        case((2, 3, 3), (2, 3), axis1=1, axis2=2)), derivative=Derivative(linear="x update"),
)  # fmt: skip
def diagonal_update(
    x: T, update: T, *, offset: int = 0, axis1: int = 0, axis2: int = 1
) -> Array:
    """x with the elements that ``diagonal`` of the same attributes takes replaced.

    ``update`` is broadcast to the diagonal's shape. Raises as ``diagonal`` does, and
    ShapeError where ``update`` does not broadcast.
    """
    order = rules.plane_last(x.ndim, axis1, axis2)
    moved = lax.transpose(x, order)
    row, _, count = rules.diagonal_start(moved.shape[-2], moved.shape[-1], offset)
    if not count or not moved.size:
        return x
    update = broadcast_to(update, shape=(*moved.shape[:-2], count))
    spread = _on_diagonal(update, moved.shape, row)
    result = lax.select(_diagonal_mask(moved.shape, offset), spread, moved)
    return lax.transpose(result, sorted(range(x.ndim), key=order.__getitem__))


@op(
    rules.diag_embed, source="torch.diag_embed",
    samples=Cases(
        case((3,)), case((2, 3), offset=1), case((2, 3), offset=-2, axis1=0, axis2=2),
        case((2, 0)), case((2, 3), axis1=2, axis2=0)), derivative=Derivative(linear="x"),
)  # fmt: skip
def diag_embed(x: T, *, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Array:
    """Square planes, zero but for the diagonal, which is the last axis of x.

    The planes lie in the axes ``axis1`` and ``axis2`` of the result and have the
    size ``n + abs(offset)``. Raises ArgumentError where the axes are equal.
    """
    side = x.shape[-1] + abs(offset)
    shape = (*x.shape[:-1], side, side)
    spread = _on_diagonal(x, shape, max(-offset, 0))
    plane = lax.select(_diagonal_mask(shape, offset), spread, lax.full_like(spread, 0))
    order = rules.plane_last(plane.ndim, axis1, axis2)
    return lax.transpose(plane, sorted(range(plane.ndim), key=order.__getitem__))


def _zero(x: Array) -> Array:
    return lax.full((), 0, x.dtype)


def _reversed(x: Array, axes: Ints) -> Array:
    return lax.rev(x, axes) if axes else x


def _on_diagonal(x: Array, shape: Ints, row: int) -> Array:
    """x[..., n], element i repeated along row ``row + i``: the mask picks the column."""
    lead = len(shape) - 2
    padded = lax.pad(x, _zero(x), [(0, 0, 0)] * lead
                     + [(row, shape[-2] - row - x.shape[-1], 0)])
    return lax.broadcast_in_dim(padded, shape, tuple(range(lead + 1)))


def _diagonal_mask(shape: Ints, k: int) -> Array:
    row = lax.broadcasted_iota("int32", shape, len(shape) - 2)
    column = lax.broadcasted_iota("int32", shape, len(shape) - 1)
    return lax.eq(lax.sub(column, row), lax.full_like(row, k))


def _on_or_above(shape: Ints, k: int) -> Array:
    row = lax.broadcasted_iota("int32", shape, len(shape) - 2)
    column = lax.broadcasted_iota("int32", shape, len(shape) - 1)
    return lax.ge(lax.sub(column, row), lax.full_like(row, max(min(k, 2**30), -(2**30))))
