"""Which part of a tensor this process has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..._tensor import Tensor


@dataclass(frozen=True)
class Part:
    """A block of a tensor: its contents, where it begins, its size.

    ``is_shard`` is False for a tensor that each process has for itself.
    """

    local: Tensor
    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    is_shard: bool


def is_distributed(tensor: Any) -> bool:
    """Whether a tensor is a DTensor, whose parts are in several processes."""
    return isinstance(tensor, Tensor) and tensor._is_dtensor


def part_of(tensor: Any) -> Part | None:
    """The part of a tensor that this process has; None for a DTensor of other processes.

    Raises ValueError for one whose parts have to be added up.
    """
    if not is_distributed(tensor):
        shape = tuple(tensor.shape)
        return Part(tensor, (0,) * len(shape), shape, False)
    if tensor.device_mesh.get_coordinate() is None:
        return None
    if any(p.is_partial() for p in tensor.placements):
        raise ValueError(
            f"a DTensor with placements {tuple(tensor.placements)} has parts that are to be added "
            "up: redistribute it to Shard or Replicate before it is saved or loaded")
    sizes, offsets = tensor._offsets()
    return Part(tensor._local_tensor, offsets, sizes, True)


def with_contents(tensor: Tensor) -> Any:
    """A tensor with the contents that one has now, which later writes do not change."""
    if not is_distributed(tensor):
        return Tensor.from_value(tensor.value.detach())
    found: Any = tensor
    return found._with(Tensor.from_value(found._local_tensor.value.detach()))
