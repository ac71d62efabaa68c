"""DTensor: a tensor of which each process of a mesh has a part.

It has no contents of its own: it names a tensor with this process's part, and how the parts make up
the whole. A function that is given one is found by its name in :mod:`.calling`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import lazyloom
from lazyloom import tensor_type
from lazyloom.frontend import storage_of

from .._errors import SparseOperandError
from .._processes.pending import pending
from .._tensor import Tensor, _new
from ..autograd.function import Function
from ..nn.parameter import Parameter
from .mesh import DeviceMesh, current_mesh
from .moves import Line, all_reduce, of_gradient, redistributed
from .placements import Partial, Placement, Replicate, Shard, normalized
from .spec import DTensorSpec, global_shape, local_shape_and_offset

#: what is done when the first DTensor is made
at_first: list[Callable[[], None]] = []


class DistributedOperandError(SparseOperandError):
    """A DTensor was given to a function that takes whole tensors."""


class DTensor(Tensor):
    """A tensor of which each process of a mesh has a part.

    Made by :func:`distribute_tensor`, :meth:`from_local` and functions of DTensors.
    ``DTensor(local_tensor, spec, requires_grad=...)`` says nothing to gradients of the part.
    """

    _local_tensor: Tensor
    _spec: DTensorSpec
    _is_dtensor = True
    _backward_hooks = None
    _own = None
    _parent = None
    #: :func:`.between.onto`, which makes DTensors
    _onto: Callable[..., DTensor]

    def __new__(cls, local_tensor: Any = None, spec: Any = None, *,
                requires_grad: bool = False) -> Any:  # fmt: skip
        made: Any = _new(cls)
        if spec is not None:
            made._hold(local_tensor.detach() if local_tensor.requires_grad and not requires_grad
                       else local_tensor, spec)
            if requires_grad:
                made.requires_grad_()
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def _hold(self, local: Tensor, spec: DTensorSpec) -> None:
        if at_first:
            at_first.pop()()
        self._local_tensor = local
        self._spec = spec
        self.tensor_type = tensor_type(tuple(spec.shape), local.tensor_type.dtype)
        self.slow_path = True

    # -- how it lies ------------------------------------------------------------------------

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh of the processes that have its parts."""
        return self._spec.mesh

    @property
    def placements(self) -> tuple[Placement, ...]:
        """How it lies, along each dimension of the mesh."""
        return self._spec.placements

    @staticmethod
    def from_local(
        local_tensor: Tensor, device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None, *, run_check: bool = False,
        shape: Any = None, stride: Any = None, grad_placements: Any = None,
    ) -> DTensor:
        """The tensor of which each process has a part.

        Args:
            local_tensor: the part of this process. Gradients flow to it.
            device_mesh: the mesh, by default the one of ``with mesh:``.
            placements: how the parts lie; by default each process has the whole.
            run_check: let what is whole be that of the first process, for all.
            shape, stride: of the whole tensor, given together, where parts differ in size.

        Raises RuntimeError for placements that do not fit the mesh or the tensor.
        """
        mesh = _mesh(device_mesh)
        if isinstance(local_tensor, DTensor):
            raise RuntimeError("the local tensor is a DTensor, expected a torch.Tensor")
        where = _placements(placements, mesh, local_tensor.ndim)
        if (shape is None) is not (stride is None):
            raise RuntimeError(f"Found shape:{shape}, stride:{stride}.",
                               "Please pass both shape and stride at the same time.")
        whole = tuple(shape) if shape is not None else global_shape(
            local_tensor.tensor_type.shape, mesh, where)
        local = local_tensor
        if mesh.get_coordinate() is None:
            local = local_tensor.new_empty(0)
        elif run_check:
            for i, p in enumerate(where):
                line = Line(mesh, i)
                if p.is_replicate() and line.size > 1:
                    from .moves import from_first
                    local = from_first(local, line)
        if local is local_tensor and local.requires_grad and lazyloom.grad_enabled():
            local = local.view_as(local)
        if grad_placements is not None:
            spec = DTensorSpec.of(mesh, where, whole, local.dtype)
            local = _Gradient.apply(local, spec, tuple(map(of_gradient, where)),
                                    tuple(grad_placements))
        return dtensor(local, mesh, where, whole)

    def to_local(self, *, grad_placements: Any = None) -> Tensor:
        """This process's part.

        Args:
            grad_placements: how the gradient of the part will lie, if not as the part does; such
                as ``[Partial()]`` where each process computes something else of the whole.
        """
        local = self._local_tensor
        if not (lazyloom.grad_enabled() and local.requires_grad):
            return local
        if grad_placements is not None:
            found: Tensor = _Gradient.apply(local, self._spec, tuple(grad_placements),
                                            tuple(map(of_gradient, self.placements)))
            return found
        return local.view_as(local)

    def redistribute(
        self, device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None, *, async_op: bool = False,
        forward_dtype: Any = None, backward_dtype: Any = None,
    ) -> DTensor:
        """The same tensor, lying otherwise.

        On another mesh it may have other processes (:mod:`.between`). Raises RuntimeError without
        placements, and for Partial ones.
        """
        mesh = self._spec.mesh if device_mesh is None else device_mesh
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        elsewhere = mesh != self._spec.mesh
        where = _placements(placements, mesh, self.ndim)
        for i, p in enumerate(where):
            if isinstance(p, Partial) and (elsewhere or p != self.placements[i]):
                raise RuntimeError(
                    "Can not redistribute to Partial, redistributing to Partial is for internal "
                    "use only!")
        given: Any = self if forward_dtype is None else self.to(forward_dtype)
        if elsewhere:
            return self._onto(given, mesh, where)
        if where == self.placements:
            return dtensor(given._local_tensor, mesh, where, given._spec.shape)
        return laid(given, where)

    def full_tensor(self, *, grad_placements: Any = None) -> Tensor:
        """The whole tensor, in each process; all processes of the mesh call it."""
        whole = laid(self, (Replicate(),) * self._spec.mesh.ndim)
        found = whole.to_local(grad_placements=grad_placements)
        if whole is not self and not (lazyloom.grad_enabled() and found.requires_grad):
            # a process that reads nothing takes part, too
            pending.hand_over()
        return found

    # -- what stands for a tensor's own contents ----------------------------------------------

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise DistributedOperandError(
            f"a DTensor of placements {self.placements} has no contents of its own; this function "
            "takes whole tensors: give it x.full_tensor(), or x.to_local()")

    def _operand(self) -> Any:
        self._refuse()

    value = property(_refuse)
    shared = property(_refuse)
    element_strides = property(lambda self: None)
    element_offset = property(lambda self: 0)

    @property
    def version(self) -> int:
        return self._local_tensor.version

    @property
    def device(self) -> Any:
        """The device of the data."""
        return self._local_tensor.device

    def read(self) -> Any:
        self._refuse()

    def numpy(self, *, force: bool = False) -> Any:
        return self.full_tensor().numpy(force=force)

    def tolist(self) -> Any:
        return self.full_tensor().tolist()

    def item(self) -> Any:
        return self.full_tensor().item()

    def _only(self) -> Any:
        return self.full_tensor()._only()

    def __bool__(self) -> bool:
        return bool(self.full_tensor())

    def __float__(self) -> float:
        return float(self.full_tensor())

    def __format__(self, spec: str) -> str:
        if self.ndim == 0 and spec:
            return format(self.item(), spec)
        return object.__format__(self, spec) if spec else repr(self)

    def stride(self, dim: int | None = None) -> Any:
        found = self._spec.stride
        return found if dim is None else found[dim]

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the elements lie in memory in the order of the dimensions."""
        return True

    def untyped_storage(self) -> Any:
        return self._local_tensor.untyped_storage()

    def data_ptr(self) -> Any:
        return self._local_tensor.data_ptr()

    # -- gradients ----------------------------------------------------------------------------

    _leaf: Any = property(lambda self: self._local_tensor._leaf)
    _inactive: Any = property(lambda self: self._local_tensor._inactive)
    _watch: Any = property(lambda self: self._local_tensor._watch)

    @property
    def requires_grad(self) -> bool:
        return self._local_tensor.requires_grad

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        self.requires_grad_(flag)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        self._local_tensor.requires_grad_(requires_grad)
        return self

    @property
    def is_leaf(self) -> bool:
        return self._local_tensor.is_leaf

    def _gradient(self, local: Tensor | None) -> Any:
        """A gradient of this tensor, by this process's part."""
        if local is None or isinstance(local, DTensor):
            return local
        spec = self._spec
        return dtensor(local, spec.mesh, tuple(map(of_gradient, spec.placements)), spec.shape)

    def _part_of_gradient(self, given: Any) -> Any:
        """This process's part of a gradient."""
        if not isinstance(given, DTensor):
            return given
        return laid(given, tuple(map(of_gradient, self.placements)))._local_tensor

    def for_gradient(self) -> DTensor:
        """The tensor, with terms whose gradients are not those of the whole put together."""
        where = [Replicate() if isinstance(p, Partial) and not (
            p.is_partial("sum") or p.is_partial("avg")) else p for p in self.placements]
        return laid(self, where)

    def seed_of(self, given: Any) -> Tensor:
        """What a backward pass of this process's part begins with, for a gradient of the whole."""
        local = self._local_tensor
        if given is None:
            if self.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            # a part of one element may have none in this process
            seed = local.new_ones(tuple(local.shape))
        else:
            seed = self._part_of_gradient(given)
        count = 1
        for i, p in enumerate(self.placements):
            if p.is_partial("avg"):
                count *= self._spec.mesh.size(i)
        return seed if count == 1 else seed / count

    @property
    def grad(self) -> Tensor | None:
        local = self._local_tensor.grad
        held = self.__dict__.get("_held_grad")
        if held is not None and held._local_tensor is local:
            kept: Tensor = held
            return kept
        found: Tensor | None = self._gradient(local)
        self.__dict__["_held_grad"] = found
        return found

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None and not isinstance(value, DTensor):
            raise RuntimeError(
                "the gradient of a DTensor is a DTensor, but a torch.Tensor was assigned")
        self.__dict__["_held_grad"] = None
        self._local_tensor.grad = self._part_of_gradient(value)

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    grad_fn = property(lambda self: self._local_tensor.grad_fn)
    retains_grad = property(lambda self: self._local_tensor.retains_grad)

    def retain_grad(self) -> None:
        self._local_tensor.retain_grad()

    def register_hook(self, hook: Any) -> Any:
        """Call ``hook(gradient)``, a DTensor, when the gradient of this tensor is computed."""
        spec, where = self._spec, tuple(map(of_gradient, self.placements))

        def local_hook(grad: Tensor) -> Any:
            found = hook(dtensor(grad, spec.mesh, where, spec.shape))
            return laid(found, where)._local_tensor if isinstance(found, DTensor) else found

        return self._local_tensor.register_hook(local_hook)

    def register_post_accumulate_grad_hook(self, hook: Any) -> Any:
        """Call ``hook(self)`` after the gradient was added to ``grad``."""
        owner = weakref.ref(self)

        def local_hook(_: Tensor) -> None:
            tensor = owner()
            if tensor is not None:
                hook(tensor)

        return self._local_tensor.register_post_accumulate_grad_hook(local_hook)

    def backward(self, gradient: Any = None, retain_graph: bool | None = None,
                 create_graph: bool = False, inputs: Any = None) -> None:  # fmt: skip
        from .. import autograd

        autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def _with(self, local: Tensor) -> DTensor:
        """A tensor that lies as this one does."""
        return dtensor(local, self._spec.mesh, self._spec.placements, self._spec.shape)

    def detach(self) -> Tensor:
        return self._with(self._local_tensor.detach())

    def detach_(self) -> Tensor:
        self._local_tensor.detach_()
        return self

    @property
    def data(self) -> Tensor:
        return self.detach()

    @data.setter
    def data(self, other: Any) -> None:
        if not isinstance(other, DTensor):
            raise RuntimeError(
                "the data of a DTensor is a DTensor, but a torch.Tensor was assigned; "
                "distribute_tensor() makes one of it")
        self._local_tensor.data = other._local_tensor
        self._hold(self._local_tensor, other._spec)

    # -- copies -------------------------------------------------------------------------------

    def _as_parameter(self, requires_grad: bool = True) -> Any:
        """A Parameter that shares this tensor's data."""
        made: Any = _new(DTensorParameter)
        local = self._local_tensor.detach()
        lazyloom.boundary(storage_of(local).value)
        made._hold(local.requires_grad_() if requires_grad else local, self._spec)
        return made

    def __copy__(self) -> Tensor:
        return self._with(self._local_tensor)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            made: Any = _new(type(self))
            made._hold(self._local_tensor.__deepcopy__(memo), self._spec)
            for name, value in self.__dict__.items():
                if not name.startswith("_"):
                    setattr(made, name, value)
            memo[id(self)] = made
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _again, (type(self), self._local_tensor, self._spec.mesh, self._spec.placements,
                        tuple(self._spec.shape), self.requires_grad)

    def __repr__(self) -> str:
        return (f"DTensor(local_tensor={self._local_tensor}, device_mesh={self._spec.mesh}, "
                f"placements={self._spec.placements})")

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of a 0-d tensor")
        return int(self.shape[0])

    # -- what checkpoints ask for ---------------------------------------------------------------

    def _offsets(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The shape of this process's part, and where it begins in the whole."""
        return local_shape_and_offset(self._spec.shape, self._spec.mesh, self._spec.placements)


class DTensorParameter(DTensor, Parameter):
    """A DTensor that a Module registers when it is assigned."""

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        return _new(cls) if data is None else data._as_parameter(requires_grad)

    def __repr__(self) -> str:
        return "Parameter containing:\n" + DTensor.__repr__(self)


class _Gradient(Function):
    """The tensor; its gradient lies in one way and is to lie in another."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, spec: DTensorSpec, at: Any, to: Any) -> Tensor:
        ctx.way = spec, at, to
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        spec, at, to = ctx.way
        from_spec = DTensorSpec(spec.mesh, at, spec.tensor_meta)
        return redistributed(grads[0], from_spec, to), None, None, None


def dtensor(local: Tensor, mesh: DeviceMesh, placements: Sequence[Placement],
            shape: Sequence[int]) -> DTensor:  # fmt: skip
    """The tensor of which this process has that part; nothing is checked."""
    made: DTensor = _new(DTensor)
    made._hold(local, DTensorSpec.of(mesh, placements, shape, local.dtype))
    return made


def laid(x: DTensor, placements: Sequence[Placement]) -> DTensor:
    """The tensor in other placements, itself if it has them."""
    if x._spec.placements == tuple(placements):
        return x
    local = redistributed(x._local_tensor, x._spec, placements)
    return dtensor(local, x._spec.mesh, placements, x._spec.shape)


def _mesh(given: DeviceMesh | None) -> DeviceMesh:
    mesh = current_mesh() if given is None else given
    if mesh is None:
        raise RuntimeError("no device_mesh was given, and no mesh is entered: pass device_mesh, or "
                           "call it in `with mesh:`")
    return mesh


def _placements(given: Any, mesh: DeviceMesh, ndim: int) -> tuple[Placement, ...]:
    """Placements as they were given, checked; whole in each process if none were."""
    if given is None:
        return (Replicate(),) * mesh.ndim
    found = tuple(given)
    for p in found:
        if not isinstance(p, Placement):
            raise TypeError(f"placements are {given!r}, expected Shard, Replicate and Partial")
    if len(found) != mesh.ndim:
        raise ValueError(
            f"`placements` must have the same length as `device_mesh.ndim`! Found placements "
            f"length: {len(found)}, and device_mesh.ndim: {mesh.ndim}.")
    return normalized(found, ndim)


def _again(cls: type, local: Tensor, mesh: DeviceMesh, placements: Any, shape: Any,
           requires_grad: bool) -> Any:  # fmt: skip
    """A tensor from a pickle."""
    made: Any = _new(cls)
    made._hold(local, DTensorSpec.of(mesh, placements, shape, local.dtype))
    if requires_grad and not made.requires_grad:
        made.requires_grad_()
    return made


__all__ = ["DTensor", "DTensorParameter", "DistributedOperandError", "all_reduce", "dtensor",
           "laid", "Shard"]
