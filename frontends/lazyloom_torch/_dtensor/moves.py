"""From one placement to another: collectives among the processes along a dimension of a mesh.

Gradients follow from what placements mean. The gradient of a part is a part; that of a tensor that
is whole in each process is whole, and the same, in each; that of a term is whole, since a sum
passes it on to all its terms. So a move from one placement to another has as its gradient the move
back, without a second sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lazyloom
from lazyloom.dtypes import bool_, int32

from .._core import record
from .._processes import calls
from .._processes.pending import pending
from .._tensor import Tensor, operand
from ..autograd.function import Function
from .mesh import DeviceMesh
from .placements import Partial, Placement, Replicate, Shard
from .spec import DTensorSpec, extent_before, order_of

_REPLICATE = Replicate()
_PARTIAL = Partial()
#: the runtime's names of reductions
_REDUCTIONS = {"sum": "sum", "avg": "mean", "product": "prod", "max": "max", "min": "min",
               "band": "and", "bor": "or", "bxor": "xor"}


class NormPartial(Partial):
    """Each process has the p-norm of a part, of which the whole has the p-norm of these."""

    def __init__(self, norm_type: Any = 2) -> None:
        super().__init__("sum")
        self.norm_type = norm_type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NormPartial) and other.norm_type == self.norm_type

    def __hash__(self) -> int:
        return hash((NormPartial, self.norm_type))

    def is_partial(self, reduce_op: str | None = None) -> bool:
        return reduce_op is None

    def __repr__(self) -> str:
        return f"_NormPartial({self.norm_type})"

    def __str__(self) -> str:
        return f"_NormP({self.norm_type})"


def of_gradient(placement: Placement) -> Placement:
    """How the gradient of what lies so lies."""
    return _REPLICATE if isinstance(placement, Partial) else placement


class Line:
    """The processes along one dimension of a mesh.

    Attributes:
        group, size, rank: their group, how many they are, and which of them this process is.
    """

    __slots__ = ("group", "size", "rank")

    def __init__(self, mesh: DeviceMesh, mesh_dim: int) -> None:
        self.size = mesh.size(mesh_dim)
        self.rank = mesh.get_local_rank(mesh_dim)
        self.group: Any = mesh.get_group(mesh_dim) if self.size > 1 else None

    def attributes(self, **others: Any) -> dict[str, Any]:
        return {"group": self.group.ranks, "world": self.group.world, **others}


def _made(value: Any) -> Tensor:
    """The result of a collective, which is handed over with the program that it is a part of."""
    made: Tensor = Tensor.from_value(value)
    if value.is_pending:
        pending.note(value)
    return made


def _resized(x: Tensor, dim: int, size: int) -> Tensor:
    """The first rows along a dimension, with zeros after them where there are too few."""
    here = x.tensor_type.shape[dim]
    if here == size:
        return x
    if here > size:
        return Tensor.from_value(_sliced(operand(x), dim, 0, size))
    shape = list(x.tensor_type.shape)
    shape[dim] = size - here
    zeros = record("full", [lazyloom.Scalar(0, x.tensor_type.dtype)], {"shape": tuple(shape)})
    return Tensor.from_value(record("concatenate", [operand(x), zeros], {"axis": dim}))


def _sliced(value: Any, dim: int, start: int, size: int) -> Any:
    shape = value.shape
    starts, stops = [0] * len(shape), list(shape)
    starts[dim], stops[dim] = start, start + size
    return record("slice", [value], {"starts": tuple(starts), "stops": tuple(stops)})


def all_reduce(x: Tensor, reduction: str, line: Line) -> Tensor:
    """The reduction of all processes' tensors."""
    return _made(calls.all_reduce(operand(x), _REDUCTIONS[reduction], line.group))


def from_first(x: Tensor, line: Line, source: int = 0) -> Tensor:
    """The tensor of the process at one place, in all; the first one's by default."""
    return _made(calls.broadcast(operand(x), source, line.group))


