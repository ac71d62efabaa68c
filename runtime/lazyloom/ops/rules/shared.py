"""Checks of operands and attributes that the rules of all families share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...dtypes import (
    DType,
    complex64,
    complex128,
    float64,
)
from ...errors import ArgumentError, ShapeError
from ...types import TensorType, tensor_type

if TYPE_CHECKING:
    from ..spec import OpDef

Types = tuple[TensorType, ...]
Operands = Sequence[TensorType | None]
Attributes = Mapping[str, Any]
Shape = tuple[int, ...]


def one(shape: Shape, dtype: DType) -> Types:
    """The types of an op with one result."""
    return (tensor_type(shape, dtype),)


def operand(types: Operands, position: int) -> TensorType:
    """The type of an operand that is not optional."""
    type_ = types[position]
    assert type_ is not None
    return type_


def broadcast_shapes(op: OpDef, types: Operands, positions: Sequence[int] | None = None) -> Shape:
    """The shape that operands broadcast to, by NumPy's rules; absent ones are skipped.

    ``positions`` names the operands that take part, all by default. Raises ShapeError.
    """
    shape: Shape | None = None
    mixed = False
    where = range(len(types)) if positions is None else positions
    for i in where:
        t = types[i] if i < len(types) else None
        if t is None:
            continue
        if shape is None:
            shape = t.shape
        elif t.shape != shape:
            mixed = True
            break
    if not mixed:
        return () if shape is None else shape
    present = [(i, types[i]) for i in where if i < len(types)]
    ndim = max(len(t.shape) for _, t in present if t is not None)
    dims = [1] * ndim
    owner = [""] * ndim
    for i, t in present:
        if t is None:
            continue
        offset = ndim - len(t.shape)
        for j, d in enumerate(t.shape):
            k = offset + j
            if d == 1 or d == dims[k]:
                continue
            if dims[k] != 1:
                named = ", ".join(
                    f"{op.operand_name(n)} {m.shape}" for n, m in present if m is not None)
                raise ShapeError(
                    f"{op.name}: shapes {named} do not broadcast: axis {k - ndim} has size "
                    f"{dims[k]} in {owner[k]!r} and {d} in {op.operand_name(i)!r}; expected equal "
                    "sizes or 1, reshape one of them", op=op.name)
            dims[k] = d
            owner[k] = op.operand_name(i)
    return tuple(dims)


def normalize_axis(op: OpDef, name: str, axis: int, ndim: int) -> int:
    """The axis counted from 0. Raises ArgumentError, naming the attribute ``name``."""
    if -ndim <= axis < ndim:
        return axis + ndim if axis < 0 else axis
    if ndim == 0:
        raise ArgumentError(
            f"{op.name}: attribute {name!r} has {axis}, but the operand is 0-d and has no axis",
            op=op.name)
    raise ArgumentError(
        f"{op.name}: attribute {name!r} has {axis}, expected {-ndim} to {ndim - 1} "
        f"for an operand with {ndim} {'axis' if ndim == 1 else 'axes'}", op=op.name)


def normalize_axes(op: OpDef, name: str, axes: Sequence[int] | None, ndim: int) -> Shape:
    """Axes counted from 0, in the order given; all of them for None.

    Raises ArgumentError for an axis out of range or named twice.
    """
    if axes is None:
        return tuple(range(ndim))
    normalized = tuple([normalize_axis(op, name, a, ndim) for a in axes])
    if len(set(normalized)) != len(normalized):
        raise ArgumentError(
            f"{op.name}: attribute {name!r} is {tuple(axes)}, which names an axis twice; expected "
            "distinct axes", op=op.name)
    return normalized


def check_sizes(op: OpDef, name: str, sizes: Sequence[int]) -> Shape:
    """Sizes of a shape attribute. Raises ArgumentError for a negative one."""
    for s in sizes:
        if s < 0:
            raise ArgumentError(
                f"{op.name}: attribute {name!r} is {tuple(sizes)}, expected sizes of 0 or more",
                op=op.name)
    return tuple(sizes)


def check_at_least(op: OpDef, name: str, value: int, least: int) -> int:
    """An integer attribute with a lower bound. Raises ArgumentError."""
    if value < least:
        raise ArgumentError(
            f"{op.name}: attribute {name!r} is {value}, expected {least} or more", op=op.name)
    return value


def check_choice(op: OpDef, name: str, value: str, choices: Sequence[str]) -> str:
    """A string attribute that is one of several words. Raises ArgumentError."""
    if value not in choices:
        raise ArgumentError(
            f"{op.name}: attribute {name!r} is {value!r}, expected one of "
            f"{', '.join(map(repr, choices))}", op=op.name)
    return value


def check_ndim(op: OpDef, types: Operands, position: int, ndim: int) -> TensorType:
    """An operand of exactly that number of axes. Raises ShapeError."""
    t = operand(types, position)
    if len(t.shape) != ndim:
        expected = "a 0-d operand" if ndim == 0 else f"{ndim} {'axis' if ndim == 1 else 'axes'}"
        raise ShapeError(
            f"{op.name}: operand {op.operand_name(position)!r} has shape {t.shape}, expected "
            f"{expected}", op=op.name)
    return t


def reduced_shape(shape: Shape, axes: Shape, keepdims: bool) -> Shape:
    """A shape with the axes (counted from 0) removed, or left with size 1."""
    if keepdims:
        return tuple([1 if i in axes else d for i, d in enumerate(shape)])
    return tuple([d for i, d in enumerate(shape) if i not in axes])


def complex_of(dtype: DType) -> DType:
    """The complex type of the same precision, single for half precision."""
    return complex128 if dtype is float64 or dtype is complex128 else complex64


def variable_dtype(op: OpDef, types: Operands) -> DType:
    """The dtype of the operands annotated ``T``."""
    for i, t in enumerate(types):
        if t is not None and op.operands[min(i, len(op.operands) - 1)].classes == "T":
            return t.dtype
    return operand(types, 0).dtype
