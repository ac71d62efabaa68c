"""How a value on a mesh is divided, as a constraint of the program that computes it."""

from __future__ import annotations

from ..ops.spec import lookup
from ..placements import Placement
from ..types import TensorType, whole_type
from .graph import Value
from .recording import record_spec
from .specs import Spec, spec_of


def place_spec(placement: Placement) -> Spec:
    """The spec of the op whose result lies where a placement says."""
    return spec_of(lookup("place"), {"placement": repr(placement)}, 1)


def constrained(value: Value, placement: Placement) -> Value:
    """A value on a mesh, divided over it as a placement on that mesh says."""
    result: Value = record_spec(place_spec(placement), [value])
    return result


def fitted(value: Value, t: TensorType) -> Value:
    """The value with a type that differs in how a mesh divides it; itself for any other type."""
    if value.type is t or whole_type(value.type) is not whole_type(t):
        return value
    now, then = value.type.placement, t.placement
    if now.mesh is None or now.mesh != then.mesh:
        return value
    return constrained(value, then)
