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
    return isinstance(tensor, Tensor) and hasattr(tensor, "device_mesh")


def part_of(tensor: Any) -> Part | None:
    """The part of a tensor that this process has; None for a DTensor of other processes.

    Raises ValueError for one whose parts have to be added up.
    """
    if not is_distributed(tensor):
        shape = tuple(tensor.shape)
        return Part(tensor, (0,) * len(shape), shape, False)
    mesh = tensor.device_mesh
    place = mesh.get_coordinate()
    if place is None:
        return None
    offsets, sizes = block_of(tuple(tensor.shape), tensor.placements,
                              [mesh.size(i) for i in range(mesh.ndim)], place)
    return Part(tensor._local_tensor, offsets, sizes, True)


def block_of(
    shape: tuple[int, ...], placements: Any, mesh_sizes: list[int], place: Any
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Where the block of the process at ``place`` of a mesh begins, and its size.

    Dimensions are divided as ``torch.chunk`` does, by the first dimension of the mesh first; a
    strided shard by that of its ``split_factor`` before. Raises ValueError for a partial tensor.
    """
    offsets, sizes = [0] * len(shape), list(shape)
    order = sorted(range(len(placements)),
                   key=lambda i: (type(placements[i]).__name__ == "_StridedShard", i))
    for i in order:
        placement = placements[i]
        if placement.is_partial():
            raise ValueError(
                f"a DTensor with placements {tuple(placements)} has parts that are to be added "
                "up: redistribute it to Shard or Replicate before it is saved or loaded")
        if not hasattr(placement, "dim"):
            continue
        d = placement.dim
        whole, count = sizes[d], mesh_sizes[i]
        step = -(-whole // count)
        begin = min(step * place[i], whole)
        sizes[d] = min(step, whole - begin)
        # torch.chunk of nothing begins nowhere: at the end, as PyTorch says
        offsets[d] += begin
    return tuple(offsets), tuple(sizes)


def with_contents(tensor: Tensor) -> Any:
    """A tensor with the contents that one has now, which later writes do not change."""
    if not is_distributed(tensor):
        return Tensor.from_value(tensor.value.detach())
    found: Any = tensor
    return type(found).from_local(
        Tensor.from_value(found._local_tensor.value.detach()), found.device_mesh, found.placements,
        run_check=False, shape=found.shape, stride=found.stride())
