"""Host data in and out: NumPy arrays and DLPack."""

from __future__ import annotations

from math import prod
from sys import getrefcount
from threading import get_ident
from typing import Any, Final

import numpy as np

from .. import strict
from ..backends.data import device_array
from ..backends.returned import description, type_text, wrong
from ..backends.selection import backend
from ..counters import counters
from ..dtypes import DType, as_dtype, dtype_named
from ..errors import ArgumentError, type_name
from ..evaluate.reading import await_data, blind, materialize, read, read_awaited
from ..hooks import hooks
from ..host import host_arrays
from ..placements import DEFAULT_PLACEMENT
from ..settings import tuning, watching
from ..trace.graph import (
    Buffer,
    Node,
    Value,
    check_process,
    drain,
    drop_buffer,
    leaf_value,
    trace,
)
from ..trace.results import FRESH
from ..trace.source import user_site
from ..types import tensor_type
from .contents import let_go
from .moving import moved
from .tensor import Tensor


def from_host(
    array: Any, *, dtype: DType | None = None, share: bool = False, references: int | None = None
) -> Value:
    """A value with the data of a NumPy array (or anything that NumPy converts to one).

    The data are copied once, to memory that the device uses as it is. The memory of a temporary,
    which only the call refers to, is taken over instead.

    Args:
        array: of one of the supported dtypes, any shape and strides.
        dtype: the dtype to convert to, as ``astype`` does; None keeps the array's own.
        share: True uses the array's own memory where its layout allows: the caller must not
            change it afterwards. Shared memory is never donated.
        references: for functions that pass their own argument through, the value of
            ``sys.getrefcount`` for their parameter.

    Raises:
        ArgumentError: NumPy cannot make an array of it.
        DTypeError: the dtype is not supported.

    Example:

        >>> x = lazyloom.from_host(numpy.arange(3), dtype=lazyloom.dtypes.float32)
        >>> x
        <Value float32[3] computed>
        >>> x.read()
        array([0., 1., 2.], dtype=float32)
    """
    if references is None:
        references = getrefcount(array)
    try:
        source = np.asarray(array)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"from_host: NumPy makes no array of the {type(array).__name__} given: {error}"
        ) from error
    source_dtype = as_dtype(source.dtype)
    if watching[0] and source.size > 1:
        _tell(source.shape, source_dtype)
    if dtype is None:
        dtype = source_dtype
    if source is not array:
        references = getrefcount(source)
    if (share or references == host_arrays.ALONE) and (
        host_arrays.as_device_wants(source, dtype.numpy)
        and (share or host_arrays.sees_alone(source, references))
    ):
        if not share:
            counters["bytes_taken_over"] += source.nbytes
        return leaf_value(tensor_type(source.shape, dtype), _fresh(source, share))
    return _copied(source, dtype)


def _fresh(data: Any, shared: bool) -> Buffer:
    """A buffer of data from the host, which count once a run takes them."""
    buffer = Buffer(data, None, shared)
    buffer.given = FRESH
    return buffer


def from_memory(memory: Any, dtype: DType, shape: tuple[int, ...]) -> Value:
    """A value with a copy of memory, row-major, whose size is right.

    Args:
        memory: a buffer, at any address.
        dtype: that of its elements; bools are bytes of 0 and 1.
        shape: none negative.
    """
    if watching[0] and prod(shape) > 1:
        _tell(shape, dtype)
    return _copied(np.ndarray(shape, dtype.numpy, memory), dtype)


def _copied(source: Any, dtype: DType) -> Value:
    observer: Any = hooks.observer
    waited = None if observer is None else observer.waits()
    buffer: Buffer | None = None
    try:
        data = host_arrays.copied(source, dtype.numpy)
        buffer = _fresh(data, False)
    finally:
        if observer is not None:
            observer.uploaded(waited, user_site(), source, buffer)
    return leaf_value(tensor_type(data.shape, dtype), buffer)


