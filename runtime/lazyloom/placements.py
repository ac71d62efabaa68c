"""Placements: on which devices a value lies, and how it is divided among them.

A placement is a device, or a :class:`Mesh` of devices with a partition spec: for each dimension of
the value the mesh axes that divide it. Equal placements are one object, compared by identity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, final

from .compiled import mypyc_attr
from .errors import ArgumentError, PlacementError

#: what divides a dimension: mesh axes, the first of them outermost; () where nothing does
Axes: TypeAlias = "tuple[str, ...]"

#: the sharding of a value that one device has
_WHOLE: Final = "whole"
_ROW_MAJOR: Final = "row-major"
_MEMORY: Final = "device"
#: places of a mesh
_MOST_PLACES: Final = 1 << 20
#: the sharding of a result whose division XLA chooses
_PROPAGATED: Final = "propagated"


@mypyc_attr(acyclic=True)
@final
class Mesh:
    """Devices in a grid whose axes have names. Equal meshes compare equal.

    Attributes:
        axes: names and sizes, the outermost first; made of a mapping of names to sizes.
        platform: of the devices, such as "cpu".
        devices: their indices, in row-major order of the axes.
        per_process: 0 for devices of this process, counted by themselves. Otherwise they are those
            of all processes, and this is how many each has: index ``rank * per_process + k`` is
            device k of the process of that rank.
        text: what tells it from all others, such as ``cpu:0,1,2,3[data=2,model=2]``, or
            ``cpu*2:...`` for two devices of each process.
        shown: the same for people, who see ranks and each process's own devices, such as
            ``cpu:0,1 of ranks 0,1[data=4]``.

    Example:

        >>> lazyloom.make_mesh({"data": 1}) == lazyloom.make_mesh({"data": 1})
        True
    """

    __slots__ = ("axes", "platform", "devices", "per_process", "text", "shown", "_hash")

    def __init__(
        self, axes: Any, platform: str = "cpu", devices: Sequence[int] | None = None,
        per_process: int = 0,
    ) -> None:
        if not isinstance(axes, Mapping) or not axes:
            raise ArgumentError(
                f"Mesh: the axes are {axes!r}, expected a mapping of names to sizes such as "
                '{"data": 4, "model": 2}')
        size = 1
        pairs: list[tuple[str, int]] = []
        name: Any
        n: Any  # what the caller gave: compiled code would make an int of a bool
        for name, n in axes.items():
            if not isinstance(name, str) or not name.isidentifier():
                raise ArgumentError(
                    f"Mesh: an axis is called {name!r}, expected a name such as 'data'")
            if type(n) is not int or n < 1:
                raise ArgumentError(
                    f"Mesh: axis {name!r} has size {n!r}, expected an int of 1 or more")
            pairs.append((name, n))
            size *= n
            if size > _MOST_PLACES:
                raise ArgumentError(
                    f"Mesh: the axes have more than {_MOST_PLACES} places, expected one for each "
                    "device")
        self.axes: Final[tuple[tuple[str, int], ...]] = tuple(pairs)
        self.platform: Final[str] = platform
        numbers: tuple[int, ...] = tuple(range(size)) if devices is None else tuple(devices)
        if len(numbers) != size or len(set(numbers)) != size:
            raise ArgumentError(
                f"Mesh: {len(set(numbers))} different devices were given for axes of {size} places,"
                " expected one for each")
        self.devices: Final[tuple[int, ...]] = numbers
        self.per_process: Final[int] = per_process
        sizes = ",".join([f"{name}={n}" for name, n in pairs])
        of = f"*{per_process}" if per_process else ""
        self.text: Final[str] = f"{platform}{of}:{','.join(map(str, numbers))}[{sizes}]"
        self.shown: Final[str] = f"{_names(platform, numbers, per_process)}[{sizes}]"
        self._hash: Final[int] = hash(self.text)

    @property
    def size(self) -> int:
        """The number of devices."""
        return len(self.devices)

    @property
    def ranks(self) -> tuple[int, ...]:
        """The processes that have its devices; () if that is this one."""
        n = self.per_process
        return tuple(sorted({d // n for d in self.devices})) if n else ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its devices, such as "cpu:1", or "cpu:1 of rank 3" on a shared mesh."""
        return tuple([_names(self.platform, (d,), self.per_process) for d in self.devices])

    @property
    def shape(self) -> dict[str, int]:
        """The sizes by axis."""
        return dict(self.axes)

    def __eq__(self, other: object) -> bool:
        return self is other or isinstance(other, Mesh) and self.text == other.text

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Mesh({self.shown})"


