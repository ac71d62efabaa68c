"""Guards on the tensors that every run of a captured call uses."""

from __future__ import annotations

from typing import Any, Final, final

from ..tensor.storage import Storage
from ..tensor.tensor import Tensor
from ..tensor.views import ViewStep
from ..types import TensorType


def shown(x: Any) -> str:
    """Describe a value for people, in a few words."""
    if isinstance(x, Tensor):
        return f"a tensor of type {x.tensor_type.text}"
    text = repr(x)
    return text if len(text) <= 60 else f"a {type(x).__name__}"


@final
class TensorIs:
    """A tensor that is always the same object, with all of it that is not data."""

    __slots__ = ("path", "tensor", "cls", "type", "steps", "shared", "detached", "slow",
                 "strides", "offset")

    def __init__(self, path: str, tensor: Tensor) -> None:
        self.path: Final[str] = path
        self.tensor: Final[Tensor] = tensor
        self.cls: Final[Any] = type(tensor)
        self.type: Final[TensorType] = tensor.tensor_type
        self.steps: Final[tuple[ViewStep, ...]] = tensor.view_steps
        self.shared: Storage | None = tensor.shared
        self.detached: Final[bool] = tensor.detached
        self.slow: Final[bool] = tensor.slow_path
        self.strides: Final[tuple[int, ...] | None] = tensor.element_strides
        self.offset: Final[int] = tensor.element_offset

    def holds(self) -> bool:
        t = self.tensor
        return (
            t.tensor_type is self.type and type(t) is self.cls and t.view_steps is self.steps
            and t.detached == self.detached and t.slow_path == self.slow
            and t.element_strides == self.strides and t.element_offset == self.offset)

    def why(self) -> str:
        if self.holds():
            return ""
        return f"{self.path} was a tensor of type {self.type.text} and is {shown(self.tensor)}" if (
            self.type is not self.tensor.tensor_type) else f"{self.path} is laid out otherwise"


def pattern(tensors: list[TensorIs]) -> list[int]:
    """For each tensor, return the number of the first that shares its storage."""
    first: dict[Storage, int] = {}
    numbers: list[int] = []
    for k, t in enumerate(tensors):
        shared = t.tensor.shared
        numbers.append(k if shared is None else first.setdefault(shared, k))
    return numbers
