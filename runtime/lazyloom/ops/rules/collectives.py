"""Rules of collectives: attributes ``group``, ranks in order, and ``world``, how many there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...dtypes import int32
from ...errors import ArgumentError, DTypeError, ShapeError
from ...types import TensorType
from .shared import Attributes, Operands, Types, normalize_axis, one, operand

if TYPE_CHECKING:
    from ..spec import OpDef

#: the reductions of collectives
REDUCTIONS = ("sum", "mean", "prod", "max", "min", "and", "or", "xor")


def check_group(op: OpDef, attrs: Attributes) -> int:
    """The size of the group. Raises ArgumentError unless it is a group of that world."""
    group, world = attrs["group"], attrs["world"]
    if not group or len(set(group)) != len(group) or min(group) < 0 or max(group) >= world:
        raise ArgumentError(
            f"{op.name}: attribute 'group' is {group}, expected distinct ranks from 0 to "
            f"{world - 1}", op=op.name)
    return len(group)


def _check_reduction(op: OpDef, x: TensorType, attrs: Attributes) -> None:
    reduction = attrs["reduction"]
    if reduction not in REDUCTIONS:
        raise ArgumentError(
            f"{op.name}: attribute 'reduction' is {reduction!r}, expected one of "
            f"{', '.join(REDUCTIONS)}", op=op.name)
    kind = x.dtype.kind
    if reduction == "mean" and kind not in "fc" or reduction in ("and", "or", "xor") and (
        kind not in "biu"
    ):
        raise DTypeError(
            f"{op.name}: operand 'x' has dtype {x.dtype.name}, expected "
            f"{'a floating-point or complex type' if reduction == 'mean' else 'bool or an integer'}"
            f" for the reduction {reduction!r}; cast it first", op=op.name)


def reduced_over_group(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The operand's own type."""
    x = operand(types, 0)
    check_group(op, attrs)
    _check_reduction(op, x, attrs)
    return (x,)


def gathered(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The extent of attribute ``axis`` is multiplied by the size of the group."""
    x = operand(types, 0)
    size = check_group(op, attrs)
    axis = normalize_axis(op, "axis", attrs["axis"], x.ndim)
    shape = list(x.shape)
    shape[axis] *= size
    return one(tuple(shape), x.dtype)


def divided_extent(op: OpDef, name: str, x: TensorType, axis: int, size: int) -> int:
    """The part of an extent that each member has. Raises ShapeError if it cannot be divided."""
    if x.shape[axis] % size:
        raise ShapeError(
            f"{op.name}: axis {axis} ({name!r}) of operand 'x' of shape {x.shape} has size "
            f"{x.shape[axis]}, expected a multiple of the group's size {size}", op=op.name)
    return x.shape[axis] // size


def scattered(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The extent of attribute ``axis`` is divided by the size of the group."""
    x = operand(types, 0)
    size = check_group(op, attrs)
    _check_reduction(op, x, attrs)
    axis = normalize_axis(op, "axis", attrs["axis"], x.ndim)
    shape = list(x.shape)
    shape[axis] = divided_extent(op, "axis", x, axis, size)
    return one(tuple(shape), x.dtype)


def exchanged(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Attribute ``split_axis`` is divided by the group's size, ``concat_axis`` multiplied by it."""
    x = operand(types, 0)
    size = check_group(op, attrs)
    split = normalize_axis(op, "split_axis", attrs["split_axis"], x.ndim)
    concat = normalize_axis(op, "concat_axis", attrs["concat_axis"], x.ndim)
    shape = list(x.shape)
    shape[split] = divided_extent(op, "split_axis", x, split, size)
    shape[concat] *= size
    return one(tuple(shape), x.dtype)


def permuted(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The operand's own type; ``sources`` and ``targets`` are positions in the group."""
    x = operand(types, 0)
    size = check_group(op, attrs)
    for name in ("sources", "targets"):
        places = attrs[name]
        if len(set(places)) != len(places) or any(not 0 <= p < size for p in places):
            raise ArgumentError(
                f"{op.name}: attribute {name!r} is {places}, expected distinct positions from 0 "
                f"to {size - 1}", op=op.name)
    if len(attrs["sources"]) != len(attrs["targets"]):
        raise ArgumentError(
            f"{op.name}: {len(attrs['sources'])} sources and {len(attrs['targets'])} targets were "
            "given, expected as many of both", op=op.name)
    return (x,)


def sent(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The operand's own type; ``source`` is a position in the group."""
    x = operand(types, 0)
    size = check_group(op, attrs)
    if not 0 <= attrs["source"] < size:
        raise ArgumentError(
            f"{op.name}: attribute 'source' is {attrs['source']}, expected a position from 0 to "
            f"{size - 1}", op=op.name)
    return (x,)


def position(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """An int32 without dimensions."""
    check_group(op, attrs)
    return one((), int32)
