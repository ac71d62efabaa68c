"""A function of DTensors: how its operands are to lie, and how its results do.

A rule says for one dimension of a mesh in which ways a function can be computed of parts: how each
operand lies, and the result. The way whose operands are moved at the least cost is taken, for each
dimension of the mesh by itself; operands are moved, the function is called with this process's
parts, and what it gives is a part of the result. A function without a rule is called with whole
operands, and gives a whole result.

Gradients are right by this: what is whole, and of which processes use parts, or whose results are
parts or terms, has gradients that are terms; see :func:`.moves.varying`.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import lazyloom

from .._core import record
from .._tensor import Tensor
from .mesh import DeviceMesh
from .moves import tied, varying
from .placements import Partial, Placement, Replicate, Shard, _StridedShard
from .spec import global_shape, is_even, local_shape_and_offset
from .tensors import dtensor, laid


class _Mixed(threading.local):
    """Whether tensors that meet DTensors are taken as whole in each process."""

    allowed = False


mixed = _Mixed()

REPLICATE = Replicate()


class Operand:
    """A tensor among the arguments of a call.

    Attributes:
        i: its number among them.
        tensor: it.
        shape, ndim: of the whole tensor.
        placements: how it lies.
    """

    __slots__ = ("i", "tensor", "shape", "ndim", "placements", "nbytes")

    def __init__(self, i: int, tensor: Any, mesh: DeviceMesh) -> None:
        self.i = i
        self.tensor = tensor
        kind = tensor.tensor_type
        self.shape: tuple[int, ...] = kind.shape
        self.ndim = len(kind.shape)
        self.nbytes = kind.nbytes
        self.placements: tuple[Placement, ...] = (
            tensor._spec.placements if tensor._is_dtensor else (REPLICATE,) * mesh.ndim)

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self.tensor.dtype


class Way:
    """How a function can be computed of parts, along one dimension of a mesh.

    Attributes:
        operands: how each lies, by its number.
        results: how the result lies, or all of them.
        tied: the dimensions of the first operand along which elements that tie share the gradient,
            those of other processes' parts as well.
    """

    __slots__ = ("operands", "results", "tied")

    def __init__(self, operands: Sequence[Placement], results: Placement,
                 tied: Sequence[int] = ()) -> None:  # fmt: skip
        self.operands = tuple(operands)
        self.results = results
        self.tied = tuple(tied)


class Call:
    """A call of a function with DTensors among its arguments."""

    def __init__(self, function: Callable[..., Any], name: str, args: Any, kwargs: Any,
                 mesh: DeviceMesh) -> None:  # fmt: skip
        self.function = function
        self.name = name
        self.mesh = mesh
        self.operands: list[Operand] = []
        self.args = tuple(self._found(a) for a in args)
        self.kwargs = {k: self._found(v) for k, v in kwargs.items()}
        self._bound: dict[str, Any] | None = None

    def _found(self, given: Any) -> Any:
        """The argument with an Operand in the place of each tensor."""
        if isinstance(given, Tensor):
            made = Operand(len(self.operands), given, self.mesh)
            self.operands.append(made)
            return made
        if type(given) in (list, tuple):
            return type(given)([self._found(x) for x in given])
        return given

    def bound(self) -> dict[str, Any]:
        """The arguments by the names of parameters; empty if they do not fit."""
        if self._bound is None:
            self._bound = _bound(self.function, self.args, self.kwargs)
        return self._bound

    def given(self, *names: str, default: Any = None) -> Any:
        """The argument for the first of these parameters that there is."""
        found = self.bound()
        for name in names:
            if name in found:
                return found[name]
        return default

    def with_tensors(self, tensors: Sequence[Any]) -> tuple[Any, Any]:
        """The arguments with other tensors in the places of the operands."""

        def put(x: Any) -> Any:
            if isinstance(x, Operand):
                return tensors[x.i]
            if type(x) in (list, tuple):
                return type(x)([put(y) for y in x])
            return x

        return tuple(put(a) for a in self.args), {k: put(v) for k, v in self.kwargs.items()}


@lru_cache(maxsize=4096)
def _signature(function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _bound(function: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    signature = _signature(function)
    if signature is None:
        return {}
    try:
        found = signature.bind(*args, **kwargs)
    except TypeError:
        return {}
    found.apply_defaults()
    made = dict(found.arguments)
    if "kwargs" in made:
        made.update(made.pop("kwargs"))
    return made


#: a rule: the ways along one dimension of a mesh, the best first where they cost the same
Rule = Callable[[Call], "Sequence[Way] | None"]
RULES: dict[str, Rule] = {}
#: names of functions whose results are also divided where no operand is: terms are reduced so
FREE: set[str] = set()
#: functions that are composed of others, or look after parts themselves; by name
HANDLERS: dict[str, Callable[..., Any]] = {}


def mesh_of(tensors: Sequence[Any], name: str) -> DeviceMesh:
    """The mesh of the DTensors. Raises RuntimeError for tensors on several, or beside DTensors."""
    mesh: DeviceMesh | None = None
    for x in tensors:
        if x._is_dtensor:
            if mesh is None:
                mesh = x._spec.mesh
            elif mesh is not x._spec.mesh and mesh != x._spec.mesh:
                raise RuntimeError(
                    f"{name}: the operands are on two meshes, {mesh} and {x._spec.mesh}; move them "
                    "to one")
    assert mesh is not None
    for x in tensors:
        if not x._is_dtensor and x.ndim and not mixed.allowed:
            raise RuntimeError(
                f"{name}: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to "
                "DTensor before calling distributed operators! Use distribute_tensor() or "
                "DTensor.from_local(), or implicit_replication() for tensors that are the same in "
                "all processes")
    return mesh


def tensors_in(given: Any) -> list[Any]:
    """The tensors among arguments, in order."""
    if isinstance(given, Tensor):
        return [given]
    found: list[Any] = []
    if type(given) in (list, tuple):
        for x in given:
            found += tensors_in(x)
    return found


def call(function: Callable[..., Any], name: str, args: Any, kwargs: Any) -> Any:
    """A function by its name, with DTensors among its arguments."""
    out = kwargs.get("out")
    if out is not None:
        found = call(function, name, args, {k: v for k, v in kwargs.items() if k != "out"})
        return out.copy_(found) if isinstance(out, Tensor) else type(out)(
            [o.copy_(f) for o, f in zip(out, found, strict=True)])
    handler = HANDLERS.get(name)
    if handler is not None:
        found = handler(function, args, kwargs)
        if found is not NotImplemented:
            return found
    tensors = tensors_in([*args, *kwargs.values()])
    made = Call(function, name, args, kwargs, mesh_of(tensors, name))
    rule = RULES.get(name)
    ways = None if rule is None else rule(made)
    if ways and name not in FREE:
        ways = [way for way in ways if _follows(way, made)]
    return run(made, ways)


def _follows(way: Way, made: Call) -> bool:
    """Whether a result that is divided follows an operand that is divided now."""
    return not isinstance(way.results, Shard) or any(
        isinstance(p, Shard) and any(isinstance(q, Shard) and q.dim == p.dim for q in o.placements)
        for o, p in zip(made.operands, way.operands, strict=True))


def replicated(function: Callable[..., Any], name: str, args: Any, kwargs: Any) -> Any:
    """The function of whole operands."""
    tensors = tensors_in([*args, *kwargs.values()])
    return run(Call(function, name, args, kwargs, mesh_of(tensors, name)), None)


def run(made: Call, ways: Sequence[Way] | None) -> Any:
    """The call in the cheapest of some ways; with whole operands if there are none."""
    mesh = made.mesh
    chosen = [_cheapest(made, ways, d) for d in range(mesh.ndim)]
    locals_ = [prepared(o.tensor, [way.operands[o.i] for way in chosen],
                        [way.results for way in chosen], mesh) for o in made.operands]
    results = [_as_operands_lie(way, made, d) for d, way in enumerate(chosen)]
    if mesh.get_coordinate() is None:
        return _empty_results(made, results)
    over = [d for d, way in enumerate(chosen) if way.tied]
    if over:
        locals_[0] = tied(locals_[0], chosen[over[0]].tied, mesh, over)
    args, kwargs = made.with_tensors(locals_)
    return wrapped(made.function(*args, **kwargs), made, results)


def _empty_results(made: Call, results: Sequence[Placement]) -> Any:
    """What a process gets that is not in the mesh: nothing, of the right shape."""
    found = whole_types(made)

    def wrap(x: Any) -> Any:
        if isinstance(x, Tensor):
            return dtensor(x.new_empty(0), made.mesh, results, tuple(x.shape))
        return type(x)(wrap(y) for y in x) if type(x) in (list, tuple) else x

    return wrap(found)


def _as_operands_lie(way: Way, made: Call, mesh_dim: int) -> Placement:
    """The result's placement; divided late if its operands are."""
    result = way.results
    if isinstance(result, Shard):
        for o in made.operands:
            p = o.placements[mesh_dim]
            if isinstance(p, _StridedShard) and isinstance(way.operands[o.i], _StridedShard):
                return _StridedShard(result.dim, split_factor=p.split_factor)
    return result


