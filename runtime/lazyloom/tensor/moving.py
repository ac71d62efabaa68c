"""Values moved to other devices, and divided otherwise over a mesh."""

from __future__ import annotations

from typing import Any

from ..placements import Placement
from ..trace.constraints import constrained, place_spec, undivided
from ..trace.custom_derivatives import Custom
from ..trace.graph import DONE, Buffer, Value, leaf_value, trace
from ..trace.recording import record_spec
from ..types import TensorType, leaf_type


def placement_now(value: Value) -> Placement:
    """Where a value is or will be; if XLA chose how it is divided, this is known once it ran."""
    t = value.type
    node = value.node
    if not t.placement.is_propagated or node.state != DONE or node.buffers is None:
        return t.placement
    buffer = node.buffers[value.index]
    if buffer is None or buffer.placement is None:
        return t.placement
    return leaf_type(t, buffer.placement).placement


def moved(value: Value, placement: Placement) -> Value:
    """The value where a placement says, with the gradient going back to where it was."""
    now = value.type.placement
    if now is placement:
        return value
    if now.mesh is not None and now.mesh == placement.mesh:
        return constrained(value, placement)
    value = undivided(value)
    spec = place_spec(placement)
    data = _host_data(value)
    if data is not None:
        return leaf_value(spec.infer((value.type,))[0], Buffer(data, None, False))
    copied: Value = record_spec(spec, [value], True)
    if not copied.requires_grad:
        return copied

    def back(_result_of: Any, cotangents: list[Value | None]) -> list[Value | None]:
        cotangent = cotangents[0]
        return [None if cotangent is None else moved(cotangent, now)]

    def along(_result_of: Any, tangents: list[Value | None]) -> list[Value | None]:
        tangent = tangents[0]
        return [None if tangent is None else moved(tangent, placement)]

    # its operands and cotangents lie on different devices, so no op is its derivative
    with trace.lock:
        copied.node.rule = Custom("to_device", 0, back, along)
    return copied


def as_type(value: Value, t: TensorType) -> Value | None:
    """The value moved to where a type says; None if shape or dtype differ."""
    return moved(value, t.placement) if value.type.agrees(t) else None


def _host_data(value: Value) -> Any:
    """A copy of data that are on the host and were not uploaded yet; None for any other value."""
    node = value.node
    if value.requires_grad or node.state != DONE or node.buffers is None:
        return None
    buffer = node.buffers[value.index]
    host = None if buffer is None or buffer.checks is not None else buffer.host
    return None if host is None else host.copy()
