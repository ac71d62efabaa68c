"""Where a value lies: how it is divided over its mesh, and its way to other devices."""

from __future__ import annotations

from typing import Final

from ..ops.spec import lookup
from ..placements import DEFAULT_PLACEMENT, Placement, along_new_axis, whole_on
from ..types import TensorType
from .custom_derivatives import Custom
from .graph import Value, trace
from .recording import record_spec
from .specs import Spec, spec_of


def place_spec(placement: Placement) -> Spec:
    """The spec of the op whose result lies where a placement says."""
    return spec_of(lookup("place"), {"placement": placement.text}, 1)


def constrained(value: Value, placement: Placement) -> Value:
    """The value where a placement says: on a mesh where it is already, a constraint.

    From the default device it goes along with what is computed there. For other moves there is
    :func:`sent`.
    """
    result: Value = record_spec(place_spec(placement), [value])
    return result


def sent(value: Value, placement: Placement) -> Value:
    """A copy of the value where a placement says, made once the value is computed; the gradient
    goes back. On a mesh where it is already, a constraint.
    """
    now = value.type.placement
    if now is placement:
        return value
    if now.mesh is not None and now.mesh == placement.mesh:
        return constrained(value, placement)
    value = undivided(value)
    copied: Value = record_spec(place_spec(placement), [value], True)
    if copied.requires_grad:
        # its operands and cotangents lie on different devices, so no op is its derivative
        with trace.lock:
            copied.node.rule = _Move(now, placement).rule()
    return copied


class _Move:
    """The derivatives of a move: cotangents go back, tangents go along."""

    def __init__(self, source: Placement, target: Placement) -> None:
        self.source: Final = source
        self.target: Final = target

    def rule(self) -> Custom:
        return Custom("to_device", 0, self.back, self.along, None, _nothing, None, self.mapped)

    def back(self, _result_of: object, cotangents: list[Value | None]) -> list[Value | None]:
        return [None if c is None else sent(c, self.source) for c in cotangents]

    def along(self, _result_of: object, tangents: list[Value | None]) -> list[Value | None]:
        return [None if t is None else sent(t, self.target) for t in tangents]

    def mapped(self) -> Custom:
        """The rule of a move of values along a new first axis."""
        return _Move(along_new_axis(self.source), along_new_axis(self.target)).rule()


def _nothing() -> list[Value]:
    """What a rule keeps that uses no values of the forward pass."""
    return []


def undivided(value: Value) -> Value:
    """The value with all of its data in each process: gathered, if other processes have parts."""
    placement = value.type.placement
    return constrained(value, whole_on(placement)) if placement.is_divided else value


def fitted(value: Value, t: TensorType) -> Value:
    """The value where a type of its shape and dtype lies; itself for any other type."""
    if value.type is t or not value.type.agrees(t):
        return value
    if value.type.placement is DEFAULT_PLACEMENT:
        return constrained(value, t.placement)
    return sent(value, t.placement)