def _tell(shape: tuple[int, ...], dtype: DType) -> None:
    """Tell strict modes that data come from the host. Raises TransferError."""
    if strict.asked("transfers"):
        strict.occurred(
            "transfers", user_site(),
            f"data of type {dtype.name}[{','.join(map(str, shape))}] were taken from the host",
            "make the tensor once and keep it, or compute it with ops")


def to_host(tensor: Tensor, references: int) -> Any:
    """The data of a tensor as a NumPy array that the caller owns, as :meth:`Tensor.read` returns.

    This is the memory of a temporary itself, if nobody else can see it, or else a copy.

    Args:
        tensor: of exactly a frontend's class, not of a subclass.
        references: the value of ``sys.getrefcount`` for the tensor as the parameter of the
            function that received it.
    """
    value = tensor.value
    if value.type.nbytes < host_arrays.WORTHWHILE or value.requires_grad or (
        not host_arrays.alone(tensor, references)
    ):
        return read(value)
    await_data(value)
    # only the caller refers to the tensor, and gives it up: it ends now
    getattr(tensor, "__dict__", {}).clear()
    let_go(tensor)
    array = _given_up(value) if getrefcount(value) == host_arrays.ALONE else None
    return read_awaited(value) if array is None else array


def _given_up(value: Value) -> Any:
    """Take the memory of a computed value, which then has none; None if others may see it."""
    node, index = value.node, value.index
    with trace.lock:
        drain()
        buffer = node.buffers[index] if node.buffers is not None else None
        handles = node.handles if node.out_handles is None else node.out_handles.of(index)
        if (
            buffer is None or handles != 1 or node.refs or buffer.owners != 1 or buffer.holds
            or buffer.shared or buffer.recoverable or buffer.used
            or getrefcount(buffer) != host_arrays.HELD_ONCE
        ):  # fmt: skip
            return None
        host, array = buffer.host, buffer.array
        if host is not None:
            if getrefcount(host) != host_arrays.HELD_ONCE or not (
                host_arrays.whole(host) and host.flags.writeable
            ):
                return None
        elif getrefcount(array) != host_arrays.HELD_ONCE:
            return None
        drop_buffer(node, index)
        buffer.host = buffer.array = None
    counters["reads"] += 1
    counters["bytes_read"] += value.type.nbytes
    counters["bytes_given_up"] += value.type.nbytes
    return backend().given_up(array) if host is None else host


def from_dlpack(source: Any, *, copy: bool | None = None) -> Value:
    """A value that shares memory with an object of the DLPack protocol, where it can.

    Args:
        copy: True for memory of its own, False for an error where memory cannot be shared.

    Shared memory is never donated. Raises ArgumentError for an object without
    ``__dlpack__``, or data that cannot be taken over, and whatever the object itself raises.

    Example:

        >>> lazyloom.from_dlpack(numpy.arange(3.0)).read()
        array([0., 1., 2.])
    """
    check_process()
    if not hasattr(source, "__dlpack__"):
        raise ArgumentError(
            f"from_dlpack: a {type_name(source)} was given, expected an object with "
            "__dlpack__ and __dlpack_device__")
    try:
        array = backend().from_dlpack(source, copy)
    except Exception as error:
        if copy is False or source.__dlpack_device__()[0] != _HOST:
            raise ArgumentError(f"from_dlpack: {error}") from error
        # only NumPy can take these over: memory with gaps, repeated elements, read-only
        return from_host(np.from_dlpack(source))
    if not hasattr(array, "shape") or not hasattr(array, "dtype"):
        raise wrong("from_dlpack", type_text(array), "an array with shape and dtype")
    dtype = dtype_named(str(array.dtype))
    return leaf_value(tensor_type(tuple(array.shape), dtype), Buffer(None, array, not copy))


#: DLPack's device type of host memory
_HOST: Final = 1


