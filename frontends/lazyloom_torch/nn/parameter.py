"""Parameters and buffers."""

from __future__ import annotations

from typing import Any

import lazyloom

from .._tensor import Tensor, operand


class Parameter(Tensor):
    """A tensor that a Module registers when it is assigned, and that collects a gradient.

    Its data is shared with the tensor given, as in PyTorch. Pending data, such as random
    initial values, becomes the boundary of its own program.
    """

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        if data is None:
            super().__init__()
            data = self
        else:
            value = lazyloom.boundary(operand(data).detach())
            plain = type(data) is Tensor and data._base is None and data._origin is None
            if plain and requires_grad and not data._storage.value.requires_grad:
                # the tensor given becomes a detached alias of the parameter
                self._set(data._storage, (), value.type)
                data._origin = self
                data._no_gradient = True
            else:
                self._set(lazyloom.Storage(value), (), value.type)
        if requires_grad:
            if not self._type.dtype.is_inexact:
                raise RuntimeError(
                    "Only Tensors of floating point and complex dtype can require gradients")
            self._make_leaf()

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()


class Buffer(Tensor):
    """A tensor that a Module registers as a buffer when it is assigned."""

    def __init__(self, data: Tensor, *, persistent: bool = True) -> None:
        value = operand(data).detach()
        self._set(lazyloom.Storage(value), (), value.type)
        self.persistent = persistent
