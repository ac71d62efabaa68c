"""The steps that collectives consist of, as JAX primitives with derivatives.

JAX has collectives only inside functions that it maps over devices itself. These need no mapping:
they lower to StableHLO's collectives among replicas, and a program that contains one is compiled
for as many replicas as there are processes. A group is a tuple of ranks, in order; ``world`` is the
number of all processes. A step runs on members of its group alone, but StableHLO wants every
replica in some group, so that the others are put into groups of the same size where the result's
shape depends on the size, and otherwise into groups of one.

Only operands and results exist here, so derivatives are those of what all processes compute
together: the cotangent of a value that a process received is summed where it came from.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ._jax import core, jax, jnp, lax, mlir_ir, stablehlo
from ._jax import differentiation as ad
from ._jax import lowering as mlir

Group = tuple[int, ...]


class AxisGroup(tuple[int, ...]):
    """The devices along axes of a mesh, by their positions: a group inside ``shard_map``.

    There JAX's own collectives do what the steps do among processes.
    """

    names: tuple[str, ...]


def members(group: Sequence[int], axes: str) -> Group:
    """The group of a collective: of processes, or of devices along axes such as "data,model"."""
    if not axes:
        return tuple(group)
    found = AxisGroup(group)
    found.names = tuple(axes.split(","))
    return found


SUM: Final = "sum"
PROD: Final = "prod"
MAX: Final = "max"
MIN: Final = "min"
AND: Final = "and"
OR: Final = "or"
#: what StableHLO calls the reductions that it has collectives of
_REDUCERS: Final = {
    SUM: "AddOp", PROD: "MulOp", MAX: "MaxOp", MIN: "MinOp", AND: "AndOp", OR: "OrOp"}


def _ragged(group: Group, world: int) -> Any:
    """The replica groups of a group, with all other replicas in groups of one."""
    rows = [list(group)] + [
        [r] + [-1] * (len(group) - 1) for r in range(world) if r not in group]
    return np.array(rows, dtype=np.int64)


def even_groups(group: Group, world: int) -> list[list[int]] | None:
    """The replica groups of a group, with all others in groups as large; None if they do not fit.
    """
    size = len(group)
    if world % size:
        return None
    rest = [r for r in range(world) if r not in group]
    return [list(group)] + [rest[i : i + size] for i in range(0, len(rest), size)]


def _dense(rows: Any) -> Any:
    return mlir_ir.DenseIntElementsAttr.get(np.array(rows, dtype=np.int64))


@functools.lru_cache(maxsize=1)
def _all_reduce() -> Any:
    """x -> the reduction of every member's x."""
    step = core.Primitive("lazyloom_all_reduce")
    step.def_abstract_eval(lambda x, *, kind, group, world: x)

    def lower(context: Any, x: Any, *, kind: str, group: Group, world: int) -> Any:
        op = stablehlo.AllReduceOp([x.type], [x], _dense(_ragged(group, world)))
        scalar = mlir_ir.RankedTensorType.get([], x.type.element_type)
        block = op.computation.blocks.append(scalar, scalar)
        with mlir_ir.InsertionPoint(block):
            reducer = getattr(stablehlo, _REDUCERS[kind])
            stablehlo.ReturnOp([reducer(*block.arguments).result])
        return op.results

    def jvp(primals: Any, tangents: Any, *, kind: str, group: Group, world: int) -> Any:
        (x,), (t,) = primals, tangents
        result = step.bind(x, kind=kind, group=group, world=world)
        if type(t) is ad.Zero:
            return result, ad.Zero.from_primal_value(result)
        assert kind == SUM, f"the derivative of {kind} is that of other steps"
        return result, step.bind(t, kind=kind, group=group, world=world)

    def transpose(cotangent: Any, x: Any, *, kind: str, group: Group, world: int) -> Any:
        if type(cotangent) is ad.Zero:
            return [ad.Zero(x.aval)]
        return [step.bind(cotangent, kind=kind, group=group, world=world)]

    mlir.register_lowering(step, lower)
    ad.primitive_jvps[step] = jvp
    ad.primitive_transposes[step] = transpose
    return step


#: the reductions that JAX has along axes of a mesh
_ALONG_AXES: Final = {SUM: "psum", MAX: "pmax", MIN: "pmin"}


def reductions(group: Group) -> tuple[str, ...]:
    """The reductions of integers that :func:`all_reduce` has."""
    return tuple(_ALONG_AXES) if isinstance(group, AxisGroup) else (SUM, PROD, MAX, MIN)


def all_reduce(x: Any, kind: str, group: Group, world: int) -> Any:
    """The reduction of every member's x, which StableHLO has a collective of."""
    if isinstance(group, AxisGroup):
        return getattr(lax, _ALONG_AXES[kind])(x, group.names)
    return _all_reduce().bind(x, kind=kind, group=group, world=world)


