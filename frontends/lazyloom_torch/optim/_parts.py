"""States of DTensors: an optimizer's op takes and gives this process's parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._tensor import Tensor


class Parts(dict[str, Any]):
    """The state of a DTensor by this process's parts.

    What is set here is set in the state itself: parts as DTensors that lie as the parameter does.

    Attributes:
        owner: the parameter.
        state: its state, which is the optimizer's.
    """

    def __init__(self, owner: Any, state: dict[str, Any], counters: Sequence[str]) -> None:
        super().__init__({k: part(v) for k, v in state.items()})
        self.owner, self.state, self._counters = owner, state, counters

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        divided = name not in self._counters and isinstance(value, Tensor) and (
            value.tensor_type.shape == self.owner._local_tensor.tensor_type.shape)
        self.state[name] = self.owner._with(value) if divided else value

    def is_current(self) -> bool:
        """Whether the state still has these parts."""
        return len(self) == len(self.state) and all(
            part(self.state.get(k)) is v for k, v in self.items())


def part(value: Any) -> Any:
    """This process's part of a DTensor; anything else itself."""
    return value._local_tensor if isinstance(value, Tensor) and value._is_dtensor else value
