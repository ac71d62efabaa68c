"""How a value on a mesh is divided, as a constraint of the program that computes it."""

from __future__ import annotations

from ..ops.spec import lookup
from ..placements import Placement, whole_on
from ..types import TensorType
from .graph import Value
from .recording import record_spec
from .specs import Spec, spec_of


def place_spec(placement: Placement) -> Spec:
    """The spec of the op whose result lies where a placement says."""
    return spec_of(lookup("place"), {"placement": repr(placement)}, 1)


def constrained(value: Value, placement: Placement) -> Value:
    """The value where a placement says: on a mesh where it is already, a constraint."""
    result: Value = record_spec(place_spec(placement), [value])
    return result


def undivided(value: Value) -> Value:
    """The value with all of its data in each process: gathered, if other processes have parts."""
    placement = value.type.placement
    return constrained(value, whole_on(placement)) if placement.is_divided else value


def fitted(value: Value, t: TensorType) -> Value:
    """The value where a type of its shape and dtype lies; itself for any other type."""
    if value.type is t or not value.type.agrees(t):
        return value
    return constrained(value, t.placement)
