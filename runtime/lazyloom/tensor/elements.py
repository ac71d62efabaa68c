"""Elements that an index of ints names: where they lie, and the ops that take them."""

from __future__ import annotations

from typing import Any, Final

from ..ops.spec import lookup
from ..trace.graph import Value
from ..trace.specs import spec_of
from ..types import TensorType
from .views import Reshape, Slice, ViewStep

#: bytes of the largest array that the host makes or copies at once: in a microsecond
SMALL: Final = 1 << 14


def element_starts(index: Any, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Where the one element lies that an index of ints names; None for any other index.

    None, too, for an index out of bounds, and for arrays of one element, all of which it is.
    """
    count = len(shape)
    if type(index) is int:
        if count != 1:
            return None
        number: int = index
        if number < 0:
            number += shape[0]
        return (number,) if 0 <= number < shape[0] and shape[0] != 1 else None
    if type(index) is not tuple:
        return None
    items: tuple[Any, ...] = index
    if len(items) != count or count == 0:
        return None
    starts: list[int] = []
    single = True
    for axis, item in enumerate(items):
        if type(item) is not int:
            return None
        at: int = item
        size = shape[axis]
        if at < 0:
            at += size
        if not 0 <= at < size:
            return None
        if size != 1:
            single = False
        starts.append(at)
    return None if single else tuple(starts)


def element_place(index: Any, shape: tuple[int, ...]) -> int:
    """The position in row-major order of the element that an index of ints names.

    -1 for any other index, and for one out of bounds.
    """
    if type(index) is int:
        if len(shape) != 1:
            return -1
        number: int = index
        size = shape[0]
        if number < 0:
            number += size
        return number if 0 <= number < size else -1
    if type(index) is not tuple:
        return -1
    items: tuple[Any, ...] = index
    if len(items) != len(shape) or not shape:
        return -1
    place = 0
    for axis, item in enumerate(items):
        if type(item) is not int:
            return -1
        at: int = item
        size = shape[axis]
        if at < 0:
            at += size
        if not 0 <= at < size:
            return -1
        place = place * size + at
    return place


def starts_of(place: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Along each axis, the position of the element at ``place`` in row-major order."""
    starts = [0] * len(shape)
    axis = len(shape) - 1
    while axis >= 0:
        starts[axis] = place % shape[axis]
        place //= shape[axis]
        axis -= 1
    return tuple(starts)


def place_below(
    steps: tuple[ViewStep, ...], shape: tuple[int, ...], place: int
) -> int:
    """The position, in contents of that shape, of a view's element at ``place``; both count in
    row-major order. -1 where steps of other kinds than slices and reshapes come before."""
    shapes: list[tuple[int, ...]] = []
    for step in steps:
        shapes.append(shape)
        if isinstance(step, Slice):
            shape = step.sizes
        elif isinstance(step, Reshape):
            shape = step.shape
        else:
            return -1
    number = len(steps) - 1
    while number >= 0:
        step = steps[number]
        if isinstance(step, Slice):
            place = _below(step, shapes[number], place)
        number -= 1
    return place


def _below(step: Slice, shape: tuple[int, ...], place: int) -> int:
    found = 0
    factor = 1
    axis = len(shape) - 1
    while axis >= 0:
        size = step.sizes[axis]
        found += (step.starts[axis] + step.steps[axis] * (place % size)) * factor
        place //= size
        factor *= shape[axis]
        axis -= 1
    return found


_element_types: Final[dict[TensorType, TensorType]] = {}


def element_type(t: TensorType) -> TensorType:
    """The type of an element."""
    found = _element_types.get(t)
    if found is None:
        found = _element_types[t] = t.like((), t.dtype)
    return found


_NUMBER: Final = Reshape(())
#: by rank, the step to an element, whose specs all such steps have
_elements: Final[dict[int, Slice]] = {}


def element_steps(starts: tuple[int, ...]) -> tuple[ViewStep, ...]:
    """The steps to the element at that place, which is a view without dimensions."""
    count = len(starts)
    first = _elements.get(count)
    if first is None:
        ones = (1,) * count
        first = Slice(starts, ones, ones)
        first._reads = spec_of(lookup("dynamic_slice"), {"sizes": ones}, 1 + count)
        first._writes = spec_of(lookup("dynamic_update_slice"), None, 2 + count)
        _elements[count] = first
    step = Slice(starts, first.sizes, first.steps)
    step._reads = first._reads
    step._writes = first._writes
    return (step, _NUMBER)


def element_value(base: Value, starts: tuple[int, ...]) -> Value:
    """The element at that place, which has no dimensions."""
    value = base
    if base.type.size == 1:
        return _NUMBER.forward(base)
    for step in element_steps(starts):
        value = step.forward(value)
    return value
