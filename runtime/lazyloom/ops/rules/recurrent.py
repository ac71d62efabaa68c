"""Rules of recurrent layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import ShapeError
from ...types import TensorType, tensor_type
from .shared import Attributes, Operands, Shape, Types, check_choice, operand

if TYPE_CHECKING:
    from ..spec import OpDef


def _check(op: OpDef, types: Operands, position: int, shape: Shape, meaning: str) -> None:
    t = types[position] if position < len(types) else None
    if t is not None and t.shape != shape:
        raise ShapeError(
            f"{op.name}: operand {op.operand_name(position)!r} has shape {t.shape}, expected "
            f"{shape}, {meaning}", op=op.name)


def _input(op: OpDef, types: Operands) -> tuple[TensorType, Shape]:
    """The type of ``x``, and its shape: steps, at least one, batch and features."""
    x = operand(types, 0)
    if x.ndim != 3 or x.shape[0] == 0:
        raise ShapeError(
            f"{op.name}: operand 'x' has shape {x.shape}, expected 3 axes (steps, batch, "
            "features) and 1 step or more", op=op.name)
    return x, x.shape


def _state(op: OpDef, types: Operands, position: int, batch: int) -> int:
    """The size of a first state, which is (batch, size)."""
    t = operand(types, position)
    if t.ndim != 2 or t.shape[0] != batch:
        raise ShapeError(
            f"{op.name}: operand {op.operand_name(position)!r} has shape {t.shape}, expected "
            f"({batch}, size) for the {batch} sequences of operand 'x'", op=op.name)
    return t.shape[1]


def _weights(op: OpDef, types: Operands, first: int, gates: int, features: int, hidden: int,
             ) -> None:  # fmt: skip
    _check(op, types, first, (gates, features), "the gates and the features of operand 'x'")
    _check(op, types, first + 1, (gates, hidden), "the gates and the size of operand 'h'")
    for i in (first + 2, first + 3):
        _check(op, types, i, (gates,), "a number for each gate")


def _simple(op: OpDef, types: Operands, factor: int) -> Types:
    x, (steps, batch, features) = _input(op, types)
    size = _state(op, types, 1, batch)
    _weights(op, types, 2, factor * size, features, size)
    _check(op, types, 6, (batch,), "a number for each sequence of operand 'x'")
    return (tensor_type((steps, batch, size), x.dtype), tensor_type((batch, size), x.dtype))


def rnn(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """States of all steps, then the last one; gates are as many as the state is large."""
    check_choice(op, "activation", attrs["activation"], ("tanh", "relu"))
    return _simple(op, types, 1)


def gru(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """States of all steps, then the last one; three gates."""
    return _simple(op, types, 3)


def lstm(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Hidden states of all steps, then the last hidden state and cell; four gates."""
    x, (steps, batch, features) = _input(op, types)
    hidden, size = _state(op, types, 1, batch), _state(op, types, 2, batch)
    _weights(op, types, 3, 4 * size, features, hidden)
    project = types[7] if len(types) > 7 else None
    if project is None and hidden != size:
        raise ShapeError(
            f"{op.name}: operands 'h' {operand(types, 1).shape} and 'c' {operand(types, 2).shape} "
            "differ in size, expected the same without operand 'w_project'", op=op.name)
    _check(op, types, 7, (hidden, size), "the sizes of operands 'h' and 'c'")
    _check(op, types, 8, (batch,), "a number for each sequence of operand 'x'")
    return (tensor_type((steps, batch, hidden), x.dtype), tensor_type((batch, hidden), x.dtype),
            tensor_type((batch, size), x.dtype))
