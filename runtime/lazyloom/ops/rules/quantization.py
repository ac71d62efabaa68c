"""Rules of quantisation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...dtypes import DType, int8, int32, uint8
from ...errors import ArgumentError, DTypeError, ShapeError
from .shared import Attributes, Operands, Types, normalize_axis, one, operand

if TYPE_CHECKING:
    from ..spec import OpDef

#: the dtypes of quantised values
_NARROW = (int8, uint8)


def quantize(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The operand's shape in attribute ``dtype``."""
    dtype: DType = attrs["dtype"]
    if dtype not in _NARROW:
        raise ArgumentError(
            f"{op.name}: attribute 'dtype' is {dtype.name}, expected int8 or uint8", op=op.name)
    _check_parameters(op, types, attrs)
    _check_zero_point(op, types, dtype, "attribute 'dtype' is")
    return one(operand(types, 0).shape, dtype)


def dequantize(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The operand's shape in the dtype of operand ``scale``."""
    x = operand(types, 0)
    if x.dtype not in (*_NARROW, int32):
        raise DTypeError(
            f"{op.name}: operand 'x' has dtype {x.dtype.name}, expected int8, uint8 or int32; "
            "cast it first", op=op.name)
    _check_parameters(op, types, attrs)
    _check_zero_point(op, types, x.dtype, "operand 'x' has")
    return one(x.shape, operand(types, 1).dtype)


def fake_quantize(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The operand's own type; ``low`` is less than ``high``, each within 24 bits."""
    low, high = attrs["low"], attrs["high"]
    if not -(2**24) <= low < high <= 2**24:
        raise ArgumentError(
            f"{op.name}: attributes 'low' and 'high' are {low} and {high}, expected low < high "
            f"within {-(2**24)} to {2**24}", op=op.name)
    _check_parameters(op, types, attrs)
    return (operand(types, 0),)


def _check_parameters(op: OpDef, types: Operands, attrs: Attributes) -> None:
    """scale and zero_point are 0-d, or have as many elements as the axis has places."""
    x = operand(types, 0)
    axis: int | None = attrs["axis"]
    shape = () if axis is None else (x.shape[normalize_axis(op, "axis", axis, x.ndim)],)
    for i in (1, 2):
        t = types[i] if i < len(types) else None
        if t is not None and t.shape != shape:
            raise ShapeError(
                f"{op.name}: operand {op.operand_name(i)!r} has shape {t.shape}, expected {shape}: "
                + ("one number, as attribute 'axis' is None" if axis is None else
                   f"one for each place along axis {axis} of operand 'x' of shape {x.shape}"),
                op=op.name)


def _check_zero_point(op: OpDef, types: Operands, dtype: DType, of: str) -> None:
    zero = types[2] if len(types) > 2 else None
    if zero is not None and zero.dtype is not dtype:
        raise DTypeError(
            f"{op.name}: operand 'zero_point' has dtype {zero.dtype.name}, expected {dtype.name}, "
            f"which {of}; cast it first", op=op.name)
