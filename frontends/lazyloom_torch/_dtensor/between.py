"""DTensors that go to another mesh."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lazyloom

from .._core import record
from .._processes import calls
from .._processes.groups import ProcessGroup, default_group
from .._processes.pending import pending
from .._tensor import Tensor, operand
from .mesh import DeviceMesh
from .placements import Placement, Replicate
from .tensors import DTensor, dtensor, laid


def onto(given: DTensor, mesh: DeviceMesh, placements: Sequence[Placement]) -> DTensor:
    """A tensor on another mesh; the processes of both call it.

    It is gathered on its own mesh, and each process of the other takes its part. Where the other
    has processes that its own has not, the first process of its own sends them the whole.

    Raises NotImplementedError for a tensor that requires a gradient, if the processes of the two
    meshes are not the same.
    """
    here, there = _ranks(given.device_mesh), _ranks(mesh)
    if set(here) != set(there) and given.requires_grad and lazyloom.grad_enabled():
        raise NotImplementedError(
            f"redistribute from {given.device_mesh} to {mesh}: they are of different processes, "
            "and gradients do not go back between them; detach() the tensor")
    shape = tuple(given.shape)
    local = laid(given, (Replicate(),) * given.device_mesh.ndim)._local_tensor
    if not set(there) <= set(here):
        local = _sent(local, shape, here, there)
    if mesh.get_coordinate() is None:
        local = local.new_empty(0)
    return laid(dtensor(local, mesh, (Replicate(),) * mesh.ndim, shape), placements)


def _ranks(mesh: DeviceMesh) -> list[int]:
    found: list[int] = mesh.mesh.reshape(-1).tolist()
    return found


def _sent(local: Tensor, shape: tuple[int, ...], here: list[int], there: list[int]) -> Tensor:
    """What the first process of ``here`` has, in all processes of both."""
    every = sorted({*here, *there})
    world = default_group()
    group = ProcessGroup(every, f"{world.group_name}/onto{','.join(map(str, every))}",
                         world.backend, world.timeout, "redistribute")
    if group.rank() < 0:
        return local
    value: Any = operand(local)
    if value.shape != shape:
        # a process that is not in the first mesh has nothing
        value = record("full", [lazyloom.Scalar(0, value.dtype)], {"shape": shape})
    found = calls.broadcast(value, every.index(here[0]), group)
    pending.note(found)
    made: Tensor = Tensor.from_value(found)
    return made
