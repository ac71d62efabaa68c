"""The entries of devices, meshes and processes."""

from __future__ import annotations

from typing import Any

from _lazyloom_abi import ffi  # type: ignore[import-not-found]

import lazyloom
from lazyloom import distributed
from lazyloom.errors import ArgumentError

from . import capture
from .serving import entry, give, located, value_of


def text(value: lazyloom.Value) -> str:
    """Where a value is, for ``loom_tensor_placement``."""
    placement = lazyloom.placement_of(value)
    if placement.mesh is None:
        return placement.device
    return placement.mesh.shown + ("" if placement.spec is None else placement.sharding)


def _string(given: Any) -> str | None:
    if given == ffi.NULL:
        return None
    found: str = ffi.string(given).decode("utf-8", "replace")
    return found


@located
def loomp_to_device(tensor: int, device: Any, result: Any) -> int:
    result[0] = give(lazyloom.to_device(value_of(tensor), _string(device)))
    return 1


@located
def loomp_shard(tensor: int, mesh: Any, devices: Any, spec: Any, result: Any) -> int:
    value = value_of(tensor)
    call = "loom_tensor_shard"
    on = _mesh(_string(mesh) or "", _string(devices), call)
    result[0] = give(lazyloom.shard(value, on, _spec(_string(spec) or "", call, value.type)))
    return 1


def _mesh(text: str, devices: str | None, call: str) -> lazyloom.Mesh:
    axes: dict[str, int] = {}
    for pair in text.split(","):
        name, equals, size = pair.strip().partition("=")
        if not equals or not size.isdigit() or name in axes:
            raise ArgumentError(
                f"{call}: the mesh is {text!r}, expected names and sizes of different "
                "axes such as 'data=4,model=2'")
        axes[name] = int(size)
    if devices is not None:
        return lazyloom.make_mesh(axes, [name.strip() for name in devices.split(",")])
    if distributed.world_size() > 1:
        return distributed.make_mesh(axes)
    return lazyloom.make_mesh(axes)


def _spec(text: str, call: str, type: lazyloom.TensorType) -> tuple[tuple[str, ...], ...]:
    """The axes that divide each dimension. Raises ArgumentError."""
    parts = text.split(";") if text.strip() else []
    if len(parts) > type.ndim:
        raise ArgumentError(
            f"{call}: spec is {text!r}, of {len(parts)} dimensions, expected at most {type.ndim} "
            f"for {type.text}, separated by semicolons")
    return tuple([
        tuple([name.strip() for name in axes.split(",") if name.strip()]) for axes in parts])


@located
def loomp_local_part(tensor: int, result: Any) -> int:
    capture.refuse_read("loom_tensor_local_part")
    result[0] = give(distributed.local_array(value_of(tensor)))
    return 1


@located
def loomp_from_local_part(tensor: int, mesh: Any, devices: Any, spec: Any, result: Any) -> int:
    call = "loom_tensor_from_local_part"
    capture.refuse_read(call)
    value = value_of(tensor)
    on = _mesh(_string(mesh) or "", _string(devices), call)
    result[0] = give(
        distributed.array_from_local(value, on, _spec(_string(spec) or "", call, value.type)))
    return 1


@entry
def loomp_barrier(timeout: float) -> int:
    if not 0 <= timeout < 1e9:
        raise ArgumentError(
            f"loom_distributed_barrier: timeout is {timeout}, expected seconds, or 0 for that of "
            "loom_distributed_initialize()")
    distributed.barrier(timeout=timeout or None)
    return 1


@entry
def loomp_join(address: Any, world_size: int, rank: int, timeout: float) -> int:
    capture.refuse_read("loom_distributed_initialize")
    if not 0 <= timeout < 1e9:
        raise ArgumentError(
            f"loom_distributed_initialize: timeout is {timeout}, expected seconds, or 0 for 300")
    distributed.init(
        _string(address), None if world_size == -1 else world_size,
        None if rank == -1 else rank, timeout=timeout or 300.0)
    return 1


@entry
def loomp_rank(rank: Any, world_size: Any) -> int:
    rank[0], world_size[0] = distributed.rank(), distributed.world_size()
    return 1


@entry
def loomp_leave() -> int:
    distributed.shutdown()
    return 1
