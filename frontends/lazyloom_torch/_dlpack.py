"""The DLPack protocol, and the data of tensors of other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import lazyloom
from lazyloom import Value

if TYPE_CHECKING:
    from ._tensor import Tensor


def exported(data: Any) -> bool:
    """Whether it is an object of the protocol that is no array, such as another's tensor."""
    return hasattr(data, "__dlpack__") and not isinstance(data, (np.ndarray, np.generic, type))


def own_value(data: Any) -> Value:
    """The data of another library's tensor, without the history of its gradients."""
    if isinstance(data, lazyloom.Tensor):  # of another frontend: nothing has to be read
        return data.value.detach()
    if hasattr(data, "resolve_conj") and hasattr(data, "detach"):  # PyTorch's
        data = data.detach().resolve_conj().resolve_neg().contiguous()
    return lazyloom.from_dlpack(data, copy=True)


class Capsule:
    """A bare capsule as an object of the protocol, to be taken once."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def to_dlpack(x: Tensor, stream: Any, dl_device: Any, copy: bool | None) -> Any:
    """A capsule of the data, which shares its memory unless a copy is asked for."""
    if x.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if dl_device is not None and tuple(dl_device) != (1, 0):
        raise BufferError(f"__dlpack__: device {dl_device} was asked for, the data is on (1, 0)")
    value = x.value
    if copy:
        value = lazyloom.from_host(x.read())
    return lazyloom.to_dlpack(value, stream=stream)
