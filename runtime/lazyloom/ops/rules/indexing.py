"""Rules of the indexing ops, whose positions are data or one attribute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...dtypes import bool_, int64
from ...errors import ArgumentError, DTypeError, ShapeError
from ...types import TensorType
from .shape import check_broadcast, check_per_axis
from .shared import (
    Attributes,
    Operands,
    Shape,
    Types,
    broadcast_shapes,
    check_at_least,
    check_choice,
    check_ndim,
    check_sizes,
    normalize_axes,
    normalize_axis,
    one,
    operand,
)

if TYPE_CHECKING:
    from ..spec import OpDef

#: How a scattered value combines with the existing one.
MODES = ("set", "add", "multiply", "min", "max")


def _check_starts(op: OpDef, types: Operands, first: int, x: TensorType) -> None:
    count = len(types) - first
    if count != x.ndim:
        raise ArgumentError(
            f"{op.name}: {count} 'starts' were given, expected {x.ndim}, one for each axis of "
            f"operand 'x' of shape {x.shape}", op=op.name)
    for i in range(first, len(types)):
        check_ndim(op, types, i, 0)


def dynamic_slice(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Attribute ``sizes``, none larger than the operand's."""
    x = operand(types, 0)
    _check_starts(op, types, 1, x)
    sizes = check_sizes(op, "sizes", attrs["sizes"])
    check_per_axis(op, "sizes", sizes, x)
    if any(s > d for s, d in zip(sizes, x.shape, strict=True)):
        raise ShapeError(
            f"{op.name}: attribute 'sizes' is {sizes}, expected sizes of at most those of operand "
            f"'x' of shape {x.shape}", op=op.name)
    return one(sizes, x.dtype)


