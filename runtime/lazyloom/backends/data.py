"""Transfers between the host and the backend's device."""

from __future__ import annotations

import threading
from typing import Any, Final

import numpy as np

from ..counters import counters
from ..dtypes import DType
from ..trace.graph import Buffer
from ..trace.results import COUNTED
from ..types import TensorType
from . import returned
from .selection import backend


def scalar_vector(numbers: list[Any], dtype: Any) -> Any:
    """Return run-time scalars of one dtype as a vector; integers wrap as in C."""
    if dtype.kind in "iu":
        bits = dtype.itemsize * 8
        mask = (1 << bits) - 1
        unsigned = np.array([int(n) & mask for n in numbers], dtype=f"u{dtype.itemsize}")
        return unsigned.view(dtype)
    if dtype.kind == "V":  # ml_dtypes takes no integers from 2**63 on
        numbers = [float(n) for n in numbers]
    # a number too large for the dtype is an infinity, whatever the program set np.seterr() to
    with np.errstate(all="ignore"):
        return np.array(numbers, dtype=dtype)


def scalar_of(number: Any, dtype: DType) -> Any:
    """Return a run-time scalar as a NumPy scalar, with the same bits as in :func:`scalar_vector`.
    """
    kind = dtype.kind
    if kind == "f" and dtype.itemsize > 2 or kind == "b":
        return dtype.numpy.type(number)
    if kind == "i" and type(number) is int:
        bits = dtype.itemsize * 8 - 1
        if -1 << bits <= number < 1 << bits:
            return dtype.numpy.type(number)
    return scalar_vector([number], dtype.numpy)[0]


#: one upload at a time; a signal handler may read a value while its thread uploads another
_uploading: Final = threading.RLock()


def device_array(buffer: Buffer) -> Any:
    """Return the buffer's device array; uploads host data on first use."""
    array = buffer.array
    if array is not None:
        return array
    with _uploading:
        array = buffer.array
        if array is None:
            host = buffer.host
            if host is None:
                raise AssertionError("a buffer without data was used")
            # never in place of another thread's: the compiled setter releases the old object while
            # it can still be read, and a backend lets other threads run meanwhile
            buffer.array = array = given(backend().upload(host), "upload")
            if buffer.given != COUNTED:
                counters["bytes_uploaded"] += host.nbytes
                buffer.given = COUNTED
            buffer.host = None
    return array


def host_memory(buffer: Buffer) -> Any:
    """Return the buffer's data as a NumPy array that must not be written to; waits for it.

    It is not kept: the memory may be the device's own, which a later run overwrites.
    """
    # an upload sets ``array`` before it clears ``host``
    host = buffer.host
    return backend().host_view(buffer.array) if host is None else host


def host_view(buffer: Buffer) -> Any:
    """Return :func:`host_memory`, or a scalar where it has no dimensions."""
    data: Any = host_memory(buffer)
    # NumPy computes on scalars in a tenth of the time
    return data[()] if data.ndim == 0 else data


def padded_array(buffer: Buffer, t: TensorType) -> Any:
    """Return a device array of a type, whose first elements along each dimension are the buffer's.
    """
    data = host_view(buffer)
    whole = np.zeros(t.shape, t.dtype.numpy)
    whole[tuple([slice(n) for n in data.shape])] = data
    return given(backend().upload(whole), "upload")


def host_array(array: Any, t: TensorType) -> Any:
    """Return the data of a device array as a new NumPy array; waits, and raises the run's error.

    Raises WrongResult unless that is an array of the type.
    """
    return _of_type(backend().download(array), t, "download")


def device_view(array: Any, t: TensorType) -> Any:
    """Return the same as an array that may be the device's memory, for callers that only read."""
    return _of_type(backend().host_view(array), t, "host_view")


def _of_type(data: Any, t: TensorType, method: str) -> Any:
    if not isinstance(data, np.ndarray) or data.dtype != t.dtype.numpy or data.shape != t.shape:
        raise returned.wrong(method, returned.type_text(data), f"a NumPy array of type {t.text}")
    return data


def host_number(array: Any, t: TensorType) -> Any:
    """Return the only element of a device array as a Python number, like NumPy's ``item``.

    Waits, and raises the run's error; raises WrongResult where the backend returns something else.
    """
    number: Any = backend().number(array, t.dtype.name)
    if number is None:
        return host_array(array, t).item()
    if not isinstance(number, (float, int)):
        raise returned.wrong("number", returned.type_text(number), "a Python number or None")
    return number


def given(array: Any, method: str) -> Any:
    """Return an array that a backend's method returned. Raises WrongResult if it is None."""
    if array is None:
        raise returned.wrong(method, "None", "an array")
    return array
