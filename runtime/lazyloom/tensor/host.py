"""Host data in and out: NumPy arrays and DLPack."""

from __future__ import annotations

from threading import get_ident
from typing import Any, Final

import numpy as np

from ..backends.data import device_array
from ..backends.returned import description, type_text, wrong
from ..backends.selection import backend
from ..dtypes import as_dtype, dtype_named
from ..errors import ArgumentError, type_name
from ..evaluate.evaluate import blind, materialize
from ..settings import tuning
from ..trace.graph import Buffer, Node, Value, check_process, leaf_value
from ..types import tensor_type


def from_host(array: Any, *, share: bool = False) -> Value:
    """A value with the data of a NumPy array (or anything NumPy makes one of).

    Args:
        array: of one of the supported dtypes, any shape and strides.
        share: True uses the array's own memory where its layout allows: the caller must not
            change it afterwards. Shared memory is never donated.

    Raises:
        ArgumentError: NumPy makes no array of it.
        DTypeError: the dtype is not supported.
    """
    try:
        given = np.asarray(array)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"from_host: NumPy makes no array of the {type(array).__name__} given: {error}"
        ) from error
    dtype = as_dtype(given.dtype)
    if share:
        data = np.ascontiguousarray(given).reshape(given.shape)
        shared = True
    else:
        data = np.array(given, dtype=dtype.numpy, order="C", copy=True)
        shared = False
    if data.dtype != dtype.numpy:
        data = data.astype(dtype.numpy)
    return leaf_value(tensor_type(tuple(map(int, data.shape)), dtype), Buffer(data, None, shared))


def from_dlpack(source: Any, *, copy: bool | None = None) -> Value:
    """A value that shares memory with an object of the DLPack protocol, where it can.

    Args:
        copy: True for memory of its own, False for an error where memory cannot be shared.

    Shared memory is never donated. Raises ArgumentError for an object without
    ``__dlpack__``, or data that cannot be taken over, and what the object raises itself.
    """
    if not hasattr(source, "__dlpack__"):
        raise ArgumentError(
            f"from_dlpack: a {type_name(source)} was given, expected an object with "
            "__dlpack__ and __dlpack_device__")
    try:
        array = backend().from_dlpack(source, copy)
    except Exception as error:
        if copy is False or source.__dlpack_device__()[0] != _HOST:
            raise ArgumentError(f"from_dlpack: {error}") from error
        # what only NumPy can take over: memory with gaps, repeated elements, read-only
        return from_host(np.from_dlpack(source))
    if not hasattr(array, "shape") or not hasattr(array, "dtype"):
        raise wrong("from_dlpack", type_text(array), "an array with shape and dtype")
    dtype = dtype_named(str(array.dtype))
    return leaf_value(tensor_type(tuple(array.shape), dtype), Buffer(None, array, not copy))


#: DLPack's number of host memory
_HOST: Final = 1


def known_range(value: Value) -> tuple[int, int] | None:
    """The least and the largest of integers that are known without running anything, or None.

    Those that were given from the host are known, and pending positions in a sorted array. None
    where only the device knows, or there are none.
    """
    return _range_of(value.node, value.index)


def known_bounds(value: Value) -> tuple[int, int] | None:
    """Bounds of integers that are known without running anything, or None.

    As :func:`known_range`, and what was chosen from such integers has their bounds, which none
    of the chosen ones need reach.
    """
    node = value.node
    index = value.index
    for _ in range(tuning.moves_traced):
        spec = node.spec
        if spec is None or not spec.op.data_movement or not node.inputs:
            break
        source = node.inputs[0]
        if not isinstance(source, Node):
            break
        index = node.indices[0] if node.indices is not None else 0
        node = source
    return _range_of(node, index)


def _range_of(node: Node, index: int) -> tuple[int, int] | None:
    if blind and get_ident() in blind:
        return None
    spec = node.spec
    type = node.types[index]
    if spec is not None and spec.op.positions == index and type.size:
        return 0, type.shape[spec.attrs["axis"]] - 1
    buffer = node.buffers[index] if node.buffers is not None else None
    if buffer is None:
        return None
    host = buffer.host
    # not of what a program has computed: where that lies is no fact of what was recorded
    if spec is None and buffer.range is None and (
        host is not None and host.size and host.dtype.kind in "iu"
    ):
        buffer.range = (int(host.min()), int(host.max()))
    return buffer.range


def to_device_array(value: Value) -> Any:
    """The device array of a value, evaluated; it is shared from now on, so never donated."""
    buffer = materialize(value, "dlpack")
    buffer.shared = True
    return device_array(buffer)


def to_dlpack(value: Value, *, stream: Any = None) -> Any:
    """A DLPack capsule that shares the value's memory; the value is never donated again."""
    return to_device_array(value).__dlpack__(stream=stream)


def dlpack_device(value: Value) -> tuple[int, int]:
    """The (device type, device number) pair of DLPack."""
    kind, number = to_device_array(value).__dlpack_device__()
    return int(kind), int(number)


def platform() -> str:
    """The kind of device that programs run on: "cpu", "gpu" or "tpu". Starts it on first use."""
    check_process()
    return description()["platform"]
