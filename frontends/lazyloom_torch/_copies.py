"""Pickles and shallow copies of tensors: data, what requires a gradient, attributes, the place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import lazyloom

from . import _dtypes

if TYPE_CHECKING:
    from ._tensor import Tensor


def reduced(self: Tensor) -> tuple[Any, ...]:
    """The tensor as ``pickle`` wants it; of one that a mesh divides the whole."""
    return rebuild, (type(self), self.read(), self.tensor_type.dtype, self.requires_grad,
                     attributes(self), _dtypes.location_of(self.tensor_type))


def rebuild(
    cls: type, array: np.ndarray, kind: Any, leaf: bool, extra: dict[str, Any],
    location: str = "cpu",
) -> Tensor:  # fmt: skip
    """The tensor of a pickle, on the device where it was. RuntimeError if that is not there."""
    value, place = lazyloom.from_host(array), _dtypes.placed_on(location)
    if place is not None:
        value = lazyloom.to_device(value, place)
    return _made(cls, value, leaf, extra)


def shallow_copy(self: Tensor) -> Tensor:
    """A tensor of the same class and attributes, with memory of its own once it is written to."""
    return _made(type(self), self.value.detach(), self.requires_grad, attributes(self))


def attributes(self: Tensor) -> dict[str, Any]:
    """What a user has attached to the tensor."""
    return {k: v for k, v in self.__dict__.items() if not k.startswith("_")}


def _made(cls: Any, value: lazyloom.Value, leaf: bool, extra: dict[str, Any]) -> Tensor:
    made: Tensor = cls.from_value(value)
    if leaf:
        made._make_leaf()
    made.__dict__.update(extra)
    return made
