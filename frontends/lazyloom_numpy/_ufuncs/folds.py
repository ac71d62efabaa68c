"""Reductions by any function of two operands: one op, by halves, or row after row."""

from __future__ import annotations

from typing import Any, Final

import lazyloom
from lazyloom.dtypes import DType

from .._arguments.convert import as_value, full_value, operand
from . import errstate
from .ufunc import cast_values, ufunc

record = lazyloom.record

#: associative ones that are reduced by halves
_BY_HALVES: Final = frozenset({
    "bitwise_and", "bitwise_or", "bitwise_xor", "fmax", "fmin", "gcd", "hypot", "logaddexp",
    "logaddexp2", "logical_xor", "maximum", "minimum"})  # fmt: skip


def reduced(
    function: ufunc, op: str | None, value: Any, axes: tuple[int, ...], keepdims: bool,
    identity: Any = None, initial: Any = None, mask: Any = None, d: DType | None = None,
) -> Any:  # fmt: skip
    """The function over axes of a Value in the loop's dtype, starting from ``initial``.

    Elements where a mask is false are left out; ``d`` is the result's dtype, if it is another.
    """
    shape = value.type.shape
    d = d or value.type.dtype
    kept = [i for i in range(len(shape)) if i not in axes]
    rest = tuple(shape[i] for i in kept)
    count = 1
    for i in axes:
        count *= shape[i]

    def in_front(x: Any) -> Any:
        x = record("transpose", (x,), {"axes": (*axes, *kept)})
        return record("reshape", (x,), {"shape": (count, *rest)})

    if mask is not None:
        mask = in_front(record("broadcast_to", (mask,), {"shape": shape}))
    value = in_front(value)
    first = None if initial is None else record(
        "broadcast_to", (as_value(operand(initial), d),), {"shape": rest})
    if count == 0:
        if identity is None and first is None:
            raise ValueError(
                f"zero-size array to reduction operation {function.__name__} which has no identity")
        value = first if first is not None else full_value(rest, identity, d)
    elif mask is not None or d is not value.type.dtype or op is None and (
        function.__name__ not in _BY_HALVES
    ):
        value = _by_rows(function, value, first, mask, d)
    else:
        if first is not None:
            row = record("reshape", (first,), {"shape": (1, *rest)})
            value = record("concatenate", (row, value), {"axis": 0})
        if function.__name__ in _BY_HALVES:
            value = _by_halves(function, value)
            value = record("reshape", (value,), {"shape": rest})
        else:
            before = value
            value = record("fold", (value,), {"function": op, "axis": 0})
            value = errstate.watch_reduction(before, value, (0,), False, "reduce")
    if keepdims:
        full = tuple(1 if i in axes else n for i, n in enumerate(shape))
        value = record("reshape", (value,), {"shape": full})
    return value


def _by_rows(function: ufunc, value: Any, total: Any, mask: Any, d: DType) -> Any:
    """Row after row, where the running result has another dtype or rows are left out."""
    rest = value.type.shape[1:]
    for i in range(value.type.shape[0]):
        row = record("reshape", (rows(value, i, i + 1),), {"shape": rest})
        if total is None:
            total = cast_values(row, d)
            continue
        following = function.compute_values([total, row])
        if mask is not None:
            taken = record("reshape", (rows(mask, i, i + 1),), {"shape": rest})
            following = record("where", (taken, following, total))
        total = following
    return total


def _by_halves(function: ufunc, value: Any) -> Any:
    count = value.type.shape[0]
    while count > 1:
        half = count // 2
        merged = function.compute_values([rows(value, 0, half), rows(value, half, 2 * half)])
        if count % 2:
            merged = record("concatenate", (merged, rows(value, 2 * half, count)), {"axis": 0})
        value, count = merged, half + count % 2
    return value


def rows(value: Any, start: int, stop: int) -> Any:
    """Part of a Value along axis 0."""
    shape = value.type.shape
    return record("slice", (value,), {
        "starts": (start,) + (0,) * (len(shape) - 1), "stops": (stop, *shape[1:]),
        "strides": (1,) * len(shape)})  # fmt: skip
