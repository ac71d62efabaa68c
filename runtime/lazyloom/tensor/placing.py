"""Values on devices and meshes: where they are, and moving and dividing them."""

from __future__ import annotations

from typing import Any

from ..backends.selection import backend
from ..errors import ArgumentError, PlacementError, type_name
from ..placements import (
    DEFAULT_PLACEMENT,
    Mesh,
    Placement,
    check_divides,
    on_device,
    on_mesh,
)
from ..trace.graph import Value, check_process
from .moving import made_at, moved, placement_now
from .tensor import Tensor
from .wrapping import wrap_as


def devices() -> tuple[str, ...]:
    """The names of this process's devices, such as "cpu:0", in order of their index.

    The environment variable JAX_NUM_CPU_DEVICES divides the processor into several.

    Example:

        >>> np.ones(3).to_device(lazyloom.devices()[0])
        array([1., 1., 1.])
    """
    check_process()
    return tuple(sorted(backend().devices(), key=lambda name: int(name.rpartition(":")[2])))


def default_device() -> str:
    """The name of the device on which values are unless they are placed elsewhere.

    It is the first of JAX's default platform, or the one that LAZYLOOM_DEVICE names.

    Example:

        >>> lazyloom.default_device() in lazyloom.devices()
        True
    """
    check_process()
    return backend().devices()[0]


def make_mesh(axes: Any, names: Any = None) -> Mesh:
    """A mesh of this process's devices.

    Args:
        axes: the names and sizes of its axes, such as ``{"data": 4, "model": 2}``.
        names: the devices in row-major order, such as ``["cpu:4", "cpu:5"]``; the first ones, in
            order of their index, if None.

    Raises ArgumentError for other axes, PlacementError where the devices are not there.

    Example:

        >>> lazyloom.make_mesh({"data": 1}, ["cpu:0"])
        Mesh(cpu:0[data=1])
    """
    known = devices()
    chosen = known if names is None else list(names)
    indices: list[int] = []
    for name in chosen:
        if name not in known:
            raise PlacementError(
                f"Mesh: the device {name!r} was given, expected some of {', '.join(known)}")
        indices.append(int(name.rpartition(":")[2]))
    platform = known[0].rpartition(":")[0]
    if names is None:
        size = Mesh(axes, platform).size
        if size > len(known):
            raise PlacementError(
                f"Mesh: axes of {size} places were given, but there are {len(known)} devices: "
                f"{', '.join(known)}. The environment variable JAX_NUM_CPU_DEVICES={size}, set "
                "before the first value is computed, divides the processor")
        indices = indices[:size]
    return Mesh(axes, platform, indices)


def to_device(x: Any, device: str | None = None) -> Any:
    """The same data on another device; ``x`` itself if it is there.

    The copy is not waited for. What is computed of it is a program of its own, on that device; the
    gradient goes back to the device of ``x``.

    Args:
        x: a tensor or a value, of any shape and dtype.
        device: the name of a device, one of :func:`devices`; None for the default one.

    Raises PlacementError for another name, ArgumentError where ``x`` is no tensor.

    Example:

        >>> lazyloom.to_device(np.arange(3.0), lazyloom.default_device())
        array([0., 1., 2.])
    """
    return _moved(x, value_of(x, "to_device"), _placed_on(device, "to_device"))


def make_on(value: Value, device: str | None) -> Value:
    """A value that was made a moment ago, and that nobody else knows, on another device.

    What is filled with numbers, counted or drawn is made there, as a part of the program that uses
    it; other data are moved, as by :func:`to_device`. For functions that make new tensors. Raises
    PlacementError for a device that is not there.
    """
    placement = _placed_on(device, "make_on")
    return value if placement is value.type.placement else made_at(value, placement)


def _placed_on(device: str | None, function: str) -> Placement:
    """The placement on a device that is named. Raises PlacementError."""
    if device is None:
        return DEFAULT_PLACEMENT
    known = devices()
    if device not in known:
        raise PlacementError(
            f"{function}: the device {device!r} was asked for, expected one of {', '.join(known)}")
    return DEFAULT_PLACEMENT if device == default_device() else on_device(device)


def shard(x: Any, mesh: Mesh, spec: Any) -> Any:
    """The same data on the devices of a mesh, divided as a partition spec says.

    On a mesh where ``x`` already is, this is a constraint of the program: XLA divides what is
    computed of it, and before it, to fit. The gradient passes through.

    Args:
        x: a tensor or a value, of any dtype.
        mesh: a :class:`~lazyloom.placements.Mesh`.
        spec: for each dimension None, the name of the mesh axis that divides it, or a tuple of
            names, the outermost first; dimensions at the end may be left out. Each dimension is a
            multiple of the number of its parts.

    Raises PlacementError for axes that the mesh lacks and for sizes that cannot be divided.

    Example:

        >>> mesh = lazyloom.make_mesh({"data": 1})
        >>> lazyloom.shard(np.arange(4.0), mesh, ("data",)) * 2
        array([0., 2., 4., 6.])
    """
    value = value_of(x, "shard")
    if not isinstance(mesh, Mesh):
        raise ArgumentError(f"shard: the mesh is a {type_name(mesh)}, expected a lazyloom.Mesh")
    placement = on_mesh(mesh, () if spec is None else spec)
    check_divides(placement, value.shape, "shard")
    return _moved(x, value, placement)


def placement_of(x: Any) -> Placement:
    """Where a tensor or value is, or will be: a device, or a mesh and how it is divided.

    For a result whose division XLA chooses, ``spec`` is None until it is computed.

    Example:

        >>> mesh = lazyloom.make_mesh({"data": 1})
        >>> x = lazyloom.shard(np.ones((4, 2)), mesh, ("data", None))
        >>> lazyloom.placement_of(x).spec
        (('data',),)
    """
    return placement_now(value_of(x, "placement_of"))


def value_of(x: Any, function: str) -> Value:
    """The value of what a function was given. Raises ArgumentError."""
    value = x.value if isinstance(x, Tensor) else x
    if not isinstance(value, Value):
        raise ArgumentError(
            f"{function}: a {type_name(x)} was given, expected a tensor or a Value; a "
            "frontend makes one, such as lazyloom_numpy.asarray")
    return value


def _moved(x: Any, value: Value, placement: Placement) -> Any:
    there = moved(value, placement)
    if there is value:
        return x
    return wrap_as(x, there) if isinstance(x, Tensor) else there
