"""Rules of the sorting ops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...dtypes import int64
from ...errors import ArgumentError, ShapeError
from ...types import tensor_type
from .shared import (
    Attributes,
    Operands,
    Shape,
    Types,
    check_choice,
    check_ndim,
    normalize_axis,
    one,
    operand,
)

if TYPE_CHECKING:
    from ..spec import OpDef


def swapped_last(ndim: int, axis: int) -> Shape:
    """The permutation that exchanges an axis and the last one."""
    order = list(range(ndim))
    order[axis], order[-1] = order[-1], order[axis]
    return tuple(order)


def sorted_axis(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The operand's own type; attribute ``axis`` exists."""
    x = operand(types, 0)
    normalize_axis(op, "axis", attrs["axis"], x.ndim)
    return (x,)


def sorted_positions(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The operand's shape, int64."""
    return one(sorted_axis(op, types, attrs)[0].shape, int64)


def sorted_pair(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The operand's own type, and its shape in int64."""
    x = sorted_axis(op, types, attrs)[0]
    return (x, tensor_type(x.shape, int64))


def top_k(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Attribute ``k`` elements along an axis, and their positions, int64."""
    x = operand(types, 0)
    axis = normalize_axis(op, "axis", attrs["axis"], x.ndim)
    k = attrs["k"]
    if not 0 <= k <= x.shape[axis]:
        raise ArgumentError(
            f"{op.name}: attribute 'k' is {k}, expected 0 to {x.shape[axis]}, the size of axis "
            f"{axis} of operand 'x' of shape {x.shape}", op=op.name)
    shape = (*x.shape[:axis], k, *x.shape[axis + 1:])
    return (tensor_type(shape, x.dtype), tensor_type(shape, int64))


def searchsorted(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The values' shape, int64; sorted rows and values have the same leading dimensions."""
    rows, values = operand(types, 0), operand(types, 1)
    if not rows.shape:
        check_ndim(op, types, 0, 1)
    check_choice(op, "side", attrs["side"], ("left", "right"))
    if rows.ndim > 1 and rows.shape[:-1] != values.shape[:-1]:
        raise ShapeError(
            f"{op.name}: operand 'values' has shape {values.shape}, expected "
            f"{(*rows.shape[:-1], 'any')}: the shape of operand 'sorted' but for its last axis",
            op=op.name)
    return one(values.shape, int64)
