"""Values moved to other devices, and divided otherwise over a mesh."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..backends.data import scalar_of
from ..placements import Placement
from ..trace.constraints import place_spec, sent
from ..trace.graph import DONE, PENDING, Buffer, Node, Value, hold, leaf_value, trace
from ..trace.recording import record_spec
from ..trace.scalars import Scalar
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
    if now.mesh is None and now is not placement:
        data = _host_data(value)
        if data is not None:
            t = place_spec(placement).infer((value.type,))[0]
            return leaf_value(t, Buffer(data, None, False))
    return sent(value, placement)


#: how many ops a new value may be made of to be made again elsewhere
_OPS_OF_NEW: Final = 12


def made_at(value: Value, placement: Placement) -> Value:
    """A new value where a placement says, made there if it is nothing but numbers yet.

    That is one which was filled, counted or drawn a moment ago and which only the caller knows:
    its few ops are recorded again with their numbers on that device, and those on the default
    device end with it. Any other value is moved.
    """
    if placement.mesh is None and value.node.state == PENDING and not value.requires_grad:
        again = _made_again(value.node, value.index, placement, {})
        if again is not None:
            return again
    return moved(value, placement)


def _made_again(
    node: Node, index: int, placement: Placement, made: dict[Node, Any]
) -> Value | None:
    """A result of a node on another device, made of numbers there; None if it needs more."""
    if node.state == DONE:
        with trace.lock:
            value = hold(node, index, False)
        data = _host_data(value)
        spec = place_spec(placement)
        return None if data is None else leaf_value(
            spec.infer((value.type,))[0], Buffer(data, None, False))
    spec_of_node = node.spec
    if node.state != PENDING or spec_of_node is None or node.tracked or node.rule is not None or (
        spec_of_node.effect or spec_of_node.shared or spec_of_node.placement is not None
        or len(made) >= _OPS_OF_NEW or not node.inputs
    ):
        return None
    if node not in made:
        operands: list[Any] = []
        elsewhere = False
        for position, operand in enumerate(node.inputs):
            again: Any = operand
            if isinstance(operand, Node):
                at = 0 if node.indices is None else node.indices[position]
                again = _made_again(operand, at, placement, made)
                if again is None:
                    return None
                elsewhere = True
            operands.append(again)
        if not elsewhere:
            for position, operand in enumerate(operands):
                if isinstance(operand, Scalar):
                    operands[position] = _number_at(operand, placement)
        made[node] = record_spec(spec_of_node, operands, node.boundary)
    results = made[node]
    found: Value = results[index] if isinstance(results, tuple) else results
    return found


def _number_at(number: Scalar, placement: Placement) -> Value:
    """A scalar as a 0-d value on a device."""
    kind = number.type.dtype
    data = np.empty((), kind.numpy)
    data[...] = scalar_of(number.number, kind)
    t = place_spec(placement).infer((number.type,))[0]
    return leaf_value(t, Buffer(data, None, False))


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
