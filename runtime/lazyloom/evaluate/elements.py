"""Elements of data that exist, looked up where an op that takes one would be run for it.

``x[i]`` records two ops, a slice and a reshape. Where ``x`` has its data in the host's memory, and
all that a program wants of these ops is the number, they need not run: it is in that memory.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from .. import foreign, settings
from ..backends.selection import backend
from ..interrupts import reraise_from_handler
from ..trace import graph
from ..trace.graph import DONE, PENDING, Buffer, Input, Node, Value
from ..trace.scalars import Scalar
from ..types import TensorType
from .reading import blind, held_back

#: so many ops are looked through
DEEPEST: Final = 8
_FAMILY: Final = "dynamic_slice"
_ORDERED: Final = "reshape"


def element(value: Value) -> Value | None:
    """The only element of a pending value as a value of its own; None if it has to be computed.

    It is one of data in the host's memory, of which the value is a slice, by way of nothing but
    slices and reshapes through which no gradient flows.
    """
    node = value.node
    place = 0
    depth = 0
    while node.state == PENDING:
        spec = node.spec
        if spec is None or node.indices is not None or node.tracked or node.boundary or (
            depth == DEEPEST
        ):
            return None
        # another thread may run the node meanwhile, and take its operands away
        inputs = node.inputs
        below = inputs[0] if inputs else None
        if not isinstance(below, Node) or len(below.types) != 1:
            return None
        if spec.op.family == _FAMILY:
            place = _place_below(place, inputs, node.types[0].shape, below.types[0].shape)
            if place < 0:
                return None
        elif spec.op.access.layout != _ORDERED:
            return None
        node = below
        depth += 1
    buffers = node.buffers
    if node.state != DONE or buffers is None or not depth or held_back or blind or (
        foreign.inside[0] or settings.forbids_reads()
    ):
        return None
    buffer = buffers[0]
    data: Any = None if buffer is None else _data(buffer)
    if data is None:
        return None
    t = value.type
    return graph.leaf_value(
        t, Buffer(np.asarray(data.take(place)).reshape(t.shape), None, False))


def is_watched() -> bool:
    """Whether a call is recorded to be captured, in which reads are watched."""
    return bool(held_back or blind)


def has_data(value: Value) -> bool:
    """Whether a value's data exist, and an element of them can be looked up without an op.

    They are in the host's memory, perhaps still being computed, and no gradient flows.
    """
    node = value.node
    if node.state != DONE or held_back or blind or graph.trace.mapping or foreign.inside[0] or (
        value.requires_grad
    ):
        return False
    buffers = node.buffers
    buffer = None if buffers is None else buffers[value.index]
    return buffer is not None and buffer.checks is None and (
        buffer.host is not None or backend().is_host() and not value.type.placement.is_divided)


def number_leaf(number: Any, t: TensorType) -> Value:
    """A value whose data is that number, which an element of that type had."""
    return graph.leaf_value(t, Buffer(np.array(number, t.dtype.numpy), None, False))


def _data(buffer: Buffer) -> Any:
    """A buffer's data where they are in the host's memory and nothing says that they are wrong."""
    if buffer.checks is not None:
        return None
    origin = buffer.origin
    if origin is not None and not origin.results_ready:
        return None
    # an upload sets ``array`` before it clears ``host``
    host = buffer.host
    array = buffer.array
    if host is not None or array is None or not backend().is_host():
        return host
    try:
        return backend().host_view(array)
    except Exception as error:
        reraise_from_handler(error)
        # a run in another thread took it meanwhile, or it failed: the read finds out
        return None


def _place_below(
    place: int, inputs: tuple[Input, ...], sizes: tuple[int, ...], shape: tuple[int, ...]
) -> int:
    """The position, in the operand of a slice, of the slice's element at ``place``.

    Positions count elements in row-major order. -1 where a start is not a number yet. As in the
    op's definition, a negative start counts from the end, and one out of bounds is clamped.
    """
    found = 0
    factor = 1
    axis = len(shape) - 1
    while axis >= 0:
        scalar = inputs[1 + axis]
        if not isinstance(scalar, Scalar):
            return -1
        number: Any = scalar.number
        if type(number) is not int:
            return -1
        start: int = number
        if start < 0:
            start += shape[axis]
        last = shape[axis] - sizes[axis]
        if start > last:
            start = last
        elif start < 0:
            start = 0
        found += (start + place % sizes[axis]) * factor
        place //= sizes[axis]
        factor *= shape[axis]
        axis -= 1
    return found