def _names(platform: str, devices: Sequence[int], per_process: int) -> str:
    """The names of devices of a mesh, together."""
    if not per_process:
        return f"{platform}:{','.join(map(str, devices))}"
    #: of each run of devices of one rank
    ranks: list[int] = []
    own: list[list[int]] = []
    for d in devices:
        rank, k = divmod(d, per_process)
        if not ranks or ranks[-1] != rank:
            ranks.append(rank)
            own.append([])
        own[-1].append(k)
    if all(numbers == own[0] for numbers in own):
        of = "rank" if len(ranks) == 1 else "ranks"
        return f"{platform}:{','.join(map(str, own[0]))} of {of} {','.join(map(str, ranks))}"
    return "; ".join([
        f"{platform}:{','.join(map(str, numbers))} of rank {rank}"
        for rank, numbers in zip(ranks, own, strict=True)])


@mypyc_attr(acyclic=True)
@final
class Placement:
    """Where a value lives: device, sharding, layout and memory space.

    Part of every type, of every program key and of the C ABI. Layout and memory are always the
    row-major one and the device's own.

    Attributes:
        device: "default:0" for JAX's default device, a device such as "cpu:3", or a mesh's text.
        sharding: "whole", "propagated", or such as "(data;model)": what divides each dimension.
        text: all of it, which :func:`parsed` reads.
        mesh: the devices that share the value, or None where one has it.
        spec: the mesh axes that divide each dimension, without those at the end that nothing
            divides; None for a result whose division XLA chooses.

    Example:

        >>> mesh = lazyloom.make_mesh({"data": 1})
        >>> x = lazyloom.shard(np.ones((4, 2)), mesh, (None, "data"))
        >>> lazyloom.placement_of(x).sharding
        '(;data)'
    """

    __slots__ = ("device", "sharding", "layout", "memory", "text", "mesh", "spec")

    def __init__(
        self, device: str, sharding: str = _WHOLE, mesh: Mesh | None = None,
        spec: tuple[Axes, ...] | None = None,
    ) -> None:
        self.device: Final = device
        self.sharding: Final = sharding
        self.layout: Final = _ROW_MAJOR
        self.memory: Final = _MEMORY
        self.text: Final[str] = f"{device}/{sharding}/{_ROW_MAJOR}/{_MEMORY}"
        self.mesh: Final = mesh
        self.spec: Final = spec

    @property
    def is_default(self) -> bool:
        """True for the whole value on the default device."""
        return self is DEFAULT_PLACEMENT

    @property
    def is_shared(self) -> bool:
        """True on a mesh of several processes, which run its programs together."""
        return self.mesh is not None and self.mesh.per_process > 0

    @property
    def is_divided(self) -> bool:
        """True for a value on a mesh of several processes of which this one may lack parts."""
        return self.is_shared and self.spec != ()

    @property
    def is_propagated(self) -> bool:
        """True for a result whose division over the mesh XLA chooses."""
        return self.mesh is not None and self.spec is None

    def parts(self, d: int) -> int:
        """Into how many parts dimension ``d`` of the value is divided; 1 if that is not known."""
        count = 1
        mesh, spec = self.mesh, self.spec
        if mesh is not None and spec is not None and d < len(spec):
            sizes = mesh.shape
            for axis in spec[d]:
                count *= sizes[axis]
        return count

    def __repr__(self) -> str:
        where = self.device if self.mesh is None else self.mesh.shown
        return f"{where}/{self.sharding}/{self.layout}/{self.memory}"


#: The first device of JAX's default platform, whole, row-major.
DEFAULT_PLACEMENT: Final = Placement("default:0")

_interned: Final[dict[str, Placement]] = {DEFAULT_PLACEMENT.text: DEFAULT_PLACEMENT}


def _intern(placement: Placement) -> Placement:
    # setdefault keeps one object when two threads make the same placement
    return _interned.setdefault(placement.text, placement)


def on_device(device: str) -> Placement:
    """The placement of a whole value on a device, such as "cpu:3"."""
    return _intern(Placement(device))


