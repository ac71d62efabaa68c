"""Bounds checks of indices, recorded with them and examined before dependent reads.

If bounds of indices are known without running anything (:func:`lazyloom.known_bounds`), a frontend
checks them itself, at the call.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ..errors import IndexRangeError
from ..ops.spec import lookup
from ..trace.graph import Value
from ..trace.recording import record_one, record_spec
from ..trace.specs import Spec, spec_of
from .host import hidden_range


def check_indices(
    value: Value, size: int, axis: int | None, of: str, negative: bool = True,
    ignore_index: int | None = None,
) -> Value:
    """Integers that are used as positions on an axis of that size, checked when they are used.

    Reading anything that depends on the result raises IndexRangeError if one of them is not in
    ``-size .. size - 1``, or without ``negative`` in ``0 .. size - 1``. With ``ignore_index`` they
    are labels, which may be that number or in ``0 .. size - 1``. The result is the value itself if
    its dtype holds no other number. ``size`` is positive; ``axis`` (None: of the flattened tensor)
    and ``of``, the name of the op, are for the error.

    Raises IndexRangeError at once if, while a call is recorded to run again, it is already known.

    Example:

        >>> computed = lazyloom.record("cumsum", [lazyloom.from_host([2, 3])], {"axis": 0})
        >>> checked = lazyloom.check_indices(computed, 5, 0, "take")  # 2 and 5, for 5 elements
        >>> try:
        ...     checked.read()
        ... except lazyloom.errors.IndexRangeError as error:
        ...     print(error.op)
        take
    """
    bounds = hidden_range(value)
    if bounds is not None:
        least = -size if negative and ignore_index is None else 0
        for end in bounds:
            if not least <= end < size and end != ignore_index:
                place = "" if axis is None else f"axis {axis} with "
                raise IndexRangeError(f"{of}: index {end} is out of bounds for {place}size {size}")
    key = (size, axis, of, negative, ignore_index, value.type.dtype.name)
    specs = _specs.get(key)
    if specs is None:
        specs = _specs[key] = _specs_for(value, size, axis, of, negative, ignore_index)
    if not specs:
        return value
    checked: Value = record_spec(specs[1], (value, record_one(specs[0], value)))[0]
    return checked


#: the specs that are recorded; () if the dtype holds no index out of range
_specs: Final[
    dict[tuple[int, int | None, str, bool, int | None, str], tuple[Spec, ...]]] = {}


def _specs_for(
    value: Value, size: int, axis: int | None, of: str, negative: bool, ignore_index: int | None
) -> tuple[Spec, ...]:
    limits = np.iinfo(value.type.dtype.numpy)
    labels = ignore_index is not None
    if limits.min >= (-size if negative and not labels else 0) and limits.max < size:
        return ()
    attributes = {"kind": "index", "of": of, "info": (-1 if axis is None else axis, size)}
    first = spec_of(
        lookup("first_invalid_label"), {"size": size, "ignore_index": ignore_index}, 1
    ) if labels else spec_of(
        lookup("first_out_of_range"), {"size": size, "negative": negative}, 1)
    return (
        first,
        spec_of(lookup("checked"), attributes, 2))