def known_range(value: Value) -> tuple[int, int] | None:
    """The smallest and largest of integers, if known without running anything, or None.

    Known are integers from the host, also reshaped or transposed, and pending positions in a
    sorted array. None if only the device knows them, or if there are none.

    Example:

        >>> x = lazyloom.from_host(numpy.array([2, 0, 4]))
        >>> lazyloom.known_range(x)
        (0, 4)
        >>> print(lazyloom.known_range(lazyloom.record("cumsum", [x], {"axis": 0})))
        None
    """
    return None if blind and get_ident() in blind else _known_range(value)


def known_bounds(value: Value) -> tuple[int, int] | None:
    """Bounds of integers that are known without running anything, or None.

    Like :func:`known_range`, but integers chosen from known ones have the bounds of those, which
    none of the chosen ones need reach.

    Example:

        >>> x = lazyloom.from_host(numpy.array([2, 0, 4]))
        >>> chosen = lazyloom.record("slice", [x], {"starts": (0,), "stops": (2,)})
        >>> lazyloom.known_bounds(chosen)
        (0, 4)
    """
    return None if blind and get_ident() in blind else _known(*_origin(value, False))


def hidden_range(value: Value) -> tuple[int, int] | None:
    """:func:`known_range` while a call is recorded to run again, which must not depend on it.

    None otherwise.
    """
    return _known_range(value) if blind and get_ident() in blind else None


def _origin(value: Value, whole: bool) -> tuple[Node, int]:
    """Where a value was moved from, in part or as a ``whole``: a node and a result's number."""
    node = value.node
    index = value.index
    for _ in range(tuning.moves_traced):
        spec = node.spec
        if spec is None or not node.inputs or not (
            spec.op.access.layout if whole else spec.op.access.data_movement
        ):
            break
        source = node.inputs[0]
        if not isinstance(source, Node):
            break
        index = node.indices[0] if node.indices is not None else 0
        node = source
    return node, index


def _known_range(value: Value) -> tuple[int, int] | None:
    return _known(*_origin(value, True))


def _known(node: Node, index: int) -> tuple[int, int] | None:
    spec = node.spec
    type = node.types[index]
    if spec is not None and spec.op.access.positions == index and type.size:
        return 0, type.shape[spec.attrs["axis"]] - 1
    buffer = node.buffers[index] if node.buffers is not None else None
    if buffer is None:
        return None
    host = buffer.host
    # not for computed results: the recorded ops do not determine where those lie
    if spec is None and buffer.range is None and (
        host is not None and host.size and host.dtype.kind in "iu"
    ):
        buffer.range = (int(host.min()), int(host.max()))
    return buffer.range


def to_device_array(value: Value) -> Any:
    """The device array of a value, evaluated; it is shared from now on, so never donated.

    Of a value on a mesh of several processes it is a copy on the default device.
    """
    if value.type.placement.is_shared:
        value = moved(value, DEFAULT_PLACEMENT)
    buffer = materialize(value, "dlpack")
    buffer.shared = True
    return device_array(buffer)


def to_dlpack(value: Value, *, stream: Any = None) -> Any:
    """A DLPack capsule that shares the value's memory; the value is never donated again.

    Example:

        >>> class Shared:
        ...     def __init__(self, value):
        ...         self.value = value
        ...     def __dlpack__(self, **kwargs):
        ...         return lazyloom.to_dlpack(self.value)
        ...     def __dlpack_device__(self):
        ...         return lazyloom.dlpack_device(self.value)
        >>> numpy.from_dlpack(Shared(lazyloom.from_host([1.0, 2.0])))
        array([1., 2.])
    """
    return to_device_array(value).__dlpack__(stream=stream)


def dlpack_device(value: Value) -> tuple[int, int]:
    """The (device type, device number) pair of DLPack.

    Example:

        >>> lazyloom.dlpack_device(lazyloom.from_host([1.0, 2.0]))  # 1 is a CPU
        (1, 0)
    """
    kind, number = to_device_array(value).__dlpack_device__()
    return int(kind), int(number)


def platform() -> str:
    """The kind of device that programs run on: "cpu", "gpu" or "tpu". Starts it on first use.

    Example:

        >>> lazyloom.platform() in ("cpu", "gpu", "tpu")
        True
    """
    check_process()
    return description()["platform"]
