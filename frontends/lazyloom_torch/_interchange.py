"""Tensors of other libraries: DLPack both ways, and PyTorch's own."""

from __future__ import annotations

from typing import Any

import numpy as np

import lazyloom
from lazyloom.errors import ArgumentError

from . import _dtypes
from ._tensor import Tensor


def foreign_array(data: Any) -> np.ndarray | None:
    """The data of another library's tensor as an array, None if it is no tensor.

    It is a tensor if it has ``__dlpack__`` and is neither one of ours nor an array.
    """
    if isinstance(data, (Tensor, np.ndarray, np.generic)) or not hasattr(data, "__dlpack__"):
        return None
    if hasattr(data, "resolve_conj") and hasattr(data, "detach"):  # PyTorch's
        data = data.detach().resolve_conj().resolve_neg()
    found = Tensor._wrap(_value_of(data, copy=True)).read()
    return found


def _value_of(data: Any, copy: bool | None) -> Any:
    try:
        return lazyloom.from_dlpack(data, copy=copy)
    except ArgumentError:
        if copy is False or not hasattr(data, "__dlpack__") or data.__dlpack_device__()[0] != 1:
            raise
    # what NumPy can take over and XLA cannot: memory with gaps, repeated elements, read-only;
    # what the producer does not give to anybody is its own error here
    return lazyloom.from_host(np.from_dlpack(data))


class _Capsule:
    """A bare capsule as an object of the protocol, to be taken once."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor from an object of the DLPack protocol, which shares its memory where it can.

    Later writes to that memory show in the tensor, but writes to the tensor do not show in the
    memory. ``copy=False`` raises where memory cannot be shared. Raises BufferError for a tensor
    that requires grad.
    """
    _dtypes.check_device(device)
    if isinstance(ext_tensor, Tensor):
        if ext_tensor.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        return ext_tensor.clone() if copy else ext_tensor.detach()
    if type(ext_tensor).__name__ == "PyCapsule":
        ext_tensor = _Capsule(ext_tensor)
    made: Tensor = Tensor._wrap(_value_of(ext_tensor, copy))
    return made


def dlpack(x: Tensor, stream: Any, dl_device: Any, copy: bool | None) -> Any:
    """A capsule of the data, which shares its memory unless a copy is asked for."""
    if x.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if dl_device is not None and tuple(dl_device) != (1, 0):
        raise BufferError(f"__dlpack__: device {dl_device} was asked for, the data is on (1, 0)")
    value = x.value
    if copy:
        value = lazyloom.from_host(x.read())
    return lazyloom.to_dlpack(value, stream=stream)
