"""Rules of the optimizers' steps: numbers first, then the tensors of all parameters.

The tensors come kind by kind: all parameters, all gradients, then each kind of state. The
results are the new numbers of the state, the new parameters and the new state, in that order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import ArgumentError, ShapeError
from ...types import TensorType
from .shared import Attributes, Operands, Types, operand

if TYPE_CHECKING:
    from ..spec import OpDef


def _numbers(op: OpDef, types: Operands) -> int:
    """The number of operands that are numbers, before the tensors. Raises ShapeError."""
    count = len(op.operands) - 1
    for i in range(count):
        shape = operand(types, i).shape
        if shape != ():
            raise ShapeError(
                f"{op.name}: operand {op.operand_name(i)!r} has shape {shape}, expected () as a "
                "number has", op=op.name)
    return count


def _kinds(op: OpDef, types: Operands, kinds: int) -> list[tuple[TensorType, ...]]:
    """The tensors by kind. Raises ArgumentError if their number is not a multiple of ``kinds``."""
    start = _numbers(op, types)
    tensors = [operand(types, i) for i in range(start, len(types))]
    if not tensors or len(tensors) % kinds:
        raise ArgumentError(
            f"{op.name}: {len(tensors)} tensors were given, expected a positive multiple of "
            f"{kinds}: for every parameter itself, its gradient and its state", op=op.name)
    n = len(tensors) // kinds
    return [tuple(tensors[k * n:(k + 1) * n]) for k in range(kinds)]


def _alike(op: OpDef, kinds: list[tuple[TensorType, ...]]) -> None:
    """Raise ShapeError unless gradient and state have their parameter's shape."""
    for k, members in enumerate(kinds):
        for i, (t, p) in enumerate(zip(members, kinds[0], strict=True)):
            if t.shape != p.shape:
                raise ShapeError(
                    f"{op.name}: operand 'tensors[{k * len(members) + i}]' has shape {t.shape}, "
                    f"expected {p.shape} as its parameter 'tensors[{i}]' has", op=op.name)


def _results(op: OpDef, types: Operands, kinds: list[tuple[TensorType, ...]]) -> Types:
    """The state's numbers (the first operands, as the results are named), parameters, state."""
    state = op.signature.outputs.index("parameters")
    numbers = tuple([operand(types, i) for i in range(state)])
    rest = [t for members in (kinds[0], *kinds[2:]) for t in members]
    return (*numbers, *rest)


def aliased_by_step(op: OpDef, operands: int, results: int, result: int) -> int:
    """The operand whose new value a result of an optimizer's step is."""
    numbers = op.signature.outputs.index("parameters")
    if result < numbers:
        return result
    start = len(op.operands) - 1
    # the operands have one kind more than the results: the gradients, after the parameters
    parameters = (operands - start) - (results - numbers)
    place = result - numbers
    return start + place + (parameters if place >= parameters else 0)


def optimizer_step(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """All of a parameter's tensors have its shape; a kind of state for each result."""
    outputs, optional = op.signature.outputs, op.signature.optional_outputs
    state = len(outputs) - 1 - outputs.index("parameters")
    state -= sum(1 for name in optional.values() if not attrs[name])
    kinds = _kinds(op, types, 2 + state)
    _alike(op, kinds)
    return _results(op, types, kinds)


def step_adafactor(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """With ``factored`` the state is the variance of rows (..., m, 1) and columns (..., 1, n)."""
    if not attrs["factored"]:
        kinds = _kinds(op, types, 3)
        _alike(op, kinds)
        return _results(op, types, kinds)
    kinds = _kinds(op, types, 4)
    _alike(op, kinds[:2])
    n = len(kinds[0])
    for i, p in enumerate(kinds[0]):
        if p.ndim < 2:
            raise ShapeError(
                f"{op.name}: operand 'tensors[{i}]' has shape {p.shape}, expected two axes or more "
                "where attribute 'factored' is set", op=op.name)
        rows, columns = (*p.shape[:-1], 1), (*p.shape[:-2], 1, p.shape[-1])
        for k, shape in ((2, rows), (3, columns)):
            if kinds[k][i].shape != shape:
                raise ShapeError(
                    f"{op.name}: operand 'tensors[{k * n + i}]' has shape {kinds[k][i].shape}, "
                    f"expected {shape} for the parameter 'tensors[{i}]' of shape {p.shape}",
                    op=op.name)
    return _results(op, types, kinds)


def step_muon(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """Parameters are matrices; gradient and momentum have their shapes."""
    if len(attrs["coefficients"]) != 3:
        raise ArgumentError(
            f"{op.name}: attribute 'coefficients' is {attrs['coefficients']!r}, expected three "
            "numbers", op=op.name)
    if attrs["adjust"] not in ADJUSTMENTS:
        raise ArgumentError(
            f"{op.name}: attribute 'adjust' is {attrs['adjust']!r}, expected one of "
            f"{', '.join(map(repr, ADJUSTMENTS))}", op=op.name)
    kinds = _kinds(op, types, 3)
    for i, p in enumerate(kinds[0]):
        if p.ndim != 2:
            raise ShapeError(
                f"{op.name}: operand 'tensors[{i}]' has shape {p.shape}, expected a matrix",
                op=op.name)
    _alike(op, kinds)
    return _results(op, types, kinds)


ADJUSTMENTS = ("original", "match_rms_adamw")


def unscale(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """A number of the factor's type, then the tensors as they are."""
    kinds = _kinds(op, types, 1)
    return (operand(types, 0), *kinds[0])


def select_all(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """The tensors' first half, whose shapes the second half has."""
    kinds = _kinds(op, types, 2)
    _alike(op, kinds)
    return kinds[0]


def lbfgs_direction(op: OpDef, types: Operands, attrs: Attributes) -> Types:
    """A vector; the history is vectors like it, and a third as many numbers."""
    scale, gradient = operand(types, 0), operand(types, 1)
    if scale.shape != ():
        raise ShapeError(f"{op.name}: operand 'scale' has shape {scale.shape}, expected ()",
                         op=op.name)
    if gradient.ndim != 1:
        raise ShapeError(
            f"{op.name}: operand 'gradient' has shape {gradient.shape}, expected a vector",
            op=op.name)
    history = [operand(types, i) for i in range(2, len(types))]
    if len(history) % 3:
        raise ArgumentError(
            f"{op.name}: {len(history)} tensors of history were given, expected a multiple of 3",
            op=op.name)
    n = len(history) // 3
    for i, t in enumerate(history):
        expected = gradient.shape if i < 2 * n else ()
        if t.shape != expected:
            raise ShapeError(
                f"{op.name}: operand 'history[{i}]' has shape {t.shape}, expected {expected}",
                op=op.name)
    return (gradient,)
