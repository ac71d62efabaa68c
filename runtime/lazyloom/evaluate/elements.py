"""Elements of data that exist, looked up where an op that takes one would be run for it.

``x[i]`` records two ops, a slice and a reshape. Where ``x`` has its data in the host's memory, and
all that a program wants of these ops is the number, they need not run: it is in that memory.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from .. import foreign, settings
from ..backends.data import host_memory
from ..backends.selection import backend
from ..trace import graph
from ..trace.graph import DONE, PENDING, Buffer, Input, Node, Value
from ..trace.scalars import Scalar
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
    if buffer is None or not _is_there(buffer):
        return None
    t = value.type
    found = np.asarray(host_memory(buffer).take(place)).reshape(t.shape)
    return graph.leaf_value(t, Buffer(found, None, False))


def _is_there(buffer: Buffer) -> bool:
    """Whether a buffer's data are in the host's memory, and nothing says that they are wrong."""
    if buffer.checks is not None:
        return False
    origin = buffer.origin
    if origin is not None and not origin.results_ready:
        return False
    return buffer.host is not None or (buffer.array is not None and backend().is_host())


def _place_below(
    place: int, inputs: tuple[Input, ...], sizes: tuple[int, ...], shape: tuple[int, ...]
) -> int:
    """Which element of what a slice is of its element number ``place`` is; -1 if not known yet.

    As the op has it, a negative start counts from the end, and one outside is moved.
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