def gather(x: Tensor, dim: int, extent: int, line: Line) -> Tensor:
    """All parts along a dimension, of that extent together."""
    most = -(-extent // line.size)
    padded = _resized(x, dim, most)
    found = _made(record("all_gather", [operand(padded)], line.attributes(axis=dim)))
    return _resized(found, dim, extent)


def part(x: Tensor, dim: int, line: Line) -> Tensor:
    """This process's part along a dimension."""
    extent = x.tensor_type.shape[dim]
    size, start = Shard.local_shard_size_and_offset(extent, line.size, line.rank)
    if extent % line.size:
        return Tensor.from_value(_sliced(operand(x), dim, start, size))
    # the rank is a number of the program, which is one and the same in all processes
    starts = [lazyloom.Scalar(start if d == dim else 0, int32, bake=d != dim)
              for d in range(x.ndim)]
    sizes = tuple(size if d == dim else n for d, n in enumerate(x.tensor_type.shape))
    return Tensor.from_value(record("dynamic_slice", [operand(x), *starts], {"sizes": sizes}))


def reduced_part(x: Tensor, reduction: str, dim: int, line: Line) -> Tensor:
    """This process's part, along a dimension, of the reduction of all processes' tensors."""
    extent = x.tensor_type.shape[dim]
    most = -(-extent // line.size)
    padded = _resized(x, dim, most * line.size)
    found = _made(record("reduce_scatter", [operand(padded)], line.attributes(
        reduction=_REDUCTIONS[reduction], axis=dim)))
    size, _ = Shard.local_shard_size_and_offset(extent, line.size, line.rank)
    return _resized(found, dim, size)


def exchanged(x: Tensor, dim: int, to: int, extent: int, line: Line) -> Tensor:
    """Parts along one dimension, of that extent together, as parts along another one."""
    if extent % line.size or x.tensor_type.shape[to] % line.size:
        return part(gather(x, dim, extent, line), to, line)
    return _made(record("all_to_all", [operand(x)], line.attributes(
        split_axis=to, concat_axis=dim)))


def _term(x: Tensor, reduction: str, line: Line) -> Tensor:
    """A term of what each process has whole."""
    if reduction != "sum":
        if reduction in ("product", "bxor"):
            raise NotImplementedError(
                f"a tensor that is whole in each process is not made Partial({reduction})")
        return x
    first = lazyloom.Scalar(line.rank == 0, bool_, bake=False)
    zero = record("full", [lazyloom.Scalar(0, x.tensor_type.dtype)],
                  {"shape": x.tensor_type.shape})
    chosen = record("broadcast_to", [record("full", [first], {"shape": ()})],
                    {"shape": x.tensor_type.shape})
    return Tensor.from_value(record("where", [chosen, operand(x), zero]))


def _moved(x: Tensor, at: Placement, to: Placement, extent: int, line: Line) -> Tensor:
    """A part, whole or term as another one; gradients are not its affair."""
    if at == to:
        return x
    if isinstance(at, Shard):
        if isinstance(to, Shard):
            return x if at.dim == to.dim else exchanged(x, at.dim, to.dim, extent, line)
        whole = gather(x, at.dim, extent, line)
        return whole if isinstance(to, Replicate) else _term(whole, to.reduce_op, line)  # type: ignore[attr-defined]
    if isinstance(at, Partial):
        if isinstance(to, Shard):
            return reduced_part(x, at.reduce_op, to.dim, line)
        whole = all_reduce(x, at.reduce_op, line)
        return whole if isinstance(to, Replicate) else _term(whole, to.reduce_op, line)  # type: ignore[attr-defined]
    if isinstance(to, Shard):
        return part(x, to.dim, line)
    return _term(x, to.reduce_op, line)  # type: ignore[attr-defined]


class _Move(Function):
    """A move whose gradient is the move back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, at: Placement, to: Placement, extent: int,
                line: Line) -> Tensor:  # fmt: skip
        ctx.way = at, to, line
        # of the dimension that the gradient is gathered along
        ctx.extent = x.tensor_type.shape[to.dim] if isinstance(to, Shard) else extent
        return _moved(x, at, to, extent, line)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        at, to, line = ctx.way
        back = moved(grads[0], of_gradient(to), of_gradient(at), ctx.extent, line)
        if isinstance(at, Partial):
            # each process goes on with it in a way of its own, so what is derived of it are terms
            back = _varying_along(back, line)
            if at.reduce_op == "avg":
                back = back / line.size
        return back, None, None, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        at, to, line = ctx.way
        extent = ctx.extent
        return _moved(tangents[0], at, to, extent, line)


class _Varying(Function):
    """The tensor; its gradients are terms, which are put together."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, line: Line) -> Tensor:
        ctx.line = line
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return moved(grads[0], _PARTIAL, _REPLICATE, 0, ctx.line), None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        return tangents[0]


class _Shared(Function):
    """The tensor; its gradient is divided among the processes along a line."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, line: Line) -> Tensor:
        ctx.line = line
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        # what is derived of a share are terms, as of all that processes use in ways of their own
        return _varying_along(grads[0], ctx.line) / ctx.line.size, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        return tangents[0]


class _Tied(Function):
    """The tensor; what its gradient has of an extremum is shared with other processes' parts.

    The gradient of a part's extremum is the same for each element that ties, and zero for others,
    and everywhere in a part that lacks the whole's. So the elements that tie in the whole are those
    with a gradient, and what they have together is the gradient of the whole's.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, dims: tuple[int, ...], lines: Sequence[Line]) -> Tensor:
        ctx.dims, ctx.lines = dims, lines
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        grad = grads[0]
        size = grad.abs()
        ties = (size != 0).to(size.dtype)
        together = size.sum(ctx.dims, keepdim=True)
        count = ties.sum(ctx.dims, keepdim=True)
        for line in ctx.lines:
            together = _varying_along(moved(together, _PARTIAL, _REPLICATE, 0, line), line)
            count = moved(count, _PARTIAL, _REPLICATE, 0, line)
        share = together / count.clamp(min=1)
        return grad.sgn() * share, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        return tangents[0]


def _recorded(x: Tensor) -> bool:
    return lazyloom.grad_enabled() and x.requires_grad


def moved(x: Tensor, at: Placement, to: Placement, extent: int, line: Line) -> Tensor:
    """A tensor along one dimension of a mesh in another placement.

    Args:
        x: what this process has.
        at, to: how it lies, and is to lie.
        extent: of the dimension along which ``at`` divides.
        line: the processes.
    """
    if at == to or line.size == 1:
        return x
    if isinstance(at, NormPartial):
        return moved(_of_norms(x, at.norm_type, line), _REPLICATE, to, extent, line)
    if not _recorded(x):
        return _moved(x, at, to, extent, line)
    if isinstance(at, Partial) and at.reduce_op not in ("sum", "avg"):
        # the runtime's gradient is that of the sum of all processes' results
        whole = _Shared.apply(all_reduce(x, at.reduce_op, line), line)
        return moved(whole, _REPLICATE, to, extent, line)
    found: Tensor = _Move.apply(x, at, to, extent, line)
    return found


def _of_norms(x: Tensor, norm_type: Any, line: Line) -> Tensor:
    """The norm of all processes' norms."""
    p = float(norm_type)
    if p in (float("inf"), float("-inf")):
        kind = Partial("max" if p > 0 else "min")
        return moved(x, kind, _REPLICATE, 0, line)
    if p == 0:
        return moved(x, _PARTIAL, _REPLICATE, 0, line)
    if p == 1:
        return moved(x, _PARTIAL, _REPLICATE, 0, line)
    powers = x * x if p == 2 else x**p
    total = moved(powers, _PARTIAL, _REPLICATE, 0, line)
    found: Tensor = total.sqrt() if p == 2 else total ** (1.0 / p)
    return found


def varying(x: Tensor, mesh: DeviceMesh, mesh_dim: int) -> Tensor:
    """A whole tensor, of which each process along a dimension uses a part in a way of its own."""
    if mesh.size(mesh_dim) == 1 or not _recorded(x):
        return x
    return _varying_along(x, Line(mesh, mesh_dim))


def _varying_along(x: Tensor, line: Line) -> Tensor:
    if line.size == 1 or not _recorded(x):
        return x
    found: Tensor = _Varying.apply(x, line)
    return found


def tied(x: Tensor, dims: Sequence[int], mesh: DeviceMesh, over: Sequence[int]) -> Tensor:
    """This process's part of a tensor of which an extremum along ``dims`` is taken.

    Elements that tie share its gradient, those of the parts along the dimensions ``over`` of the
    mesh as well, as they do in a tensor that is not divided.
    """
    if not _recorded(x):
        return x
    lines = [line for line in (Line(mesh, d) for d in over) if line.size > 1]
    if not lines:
        return x
    found: Tensor = _Tied.apply(x, tuple(dims), lines)
    return found


def _steps(src: Sequence[Placement], dst: Sequence[Placement]) -> list[tuple[int, Placement]]:
    """Which dimension of a mesh goes where, one after the other."""
    found: list[tuple[int, Placement]] = []
    now = list(src)
    dims = [p.dim for p in (*src, *dst) if isinstance(p, Shard)]
    tied = {d for d in dims if sum(isinstance(p, Shard) and p.dim == d for p in src) > 1
            or sum(isinstance(p, Shard) and p.dim == d for p in dst) > 1
            or any(isinstance(a, Shard) and a.dim == d and isinstance(b, Shard) and b.dim == d
                   and i != j for i, a in enumerate(src) for j, b in enumerate(dst))}
    changed: set[int] = set()
    for i in order_of(src):
        at, to = src[i], dst[i]
        if isinstance(at, Shard) and (at != to or at.dim in changed):
            changed.add(at.dim)
        if isinstance(to, Shard) and at != to:
            changed.add(to.dim)
    for i in reversed(order_of(src)):
        at, to = now[i], dst[i]
        if not isinstance(at, Shard) or (at == to and not (at.dim in tied and at.dim in changed)):
            continue
        if isinstance(to, Shard) and at.dim not in tied and to.dim not in tied:
            now[i] = to
        elif isinstance(to, Partial):
            continue
        else:
            now[i] = _REPLICATE
        found.append((i, now[i]))
    for i in order_of(dst):
        if now[i] != dst[i]:
            found.append((i, dst[i]))
            now[i] = dst[i]
    return found


def redistributed(local: Tensor, spec: DTensorSpec, placements: Sequence[Placement]) -> Tensor:
    """This process's part of a tensor that is to lie otherwise."""
    mesh, now = spec.mesh, list(spec.placements)
    if mesh.get_coordinate() is None:
        return local
    for i, to in _steps(now, placements):
        at = now[i]
        extent = (extent_before(spec.shape, mesh, now, i, at.dim) if isinstance(at, Shard) else 0)
        local = moved(local, at, to, extent, Line(mesh, i))
        now[i] = to
    return local
