"""Rules of normalisation, losses, attention, embedding and dropout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...dtypes import bool_
from ...errors import ArgumentError, DTypeError, ShapeError
from ...types import TensorType, tensor_type
from .contraction import broadcast_pair
from .random import check_key
from .shape import check_broadcast
from .shared import (
    Attributes,
    Operands,
    Shape,
    Types,
    check_at_least,
    check_choice,
    normalize_axis,
    one,
    operand,
)

if TYPE_CHECKING:
    from ..spec import OpDef

REDUCTIONS = ("none", "mean", "sum")


def _check_vectors(
    op: OpDef, types: Operands, positions: Sequence[int], shape: Shape, meaning: str
) -> None:
    """Operands, where present, of exactly one shape, described in words."""
    for i in positions:
        t = types[i] if i < len(types) else None
        if t is not None and t.shape != shape:
            raise ShapeError(
                f"{op.name}: operand {op.operand_name(i)!r} has shape {t.shape}, expected {shape}, "
                f"{meaning} of operand 'x' of shape {operand(types, 0).shape}", op=op.name)


def along_axis(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The operand's own type; attribute ``axis`` exists."""
    x = operand(types, 0)
    normalize_axis(op, "axis", attrs["axis"], x.ndim)
    return (x,)


def trailing_norm(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The operand's own type; the other operands have the shape of its last axes."""
    x = operand(types, 0)
    n: int = attrs["normalized_ndim"]
    if not 1 <= n <= x.ndim:
        raise ArgumentError(
            f"{op.name}: attribute 'normalized_ndim' is {n}, expected 1 to {x.ndim} for operand "
            f"'x' of shape {x.shape}", op=op.name)
    _check_vectors(op, types, range(1, len(types)), x.shape[-n:], f"the last {n} sizes")
    return (x,)


def _check_channels(op: OpDef, x: TensorType) -> int:
    if x.ndim < 2:
        raise ShapeError(
            f"{op.name}: operand 'x' has shape {x.shape}, expected 2 axes or more, channels in "
            "axis 1", op=op.name)
    return x.shape[1]


def group_norm(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The operand's own type; the channels divide into attribute ``groups``."""
    x = operand(types, 0)
    channels = _check_channels(op, x)
    groups = check_at_least(op, "groups", attrs["groups"], 1)
    if channels % groups:
        raise ShapeError(
            f"{op.name}: operand 'x' of shape {x.shape} has {channels} channels, expected a "
            f"multiple of attribute 'groups' {groups}", op=op.name)
    _check_vectors(op, types, range(1, len(types)), (channels,), "the channels")
    return (x,)


def batch_norm_train(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The operand's own type, then mean and variance of each channel."""
    x = operand(types, 0)
    channels = _check_channels(op, x)
    _check_vectors(op, types, range(1, len(types)), (channels,), "the channels")
    if x.size == 0:
        raise ShapeError(
            f"{op.name}: operand 'x' has shape {x.shape}, expected 1 element or more per channel",
            op=op.name)
    each = tensor_type((channels,), x.dtype)
    return (x, each, each)


def batch_norm_infer(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The operand's own type; all others hold a number per channel."""
    x = operand(types, 0)
    channels = _check_channels(op, x)
    _check_vectors(op, types, range(1, len(types)), (channels,), "the channels")
    return (x,)


def running_moments(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Two vectors, as the first two operands are; operand ``momentum`` is 0-d."""
    mean = operand(types, 0)
    for i in range(1, 4):
        t = operand(types, i)
        if t.shape != mean.shape:
            raise ShapeError(
                f"{op.name}: operand {op.operand_name(i)!r} has shape {t.shape}, expected "
                f"{mean.shape} as operand 'mean' has", op=op.name)
    if operand(types, 4).ndim:
        raise ShapeError(
            f"{op.name}: operand 'momentum' has shape {operand(types, 4).shape}, expected ()",
            op=op.name)
    return (mean, mean)


# Losses


def _reduced(op: OpDef, attrs: Attributes, shape: Shape, like: TensorType) -> Types:
    check_choice(op, "reduction", attrs["reduction"], REDUCTIONS)
    return one(shape if attrs["reduction"] == "none" else (), like.dtype)


def class_loss(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Labels have the shape of the operand without attribute ``axis``, the classes."""
    x, labels = operand(types, 0), operand(types, 1)
    axis = normalize_axis(op, "axis", attrs["axis"], x.ndim)
    shape = (*x.shape[:axis], *x.shape[axis + 1:])
    if labels.shape != shape:
        raise ShapeError(
            f"{op.name}: operand 'labels' has shape {labels.shape}, expected {shape}, the shape "
            f"{x.shape} of operand {op.operand_name(0)!r} without axis {axis} of the classes",
            op=op.name)
    weight = types[2] if len(types) > 2 else None
    if weight is not None and weight.shape != (x.shape[axis],):
        raise ShapeError(
            f"{op.name}: operand 'weight' has shape {weight.shape}, expected "
            f"({x.shape[axis]},), a number per class", op=op.name)
    _check_smoothing(op, attrs)
    return _reduced(op, attrs, shape, x)


def _check_smoothing(op: OpDef, attrs: Attributes) -> None:
    smoothing = attrs.get("label_smoothing", 0.0)
    if not 0.0 <= smoothing <= 1.0:
        raise ArgumentError(
            f"{op.name}: attribute 'label_smoothing' is {smoothing}, expected 0.0 to 1.0",
            op=op.name)


def soft_class_loss(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Targets have the operand's shape; attribute ``axis``, the classes, is removed."""
    x, targets = operand(types, 0), operand(types, 1)
    axis = normalize_axis(op, "axis", attrs["axis"], x.ndim)
    if targets.shape != x.shape:
        raise ShapeError(
            f"{op.name}: operand 'targets' has shape {targets.shape}, expected {x.shape} as "
            f"operand {op.operand_name(0)!r} has", op=op.name)
    _check_smoothing(op, attrs)
    return _reduced(op, attrs, (*x.shape[:axis], *x.shape[axis + 1:]), x)


def pairwise_loss(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Two operands of one shape, and weights that broadcast to it."""
    x, targets = operand(types, 0), operand(types, 1)
    if targets.shape != x.shape:
        raise ShapeError(
            f"{op.name}: operand {op.operand_name(1)!r} has shape {targets.shape}, expected "
            f"{x.shape} as operand {op.operand_name(0)!r} has", op=op.name)
    for i in range(2, len(types)):
        t = types[i]
        if t is not None:
            check_broadcast(op, t, i, x.shape, "the shape of the first operand")
    return _reduced(op, attrs, x.shape, x)


def ctc_loss(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """(T, N, classes), (N, S) and two of (N,) give (N,)."""
    logs, targets = operand(types, 0), operand(types, 1)
    if logs.ndim != 3 or logs.shape[2] == 0:
        raise ShapeError(
            f"{op.name}: operand 'log_probabilities' has shape {logs.shape}, expected (steps, "
            "batch, classes), 1 class or more", op=op.name)
    batch = logs.shape[1]
    if targets.ndim != 2 or targets.shape[0] != batch:
        raise ShapeError(
            f"{op.name}: operand 'targets' has shape {targets.shape}, expected ({batch}, labels) "
            f"for operand 'log_probabilities' of shape {logs.shape}", op=op.name)
    for i in (2, 3):
        t = operand(types, i)
        if t.shape != (batch,):
            raise ShapeError(
                f"{op.name}: operand {op.operand_name(i)!r} has shape {t.shape}, expected "
                f"({batch},) for operand 'log_probabilities' of shape {logs.shape}", op=op.name)
    if not 0 <= attrs["blank"] < logs.shape[2]:
        raise ArgumentError(
            f"{op.name}: attribute 'blank' is {attrs['blank']}, expected 0 to "
            f"{logs.shape[2] - 1}, a class of operand 'log_probabilities' of shape {logs.shape}",
            op=op.name)
    return one((batch,), logs.dtype)


# Attention, embedding, dropout


def attention(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """(..., L, E), (..., S, E) and (..., S, V) give (..., L, V)."""
    q, k, v = operand(types, 0), operand(types, 1), operand(types, 2)
    for i, t in enumerate((q, k, v)):
        if t.ndim < 2:
            raise ShapeError(
                f"{op.name}: operand {op.operand_name(i)!r} has shape {t.shape}, expected 2 axes "
                "or more (..., positions, features)", op=op.name)
    if q.shape[-1] != k.shape[-1]:
        raise ShapeError(
            f"{op.name}: operands 'q' {q.shape} and 'k' {k.shape} have {q.shape[-1]} and "
            f"{k.shape[-1]} features, expected the same number", op=op.name)
    if k.shape[-2] != v.shape[-2]:
        raise ShapeError(
            f"{op.name}: operands 'k' {k.shape} and 'v' {v.shape} have {k.shape[-2]} and "
            f"{v.shape[-2]} positions, expected the same number", op=op.name)
    scores = broadcast_pair(op, q.shape[:-2], k.shape[:-2], "leading axes")
    lead = scores
    if v.shape[:-2] != k.shape[:-2]:
        raise ShapeError(
            f"{op.name}: operands 'k' {k.shape} and 'v' {v.shape} differ in their leading axes, "
            "expected the same", op=op.name)
    mask = types[3] if len(types) > 3 else None
    if mask is not None:
        if mask.dtype is not bool_ and mask.dtype is not q.dtype:
            raise DTypeError(
                f"{op.name}: operand 'mask' has dtype {mask.dtype.name}, expected bool (true where "
                f"a position is seen) or {q.dtype.name} (added to the scores)", op=op.name)
        check_broadcast(
            op, mask, 3, (*scores, q.shape[-2], k.shape[-2]), "the shape of the scores")
    return one((*lead, q.shape[-2], v.shape[-1]), q.dtype)


def embedding(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The indices' shape, then the features of a row."""
    weight, indices = operand(types, 0), operand(types, 1)
    if weight.ndim != 2:
        raise ShapeError(
            f"{op.name}: operand 'weight' has shape {weight.shape}, expected 2 axes (rows, "
            "features)", op=op.name)
    if indices.size and weight.shape[0] == 0:
        raise ShapeError(
            f"{op.name}: operand 'weight' has shape {weight.shape}, expected 1 row or more to take "
            f"{indices.size} from", op=op.name)
    pad = attrs["padding_index"]
    if pad is not None and not 0 <= pad < weight.shape[0]:
        raise ArgumentError(
            f"{op.name}: attribute 'padding_index' is {pad}, expected 0 to {weight.shape[0] - 1}, "
            f"a row of operand 'weight' of shape {weight.shape}", op=op.name)
    return one((*indices.shape, weight.shape[1]), weight.dtype)


def dropout(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The first operand's own type; the key is uint32[2]."""
    check_key(op, types[1:])
    rate = attrs["rate"]
    if not 0.0 <= rate <= 1.0:
        raise ArgumentError(
            f"{op.name}: attribute 'rate' is {rate}, expected 0.0 to 1.0", op=op.name)
    return (operand(types, 0),)
