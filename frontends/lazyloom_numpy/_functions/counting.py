"""Shapes that depend on data: how many, read as one number, and then where, on the device.

The count is a read whose reason the evaluation's record names; everything else stays on the
device, and a count that is as last time has the same programs as last time.
"""

from __future__ import annotations

from typing import Any

import numpy as onp

import lazyloom

from .._arguments import dtypes as dt

record = lazyloom.record


def number_from(value: Any, function: str) -> int:
    """A number that the shape of a function's result depends on; reads it."""
    return int(lazyloom.read_for_shape(value, function))


def count_true(value: Any, function: str) -> int:
    """How many elements of a Value are not zero; reads that."""
    if not value.type.size:
        return 0
    return number_from(record("count_nonzero", (value,)), function)


def flat_positions(value: Any, function: str) -> Any:
    """Where a Value is not zero, in row-major order (int64, 1-d); reads how often."""
    return record("flat_nonzero", (value,), {"size": count_true(value, function)})


def coordinates(flat: Any, shape: tuple[int, ...]) -> list[Any]:
    """One Value an axis for positions in a flattened array of that shape."""
    if len(shape) == 1:
        return [flat]
    found: list[Any] = []
    for axis in range(len(shape) - 1, -1, -1):
        n = dt.scalar(max(shape[axis], 1), dt.INT64)
        found.append(record("remainder", (flat, n)) if axis else flat)
        if axis:
            flat = record("floor_divide", (flat, n))
    return found[::-1]


def host_positions(mask: onp.ndarray[Any, Any]) -> list[Any]:
    """:func:`flat_positions` and :func:`coordinates` of a mask that is on the host."""
    return [lazyloom.from_host(i) for i in onp.nonzero(mask)]
