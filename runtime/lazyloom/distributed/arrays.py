"""Values on meshes of all processes' devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backends.data import given
from ..backends.selection import backend
from ..errors import ArgumentError, PlacementError, type_name
from ..evaluate.reading import materialize, read
from ..placements import Mesh, on_mesh
from ..tensor.host import from_host
from ..tensor.moving import placement_now
from ..tensor.placing import shard, value_of
from ..tensor.tensor import Tensor
from ..tensor.wrapping import wrap_as
from ..trace.graph import Buffer, check_process, leaf_value
from ..types import tensor_type
from . import processes


def make_mesh(axes: Any, devices: Sequence[int] | None = None) -> Mesh:
    """A mesh of the devices of all processes, which all of them make.

    Each process has as many devices; ``JAX_NUM_CPU_DEVICES`` divides the processor.

    Args:
        axes: the names and sizes of its axes, such as ``{"data": 4, "model": 2}``.
        devices: their numbers in row-major order, those of rank 0 first; all by default.

    Raises ArgumentError for other axes, PlacementError where the devices are not there.
    """
    check_process()
    world = processes.world_size()
    counts = backend().device_counts()
    if len(set(counts)) != 1:
        raise PlacementError(
            f"make_mesh: the processes have {', '.join(map(str, counts))} devices, expected the "
            "same number in each")
    n = counts[0]
    total = n * world
    platform = backend().devices()[0].rpartition(":")[0]
    size = Mesh(axes, platform).size
    chosen = tuple(range(size)) if devices is None else tuple(devices)
    if size > total or any(type(d) is not int or not 0 <= d < total for d in chosen):
        raise PlacementError(
            f"make_mesh: axes of {size} places and the devices {list(chosen)} were given, but "
            f"{world} processes of {n} devices have the devices 0 to {total - 1}")
    # alone, they are this process's own
    return Mesh(axes, platform, chosen, n if world > 1 else 0)


def array_from_local(x: Any, mesh: Mesh, spec: Any) -> Any:
    """The array on a mesh of all processes of which each of them has a part.

    What is pending of ``x`` is computed first; no gradient goes back to it.

    Args:
        x: this process's part, a tensor or a NumPy array, which is copied: what its devices have,
            side by side. All of the data along dimensions that no other process has a part of.
        mesh: from :func:`make_mesh`.
        spec: as for :func:`lazyloom.shard`.

    Returns a tensor of the class of ``x``; of a NumPy array a :class:`lazyloom.Tensor`, of which
    ``lazyloom_numpy.asarray`` and ``lazyloom_torch.as_tensor`` make theirs.

    Raises PlacementError where the parts make no array, DTypeError for data of a dtype that there
    is not.
    """
    if isinstance(x, np.ndarray):
        x = Tensor.from_value(from_host(x))
    value = value_of(x, "array_from_local")
    if not isinstance(mesh, Mesh):
        raise ArgumentError(
            f"array_from_local: the mesh is a {type_name(mesh)}, expected one of make_mesh")
    if not mesh.per_process:
        return shard(x, mesh, spec)
    placement = on_mesh(mesh, () if spec is None else spec)
    own = value.shape
    if len(placement.spec or ()) > len(own):
        raise PlacementError(
            f"array_from_local: a partition spec for {len(placement.spec or ())} dimensions was "
            f"given for a value of shape {own}")
    # how many parts of each dimension there are, by what this process has of them
    probe = tuple([placement.parts(d) for d in range(len(own))])
    here = backend().parts_shape(probe, placement)
    shape = []
    for d, n in enumerate(own):
        if n % here[d]:
            raise PlacementError(
                f"array_from_local: dimension {d} of shape {own} is shared by {here[d]} devices of "
                f"this process, expected a multiple of {here[d]}")
        shape.append(n // here[d] * probe[d])
    t = tensor_type(tuple(shape), value.type.dtype, placement)
    array = given(backend().from_parts(read(value), placement, t.shape), "from_parts")
    made = leaf_value(t, Buffer(None, array, False))
    return wrap_as(x, made) if isinstance(x, Tensor) else made


def local_array(x: Any) -> Any:
    """What this process's devices have of an array on a mesh, side by side, on its default device.

    The array is computed, in all processes of the mesh; no gradient goes back to it. Of an array
    that lies elsewhere this is the whole.

    Raises PlacementError where the parts do not lie side by side.
    """
    value = value_of(x, "local_array")
    if value.type.placement.mesh is None or not value.type.placement.mesh.per_process:
        return x
    buffer = materialize(value, "local_array")
    placement = placement_now(value)
    array = buffer.array
    if array is None:
        array = given(backend().upload_to(buffer.host, placement), "upload_to")
    made = from_host(backend().parts(array, placement))
    return wrap_as(x, made) if isinstance(x, Tensor) else made
