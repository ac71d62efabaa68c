"""Extents that a program marks as dynamic, with their bounds."""

from __future__ import annotations

import operator
from typing import Any

from ..errors import ArgumentError
from ..execute.padded import extent_marks
from ..execute.padded.extent_marks import Mark
from ..trace.graph import Buffer, Value
from .reading import materialize


def _axis(value: Value, axis: Any, function: str) -> int:
    ndim = len(value.type.shape)
    number = _integer(axis)
    if number is None or not -ndim <= number < ndim:
        raise ArgumentError(
            f"{function}: axis {axis!r} of {value.type.text}, expected an integer from {-ndim} to "
            f"{ndim - 1}")
    return number % ndim


def _integer(x: Any) -> int | None:
    """An integer of Python, NumPy or any other exact type as an int; None if it is not one."""
    if isinstance(x, bool):
        return None
    try:
        return operator.index(x)
    except TypeError:
        return None


def _bound(name: str, bound: Any) -> int | None:
    if bound is None:
        return None
    number = _integer(bound)
    if number is None or number < 1:
        raise ArgumentError(
            f"mark_dynamic: {name} is {bound!r}, expected an integer of at least 1, or None")
    return number


def mark_dynamic(value: Value, axis: int, low: int | None, high: int | None) -> None:
    """Mark an extent as dynamic; see :func:`lazyloom.mark_dynamic`. Raises ArgumentError."""
    axis = _axis(value, axis, "mark_dynamic")
    low, high = _bound("min", low), _bound("max", high)
    extent = value.type.shape[axis]
    expected = ""
    if low is not None and extent < low:
        expected = f"at least min={low}"
    elif high is not None and extent > high:
        expected = f"at most max={high}"
    if expected:
        raise ArgumentError(
            f"mark_dynamic: axis {axis} of {value.type.text} has {extent} elements, expected "
            f"{expected}; give the bounds of all extents that it will have")
    _set(materialize(value, "mark_dynamic"), axis, Mark(True, low, high))


def mark_static(value: Value, axis: int | None) -> None:
    """Mark one extent or all as part of programs; see :func:`lazyloom.mark_static`.

    Raises ArgumentError.
    """
    axes = range(len(value.type.shape)) if axis is None else [_axis(value, axis, "mark_static")]
    buffer = materialize(value, "mark_static")
    for each in axes:
        _set(buffer, each, Mark(False, None, None))


def _set(buffer: Buffer, axis: int, mark: Mark) -> None:
    extent_marks.used = True
    buffer.marks = {**(buffer.marks or {}), axis: mark}