@functools.lru_cache(maxsize=1)
def _replica() -> Any:
    """-> the number of this replica, which is the rank of its process, a uint32."""
    step = core.Primitive("lazyloom_replica")
    step.def_abstract_eval(lambda: jax.core.ShapedArray((), np.dtype(np.uint32)))
    mlir.register_lowering(step, lambda context: stablehlo.ReplicaIdOp().results)
    return step


def place_in(group: Group, world: int) -> Any:
    """The position of this process in its group, an int32; 0 outside it.

    Programs are equal in all processes of a group: which one it is, is known when it runs.
    """
    if isinstance(group, AxisGroup):
        return lax.axis_index(group.names)
    positions = np.zeros(world, np.int32)
    positions[list(group)] = np.arange(len(group), dtype=np.int32)
    if group == tuple(range(world)):
        return lax.convert_element_type(_replica().bind(), np.dtype(np.int32))
    return lax.dynamic_index_in_dim(
        jnp.asarray(positions), lax.convert_element_type(_replica().bind(), np.dtype(np.int32)),
        keepdims=False)


def _linear(name: str, result: Any, lower: Any, transposed: Any) -> Any:
    """A primitive that is linear in its operand.

    ``result`` is its type by that of the operand, ``transposed`` pulls a cotangent back.
    """
    step = core.Primitive(name)
    step.def_abstract_eval(result)

    def transpose(cotangent: Any, x: Any, **attributes: Any) -> Any:
        if type(cotangent) is ad.Zero:
            return [ad.Zero(x.aval)]
        return [transposed(cotangent, **attributes)]

    mlir.register_lowering(step, lower)
    ad.deflinear2(step, transpose)
    return step


def _bits(x: Any) -> Any:
    """The same bits as unsigned integers; complex numbers as two on a last axis."""
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        return _bits(lax.concatenate(
            [lax.expand_dims(lax.real(x), [x.ndim]), lax.expand_dims(lax.imag(x), [x.ndim])],
            x.ndim))
    if x.dtype == jnp.bool_:
        return lax.convert_element_type(x, np.dtype(np.uint8))
    if jnp.issubdtype(x.dtype, jnp.floating):
        return lax.bitcast_convert_type(x, np.dtype(f"uint{x.dtype.itemsize * 8}"))
    return x


def _of_bits(bits: Any, dtype: Any) -> Any:
    """What :func:`_bits` gave these of."""
    if jnp.issubdtype(dtype, jnp.complexfloating):
        parts = _of_bits(bits, np.dtype(f"float{dtype.itemsize * 4}"))
        return lax.complex(lax.index_in_dim(parts, 0, -1, False),
                           lax.index_in_dim(parts, 1, -1, False))
    if dtype == jnp.bool_:
        return lax.ne(bits, lax.full_like(bits, 0))
    if jnp.issubdtype(dtype, jnp.floating):
        return lax.bitcast_convert_type(bits, dtype)
    return bits


@functools.lru_cache(maxsize=1)
def _all_gather() -> Any:
    """x -> every member's x, one after the other along a new first axis."""

    def result(x: Any, *, group: Group, world: int) -> Any:
        return x.update(shape=(len(group), *x.shape))

    def by_sum(x: Any, *, group: Group, world: int) -> Any:
        # exact, as the bits of zeros are added to those of the operand
        bits = lax.expand_dims(_bits(x), [0])
        whole = lax.full((len(group), *bits.shape[1:]), 0, bits.dtype)
        start = [place_in(group, world)] + [np.int32(0)] * (bits.ndim - 1)
        placed = lax.dynamic_update_slice(whole, bits, start)
        return _of_bits(all_reduce(placed, SUM, group, world), x.dtype)

    def lower(context: Any, x: Any, *, group: Group, world: int) -> Any:
        rows = even_groups(group, world)
        if rows is None:
            return mlir.lower_fun(by_sum, multiple_results=False)(
                context, x, group=group, world=world)
        (out,) = context.avals_out
        (operand,) = context.avals_in
        one = mlir_ir.RankedTensorType.get([1, *operand.shape], x.type.element_type)
        whole = mlir_ir.RankedTensorType.get(list(out.shape), x.type.element_type)
        first = stablehlo.ReshapeOp(one, x).result
        return stablehlo.AllGatherOp([whole], [first], 0, _dense(rows)).results

    return _linear("lazyloom_all_gather", result, lower, reduce_scatter)


def all_gather(x: Any, group: Group, world: int) -> Any:
    """Every member's x along a new first axis, in the order of the group."""
    if isinstance(group, AxisGroup):
        return lax.all_gather(x, group.names)
    return _all_gather().bind(x, group=group, world=world)