def on_mesh(mesh: Mesh, spec: Iterable[Any] | None) -> Placement:
    """The placement of a value on a mesh; for ``spec`` None, XLA chooses how it is divided.

    Args:
        mesh: the devices.
        spec: for each dimension None, the name of a mesh axis or a tuple of such names.

    Raises PlacementError for an axis that the mesh lacks, or that is named twice, and for what is
    no partition spec.
    """
    if spec is None:
        return _intern(Placement(mesh.text, _PROPAGATED, mesh, None))
    dimensions: list[Axes] = []
    seen: set[str] = set()
    sizes = mesh.shape
    if isinstance(spec, str):
        spec = (spec,)
    if not isinstance(spec, Iterable):
        raise PlacementError(
            f"the partition spec is {spec!r}, expected a tuple that has for each dimension None, "
            "the name of a mesh axis or a tuple of such names")
    for item in spec:
        axes: Axes
        if item is None:
            axes = ()
        elif isinstance(item, str):
            axes = (item,)
        elif isinstance(item, (tuple, list)):
            axes = tuple(item)
        else:
            raise PlacementError(
                f"a partition spec has {item!r} for a dimension, expected None, the name of one of "
                f"the mesh's axes ({', '.join(sizes)}) or a tuple of such names")
        for axis in axes:
            if axis not in sizes:
                raise PlacementError(
                    f"a partition spec names the axis {axis!r}, expected one of the mesh's: "
                    f"{', '.join(sizes)}")
            if axis in seen:
                raise PlacementError(
                    f"a partition spec names the axis {axis!r} twice, expected each once")
            seen.add(axis)
        dimensions.append(axes)
    while dimensions and not dimensions[-1]:
        dimensions.pop()
    text = ";".join([",".join(axes) for axes in dimensions])
    return _intern(Placement(mesh.text, f"({text})", mesh, tuple(dimensions)))


def told(placement: Placement) -> str:
    """What the text of a program says of a value that is not on the default device."""
    if placement is DEFAULT_PLACEMENT:
        return ""
    where = placement.device if placement.mesh is None else (
        placement.mesh.shown + ("" if placement.is_propagated else placement.sharding))
    return f" on {where}"


def whole_on(placement: Placement) -> Placement:
    """The placement of whole values on all devices of a placement."""
    return placement if placement.mesh is None else on_mesh(placement.mesh, ())


def propagated(placement: Placement) -> Placement:
    """The placement of results: on the same devices, divided over a mesh as XLA chooses."""
    return placement if placement.mesh is None else on_mesh(placement.mesh, None)


def along_new_axis(placement: Placement) -> Placement:
    """The placement of several values of one placement, stacked along a new first axis.

    That axis is not divided.
    """
    mesh, spec = placement.mesh, placement.spec
    return on_mesh(mesh, [(), *spec]) if mesh is not None and spec else placement


def parsed(text: str) -> Placement:
    """The placement that a text stands for, as :attr:`Placement.text` is. Raises ArgumentError."""
    known = _interned.get(text)
    if known is not None:
        return known
    try:
        device, sharding, _, _ = text.split("/")
        if not device.endswith("]"):
            return on_device(device)
        head, _, tail = device[:-1].partition("[")
        platform, _, numbers = head.partition(":")
        axes = {name: int(n) for name, n in (pair.split("=") for pair in tail.split(","))}
        platform, _, each = platform.partition("*")
        mesh = Mesh(axes, platform, [int(n) for n in numbers.split(",")], int(each or 0))
        if sharding == _PROPAGATED:
            return on_mesh(mesh, None)
        inner = sharding[1:-1]
        return on_mesh(mesh, [tuple(filter(None, part.split(","))) for part in inner.split(";")])
    except ValueError as error:
        raise ArgumentError(f"a placement is {text!r}, which cannot be read: {error}") from None


def check_divides(placement: Placement, shape: tuple[int, ...], what: str) -> None:
    """Raise PlacementError unless a value of that shape can be divided so.

    Each dimension must be a multiple of the number of places that its mesh axes have.
    """
    mesh, spec = placement.mesh, placement.spec
    if mesh is None or spec is None:
        return
    if len(spec) > len(shape):
        raise PlacementError(
            f"{what}: a partition spec for {len(spec)} dimensions was given for a value of shape "
            f"{shape}, expected at most {len(shape)}")
    for d, axes in enumerate(spec):
        parts = placement.parts(d)
        if shape[d] % parts:
            raise PlacementError(
                f"{what}: dimension {d} of shape {shape} is divided into {parts} parts by the mesh "
                f"axes {', '.join(axes)}, expected a multiple of {parts}")


def common(placements: Iterable[Placement], op: str) -> Placement:
    """The placement of an op's results by those of its operands, which must lie together.

    Values on the default device go to whatever devices the others are on. Raises PlacementError
    where two operands are on different ones.
    """
    found = DEFAULT_PLACEMENT
    for p in placements:
        if p is DEFAULT_PLACEMENT:
            continue
        if found is not DEFAULT_PLACEMENT and found.device != p.device:
            raise PlacementError(
                f"{op}: operands are on {shown(found)} and on {shown(p)}, expected one device or "
                "mesh for all; move one with lazyloom.to_device or lazyloom.shard", op=op)
        found = p
    return propagated(found)


def shown(placement: Placement) -> str:
    """The devices of a placement, for people to read."""
    if placement.mesh is not None:
        return f"the mesh {placement.mesh.shown}"
    return "the default device" if placement is DEFAULT_PLACEMENT else f"device {placement.device}"
