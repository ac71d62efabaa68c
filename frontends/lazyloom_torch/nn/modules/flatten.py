"""Dimensions joined and split."""

from __future__ import annotations

from typing import Any

from lazyloom.errors import type_name

from ..._tensor import Tensor
from ._declared import Declared
from .module import Module


class Flatten(Declared, declared=True):
    """Dimensions from start_dim to end_dim as one."""

    start_dim: int = 1
    end_dim: int = -1
    shown = ("start_dim", "end_dim")

    def forward(self, input: Tensor) -> Tensor:
        made: Tensor = input.flatten(self.start_dim, self.end_dim)
        return made


class Unflatten(Module):
    """One dimension as several, which a tuple of ints gives."""

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if not isinstance(dim, int):
            raise TypeError("unflattened_size must be a tuple of ints for an int dim, but dim is "
                            f"{dim!r}; dimensions have no names here")
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but found type "
                f"{type_name(unflattened_size)}")
        for i, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    f"unflattened_size must be tuple of ints, but found element of type "
                    f"{type_name(size)} at pos {i}")
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        made: Tensor = input.unflatten(self.dim, self.unflattened_size)
        return made

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


__all__ = ["Flatten", "Unflatten"]