def dynamic_update_slice(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The first operand's own type; ``update`` fits into it."""
    x, update = operand(types, 0), operand(types, 1)
    _check_starts(op, types, 2, x)
    if update.ndim != x.ndim or any(
            u > d for u, d in zip(update.shape, x.shape, strict=True)):
        raise ShapeError(
            f"{op.name}: operand 'update' has shape {update.shape}, expected {x.ndim} sizes of at "
            f"most those of operand 'x' of shape {x.shape}", op=op.name)
    return (x,)


def _check_nonempty(op: OpDef, x: TensorType, axis: int, indices: int) -> None:
    if indices and x.shape[axis] == 0:
        raise ShapeError(
            f"{op.name}: axis {axis} of operand {op.operand_name(0)!r} of shape {x.shape} has size "
            f"0, expected 1 or more to take {indices} elements from", op=op.name)


def take(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The indices' shape in place of one axis."""
    x, indices = operand(types, 0), operand(types, 1)
    axis = normalize_axis(op, "axis", attrs["axis"], x.ndim)
    _check_nonempty(op, x, axis, indices.size)
    return one((*x.shape[:axis], *indices.shape, *x.shape[axis + 1:]), x.dtype)


def check_along_axis(
    op: OpDef, x: TensorType, indices: TensorType, position: int, axis: int
) -> None:
    """Check that indices have the operand's rank, and are no larger along the other axes."""
    if indices.ndim != x.ndim or any(
            i > d for j, (i, d) in enumerate(zip(indices.shape, x.shape, strict=True))
            if j != axis):
        raise ShapeError(
            f"{op.name}: operand {op.operand_name(position)!r} has shape {indices.shape}, expected "
            f"{x.ndim} sizes of at most those of operand 'x' of shape {x.shape} but for axis "
            f"{axis}", op=op.name)


def take_along_axis(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The shape of the indices."""
    x, indices = operand(types, 0), operand(types, 1)
    axis = normalize_axis(op, "axis", attrs["axis"], x.ndim)
    check_along_axis(op, x, indices, 1, axis)
    _check_nonempty(op, x, axis, indices.size)
    return one(indices.shape, x.dtype)


def scatter_along_axis(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The first operand's own type; ``updates`` broadcast to the indices."""
    x, indices = operand(types, 0), operand(types, 1)
    axis = normalize_axis(op, "axis", attrs["axis"], x.ndim)
    check_mode(op, x, attrs)
    check_along_axis(op, x, indices, 1, axis)
    check_broadcast(op, operand(types, 2), 2, indices.shape, "the shape of operand 'indices'")
    return (x,)


def check_mode(op: OpDef, x: TensorType, attrs: Attributes) -> None:
    """Attribute ``mode``, one that the dtype has."""
    mode = check_choice(op, "mode", attrs["mode"], MODES)
    if (x.dtype is bool_ and mode != "set") or (x.dtype.is_complex and mode in ("min", "max")):
        raise DTypeError(
            f"{op.name}: attribute 'mode' is {mode!r} for operand 'x' of dtype {x.dtype.name}, "
            f"expected {'a number' if x.dtype is bool_ else 'a real number'}; cast it first",
            op=op.name)


def indices_last(ndim: int, axes: Shape) -> tuple[Shape, int]:
    """The axes that are not indexed, and how many of them come before the indices' axes.

    NumPy's rule: where the indexed axes follow each other, in order, the indices'
    axes take their place; otherwise they come first.
    """
    rest = tuple([a for a in range(ndim) if a not in axes])
    together = all(b - a == 1 for a, b in zip(axes, axes[1:], strict=False))
    return rest, (axes[0] if together and axes else 0)


def _indexed(op: OpDef, types: Operands, first: int, attrs: Attributes) -> Shape:
    x = operand(types, 0)
    axes = normalize_axes(op, "axes", attrs["axes"], x.ndim)
    count = len(types) - first
    if count != len(axes) or not count:
        raise ArgumentError(
            f"{op.name}: {count} 'indices' were given for attribute 'axes' {attrs['axes']}, "
            "expected 1 or more, one for each axis", op=op.name)
    shape = broadcast_shapes(op, types, range(first, len(types)))
    rest, before = indices_last(x.ndim, axes)
    return (*[x.shape[a] for a in rest[:before]], *shape, *[x.shape[a] for a in rest[before:]])


def index(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The broadcast indices' shape in place of the axes, or first where they are apart."""
    x = operand(types, 0)
    shape = _indexed(op, types, 1, attrs)
    count = 1
    for d in shape:
        count *= d
    for a in normalize_axes(op, "axes", attrs["axes"], x.ndim):
        _check_nonempty(op, x, a, count)
    return one(shape, x.dtype)


def index_update(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The first operand's own type; ``value`` broadcasts to what ``index`` takes."""
    x = operand(types, 0)
    check_mode(op, x, attrs)
    shape = _indexed(op, types, 2, attrs)
    check_broadcast(op, operand(types, 1), 1, shape, "the indexed shape")
    return (x,)


def masked_fill(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The first operand's own type; mask and value broadcast to it."""
    x = operand(types, 0)
    check_broadcast(op, operand(types, 1), 1, x.shape, "the shape of operand 'x'")
    check_broadcast(op, operand(types, 2), 2, x.shape, "the shape of operand 'x'")
    return (x,)


def one_hot(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """A new last axis of attribute ``depth``, of attribute ``dtype``."""
    depth = check_at_least(op, "depth", attrs["depth"], 0)
    return one((*operand(types, 0).shape, depth), attrs["dtype"])


def flat_nonzero(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Attribute ``size`` positions, int64."""
    return one((check_at_least(op, "size", attrs["size"], 0),), int64)


def bincount(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Attribute ``length`` counts, int64, or sums of the weights' dtype."""
    length = check_at_least(op, "length", attrs["length"], 0)
    x = check_ndim(op, types, 0, 1)
    weights = types[1] if len(types) > 1 else None
    if weights is None:
        return one((length,), int64)
    if weights.shape != x.shape:
        raise ShapeError(
            f"{op.name}: operand 'weights' has shape {weights.shape}, expected {x.shape} as "
            "operand 'x' has", op=op.name)
    return one((length,), weights.dtype)
