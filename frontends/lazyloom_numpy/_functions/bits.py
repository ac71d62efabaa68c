"""Bits packed into bytes and back."""

from __future__ import annotations

from typing import Any

import lazyloom
from lazyloom.errors import type_name

from .._arguments import dtypes as dt
from .._arguments.convert import value_of
from .._array.ndarray import ndarray
from .manipulation import moveaxis

record = lazyloom.record
_UINT8 = dt.internal("uint8")


def _axis_last(a: Any, axis: Any, name: str) -> tuple[ndarray, int]:
    """The array with the axis at the end (flattened for None), and the axis's place."""
    x = ndarray.from_value(value_of(a))
    if x.dtype.kind not in "biu" or (name == "unpackbits" and x.type.dtype is not _UINT8):
        expected = "an array of integer or boolean data type" if name == "packbits" else (
            "an unsigned byte data type")
        raise TypeError(f"{name}: expected an input of {expected}, got {x.dtype}")
    if axis is None:
        return x.reshape(-1), 0
    if not x.ndim:
        x = x.reshape(1)
    position = dt.normalize_axis(axis, x.ndim)
    return moveaxis(x, position, -1), position


def _order(bitorder: str) -> bool:
    """Whether the first bit is the highest."""
    if not isinstance(bitorder, str):
        raise TypeError("bitorder must be str, not " + type_name(bitorder))
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    return bitorder == "big"


def _shifts(high_first: bool) -> Any:
    steps = record("iota", (), {"shape": (8,), "axis": 0, "dtype": _UINT8})
    return record("subtract", (dt.scalar(7, _UINT8), steps)) if high_first else steps


def packbits(a: Any, /, axis: Any = None, bitorder: str = "big") -> ndarray:
    """Eight elements, zero or not, in each uint8, the last filled up with zeros.

    See ``numpy.packbits``.
    """
    high_first = _order(bitorder)
    x, position = _axis_last(a, axis, "packbits")
    n = x.shape[-1]
    count = -(-n // 8)
    bits = record("not_equal", (x.value, dt.scalar(0, x.type.dtype)))
    bits = record("cast", (bits,), {"dtype": _UINT8})
    none = (0,) * (x.ndim - 1)
    bits = record("pad", (bits, dt.scalar(0, _UINT8)), {
        "low": (*none, 0), "high": (*none, 8 * count - n), "interior": (*none, 0)})  # fmt: skip
    bits = record("reshape", (bits,), {"shape": (*x.shape[:-1], count, 8)})
    placed = record("shift_left", (bits, _shifts(high_first)))
    packed = record("sum", (placed,), {"axes": (x.ndim,), "keepdims": False, "dtype": _UINT8})
    return moveaxis(ndarray.from_value(packed), -1, position).copy()


def unpackbits(a: Any, /, axis: Any = None, count: Any = None, bitorder: str = "big") -> ndarray:
    """The bits of each uint8 as elements 0 and 1; ``count`` cuts or adds zeros.

    A negative count leaves that many out at the end. See ``numpy.unpackbits``.
    """
    high_first = _order(bitorder)
    x, position = _axis_last(a, axis, "unpackbits")
    total = 8 * x.shape[-1]
    if count is not None and count < -total:
        raise ValueError(f"-count {-count} is larger than the number of elements {total}")
    wide = record("reshape", (x.value,), {"shape": (*x.shape, 1)})
    bits = record("bitwise_and", (record("shift_right", (wide, _shifts(high_first))),
                                  dt.scalar(1, _UINT8)))  # fmt: skip
    bits = record("reshape", (bits,), {"shape": (*x.shape[:-1], total)})
    result = ndarray.from_value(bits)
    if count is not None:
        wanted = total + count if count < 0 else count
        if wanted > total:
            none = (0,) * (x.ndim - 1)
            result = ndarray.from_value(record("pad", (bits, dt.scalar(0, _UINT8)), {
                "low": (*none, 0), "high": (*none, wanted - total),
                "interior": (*none, 0)}))  # fmt: skip
        else:
            result = result[..., :wanted]
    return moveaxis(result, -1, position).copy()
