"""Whether indices are in range.

Indices that are known on the host raise at the call, as in NumPy. What the device computes is
known only when its program has run: then a flag goes with it (``lazyloom.register_check``), and
reading anything that depends on an index out of range raises the IndexError.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as onp

import lazyloom


def out_of_bounds(bad: Any, size: int, axis: int | None) -> NoReturn:
    """Raise NumPy's error for an index."""
    place = "" if axis is None else f"axis {axis} with "
    raise IndexError(f"index {bad} is out of bounds for {place}size {size}")


def check_host(host: onp.ndarray[Any, Any], size: int, axis: int | None) -> None:
    """IndexError for the first of some indices on the host that is out of range."""
    if host.size and (host.min() < -size or host.max() >= size):
        out_of_bounds(host[(host < -size) | (host >= size)].flat[0], size, axis)


def check(value: Any, size: int, axis: int | None, of: str) -> Any:
    """The indices (a Value of integers), checked against the size of an axis.

    Raises IndexError at once where the indices came from the host; else the Value returned
    raises it when something that depends on it is read.
    """
    if not value.type.size:
        return value
    bounds = lazyloom.known_bounds(value)
    if bounds is not None and -size <= bounds[0] and bounds[1] < size:
        return value
    known = lazyloom.known_range(value)
    if known is not None:
        out_of_bounds(known[0] if known[0] < -size else known[1], size, axis)
    if size == 0:
        place = "" if axis is None else f"axis {axis} with "
        raise IndexError(f"indices are out of bounds for {place}size 0")
    return lazyloom.check_indices(value, size, axis, of)
