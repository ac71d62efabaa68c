"""Devices and meshes as JAX has them: arrays on them, and what a program of theirs is compiled for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Final

from ...errors import PlacementError
from ...jaxprs.tracing import x64
from ...placements import DEFAULT_PLACEMENT, Mesh, Placement, on_mesh
from ...program.program import Structure
from . import jax_compat
from .jax_targets import DeviceTarget, output_shardings

#: JAX's meshes and shardings, by ours
_meshes: Final[dict[Mesh, Any]] = {}
_shardings: Final[dict[Placement, Any]] = {}


def names() -> list[str]:
    """Return the names of the client's devices, such as "cpu:0", the default one first."""
    default = jax_compat.device()
    known = _devices()
    return sorted(known, key=lambda name: known[name] is not default)


def _devices() -> dict[str, Any]:
    """The client's devices by name, in order of their index."""
    devices = list(jax_compat.client().local_devices())
    return {jax_compat.name_of(d, devices): d for d in devices}


def _device(name: str) -> Any:
    known = _devices()
    found = known.get(name)
    if found is None:
        raise PlacementError(
            f"the device {name!r} was asked for, expected one of {', '.join(known)}. "
            "JAX_NUM_CPU_DEVICES, set before the first value is computed, divides the processor "
            "into several")
    return found


def mesh_of(mesh: Mesh) -> Any:
    """Return JAX's mesh of the same devices. Raises PlacementError where there are fewer."""
    found = _meshes.get(mesh)
    if found is None:
        import numpy as np
        from jax.sharding import Mesh as JaxMesh

        devices = np.empty(mesh.size, object)
        if mesh.per_process:
            everybody = jax_compat.devices_of_processes()
            devices[:] = [everybody[n] for n in mesh.devices]
        else:
            devices[:] = [_device(f"{mesh.platform}:{n}") for n in mesh.devices]
        shape = [n for _, n in mesh.axes]
        found = _meshes[mesh] = JaxMesh(devices.reshape(shape), [name for name, _ in mesh.axes])
    return found


def sharding_of(placement: Placement) -> Any:
    """Return JAX's sharding of a placement."""
    found = _shardings.get(placement)
    if found is None:
        from jax.sharding import NamedSharding, PartitionSpec, SingleDeviceSharding

        if placement is DEFAULT_PLACEMENT:
            found = SingleDeviceSharding(jax_compat.device())
        elif placement.mesh is None:
            found = SingleDeviceSharding(_device(placement.device))
        else:
            if placement.mesh.size > 1 and not jax_compat.sharded:
                jax_compat.sharded.append(None)
            spec = [axes or None for axes in placement.spec or ()]
            found = NamedSharding(mesh_of(placement.mesh), PartitionSpec(*spec))
        _shardings[placement] = found
    return found


def upload_to(array: Any, placement: Placement) -> Any:
    """Return an array of a NumPy array's data on the devices of a placement, divided so.

    For a mesh of several processes, each of them has all of the data.
    """
    sharding = sharding_of(placement)
    with x64():
        import jax

        if placement.is_shared:
            return jax.make_array_from_callback(array.shape, sharding, array.__getitem__)
        return jax.device_put(array, sharding)


def from_parts(array: Any, placement: Placement, shape: tuple[int, ...]) -> Any:
    """Return an array of that shape on a mesh of several processes, of what each has of its data.

    Raises ValueError where this process has other parts than the array's shape says.
    """
    sharding = sharding_of(placement)
    with x64():
        import jax

        return jax.make_array_from_process_local_data(sharding, array, shape)


def parts_shape(shape: tuple[int, ...], placement: Placement) -> tuple[int, ...]:
    """Return the shape of what this process has of a value on a mesh of several processes."""
    return tuple([
        stop - start for start, stop in _own(shape, placement)])


def parts(array: Any, placement: Placement) -> Any:
    """Return what this process has of an array, as a NumPy array; waits."""
    import numpy as np

    jax_compat.wait(array)
    own = _own(array.shape, placement)
    result = np.empty([stop - start for start, stop in own], array.dtype)
    for shard in array.addressable_shards:
        at = tuple([
            slice((s.start or 0) - start, (n if s.stop is None else s.stop) - start)
            for s, n, (start, _) in zip(shard.index, array.shape, own, strict=True)])
        result[at] = np.asarray(shard.data)
    return result


def _own(shape: tuple[int, ...], placement: Placement) -> list[tuple[int, int]]:
    """The range of each dimension that this process's devices have.

    Raises PlacementError unless they have all of the block between.
    """
    sharding = sharding_of(placement)
    blocks = {tuple([((s.start or 0), n if s.stop is None else s.stop)
                     for s, n in zip(index, shape, strict=True)])
              for index in sharding.addressable_devices_indices_map(shape).values()}
    own = [(min(b[d][0] for b in blocks), max(b[d][1] for b in blocks))
           for d in range(len(shape))]
    size = 1
    for start, stop in own:
        size *= stop - start
    held = sum(math.prod(stop - start for start, stop in b) for b in blocks)
    if size != held:
        raise PlacementError(
            f"the devices of this process have parts of a value of shape {shape} on {placement} "
            "that do not lie side by side; order the mesh's devices by process")
    return own