@functools.lru_cache(maxsize=1)
def _reduce_scatter() -> Any:
    """x -> the sum of every member's x[i], where i is the position of this process."""

    def result(x: Any, *, group: Group, world: int) -> Any:
        return x.update(shape=x.shape[1:])

    def by_sum(x: Any, *, group: Group, world: int) -> Any:
        return lax.dynamic_index_in_dim(
            all_reduce(x, SUM, group, world), place_in(group, world), keepdims=False)

    def native(context: Any, x: Any, *, group: Group, world: int) -> Any:
        rows = even_groups(group, world)
        if rows is None:
            return of_sum(context, x, group=group, world=world)
        (out,) = context.avals_out
        one = mlir_ir.RankedTensorType.get([1, *out.shape], x.type.element_type)
        op = stablehlo.ReduceScatterOp(one, x, 0, _dense(rows))
        scalar = mlir_ir.RankedTensorType.get([], x.type.element_type)
        block = op.regions[0].blocks.append(scalar, scalar)
        with mlir_ir.InsertionPoint(block):
            stablehlo.ReturnOp([stablehlo.AddOp(*block.arguments).result])
        whole = mlir_ir.RankedTensorType.get(list(out.shape), x.type.element_type)
        return stablehlo.ReshapeOp(whole, op.result).results

    of_sum = mlir.lower_fun(by_sum, multiple_results=False)
    step = _linear("lazyloom_reduce_scatter", result, native, all_gather)
    # after one reduce-scatter over gloo, sums of a megabyte take 10 to 30 times as long for ever
    mlir.register_lowering(step, of_sum, platform="cpu")
    return step


def reduce_scatter(x: Any, group: Group, world: int) -> Any:
    """The sum over the members of their x[i], where i is the position of this process."""
    if isinstance(group, AxisGroup):
        return lax.psum_scatter(x, group.names)
    return _reduce_scatter().bind(x, group=group, world=world)


@functools.lru_cache(maxsize=1)
def _all_to_all() -> Any:
    """x -> y, where y[i] is x[j] of member i, and j is the position of this process."""

    def by_gather(x: Any, *, group: Group, world: int) -> Any:
        return lax.dynamic_index_in_dim(
            all_gather(x, group, world), place_in(group, world), axis=1, keepdims=False)

    def lower(context: Any, x: Any, *, group: Group, world: int) -> Any:
        rows = even_groups(group, world)
        if rows is None:
            return mlir.lower_fun(by_gather, multiple_results=False)(
                context, x, group=group, world=world)
        return stablehlo.AllToAllOp([x], 0, 0, len(group), _dense(rows)).results

    return _linear("lazyloom_all_to_all", lambda x, *, group, world: x, lower, all_to_all)


def all_to_all(x: Any, group: Group, world: int) -> Any:
    """y, where y[i] is x[j] of member i, and j is the position of this process."""
    if isinstance(group, AxisGroup):
        return lax.all_to_all(x, group.names, 0, 0)
    return _all_to_all().bind(x, group=group, world=world)


@functools.lru_cache(maxsize=1)
def _permute() -> Any:
    """x -> the x of the member that sends to this process, zeros if none does."""

    def lower(context: Any, x: Any, *, pairs: tuple[tuple[int, int], ...]) -> Any:
        return stablehlo.CollectivePermuteOp(x, _dense(pairs)).results

    def transposed(cotangent: Any, *, pairs: tuple[tuple[int, int], ...]) -> Any:
        return permute(cotangent, [(t, s) for s, t in pairs])

    return _linear("lazyloom_permute", lambda x, *, pairs: x, lower, transposed)


def permute(x: Any, pairs: Sequence[tuple[int, int]], group: Group = ()) -> Any:
    """The x of the process that sends to this one by a pair of ranks (from, to); zeros if none."""
    if isinstance(group, AxisGroup):
        return lax.ppermute(x, group.names, list(pairs))
    return _permute().bind(x, pairs=tuple(pairs))


@functools.lru_cache(maxsize=1)
def _broadcast() -> Any:
    """x -> the x of the member at position ``source``."""

    def by_sum(x: Any, *, source: int, group: Group, world: int) -> Any:
        bits = _bits(x)
        mine = lax.eq(place_in(group, world), np.int32(source))
        sent = lax.select(lax.broadcast(mine, bits.shape), bits, lax.full_like(bits, 0))
        return _of_bits(all_reduce(sent, SUM, group, world), x.dtype)

    def transposed(cotangent: Any, *, source: int, group: Group, world: int) -> Any:
        total = all_reduce(cotangent, SUM, group, world)
        mine = lax.eq(place_in(group, world), np.int32(source))
        return lax.select(lax.broadcast(mine, total.shape), total, lax.full_like(total, 0))

    return _linear(
        "lazyloom_broadcast", lambda x, *, source, group, world: x,
        mlir.lower_fun(by_sum, multiple_results=False), transposed)


def broadcast(x: Any, source: int, group: Group, world: int) -> Any:
    """The x of the member at position ``source``, bit for bit."""
    if isinstance(group, AxisGroup):
        return lax.index_in_dim(all_gather(x, group, world), source, 0, False)
    return _broadcast().bind(x, source=source, group=group, world=world)
