"""Rules of the shape ops, and the arithmetic on shapes that their bodies share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import ArgumentError, ShapeError
from ...types import TensorType, tensor_type
from .shared import (
    Attributes,
    Operands,
    Shape,
    Types,
    check_at_least,
    check_ndim,
    check_sizes,
    normalize_axes,
    normalize_axis,
    one,
    operand,
)

if TYPE_CHECKING:
    from ..spec import OpDef

# Arithmetic shared with the bodies, for arguments that a rule has checked


def product(sizes: Sequence[int]) -> int:
    """The product of sizes; 1 of none."""
    result = 1
    for s in sizes:
        result *= s
    return result


def all_axes(axes: Sequence[int] | None, ndim: int) -> Shape:
    """Checked axes counted from 0; all of them for None."""
    return tuple(range(ndim)) if axes is None else tuple([a % ndim for a in axes])


def resolved_shape(size: int, shape: Shape) -> Shape:
    """A shape whose ``-1`` is replaced so that it has ``size`` elements."""
    if -1 not in shape:
        return shape
    others = -product(shape)
    return tuple([size // others if s == -1 else s for s in shape])


def moved_axes(ndim: int, source: Sequence[int], destination: Sequence[int]) -> Shape:
    """The permutation that takes axis ``source[i]`` to position ``destination[i]``."""
    origin = all_axes(source, ndim)
    rest = iter([a for a in range(ndim) if a not in origin])
    target = dict(zip(all_axes(destination, ndim), origin, strict=True))
    return tuple([target[i] if i in target else next(rest) for i in range(ndim)])


def squeezed(shape: Shape, axes: Sequence[int] | None) -> Shape:
    """A shape without these axes, or without its axes of size 1 for None."""
    if axes is None:
        return tuple([s for s in shape if s != 1])
    gone = all_axes(axes, len(shape))
    return tuple([s for i, s in enumerate(shape) if i not in gone])


def expanded(shape: Shape, axes: Sequence[int]) -> Shape:
    """A shape with axes of size 1 at these positions of the result."""
    ndim = len(shape) + len(axes)
    new = all_axes(axes, ndim)
    rest = iter(shape)
    return tuple([1 if i in new else next(rest) for i in range(ndim)])


def slice_box(
    shape: Shape, starts: Sequence[int], stops: Sequence[int], strides: Sequence[int] | None
) -> tuple[list[tuple[int, int, int]], Shape]:
    """An ascending (low, high, step) per axis, high the last taken plus 1, and the axes
    that run backwards."""
    box: list[tuple[int, int, int]] = []
    reverse: list[int] = []
    for axis, size in enumerate(shape):
        start, stride = starts[axis], strides[axis] if strides is not None else 1
        # the length of a range, which takes no symbols
        count = -((start - stops[axis]) // stride)
        if count <= 0:
            low = min(max(start, 0), size)
            box.append((low, low, 1))
            continue
        last = start + (count - 1) * stride
        if stride > 0:
            box.append((start, last + 1, stride))
        else:
            box.append((last, start + 1, -stride))
            if count > 1:
                reverse.append(axis)
    return box, tuple(reverse)


def plane_last(ndim: int, axis1: int, axis2: int) -> Shape:
    """The permutation that moves two axes to the end."""
    a, b = axis1 % ndim, axis2 % ndim
    return (*[i for i in range(ndim) if i != a and i != b], a, b)


def diagonal_start(rows: int, columns: int, offset: int) -> tuple[int, int, int]:
    """Row and column where a diagonal starts, and its length."""
    row, column = max(-offset, 0), max(offset, 0)
    return row, column, max(min(rows - row, columns - column), 0)


# Rules


def reshape(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Attribute ``shape``, of the operand's size, with one ``-1`` resolved."""
    x = operand(types, 0)
    shape: Shape = attrs["shape"]
    free = shape.count(-1)
    if free > 1 or any(s < -1 for s in shape):
        raise ArgumentError(
            f"{op.name}: attribute 'shape' is {shape}, expected sizes of 0 or more and at most "
            "one -1", op=op.name)
    others = product([s for s in shape if s != -1])
    if (others == 0 or x.size % others) if free else others != x.size:
        wanted = "a multiple of" if free else "as many as"
        raise ShapeError(
            f"{op.name}: operand 'x' of shape {x.shape} has {x.size} elements, expected {wanted} "
            f"the {others} of attribute 'shape' {shape}", op=op.name)
    return one(resolved_shape(x.size, shape), x.dtype)


