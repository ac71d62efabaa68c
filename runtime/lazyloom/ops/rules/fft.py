"""Rules of Fourier transforms: which axes, how many points, and what kind of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import ArgumentError, ShapeError
from ...types import TensorType
from .shared import (
    Attributes,
    Operands,
    Shape,
    Types,
    check_choice,
    complex_of,
    normalize_axes,
    one,
    operand,
)

if TYPE_CHECKING:
    from ..spec import OpDef

NORMS = ("backward", "ortho", "forward")


def _transformed(op: OpDef, types: Operands, attrs: Attributes) -> tuple[TensorType, Shape]:
    """The operand and its transformed axes, which are distinct and not empty."""
    x = operand(types, 0)
    check_choice(op, "norm", attrs["norm"], NORMS)
    axes = normalize_axes(op, "axes", attrs["axes"], len(x.shape))
    for a in axes:
        if x.shape[a] == 0:
            raise ShapeError(
                f"{op.name}: operand {op.operand_name(0)!r} has shape {x.shape}, of which axis {a} "
                "is transformed, expected one point or more along it", op=op.name)
    return x, axes


def _real_axis(op: OpDef, axes: Shape) -> int:
    if not axes:
        raise ArgumentError(
            f"{op.name}: attribute 'axes' is (), expected one axis or more", op=op.name)
    return axes[-1]


def transform(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The operand's own type."""
    return (_transformed(op, types, attrs)[0],)


def half_spectrum(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Complex numbers, n // 2 + 1 of them along the last of the axes."""
    x, axes = _transformed(op, types, attrs)
    last = _real_axis(op, axes)
    shape = list(x.shape)
    shape[last] = shape[last] // 2 + 1
    return one(tuple(shape), complex_of(x.dtype))


def real_signal(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Real numbers, ``length`` of them along the last of the axes."""
    x, axes = _transformed(op, types, attrs)
    last, length = _real_axis(op, axes), attrs["length"]
    if length < 1 or x.shape[last] != length // 2 + 1:
        raise ShapeError(
            f"{op.name}: operand {op.operand_name(0)!r} has shape {x.shape}, expected "
            f"{length // 2 + 1} points along axis {last} for attribute 'length' of {length}, "
            "which is 1 or more", op=op.name)
    shape = list(x.shape)
    shape[last] = length
    return one(tuple(shape), x.dtype.real)