def move(array: Any, placement: Placement) -> Any:
    """Return an array of the same data where a placement says; the same if it is there."""
    sharding = sharding_of(placement)
    if array.sharding == sharding:
        return array
    if placement.is_shared:
        return _onto_processes(array, placement)
    if not array.is_fully_addressable:
        # whole in each process: see lazyloom.tensor.moving
        array = array.addressable_data(0)
    # to divide an array otherwise is a program on the mesh: see lazyloom.execute.placed.turn
    alone = jax_compat.device().platform == "cpu" and len(array.sharding.device_set) > 1
    if alone:
        array.block_until_ready()
    with x64():
        import jax

        result = jax.device_put(array, sharding)
    return result.block_until_ready() if alone else result


def _onto_processes(array: Any, placement: Placement) -> Any:
    if array.is_fully_addressable or array.is_fully_replicated:
        return upload_to(jax_compat.to_host(array), placement)
    # a program of all processes: see lazyloom.distributed.together
    with x64():
        import jax

        return jax_compat.on_thread(jax.device_put, (array, sharding_of(placement)))


def target_of(
    structure: Structure, placement: Placement, inputs: int, outputs: Sequence[tuple[int, int]]
) -> DeviceTarget:
    """Return what a program on other devices than the default one is compiled for.

    Args:
        structure: the program.
        placement: of whole values on its devices.
        inputs: how many arrays it takes; what follows the leaves goes whole to each device.
        outputs: its results, as (instruction, result).
    """
    own = [placement if t.placement is DEFAULT_PLACEMENT else t.placement
           for t in structure.leaf_types]
    own += [placement] * (inputs - len(own))
    mesh = placement.mesh
    devices = (_device(placement.device),) if mesh is None else tuple(mesh_of(mesh).devices.flat)
    instructions = structure.instructions
    chosen = [stated(instructions[n].types[r].placement, placement) is None for n, r in outputs]
    if placement.is_shared:
        chosen.append(False)  # what says that all have ended
    return DeviceTarget(devices, tuple([sharding_of(p) for p in own]), tuple(chosen))


def stated(result: Placement, program: Placement) -> Placement | None:
    """The placement that a result has by its type, in a program on a mesh; None if XLA chooses."""
    if result.mesh is None and program.is_shared:
        return program  # whole, for each process to take
    if result.mesh is None or result.mesh != program.mesh or result.spec is None:
        return None
    return result


def output_placements(executable: Any, placement: Placement, count: int) -> tuple[Placement, ...]:
    """Return how XLA divided each output of a program. Raises ValueError if no axes say it."""
    if placement.mesh is None or placement.mesh.size == 1:
        return (placement,) * count
    specs = output_shardings(executable, mesh_of(placement.mesh))
    return tuple([
        on_mesh(placement.mesh, [axes or None for axes in spec]) for spec in specs[:count]])


def attribute(placement: Placement, ndim: int) -> str:
    """Return a placement as Shardy's attribute, for a value of ``ndim`` dimensions."""
    spec = placement.spec or ()
    dimensions = [
        "{" + ", ".join(f'"{axis}"' for axis in (spec[d] if d < len(spec) else ())) + "}"
        for d in range(ndim)]
    return f"<@mesh, [{', '.join(dimensions)}]>"


#: a reduction of one value by a function of its own, and the type of what it reduces
_FOLD: Final = re.compile(
    r"^(\s*)(%[\w#]+) = stablehlo\.reduce\((%[\w#]+) init: (%[\w#]+)\) across dimensions = "
    r"(\[[^]]*\]) : \((tensor<(?:[^<>]|<[^<>]*>)*>), (.*)\n"
    r"(?=\s*reducer\(%\w+: [^)]*\)\s*\{)", re.MULTILINE)


def folds_undivided(text: str) -> str:
    """Return a module of a mesh in which nothing is divided that such a reduction takes.

    XLA makes an all-reduce of its function, and the processor's client knows sums, products, minima
    and maxima alone.
    """

    def whole(match: re.Match[str]) -> str:
        indent, name, operand, init, dimensions, type_, rest = match.groups()
        rank = len(re.findall(r"\dx", type_))
        undivided = f"%whole_{name[1:]}"
        place = f"<@mesh, [{', '.join(['{}'] * rank)}]>"
        return (f"{indent}{undivided} = sdy.sharding_constraint {operand} {place} : {type_}\n"
                f"{indent}{name} = stablehlo.reduce({undivided} init: {init}) across dimensions = "
                f"{dimensions} : ({type_}, {rest}\n")

    return _FOLD.sub(whole, text)


def mesh_line(mesh: Mesh) -> str:
    """Return the statement of a module that names the mesh."""
    axes = ", ".join(f'"{name}"={n}' for name, n in mesh.axes)
    return f"  sdy.mesh @mesh = <[{axes}]>"
