"""Rules of random draws: the first operand is a key, ``uint32[2]``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...dtypes import (
    CLASSES,
    DType,
    bool_,
    int64,
    uint32,
)
from ...errors import ArgumentError, DTypeError, ShapeError
from .shared import (
    Attributes,
    Operands,
    Shape,
    Types,
    check_at_least,
    check_ndim,
    check_sizes,
    one,
    operand,
    variable_dtype,
)

if TYPE_CHECKING:
    from ..spec import OpDef



def key_pairs(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Attribute ``num`` new keys."""
    check_key(op, types)
    return one((check_at_least(op, "num", attrs["num"], 0), 2), uint32)


def folded_key(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """A new key, made of a key and a 0-d integer."""
    check_key(op, types)
    check_ndim(op, types, 1, 0)
    return one((2,), uint32)


def shuffled_range(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Attribute ``n`` int64."""
    check_key(op, types)
    return one((check_at_least(op, "n", attrs["n"], 0),), int64)


def random_words(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Attribute ``shape`` of attribute ``dtype``, which is unsigned."""
    shape = drawn_shape(op, types, attrs)
    dtype: DType = attrs["dtype"]
    if dtype.kind != "u":
        raise DTypeError(
            f"{op.name}: attribute 'dtype' is {dtype.name}, expected uint8, uint16, uint32 or "
            "uint64; bitcast the result for another", op=op.name)
    return one(shape, dtype)


def chosen_class(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Attribute ``shape`` of int64; operand 1 holds a last axis of logits."""
    check_key(op, types)
    shape = check_sizes(op, "shape", attrs["shape"])
    logits = operand(types, 1)
    if not logits.shape or logits.shape[-1] == 0:
        raise ShapeError(
            f"{op.name}: operand 'logits' has shape {logits.shape}, expected a last axis of size 1 "
            "or more, a class each", op=op.name)
    batch = logits.shape[:-1]
    if shape[len(shape) - len(batch):] != batch or len(shape) < len(batch):
        raise ShapeError(
            f"{op.name}: attribute 'shape' is {shape}, expected it to end in {batch}, the shape of "
            "operand 'logits' without its last axis", op=op.name)
    return one(shape, int64)


def check_key(op: OpDef, types: Operands) -> None:
    """The first operand is a random key: uint32 of shape (2,)."""
    key = operand(types, 0)
    if key.dtype is not uint32 or key.shape != (2,):
        raise ArgumentError(
            f"{op.name}: operand 'key' is {key.text}, expected a random key, uint32[2]", op=op.name)


def drawn_shape(op: OpDef, types: Operands, attrs: Attributes) -> Shape:
    """Attribute ``shape``, to which the parameters after the key must broadcast."""
    check_key(op, types)
    shape = check_sizes(op, "shape", attrs["shape"])
    for i in range(1, len(types)):
        t = types[i]
        if t is not None:
            check_broadcasts(op, i, t.shape, t.shape, shape)
    return shape


def check_broadcasts(
    op: OpDef, position: int, whole: Shape, part: Shape, shape: Shape
) -> None:
    """Check that ``part`` of an operand's shape ``whole`` broadcasts to attribute ``shape``."""
    fits = len(part) <= len(shape) and all(
        d == 1 or d == s for d, s in zip(reversed(part), reversed(shape), strict=False))
    if not fits:
        raise ShapeError(
            f"{op.name}: operand {op.operand_name(position)!r} has shape {whole}, which does not "
            f"broadcast to attribute 'shape' {shape}; give the shape that the parameters "
            "broadcast to", op=op.name)


def draw(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Random numbers of attribute ``shape`` with the dtype of the parameters."""
    return one(drawn_shape(op, types, attrs), variable_dtype(op, types))


def typed_draw(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Random numbers of attributes ``shape`` and ``dtype``; parameters have that dtype too."""
    shape = drawn_shape(op, types, attrs)
    dtype: DType = attrs["dtype"]
    if dtype not in CLASSES[op.T]:
        raise DTypeError(
            f"{op.name}: attribute 'dtype' is {dtype.name}, expected a floating-point type; cast "
            "the result for another", op=op.name)
    for i in range(1, len(types)):
        t = types[i]
        if t is not None and t.dtype is not dtype:
            raise DTypeError(
                f"{op.name}: operand {op.operand_name(i)!r} has dtype {t.dtype.name}, expected "
                f"{dtype.name} as attribute 'dtype' says; cast it first", op=op.name)
    return one(shape, dtype)


def truth_draw(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Random bools of attribute ``shape``."""
    return one(drawn_shape(op, types, attrs), bool_)


def count_draw(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Random int64 of attribute ``shape``."""
    return one(drawn_shape(op, types, attrs), int64)


def class_counts(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Attribute ``shape`` and a last axis of int64, that of operand 2: a class each."""
    check_key(op, types)
    shape = check_sizes(op, "shape", attrs["shape"])
    number, classes = operand(types, 1), operand(types, 2)
    name = op.operand_name(2)
    if not classes.shape or classes.shape[-1] == 0:
        raise ShapeError(
            f"{op.name}: operand {name!r} has shape {classes.shape}, expected a last axis of size "
            "1 or more, a class each", op=op.name)
    check_broadcasts(op, 1, number.shape, number.shape, shape)
    check_broadcasts(op, 2, classes.shape, classes.shape[:-1], shape)
    return one((*shape, classes.shape[-1]), int64)
