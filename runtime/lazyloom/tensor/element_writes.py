"""Writes of a number that the host has to elements of a small array whose data exist.

``x[i] = 0.5`` and ``x[1:3] = 0.5`` are done in a copy of the data, at once: recording it, and
running that later, takes several times as long. In a loop that fills a new array, the first few
are recorded, as a program that writes no more of them is compiled as a whole.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from .. import settings
from ..backends.data import device_view
from ..dtypes import DType
from ..evaluate.elements import has_data, is_watched
from ..evaluate.reading import element_number, materialize
from ..host import host_arrays
from ..trace import graph
from ..trace.graph import DONE, PENDING, Buffer, Node, Value
from ..trace.scalars import Scalar
from .contents import Contents, current, write, write_lock
from .elements import SMALL, element_place, place_below, starts_of
from .later import Later, holds, is_small, number_of, rounded
from .tensor import Tensor, known_index
from .views import index_key

#: writes that are recorded one after the other before what they make is computed
RECORDED: Final = 4
#: so many ops are looked through for them
DEEPEST: Final = 8
#: and for what is written
LONGEST: Final = 24
_LEFT_OUT: Final[bool] = "host_numbers" in settings.WITHOUT
_WRITE: Final = "dynamic_update_slice"


def write_element(tensor: Tensor, index: Any, value: Any, slices: bool = False) -> bool:
    """``tensor[index] = value`` at once; False, and nothing, if it has to be recorded.

    For an index of ints, with ``slices`` one of ints and slices as NumPy has them, too, and a
    number that the tensor's dtype has. The caller has checked that the tensor may be written to.
    """
    t = tensor.tensor_type
    if t.nbytes > SMALL or tensor.slow_path or tensor.detached or _LEFT_OUT:
        return False
    index = known_index(index)
    place = element_place(index, t.shape)
    steps = tensor.view_steps
    if place < 0 and (steps or not slices or not _is_part(index)):
        return False
    if not steps:
        whole = current(tensor)
        if place < 0:
            number = _fitting(value, t.dtype)
            return number is not None and _installed(
                tensor, whole, _changed_at(whole, index, number))
        if whole.node.state == PENDING:
            if whole.requires_grad or is_watched() or graph.trace.mapping or (
                settings.forbids_reads() or not _in_loop(whole.node)
            ):
                return False
            materialize(whole, "a loop writes elements")
        number = _fitting(value, t.dtype)
        if number is None:
            return False
        return _installed(tensor, whole, _changed(whole, place, number))
    storage = tensor._storage
    if not storage.writable or storage.overwritten is not None and (
        storage.value.node.state != DONE
    ):
        return False
    whole = storage.value
    if whole.type.nbytes > SMALL:
        return False
    number = _fitting(value, t.dtype)
    if number is None:
        return False
    place = place_below(steps, whole.type.shape, place)
    changed = None if place < 0 else _changed(whole, place, number)
    if changed is None:
        return False
    with write_lock(tensor):
        if storage.value is not whole:
            return False
        storage.replace(changed)
    return True


def _installed(tensor: Tensor, whole: Value, changed: Value | None) -> bool:
    """Write changed data to a tensor, if it still holds those that were changed."""
    if changed is None:
        return False
    with write_lock(tensor):
        if current(tensor) is not whole:
            # another thread wrote meanwhile
            return False
        write(tensor, changed)
    return True


def _is_part(index: Any) -> bool:
    """Whether an index is of ints and slices."""
    if type(index) is int:
        # a row: one of a vector would be an element, if there is one
        return True
    if type(index) is slice:
        return index_key(index) is not None
    if type(index) is not tuple or not index:
        return False
    for item in index:
        if type(item) is not slice and type(item) is not int:
            return False
    return index_key(index) is not None


def _changed(whole: Value, place: int, number: Any) -> Value | None:
    """The data with another number at ``place``; None where they do not exist yet."""
    return _changed_at(whole, starts_of(place, whole.type.shape), number)


def _changed_at(whole: Value, index: Any, number: Any) -> Value | None:
    if not has_data(whole):
        return None
    buffers = whole.node.buffers
    buffer = None if buffers is None else buffers[whole.index]
    if buffer is None or buffer.origin is not None and not buffer.origin.results_ready:
        return None
    t = whole.type
    host = buffer.host
    if host is None:
        array = buffer.array
        if array is None:
            return None
        host = device_view(array, t)
    data = host_arrays.copied(host, t.dtype.numpy)
    try:
        data[index] = number
    except IndexError:
        # the frontend has its library's error
        return None
    made = Buffer(data, None, False)
    made.written = True
    return graph.leaf_value(t, made)


def _fitting(value: Any, dtype: DType) -> Any:
    """The number that an element of a dtype would be; None where ops have to find out."""
    if isinstance(value, Contents):
        given = value.tensor_type
        if settings.forbids_reads() or given.shape or given.dtype is not dtype and (
            dtype.kind != "f" or given.dtype.kind not in "iu"
        ):
            return None
        later: Later | None = value._later
        if later is not None:
            value = number_of(later)
        else:
            known = current(value)
            value = element_number(known, 0) if has_data(known) else None
    elif isinstance(value, np.generic):
        if value.dtype.kind not in "fiub":
            return None
        value = value.item()
    kind = dtype.kind
    if kind == "f":
        if dtype.itemsize < 4 or not (type(value) is float or type(value) is int):
            return None
        if type(value) is int and not holds(dtype, value):
            return None
        number: Any = float(value)
        if dtype.itemsize == 4:
            # an infinite one is the same in all
            if number - number == 0.0:
                number = rounded(number)
            elif number != number:
                return None
        return None if number is None or is_small(number, dtype.itemsize) else number
    if kind == "b":
        return value if type(value) is bool else None
    if kind in "iu" and type(value) is int and holds(dtype, value):
        return value
    return None


def _in_loop(node: Node) -> bool:
    """Whether a pending array is what a loop has made that goes on to write elements.

    It has written several of them, one after the other: numbers of the program to an array that is
    new or has its data, or a few more that are computed of elements.
    """
    numbers = True
    for count in range(DEEPEST):
        spec = node.spec
        if spec is None or node.state != PENDING:
            return count >= RECORDED and numbers and node.state == DONE
        if spec.op.family != _WRITE:
            return count >= RECORDED and numbers and _is_constant(node)
        inputs = node.inputs
        if len(inputs) < 3:
            return False
        if not _is_constant(inputs[1]):
            numbers = False
            if not _of_elements(inputs[1]):
                return False
        below = inputs[0]
        if not isinstance(below, Node):
            return False
        node = below
    return True


def _of_elements(update: object) -> bool:
    """Whether what is written is computed of elements, and of nothing else."""
    left: list[object] = [update]
    for _ in range(LONGEST):
        if not left:
            return True
        node = left.pop()
        if isinstance(node, Scalar):
            continue
        if not isinstance(node, Node) or node.types[0].size != 1:
            return False
        spec = node.spec
        if spec is None or node.state != PENDING or spec.op.family == "dynamic_slice":
            continue
        left += node.inputs
    return not left


def _is_constant(node: object) -> bool:
    """Whether an operand is numbers of the program, filled into a shape."""
    for _ in range(3):
        if not isinstance(node, Node) or node.state != PENDING or node.spec is None:
            return False
        inputs = node.inputs
        if not inputs:
            return True
        below = inputs[0]
        if isinstance(below, Scalar):
            return len(inputs) == 1
        if len(inputs) != 1:
            return False
        node = below
    return False
