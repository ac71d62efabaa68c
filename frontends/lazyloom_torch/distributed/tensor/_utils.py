"""``torch.distributed.tensor._utils``: shapes and offsets of parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._dtensor.mesh import DeviceMesh
from ..._dtensor.placements import Placement
from ..._dtensor.spec import global_shape, local_shape_and_offset
from ..._strides import row_major


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement],
    skip_offset: bool = False,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of this process's part, and where it begins in the whole tensor."""
    shape, offset = local_shape_and_offset(global_shape, mesh, placements)
    return shape, () if skip_offset else offset


def compute_local_shape(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[int, ...]:
    """The shape of this process's part."""
    return local_shape_and_offset(global_shape, mesh, placements)[0]


def compute_global_tensor_info(
    tensor: Any, mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[list[int], list[int]]:
    """The shape and strides of a whole tensor whose parts are all like this one."""
    shape = global_shape(tuple(tensor.shape), mesh, placements)
    return list(shape), list(row_major(shape))


__all__ = ["compute_global_tensor_info", "compute_local_shape",
           "compute_local_shape_and_global_offset"]