def prepared(x: Any, placements: Sequence[Placement], results: Sequence[Placement],
             mesh: DeviceMesh) -> Tensor:  # fmt: skip
    """This process's part of an operand that is to lie so, for a result that lies so."""
    if x._is_dtensor:
        local: Tensor = laid(x, placements)._local_tensor
    elif all(p.is_replicate() for p in placements):
        local = x
    else:
        whole = dtensor(x, mesh, (REPLICATE,) * mesh.ndim, x.tensor_type.shape)
        local = laid(whole, placements)._local_tensor
    if local.requires_grad and lazyloom.grad_enabled():
        for d, (p, result) in enumerate(zip(placements, results, strict=True)):
            if p.is_replicate() and not result.is_replicate():
                local = varying(local, mesh, d)
    return local


def _late(way: Way, made: Call, mesh_dim: int) -> Way:
    """The way with operands left as they are that are divided late, if all are alike."""
    late = [o.placements[mesh_dim] for o in made.operands]
    if not any(isinstance(p, _StridedShard) for p in late):
        return way
    divided = [(p, late[i]) for i, p in enumerate(way.operands) if isinstance(p, Shard)]
    factors = {p.split_factor for _, p in divided if isinstance(p, _StridedShard)}
    if len(factors) != 1 or not all(
            isinstance(now, _StridedShard) and now.dim == p.dim for p, now in divided):
        return way
    return Way([late[i] if isinstance(p, Shard) else p for i, p in enumerate(way.operands)],
               way.results, way.tied)


