"""Meshes of processes: an array of ranks, with a process group for each line along a dimension."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._dtypes import int32
from .._functions.creation import tensor as make_tensor
from .._processes.groups import (
    GroupMember,
    ProcessGroup,
    get_process_group_ranks,
    init_process_group,
    is_initialized,
    new_group,
    world_rank,
    world_size,
)
from .._tensor import Tensor

#: the meshes that ``with mesh:`` has entered, the innermost last
_entered = threading.local()


def current_mesh() -> DeviceMesh | None:
    """The innermost mesh that ``with mesh:`` has entered."""
    found = getattr(_entered, "meshes", None)
    return found[-1] if found else None


def _ranks_of(mesh: Any) -> np.ndarray:
    """Ranks given as a tensor, an array or nested lists."""
    if isinstance(mesh, Tensor) or hasattr(mesh, "tolist"):
        mesh = mesh.tolist()
    found = np.asarray(mesh)
    if found.dtype.kind not in "iu" and found.size:
        raise ValueError(f"DeviceMesh: ranks are whole numbers, got an array of {found.dtype}")
    return found.astype(np.int64)


def check_names(names: Sequence[str] | None, ndim: int) -> tuple[str, ...] | None:
    """The names of a mesh's dimensions. RuntimeError for a wrong number, or one that comes twice.
    """
    if names is None:
        return None
    names = (names,) if isinstance(names, str) else tuple(names)
    if len(set(names)) != len(names):
        raise RuntimeError(
            "Each mesh_dim_name must be unique.", f"Found repeated mesh_dim_name in "
            f"mesh_dim_names {names}")
    if len(names) != ndim:
        raise RuntimeError(
            "mesh_shape and mesh_dim_names should have same length!",
            f"Found len(mesh_dim_names): {len(names)} and len(mesh_shape):{ndim}.")
    return names


class DeviceMesh:
    """An array of processes, each by its rank.

    Args:
        device_type: "cpu" or "cuda".
        mesh: the ranks, an array of any number of dimensions.
        mesh_dim_names: a name for each dimension, by which ``mesh["name"]`` finds a part of it.

    All processes make it, in the same order. Raises RuntimeError for ranks that come twice or that
    there are not, and for names that do not fit.
    """

    def __init__(
        self, device_type: str, mesh: Any = None, *, mesh_dim_names: Sequence[str] | None = None,
        backend_override: Any = None, _init_backend: bool = True, _rank: int | None = None,
        _root: DeviceMesh | None = None, _groups: list[Any] | None = None,
    ) -> None:
        self.device_type = str(device_type).partition(":")[0]
        self._ranks = _ranks_of(mesh)
        self.mesh_dim_names = check_names(mesh_dim_names, self._ranks.ndim)
        self._root = _root
        self._flattened: dict[str, DeviceMesh] = {}
        if not is_initialized() and _init_backend and _groups is None:
            init_process_group()
        flat = self._ranks.ravel().tolist()
        if len(set(flat)) != len(flat):
            raise RuntimeError(f"DeviceMesh cannot have duplicate values, but found {flat}")
        if _init_backend and any(not 0 <= r < world_size() for r in flat):
            raise RuntimeError(
                f"Mesh should not be bigger than default world size {world_size()}, but found "
                f"ranks {flat}")
        self._rank = world_rank() if _rank is None else _rank
        self._coordinate = self._found()
        self._groups = self._made_groups() if _groups is None else _groups

    def _found(self) -> tuple[int, ...] | None:
        at = np.argwhere(self._ranks == self._rank)
        return tuple(at[0].tolist()) if len(at) else None

    def _made_groups(self) -> list[Any]:
        """The group of this process along each dimension; every process makes all groups."""
        groups: list[Any] = []
        for dim in range(self._ranks.ndim):
            own: Any = GroupMember.NON_GROUP_MEMBER
            lines = np.moveaxis(self._ranks, dim, -1).reshape(-1, self._ranks.shape[dim])
            name = self.mesh_dim_names[dim] if self.mesh_dim_names else f"dim_{dim}"
            for line in lines.tolist():
                made = new_group(line, group_desc=f"mesh_{name}", sort_ranks=False)
                if self._rank in line:
                    own = made
            groups.append(own)
        return groups

    # -- what it is -------------------------------------------------------------------------

    @property
    def mesh(self) -> Tensor:
        """The ranks as a tensor of int32."""
        made: Tensor = make_tensor(self._ranks.tolist(), dtype=int32)
        return made.reshape(tuple(self._ranks.shape))

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return int(self._ranks.ndim)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many processes there are along each dimension."""
        return tuple(self._ranks.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """How many processes there are, in all or along a dimension."""
        return int(self._ranks.size if mesh_dim is None else self._ranks.shape[mesh_dim])

    def get_rank(self) -> int:
        """The global rank of this process."""
        return world_rank() if is_initialized() else self._rank

    def get_coordinate(self) -> tuple[int, ...] | None:
        """Where this process is in it; None if it is not."""
        return self._coordinate

    def _is_current_rank_part_of_mesh(self) -> bool:
        return self._coordinate is not None

    def _dim(self, given: int | str) -> int:
        """A dimension given by its number or its name. KeyError, IndexError for none."""
        if isinstance(given, str):
            if self.mesh_dim_names is None or given not in self.mesh_dim_names:
                raise KeyError(
                    f"Mesh dimension '{given}' does not exist. Available mesh dimensions are: "
                    f"mesh_dim_names={self.mesh_dim_names}")
            return self.mesh_dim_names.index(given)
        if not -self.ndim <= given < self.ndim:
            raise IndexError(f"dimension {given} of a DeviceMesh of {self.ndim} dimensions")
        return given % self.ndim

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """The place of this process along a dimension, which a mesh of one need not name.

        Raises RuntimeError without a dimension for a mesh of several, and in a process that is not
        in the mesh.
        """
        if mesh_dim is None:
            if self.ndim > 1:
                raise RuntimeError(
                    f"Found the DeviceMesh have {self.ndim} dimensions",
                    "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.")
            mesh_dim = 0
        if self._coordinate is None:
            raise RuntimeError(f"rank {self._rank} is not in {self!r}")
        return self._coordinate[self._dim(mesh_dim)]

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The process group of this process along a dimension.

        Raises RuntimeError without a dimension for a mesh of several.
        """
        if mesh_dim is None:
            if self.ndim > 1:
                raise RuntimeError(
                    f"Found the DeviceMesh have {self.ndim} dimensions",
                    "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
                    "If you want to get the list of all the ProcessGroups in the DeviceMesh,"
                    "please use `get_all_groups()` instead.")
            mesh_dim = 0
        if isinstance(mesh_dim, str) and mesh_dim in self._top()._flattened:
            return self._top()._flattened[mesh_dim].get_group()
        if not self._groups:
            raise RuntimeError("DeviceMesh process groups not initialized!")
        found: ProcessGroup = self._groups[self._dim(mesh_dim)]
        return found

    def get_all_groups(self) -> list[ProcessGroup]:
        """The process group of this process along each dimension."""
        return [self.get_group(d) for d in range(self.ndim)]

    # -- parts of it ------------------------------------------------------------------------

    def _top(self) -> DeviceMesh:
        return self if self._root is None else self._root

    _get_root_mesh = _top

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        """The part along some dimensions in which this process is, in their order.

        Raises RuntimeError for a mesh without names, KeyError for names that it does not have.
        """
        if not self.mesh_dim_names:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        if names == self.mesh_dim_names:
            return self
        top = self._top()
        if len(names) == 1 and names[0] not in self.mesh_dim_names and names[0] in top._flattened:
            return top._flattened[names[0]]
        unknown = [n for n in names if n not in self.mesh_dim_names]
        if unknown:
            valid = [*self.mesh_dim_names, *top._flattened]
            raise KeyError(f"Invalid mesh_dim_names {names} specified. Valid mesh_dim_names are "
                           f"{valid}.")
        dims = [self.mesh_dim_names.index(n) for n in names]
        if len(set(dims)) != len(dims):
            raise KeyError(f"Invalid mesh_dim_names {names}: a dimension comes twice")
        return self._part(dims, names)

    def _part(self, dims: Sequence[int], names: tuple[str, ...] | None) -> DeviceMesh:
        """The mesh along some dimensions, through this process, or the first one outside."""
        at = self._coordinate or (0,) * self.ndim
        where = tuple(slice(None) if d in dims else at[d] for d in range(self.ndim))
        kept = sorted(dims)
        ranks = np.moveaxis(self._ranks[where], range(len(dims)), [dims.index(d) for d in kept])
        return DeviceMesh(
            self.device_type, ranks, mesh_dim_names=names, _init_backend=False, _rank=self._rank,
            _root=self._top(), _groups=[self._groups[d] for d in dims])

    def _get_all_submeshes(self, mesh_dim_name: str) -> list[DeviceMesh]:
        """The meshes of one dimension that lie along that one."""
        dim = self._dim(mesh_dim_name)
        lines = np.moveaxis(self._ranks, dim, -1).reshape(-1, self._ranks.shape[dim])
        return [
            DeviceMesh(self.device_type, line, mesh_dim_names=(mesh_dim_name,), _rank=self._rank,
                       _init_backend=False, _root=self._top(), _groups=[self._groups[dim]])
            for line in lines]

    def _flatten(self, mesh_dim_name: str | None = None, backend_override: Any = None,
                 ) -> DeviceMesh:  # fmt: skip
        """The processes of it in one dimension, found later by that name in the mesh it is of.

        The name is by default those of its dimensions, with underscores between.
        """
        name = mesh_dim_name or "_".join(self.mesh_dim_names or ())
        top = self._top()
        if name in (top.mesh_dim_names or ()) and not (
                self.ndim == 1 and self.mesh_dim_names == (name,)):
            raise ValueError(f"{name} already exists for submesh of the root mesh. "
                             "Please specify another valid mesh_dim_name.")
        if self.ndim == 1 and self.mesh_dim_names == (name,):
            return self
        before = top._flattened.get(name)
        if before is not None and np.array_equal(before._ranks, self._ranks.ravel()):
            return before
        made = self._flat(name)
        top._flattened[name] = made
        return made

    def _flat(self, name: str) -> DeviceMesh:
        """A mesh of one dimension; all processes make the groups of all parts like this one."""
        top = self._top()
        if self.ndim == 1:
            groups = list(self._groups)
        else:
            own: Any = GroupMember.NON_GROUP_MEMBER
            for line in top._alike(self):
                made = new_group(line, group_desc=f"mesh_{name}", sort_ranks=False)
                if self._rank in line:
                    own = made
            groups = [own]
        return DeviceMesh(self.device_type, self._ranks.ravel(), mesh_dim_names=(name,),
                          _init_backend=False, _rank=self._rank, _root=top, _groups=groups)

    def _alike(self, part: DeviceMesh) -> list[list[int]]:
        """The ranks of all parts of this mesh that have the dimensions of one of them."""
        if part is self or part.mesh_dim_names is None or self.mesh_dim_names is None or any(
                n not in self.mesh_dim_names for n in part.mesh_dim_names):
            return [part._ranks.ravel().tolist()]
        dims = [self.mesh_dim_names.index(n) for n in part.mesh_dim_names]
        last = np.moveaxis(self._ranks, dims, range(self.ndim - len(dims), self.ndim))
        found: list[list[int]] = last.reshape(-1, part.size()).tolist()
        return found

    def _unflatten(self, dim: int | str, mesh_sizes: Sequence[int],
                   mesh_dim_names: Sequence[str], backend_override: Any = None,
                   ) -> DeviceMesh:  # fmt: skip
        """The same processes, with a dimension divided into several."""
        at = self._dim(dim)
        if math.prod(mesh_sizes) != self.shape[at]:
            raise ValueError(f"_unflatten: sizes {tuple(mesh_sizes)} do not multiply to the "
                             f"{self.shape[at]} processes of dimension {dim!r}")
        names = self.mesh_dim_names or tuple(f"dim_{i}" for i in range(self.ndim))
        return DeviceMesh(
            self.device_type,
            self._ranks.reshape(*self.shape[:at], *mesh_sizes, *self.shape[at + 1:]),
            mesh_dim_names=(*names[:at], *mesh_dim_names, *names[at + 1:]))

    @staticmethod
    def from_group(
        group: ProcessGroup | list[ProcessGroup], device_type: str, mesh: Any = None, *,
        mesh_dim_names: tuple[str, ...] | None = None,
    ) -> DeviceMesh:
        """A mesh of the processes of a group, or of several, one for each dimension of ``mesh``.

        Raises ValueError without ``mesh`` for several groups, or for one that does not fit.
        """
        groups = [group] if isinstance(group, ProcessGroup) else list(group)
        if isinstance(group, ProcessGroup):
            ranks = np.asarray(get_process_group_ranks(group))
            if mesh is not None and _ranks_of(mesh).ravel().tolist() != ranks.tolist():
                raise ValueError(f"Invalid mesh {mesh} for ProcessGroup with ranks "
                                 f"{ranks.tolist()}")
        else:
            if not groups:
                raise ValueError("Expects at least one ProcessGroup to be passed")
            if mesh is None:
                raise ValueError("Must pass mesh if passing multiple ProcessGroups")
            ranks = _ranks_of(mesh)
            if ranks.ndim != len(groups):
                raise ValueError("Expects mesh with ndim equal to number of ProcessGroups but got "
                                 f"mesh {ranks.tolist()} and {len(groups)} ProcessGroups")
        return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names, _groups=groups)

    # -- as an object -----------------------------------------------------------------------

    def __enter__(self) -> DeviceMesh:
        if not hasattr(_entered, "meshes"):
            _entered.meshes = []
        _entered.meshes.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _entered.meshes.pop()

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("a DeviceMesh is not iterated; its ranks are mesh.mesh")

    def __repr__(self) -> str:
        named = (", ".join(f"{n}={s}" for n, s in zip(self.mesh_dim_names, self.shape, strict=True))
                 if self.mesh_dim_names else ", ".join(map(str, self.shape)))
        return f"DeviceMesh(({named}), '{self.device_type}', stride={self._strides()})"

    def _strides(self) -> tuple[int, ...]:
        found, step = [], 1
        for size in reversed(self.shape):
            found.append(step)
            step *= size
        return tuple(reversed(found))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, DeviceMesh) and other.device_type == self.device_type
            and other.mesh_dim_names == self.mesh_dim_names
            and np.array_equal(other._ranks, self._ranks))

    def __hash__(self) -> int:
        return hash((self.device_type, self.mesh_dim_names, self.shape,
                     tuple(self._ranks.ravel().tolist())))

    def __reduce__(self) -> Any:
        return _again, (self.device_type, self._ranks.tolist(), self.mesh_dim_names)

    def __deepcopy__(self, memo: dict[int, Any]) -> DeviceMesh:
        return self


def _again(device_type: str, ranks: Any, names: tuple[str, ...] | None) -> DeviceMesh:
    """A mesh from a pickle. It has process groups if there is a default one."""
    if is_initialized():
        return DeviceMesh(device_type, ranks, mesh_dim_names=names)
    return DeviceMesh(device_type, ranks, mesh_dim_names=names, _init_backend=False, _groups=[])


def init_device_mesh(
    device_type: str, mesh_shape: tuple[int, ...], *,
    mesh_dim_names: tuple[str, ...] | None = None, backend_override: Any = None,
) -> DeviceMesh:
    """A mesh of the first processes, rank after rank in row-major order.

    Args:
        device_type: "cpu" or "cuda", without an index.
        mesh_shape: how many processes there are along each dimension.
        mesh_dim_names: a name for each.

    Joins the processes if :func:`init_process_group` was not called. Raises RuntimeError for names
    that do not fit, for a device with an index, and for more processes than there are.
    """
    if device_type and not device_type.isalpha():
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. ",
            "If you maintained a 'torch.device' object, it's recommended to pass in "
            "'device.type'.")
    shape = (mesh_shape,) if isinstance(mesh_shape, int) else tuple(mesh_shape)
    names = check_names(mesh_dim_names, len(shape))
    ranks = np.arange(math.prod(shape)).reshape(shape)
    return DeviceMesh(device_type, ranks, mesh_dim_names=names)
