"""Rules of reductions and cumulative ops: attributes ``axes`` and ``keepdims``, or ``axis``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...dtypes import (
    DType,
    bool_,
    int64,
)
from ...errors import ShapeError
from .shared import (
    Attributes,
    Operands,
    Shape,
    Types,
    normalize_axes,
    normalize_axis,
    one,
    operand,
    reduced_shape,
)

if TYPE_CHECKING:
    from ..spec import OpDef



def reduction(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Axes are reduced; the dtype stays."""
    x = operand(types, 0)
    axes = normalize_axes(op, "axes", attrs["axes"], x.ndim)
    return one(reduced_shape(x.shape, axes, attrs["keepdims"]), x.dtype)


def accumulation(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Axes are reduced; the dtype is attribute ``dtype``, or stays if that is None."""
    x = operand(types, 0)
    axes = normalize_axes(op, "axes", attrs["axes"], x.ndim)
    dtype: DType | None = attrs["dtype"]
    return one(reduced_shape(x.shape, axes, attrs["keepdims"]), x.dtype if dtype is None else dtype)


def _check_nonempty(op: OpDef, shape: Shape, axes: Shape) -> None:
    for a in axes:
        if shape[a] == 0:
            raise ShapeError(
                f"{op.name}: axis {a} of operand 'x' of shape {shape} has size 0, expected 1 or "
                "more: there is no result over nothing", op=op.name)


def extremum(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Axes of size 1 or more are reduced; the dtype stays."""
    x = operand(types, 0)
    _check_nonempty(op, x.shape, normalize_axes(op, "axes", attrs["axes"], x.ndim))
    return reduction(op, types, attrs)


def real_reduction(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Axes are reduced; a complex dtype gives the dtype of its parts."""
    reduced = reduction(op, types, attrs)[0]
    return one(reduced.shape, reduced.dtype.real)


def truth_reduction(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Axes are reduced; the result is bool."""
    return one(reduction(op, types, attrs)[0].shape, bool_)


def count_reduction(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Axes are reduced; the result is int64."""
    return one(reduction(op, types, attrs)[0].shape, int64)


def arg_reduction(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """An index (int64) along attribute ``axis``, or into the flattened operand for None."""
    x = operand(types, 0)
    axis: int | None = attrs["axis"]
    axes = normalize_axes(op, "axis", None if axis is None else (axis,), x.ndim)
    _check_nonempty(op, x.shape, axes)
    return one(reduced_shape(x.shape, axes, attrs["keepdims"]), int64)


def cumulative(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The operand's own type; attribute ``axis`` must exist."""
    x = operand(types, 0)
    normalize_axis(op, "axis", attrs["axis"], x.ndim)
    return (x,)
