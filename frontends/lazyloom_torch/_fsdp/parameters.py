"""A parameter of which each process has a part, and where modules have it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import lazyloom

from .._dtensor.mesh import DeviceMesh
from .._dtensor.placements import Replicate, Shard, _StridedShard
from .._dtensor.tensors import DTensor, DTensorParameter, dtensor
from .._tensor import Tensor
from ..nn.modules.module import Module
from .gathering import Divided

#: where a module has a parameter
Home = tuple[Module, str]


class Meshes:
    """The dimensions of a mesh that divide parameters, and that which repeats them.

    Args:
        mesh: of one dimension, or of two: the first repeats, the second divides.
        repeats: that the only dimension repeats.

    Raises ValueError for a mesh of more dimensions.
    """

    def __init__(self, mesh: DeviceMesh, repeats: bool = False) -> None:
        if mesh.ndim not in (1, 2):
            raise ValueError(
                f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
        if mesh.ndim == 2 and mesh.mesh_dim_names is None:
            raise AssertionError(
                "Please init the 2D mesh for HSDP with mesh_dim_names specified")
        self.mesh = mesh
        self.shard_dim = None if repeats else mesh.ndim - 1
        self.copy_dim = 0 if repeats or mesh.ndim == 2 else None
        self.count = 1 if self.shard_dim is None else mesh.size(self.shard_dim)
        place = mesh.get_coordinate()
        if place is None:
            raise ValueError(f"this process is not in the mesh {mesh}, whose processes alone call "
                             "fully_shard")
        self.place = 0 if self.shard_dim is None else place[self.shard_dim]
        self.shards = self._group(self.shard_dim)
        self.copies = self._group(self.copy_dim)

    def _group(self, dim: int | None) -> Any:
        return None if dim is None or self.mesh.size(dim) == 1 else self.mesh.get_group(dim)

    def placements(self, shard: Any) -> tuple[Any, ...]:
        """How a parameter lies, given how the dimension that divides does it."""
        return tuple(shard if d == self.shard_dim else Replicate() for d in range(self.mesh.ndim))


class Sharded:
    """A parameter of which this process has a part: a DTensor where modules have it.

    Attributes:
        homes: the modules that have it, and under which names.
        divided: how it is divided.
        inner: the DTensor that it was before, which says how it lies on another mesh; None for a
            plain one.
    """

    def __init__(self, homes: Sequence[Home], param: Tensor, meshes: Meshes, dim: int) -> None:
        self.homes = list(homes)
        self.meshes = meshes
        self.inner: Any = param if isinstance(param, DTensor) else None
        whole: Tensor = param._local_tensor if isinstance(param, DTensor) else param
        ndim = whole.ndim
        if not ndim:
            raise ValueError(
                "fully_shard doesn't support scalar parameters. Change "
                f"{self.homes[0][1]} to a 1D tensor with numel equal to 1.")
        dim = dim + ndim if dim < 0 else dim
        if not 0 <= dim < ndim:
            raise AssertionError(
                f"Shard dim {dim} is invalid for {self.homes[0][1]}, of {ndim} dimensions")
        self.divided = Divided(tuple(whole.shape), dim, meshes.count)
        begin, extent = self.divided.of(meshes.place)
        with lazyloom.grad_mode(False):
            part = whole.detach()
            if extent != part.shape[dim]:
                # memory of its own, so that the whole can go
                part = part.narrow(dim, begin, extent).clone()
        # a tensor of its own, no alias of another: steps write to it in place
        local: Tensor = Tensor.from_value(lazyloom.boundary(part.value.detach()))
        if param.requires_grad:
            local.requires_grad_()
        made = DTensorParameter.__new__(DTensorParameter)
        made._hold(local, self._as_dtensor(local)._spec)
        made.__dict__.update({k: v for k, v in param.__dict__.items() if not k.startswith("_")})
        self.put(made)

    def _as_dtensor(self, part: Tensor) -> Any:
        shard: Any = Shard(self.divided.dim)
        meshes = self.meshes
        if self.inner is None:
            return dtensor(part, meshes.mesh, meshes.placements(shard), self.divided.shape)
        inner = self.inner
        mesh, factor = _common(meshes.mesh, inner.device_mesh), 1
        for i, p in enumerate(inner.placements):
            if p.is_shard(self.divided.dim):
                factor *= inner.device_mesh.size(i)
        if factor > 1:
            shard = _StridedShard(self.divided.dim, split_factor=factor)
        return dtensor(part, mesh, (*meshes.placements(shard), *inner.placements), inner.shape)

    def put(self, tensor: Tensor) -> None:
        """Let the modules have a tensor there: the part, or the whole."""
        for module, name in self.homes:
            module._parameters[name] = tensor  # type: ignore[assignment]

    @property
    def held(self) -> Any:
        """What the modules have: a state dict may have put another DTensor there."""
        module, name = self.homes[0]
        return module._parameters[name]

    def local(self, held: Any) -> Tensor:
        """This process's part of it. Raises ValueError if it lies otherwise."""
        if not isinstance(held, DTensor):
            raise ValueError(
                f"the parameter {self.homes[0][1]} of {type(self.homes[0][0]).__name__} was a "
                f"DTensor since fully_shard, and is a {type(held).__name__} now: assign "
                "distribute_tensor(tensor, param.device_mesh, param.placements)")
        return held._local_tensor

    def as_whole(self, whole: Tensor) -> Tensor:
        """The whole parameter as the module has it in its forward pass."""
        if self.inner is None:
            return whole
        inner = self.inner
        return dtensor(whole, inner.device_mesh, inner.placements, inner.shape)


def _common(outer: DeviceMesh, inner: DeviceMesh) -> DeviceMesh:
    """The mesh of which both are dimensions. Raises ValueError if they are of none."""
    top = outer._top()
    names = (*(outer.mesh_dim_names or ()), *(inner.mesh_dim_names or ()))
    if top is not inner._top() or len(names) != outer.ndim + inner.ndim:
        raise ValueError(
            "FSDP requires the DP and model parallel TP/EP mesh to have the same parent mesh but "
            f"got: \nDP's global mesh: {top}\nTP/EP's global mesh: {inner._top()}: make one mesh "
            "with init_device_mesh(type, (dp, tp), mesh_dim_names=...), and take its parts")
    if tuple(names) == tuple(top.mesh_dim_names or ()):
        return top
    found: DeviceMesh = top[names]
    return found


def managed(modules: Sequence[Module], skip: Callable[[Module], bool], ignored: set[int]
            ) -> list[tuple[Tensor, list[Home]]]:  # fmt: skip
    """The parameters of modules and of those below, each once, with all that have it.

    Args:
        skip: which modules below are left out, with all below them.
        ignored: ids of parameters that are left out.
    """
    found: dict[int, tuple[Tensor, list[Home]]] = {}
    seen: set[int] = set()

    def visit(module: Module) -> None:
        if id(module) in seen:
            return
        seen.add(id(module))
        for name, p in module._parameters.items():
            if p is not None and id(p) not in ignored:
                found.setdefault(id(p), (p, []))[1].append((module, name))
        for child in module._modules.values():
            if child is not None and not skip(child):
                visit(child)

    for module in modules:
        visit(module)
    return list(found.values())


__all__ = ["Home", "Meshes", "Sharded", "managed"]