def transpose(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The operand's sizes in the order of attribute ``axes``, reversed for None."""
    x = operand(types, 0)
    if attrs["axes"] is None:
        return one(x.shape[::-1], x.dtype)
    axes = normalize_axes(op, "axes", attrs["axes"], x.ndim)
    if len(axes) != x.ndim:
        raise ArgumentError(
            f"{op.name}: attribute 'axes' is {attrs['axes']}, expected all {x.ndim} axes of "
            f"operand 'x' of shape {x.shape}", op=op.name)
    return one(tuple([x.shape[a] for a in axes]), x.dtype)


def moveaxis(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Axes moved from attribute ``source`` to ``destination``, the others in order."""
    x = operand(types, 0)
    source, destination = attrs["source"], attrs["destination"]
    normalize_axes(op, "source", source, x.ndim)
    normalize_axes(op, "destination", destination, x.ndim)
    if len(source) != len(destination):
        raise ArgumentError(
            f"{op.name}: attributes 'source' {source} and 'destination' {destination} differ in "
            "length, expected one destination for each source", op=op.name)
    return one(tuple([x.shape[a] for a in moved_axes(x.ndim, source, destination)]), x.dtype)


def swapaxes(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Two axes exchanged."""
    x = operand(types, 0)
    shape = list(x.shape)
    a = normalize_axis(op, "axis1", attrs["axis1"], x.ndim)
    b = normalize_axis(op, "axis2", attrs["axis2"], x.ndim)
    shape[a], shape[b] = shape[b], shape[a]
    return one(tuple(shape), x.dtype)


def squeeze(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Axes of size 1 removed."""
    x = operand(types, 0)
    if attrs["axes"] is not None:
        for a in normalize_axes(op, "axes", attrs["axes"], x.ndim):
            if x.shape[a] != 1:
                raise ShapeError(
                    f"{op.name}: axis {a} of operand 'x' of shape {x.shape} has size "
                    f"{x.shape[a]}, expected 1", op=op.name)
    return one(squeezed(x.shape, attrs["axes"]), x.dtype)


def expand_dims(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Axes of size 1 inserted."""
    x = operand(types, 0)
    normalize_axes(op, "axes", attrs["axes"], x.ndim + len(attrs["axes"]))
    return one(expanded(x.shape, attrs["axes"]), x.dtype)


def check_broadcast(op: OpDef, t: TensorType, position: int, shape: Shape, target: str) -> None:
    """Check that an operand broadcasts to a shape, which ``target`` describes in words."""
    fits = len(t.shape) <= len(shape) and all(
        d == 1 or d == s for d, s in zip(reversed(t.shape), reversed(shape), strict=False))
    if not fits:
        raise ShapeError(
            f"{op.name}: operand {op.operand_name(position)!r} has shape {t.shape}, which does "
            f"not broadcast to {target} {shape}; expected each size, counted from the last, to be "
            "equal or 1", op=op.name)


def broadcast_to(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Attribute ``shape``, to which the operand broadcasts."""
    x = operand(types, 0)
    shape = check_sizes(op, "shape", attrs["shape"])
    check_broadcast(op, x, 0, shape, "attribute 'shape'")
    return one(shape, x.dtype)


def _check_some(op: OpDef, types: Operands) -> TensorType:
    if not types:
        raise ArgumentError(f"{op.name}: no operands were given, expected 1 or more", op=op.name)
    return operand(types, 0)


def concatenate(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The sizes along attribute ``axis`` added up; all others are equal."""
    first = _check_some(op, types)
    axis = normalize_axis(op, "axis", attrs["axis"], first.ndim)
    total = 0
    for i in range(len(types)):
        t = operand(types, i)
        if t is not first and (len(t.shape) != first.ndim or any(
                d != s for j, (d, s) in enumerate(zip(t.shape, first.shape, strict=True))
                if j != axis)):
            raise ShapeError(
                f"{op.name}: operand {op.operand_name(i)!r} has shape {t.shape}, expected the "
                f"shape {first.shape} of {op.operand_name(0)!r} but for axis {axis}", op=op.name)
        total += t.shape[axis]
    return one((*first.shape[:axis], total, *first.shape[axis + 1:]), first.dtype)


def stack(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """A new axis at attribute ``axis``, as long as there are operands, all of one shape."""
    first = _check_some(op, types)
    for i in range(1, len(types)):
        t = operand(types, i)
        if t.shape != first.shape:
            raise ShapeError(
                f"{op.name}: operand {op.operand_name(i)!r} has shape {t.shape}, expected the "
                f"shape {first.shape} of {op.operand_name(0)!r}", op=op.name)
    axis = normalize_axis(op, "axis", attrs["axis"], first.ndim + 1)
    return one((*first.shape[:axis], len(types), *first.shape[axis:]), first.dtype)


def split(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """One result for each of attribute ``sizes``, which add up to the axis."""
    x = operand(types, 0)
    axis = normalize_axis(op, "axis", attrs["axis"], x.ndim)
    sizes = check_sizes(op, "sizes", attrs["sizes"])
    if not sizes:
        raise ArgumentError(f"{op.name}: attribute 'sizes' is (), expected 1 or more", op=op.name)
    if sum(sizes) != x.shape[axis]:
        raise ShapeError(
            f"{op.name}: attribute 'sizes' {sizes} adds up to {sum(sizes)}, expected "
            f"{x.shape[axis]}, the size of axis {axis} of operand 'x' of shape {x.shape}",
            op=op.name)
    return tuple([
        tensor_type((*x.shape[:axis], s, *x.shape[axis + 1:]), x.dtype) for s in sizes])


def check_per_axis(
    op: OpDef, name: str, values: Sequence[int], x: TensorType, label: str = "x"
) -> None:
    """Check that an attribute holds one number for each axis of an operand."""
    if len(values) != x.ndim:
        raise ShapeError(
            f"{op.name}: attribute {name!r} is {tuple(values)}, expected {x.ndim} numbers, one for "
            f"each axis of operand {label!r} of shape {x.shape}", op=op.name)


def pad(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Each size plus attributes ``low``, ``high`` and ``interior`` between elements."""
    x = operand(types, 0)
    check_ndim(op, types, 1, 0)
    low, high = attrs["low"], attrs["high"]
    interior = attrs["interior"]
    if interior is None:
        interior = (0,) * x.ndim
    for name, values in (("low", low), ("high", high), ("interior", interior)):
        check_per_axis(op, name, values, x)
    check_sizes(op, "interior", interior)
    shape = tuple([
        d + max(d - 1, 0) * between + before + after
        for d, before, after, between in zip(x.shape, low, high, interior, strict=True)])
    if any(d < 0 for d in shape):
        raise ShapeError(
            f"{op.name}: operand 'x' of shape {x.shape} with attributes 'low' {low}, 'high' "
            f"{high} and 'interior' {interior} would have the shape {shape}, expected sizes of 0 "
            "or more", op=op.name)
    return one(shape, x.dtype)


def flip(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The operand's own type."""
    x = operand(types, 0)
    normalize_axes(op, "axes", attrs["axes"], x.ndim)
    return (x,)


def roll(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The operand's own type; one of attribute ``shifts`` for each of ``axes``."""
    x = operand(types, 0)
    shifts, axes = attrs["shifts"], attrs["axes"]
    expected = 1 if axes is None else len(axes)
    for a in axes or ():
        normalize_axis(op, "axes", a, x.ndim)
    if len(shifts) != expected:
        each = "one" if axes is None else f"{expected}, one for each of 'axes' {axes}"
        raise ArgumentError(
            f"{op.name}: attribute 'shifts' is {shifts}, expected {each}", op=op.name)
    return (x,)


def sliced_shape(op: OpDef, x: TensorType, attrs: Attributes) -> Shape:
    """The shape that attributes ``starts``, ``stops`` and ``strides`` take from x."""
    starts, stops, strides = attrs["starts"], attrs["stops"], attrs["strides"]
    if strides is None:
        strides = (1,) * x.ndim
    for name, values in (("starts", starts), ("stops", stops), ("strides", strides)):
        check_per_axis(op, name, values, x)
    shape = []
    for axis, size in enumerate(x.shape):
        if strides[axis] == 0:
            raise ArgumentError(
                f"{op.name}: attribute 'strides' is {strides}, expected no 0", op=op.name)
        taken = range(starts[axis], stops[axis], strides[axis])
        if taken and not (0 <= taken[0] < size and 0 <= taken[-1] < size):
            raise ArgumentError(
                f"{op.name}: attributes take elements {taken[0]} to {taken[-1]} of axis {axis} of "
                f"operand 'x' of shape {x.shape}, expected 0 to {size - 1}; positions do not "
                "wrap or clamp here", op=op.name)
        shape.append(len(taken))
    return tuple(shape)


def strided(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """As many elements as ``range(start, stop, stride)`` has, along each axis."""
    x = operand(types, 0)
    return one(sliced_shape(op, x, attrs), x.dtype)


def slice_update(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The first operand's own type; ``update`` broadcasts to the slice."""
    x = operand(types, 0)
    shape = sliced_shape(op, x, attrs)
    check_broadcast(op, operand(types, 1), 1, shape, "the slice's shape")
    return (x,)


def repeat(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """One axis multiplied by attribute ``repeats``; flattened first for no ``axis``."""
    x = operand(types, 0)
    count = check_at_least(op, "repeats", attrs["repeats"], 0)
    if attrs["axis"] is None:
        return one((x.size * count,), x.dtype)
    axis = normalize_axis(op, "axis", attrs["axis"], x.ndim)
    return one((*x.shape[:axis], x.shape[axis] * count, *x.shape[axis + 1:]), x.dtype)


def tile(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Each size multiplied by attribute ``repeats``, aligned at the last axis."""
    x = operand(types, 0)
    repeats = check_sizes(op, "repeats", attrs["repeats"])
    rank = max(len(repeats), x.ndim)
    counts = (1,) * (rank - len(repeats)) + repeats
    shape = (1,) * (rank - x.ndim) + x.shape
    return one(tuple([c * d for c, d in zip(counts, shape, strict=True)]), x.dtype)


def check_matrix(op: OpDef, types: Operands, position: int) -> TensorType:
    """An operand of two axes or more. Raises ShapeError."""
    t = operand(types, position)
    if t.ndim < 2:
        raise ShapeError(
            f"{op.name}: operand {op.operand_name(position)!r} has shape {t.shape}, expected 2 "
            "axes or more", op=op.name)
    return t


def triangle(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The operand's own type, of rank 2 or more."""
    return (check_matrix(op, types, 0),)


def _check_plane(op: OpDef, attrs: Attributes, ndim: int) -> tuple[int, int]:
    a = normalize_axis(op, "axis1", attrs["axis1"], ndim)
    b = normalize_axis(op, "axis2", attrs["axis2"], ndim)
    if a == b:
        raise ArgumentError(
            f"{op.name}: attributes 'axis1' {attrs['axis1']} and 'axis2' {attrs['axis2']} are the "
            "same axis, expected two", op=op.name)
    return a, b


def diagonal(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Two axes become one, the last, as long as the diagonal."""
    x = check_matrix(op, types, 0)
    a, b = _check_plane(op, attrs, x.ndim)
    _, _, count = diagonal_start(x.shape[a], x.shape[b], attrs["offset"])
    return one((*[d for i, d in enumerate(x.shape) if i != a and i != b], count), x.dtype)


def diagonal_update(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The first operand's own type; ``update`` broadcasts to the diagonal."""
    shape = diagonal(op, types, attrs)[0].shape
    check_broadcast(op, operand(types, 1), 1, shape, "the diagonal's shape")
    return (operand(types, 0),)


def diag_embed(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The last axis becomes a square plane in axes ``axis1`` and ``axis2``."""
    x = operand(types, 0)
    if not x.shape:
        raise ShapeError(
            f"{op.name}: operand 'x' has shape (), expected 1 axis or more", op=op.name)
    ndim = x.ndim + 1
    a, b = _check_plane(op, attrs, ndim)
    side = x.shape[-1] + abs(attrs["offset"])
    rest = iter(x.shape[:-1])
    return one(tuple([side if i in (a, b) else next(rest) for i in range(ndim)]), x.dtype)
