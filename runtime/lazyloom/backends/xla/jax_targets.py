"""What a program is compiled for: other devices than the default one, meshes, processes.

Like :mod:`.jax_compat`, it knows names of JAX and jaxlib that are private or not stable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class DeviceTarget(NamedTuple):
    """What a program is compiled for, if that is not the default device.

    Attributes:
        devices: one, or those of a mesh in row-major order.
        inputs: the sharding of each input.
        chosen: for each output, whether XLA chooses how it is divided.
        replicas: the devices are one of each process, and run the program together.
    """

    devices: tuple[Any, ...]
    inputs: tuple[Any, ...]
    chosen: tuple[bool, ...]
    replicas: bool = False

    def options(self) -> Any:
        """Return XLA's options for a program of it."""
        import numpy as np
        from jaxlib import xla_client

        options = xla_client.CompileOptions()
        n = len(self.devices)
        replicas, partitions = (n, 1) if self.replicas else (1, n)
        options.num_replicas = replicas
        options.num_partitions = partitions
        build = options.executable_build_options
        build.num_replicas = replicas
        build.num_partitions = partitions
        build.device_assignment = xla_client.DeviceAssignment.create(
            np.array([d.id for d in self.devices]).reshape(replicas, partitions))
        if partitions > 1:
            build.use_spmd_partitioning = True
            build.use_shardy_partitioner = True
            build.allow_spmd_sharding_propagation_to_output = list(self.chosen)
        return options

    def device_list(self) -> Any:
        """Return the devices as XLA's client takes them."""
        from jaxlib import _jax

        return _jax.DeviceList(self.devices)


def of_processes(count: int, devices: Sequence[Any]) -> DeviceTarget:
    """Return the target of programs that as many processes run together: one device of each.

    ``devices`` are those of all processes.
    """
    first = {d.process_index: d for d in reversed(devices)}
    return DeviceTarget(tuple([first[rank] for rank in range(count)]), (), (), replicas=True)


def output_shardings(executable: Any, mesh: Any) -> list[tuple[Any, ...]]:
    """Return the partition spec of each output of a program on a JAX mesh, as tuples of axes.

    Raises ValueError where the mesh axes cannot say it.
    """
    from jax._src.sharding_impls import parse_flatten_op_sharding

    found: list[tuple[Any, ...]] = []
    for sharding in executable.get_output_shardings() or ():
        found += [tuple(spec) for spec in parse_flatten_op_sharding(sharding, mesh)]
    return found
