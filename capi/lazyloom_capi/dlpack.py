"""The entries of DLPack: tensors in the memory of other libraries, and ours for them."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from _lazyloom_abi import ffi  # type: ignore[import-not-found]

import lazyloom
from lazyloom.errors import ArgumentError, ShapeError
from lazyloom.frontend import look

from . import capture, handles
from .handles import EXPORT
from .serving import give, located, value_of

#: the largest number of bytes, or place, that memory can have
_LARGEST: Final = 2**63 - 1


@located
def loomp_from_dlpack(
    data: Any, offset: int, dtype: int, shape: Any, strides: Any, ndim: int, copy: int,
    deleter: Any, managed: Any, result: Any,
) -> int:  # fmt: skip
    dims = tuple(ffi.unpack(shape, ndim)) if ndim else ()
    if any(d < 0 for d in dims):
        raise ShapeError(
            f"loom_tensor_from_dlpack: shape {dims} has a negative dimension, expected none")
    element = lazyloom.dtypes.dtype_indexed(dtype)
    steps = _row_major(dims) if strides == ffi.NULL or not ndim else ffi.unpack(strides, ndim)
    steps = [step * element.itemsize for step in steps]
    moves = [(d - 1) * step for d, step in zip(dims, steps, strict=True)]
    low = offset + sum(m for m in moves if m < 0)
    size = sum(abs(m) for m in moves) + element.itemsize
    if 0 in dims:
        low = size = 0
    elif data == ffi.NULL:
        raise ArgumentError(
            "loom_tensor_from_dlpack: data is NULL, expected a pointer to the tensor's memory")
    if not -_LARGEST <= low <= _LARGEST or size > _LARGEST or (
        math.prod(dims) * element.itemsize > _LARGEST
    ):
        raise ArgumentError(
            f"loom_tensor_from_dlpack: shape {dims} with strides of {tuple(steps)} bytes from "
            f"{offset} is more than memory has, expected a tensor that fits")
    if not size:
        value = lazyloom.from_host(np.empty(dims, element.numpy))
        deleter(managed)
        result[0] = give(value)
        return 1
    # it is let go of with the last array that sees the memory
    owner = ffi.gc(data + low, lambda _: deleter(managed))
    try:
        memory = ffi.buffer(owner, size)
        array = np.ndarray(
            dims, np.uint8 if element.kind == "b" else element.numpy, memory,
            sum(-m for m in moves if m < 0), steps)
        if element.kind == "b":
            # any other byte than 0 and 1 is not a value that XLA knows
            value = lazyloom.from_host(array != 0)
        elif copy:
            value = lazyloom.from_host(np.array(array))
        else:
            value = lazyloom.from_host(array, share=True)
        result[0] = give(value)
    except BaseException:
        # it is the caller's as before
        ffi.gc(owner, None)
        raise
    return 1


def _row_major(dims: tuple[int, ...]) -> list[int]:
    steps: list[int] = []
    step = 1
    for d in reversed(dims):
        steps.insert(0, step)
        step *= d
    return steps


@located
def loomp_to_dlpack(tensor: int, copy: int, data: Any, result: Any) -> int:
    capture.refuse_read("loom_tensor_to_dlpack")
    # nothing writes over the memory of a value that is held
    value = value_of(tensor)
    array = look(value)
    array = np.array(array, order="C") if copy else np.ascontiguousarray(array)
    result[0] = handles.give(EXPORT, (array, value))
    data[0] = ffi.cast("void *", array.ctypes.data) if array.nbytes else ffi.NULL
    return 1
