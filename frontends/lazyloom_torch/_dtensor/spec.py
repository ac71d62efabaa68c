"""What is known of a tensor on a mesh: its shape and dtype, and which part each process has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .._dtypes import Size
from .._strides import row_major
from .mesh import DeviceMesh
from .placements import Placement, Shard, _StridedShard


class TensorMeta(NamedTuple):
    """The shape, strides and dtype of a whole tensor."""

    shape: Size
    stride: tuple[int, ...]
    dtype: Any


class DTensorSpec:
    """How a tensor lies on a mesh.

    Attributes:
        mesh: the processes.
        placements: one for each dimension of the mesh.
        tensor_meta: shape, strides and dtype of the whole tensor.
    """

    __slots__ = ("mesh", "placements", "tensor_meta")

    def __init__(self, mesh: DeviceMesh, placements: Sequence[Placement],
                 tensor_meta: TensorMeta | None = None) -> None:  # fmt: skip
        self.mesh = mesh
        self.placements = tuple(placements)
        self.tensor_meta = tensor_meta

    @classmethod
    def of(cls, mesh: DeviceMesh, placements: Sequence[Placement], shape: Sequence[int],
           dtype: Any) -> DTensorSpec:  # fmt: skip
        shape = tuple(shape)
        return cls(mesh, placements, TensorMeta(Size(shape), row_major(shape), dtype))

    @property
    def device_mesh(self) -> DeviceMesh:
        return self.mesh

    @property
    def shape(self) -> Size:
        """The size of each dimension; known before anything runs."""
        assert self.tensor_meta is not None
        return self.tensor_meta.shape

    @property
    def stride(self) -> tuple[int, ...]:
        assert self.tensor_meta is not None
        return self.tensor_meta.stride

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        assert self.tensor_meta is not None
        return self.tensor_meta.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def is_replicated(self) -> bool:
        """Whether each process has the whole tensor."""
        return all(p.is_replicate() for p in self.placements)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DTensorSpec) and (
            other.mesh == self.mesh and other.placements == self.placements
            and other.tensor_meta == self.tensor_meta)

    def __hash__(self) -> int:
        return hash((self.mesh, self.placements))

    def __repr__(self) -> str:
        where = "".join(map(str, self.placements))
        return f"Spec({where} on {tuple(self.shape)})"


def order_of(placements: Sequence[Placement]) -> list[int]:
    """The dimensions of the mesh in the order in which they divide."""
    plain = [i for i, p in enumerate(placements) if not isinstance(p, _StridedShard)]
    late = [i for i, p in enumerate(placements) if isinstance(p, _StridedShard)]
    return plain + late[::-1]


def local_shape_and_offset(
    shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement],
    coordinate: Sequence[int] | None = None,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of a process's part, and where it begins; (0,) in one that is not in the mesh."""
    at = mesh.get_coordinate() if coordinate is None else coordinate
    if at is None:
        return (0,), ()
    sizes, offsets = list(shape), [0] * len(shape)
    for i in order_of(placements):
        p = placements[i]
        if isinstance(p, Shard):
            sizes[p.dim], start = Shard.local_shard_size_and_offset(
                sizes[p.dim], mesh.size(i), at[i])
            offsets[p.dim] += start
    return tuple(sizes), tuple(offsets)


def extent_before(
    shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement], mesh_dim: int, dim: int
) -> int:
    """The extent along a dimension of what a dimension of the mesh divides, in this process."""
    at = mesh.get_coordinate() or (0,) * mesh.ndim
    size = shape[dim]
    for i in order_of(placements):
        if i == mesh_dim:
            break
        p = placements[i]
        if isinstance(p, Shard) and p.dim == dim:
            size, _ = Shard.local_shard_size_and_offset(size, mesh.size(i), at[i])
    return size


def is_even(shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]) -> bool:
    """Whether all processes have parts of one size."""
    sizes = list(shape)
    for i, p in enumerate(placements):
        if isinstance(p, Shard):
            if sizes[p.dim] % mesh.size(i):
                return False
            sizes[p.dim] //= mesh.size(i)
    return True


def global_shape(local: Sequence[int], mesh: DeviceMesh,
                 placements: Sequence[Placement]) -> tuple[int, ...]:  # fmt: skip
    """The shape of a tensor whose parts all have one shape."""
    sizes = list(local)
    for i, p in enumerate(placements):
        if isinstance(p, Shard):
            sizes[p.dim] *= mesh.size(i)
    return tuple(sizes)
