"""Tensors of other libraries as tensors of ours: PyTorch's, and others of DLPack."""

from __future__ import annotations

from typing import Any

import lazyloom
from lazyloom.errors import type_name

from . import _dtypes
from ._dlpack import Capsule, exported, own_value
from ._tensor import Tensor


def is_foreign(data: Any) -> bool:
    """Whether it is a tensor of another library: one with ``__dlpack__`` that is no array."""
    if isinstance(data, lazyloom.Tensor):
        return not isinstance(data, Tensor)
    return exported(data)


def own_copy(data: Any) -> Tensor:
    """The data of another library's tensor, without the history of its gradients."""
    return Tensor.from_value(own_value(data))


def operand_of(data: Any) -> Tensor:
    """Another library's tensor as an operand of ours.

    No gradient flows from one library to another: RuntimeError for a tensor that requires grad,
    while gradients are recorded. What another frontend recorded is on the same tape.
    """
    if isinstance(data, lazyloom.Tensor):
        return Tensor.from_value(data.value)
    if getattr(data, "requires_grad", False) is True and lazyloom.grad_enabled():
        raise RuntimeError(
            f"a {type_name(data)} that requires grad meets a lazyloom_torch.Tensor: no gradient "
            "flows from one library to another; detach it, or compute under no_grad()")
    return own_copy(data)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor from an object of the DLPack protocol, which shares its memory where it can.

    Later writes to that memory show in the tensor, but writes to the tensor do not show in the
    memory. ``copy=False`` raises where memory cannot be shared. Raises BufferError for a tensor
    that requires grad.
    """
    if device is not None and device is not _dtypes.CPU:
        found: Tensor = from_dlpack(ext_tensor, copy=copy).to(device)
        return found
    if isinstance(ext_tensor, Tensor):
        if ext_tensor.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        return ext_tensor.clone() if copy else ext_tensor.detach()
    if type_name(ext_tensor) == "PyCapsule":
        ext_tensor = Capsule(ext_tensor)
    made: Tensor = Tensor.from_value(lazyloom.from_dlpack(ext_tensor, copy=copy))
    return made