def _cheapest(made: Call, ways: Sequence[Way] | None, mesh_dim: int) -> Way:
    whole = Way([REPLICATE] * len(made.operands), REPLICATE)
    if not ways:
        return whole
    size = made.mesh.size(mesh_dim)
    best, least = whole, (float("inf"), 0)
    # what is whole everywhere stays so
    for way in (whole, *ways):
        way = _late(way, made, mesh_dim)
        cost, moved = 0.0, 0
        for o in made.operands:
            one = _cost(o, o.placements[mesh_dim], way.operands[o.i], size)
            cost += one
            # where two cost the same, operands that come first stay where they are
            moved = 2 * moved + (one > 0)
        if (cost, moved) < least:
            best, least = way, (cost, moved)
    return best


def _cost(o: Operand, at: Placement, to: Placement, size: int) -> float:
    """What it costs to move an operand, in units of its bytes and of what a message costs."""
    if at == to or at.is_replicate():
        return 0.0
    if isinstance(to, Partial):
        return float("inf")
    share = o.nbytes * (size - 1) / max(size, 1)
    if isinstance(at, Partial):
        return 1e4 + share * (2 if to.is_replicate() else 1)
    # an exchange of parts is no cheaper than to gather them, as PyTorch counts
    return 1e4 + share + (2e3 if isinstance(to, Shard) else 0.0)


# -- results --------------------------------------------------------------------------------------


def wrapped(found: Any, made: Call, placements: Sequence[Placement]) -> Any:
    """What a function gave of parts, as DTensors."""
    mesh = made.mesh
    divided = any(isinstance(p, Shard) for p in placements)
    even = not divided or all(
        is_even(o.shape, mesh, o.placements) and is_even(o.shape, mesh, _laid_as(o, placements))
        for o in made.operands)
    types = None if even else iter(_types(made))

    def wrap(x: Any) -> Any:
        if isinstance(x, Tensor):
            if types is not None:
                shape = next(types)
            else:
                shape = global_shape(x.tensor_type.shape, mesh, placements)
            return dtensor(x, mesh, placements, shape)
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            return type(x)(*map(wrap, x))
        if type(x) in (list, tuple):
            return type(x)([wrap(y) for y in x])
        if isinstance(x, tuple):
            return type(x)([wrap(y) for y in x])
        return x

    return wrap(found)


def _laid_as(o: Operand, placements: Sequence[Placement]) -> list[Placement]:
    """Placements of a result as far as they can be an operand's."""
    return [p if not isinstance(p, Shard) or p.dim < o.ndim and o.shape[p.dim] > 1 else REPLICATE
            for p in placements]


def _types(made: Call) -> list[tuple[int, ...]]:
    """The shapes of the whole results."""
    return [x.tensor_type.shape for x in tensors_of_results(whole_types(made))]


def tensors_of_results(found: Any) -> list[Any]:
    """The tensors among results, in order."""
    if isinstance(found, Tensor):
        return [found]
    if isinstance(found, (list, tuple)):
        return [t for x in found for t in tensors_of_results(x)]
    return []


def whole_types(made: Call) -> Any:
    """The results of the function for whole operands, which nobody computes."""
    with lazyloom.grad_mode(False):
        blank = [Tensor.from_value(record(
            "full", [lazyloom.Scalar(0, o.tensor.tensor_type.dtype)], {"shape": o.shape}))
            for o in made.operands]
        args, kwargs = made.with_tensors(blank)
        return made.function(*args, **kwargs)


def local_shape(shape: Sequence[int], mesh: DeviceMesh,
                placements: Sequence[Placement]) -> tuple[int, ...]:  # fmt: skip
    """The shape of this process's part."""
    return local_shape_and_offset(shape, mesh, placements)[0]
