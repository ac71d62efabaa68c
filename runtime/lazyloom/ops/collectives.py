"""Collectives: ops whose result depends on the operands of several processes.

Each process of a group records the same op (:mod:`lazyloom.distributed` has functions for it);
``group`` has their ranks in order, and ``world`` says how many processes there are. In a group of
one, the result is the operand. Inside ``shard_map``, ``axes`` are those of the mesh along which
devices are members, such as "data,model", and ``group`` has their positions.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from . import collective_steps as steps
from ._helpers import isnan, kind
from ._jax import jax, jnp, lax
from .cases import Cases, case
from .kinds import AnyType, Array, Ints
from .rules.collectives import (
    exchanged,
    gathered,
    permuted,
    position,
    reduced_over_group,
    scattered,
    sent,
)
from .samples import Sample
from .spec import OpDef, op
from .traits import NOT_DIFFERENTIABLE, Derivative, Execution

#: every process of the group runs it, whether its result is wanted there or not
COLLECTIVE: Final = Execution(heavy=True, effect=True, collective=True)
LINEAR: Final = Derivative(linear="x")


def _linear_reduction(attrs: Any) -> str:
    return "x" if attrs["reduction"] in ("sum", "mean") else ""


REDUCING: Final = Derivative(linear=_linear_reduction)
ALONE: Final = {"group": (0,), "world": 1}

#: by the reduction of two values
_PAIRWISE: Final = {
    "prod": "mul", "max": "max", "min": "min", "and": "bitwise_and", "or": "bitwise_or",
    "xor": "bitwise_xor"}  # fmt: skip
#: what a reduction of bool is: as in PyTorch, which counts no further than to one
_OF_BOOL: Final = {"sum": "max", "or": "max", "max": "max", "prod": "min", "and": "min",
                   "min": "min"}  # fmt: skip


def _folded(gathered_x: Any, reduction: str) -> Any:
    """The reduction along the first axis, pair by pair."""
    pairwise = getattr(lax, _PAIRWISE[reduction])
    if kind(gathered_x) == "c" and reduction in ("max", "min"):
        pairwise = functools.partial(_complex_extremum, least=reduction == "min")
    parts = [lax.index_in_dim(gathered_x, i, 0, False) for i in range(gathered_x.shape[0])]
    return functools.reduce(pairwise, parts)


def _complex_extremum(x: Any, y: Any, least: bool) -> Any:
    """Whichever of two complex numbers comes last (or first); one that has a NaN before others."""
    a, b = (y, x) if least else (x, y)
    later = lax.bitwise_or(
        lax.gt(lax.real(b), lax.real(a)),
        lax.bitwise_and(lax.eq(lax.real(b), lax.real(a)), lax.gt(lax.imag(b), lax.imag(a))))
    takes = lax.bitwise_and(lax.bitwise_or(later, lax.ne(y, y)), lax.eq(x, x))
    return lax.select(takes, y, x)


def _ordered_bits(x: Any, least: bool) -> Any:
    """Signed integers in the order of floating-point numbers, with NaN the last (or first) of all.

    gloo's own maximum drops a NaN or keeps it, depending on which process has it.
    """
    bits = np.dtype(f"int{x.dtype.itemsize * 8}")
    limits = np.iinfo(bits)
    i = lax.bitcast_convert_type(x, bits)
    magnitude = lax.full_like(i, limits.max)
    i = lax.select(lax.lt(i, lax.full_like(i, 0)), lax.bitwise_xor(i, magnitude), i)
    return lax.select(lax.ne(x, x), lax.full_like(i, limits.min if least else limits.max), i)


def _of_ordered_bits(i: Any, dtype: Any) -> Any:
    magnitude = lax.full_like(i, np.iinfo(i.dtype).max)
    back = lax.select(lax.lt(i, lax.full_like(i, 0)), lax.bitwise_xor(i, magnitude), i)
    return lax.bitcast_convert_type(back, dtype)


def _extremum(x: Any, reduction: str, group: Ints, world: int) -> Any:
    """The maximum or minimum of floating-point numbers over the group; its derivative is shared by
    those processes that have it."""

    def value(x: Any) -> Any:
        i = _ordered_bits(x, reduction == "min")
        return _of_ordered_bits(steps.all_reduce(i, reduction, group, world), x.dtype)

    def jvp(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        result = extremum(x)
        # NaN differs from itself
        has = lax.bitwise_or(lax.eq(x, result), lax.bitwise_and(isnan(x), isnan(result)))
        mine = lax.convert_element_type(has, x.dtype)
        count = steps.all_reduce(mine, steps.SUM, group, world)
        zero = lax.full_like(count, 0)
        some = lax.gt(count, zero)
        share = lax.div(mine, count)
        moved = steps.all_reduce(lax.mul(share, t), steps.SUM, group, world)
        # always true; so the steps of the transpose have an order, too
        return result, lax.select(some, moved, zero)

    extremum: Any = jax.custom_jvp(value)
    extremum.defjvp(jvp)
    return extremum(x)


def _reduced(x: Any, reduction: str, group: Ints, world: int) -> Any:
    """The reduction of every member's x."""
    if len(group) == 1:
        return x
    if kind(x) == "b" and reduction in _OF_BOOL:
        small = lax.convert_element_type(x, np.dtype(np.uint8))
        small = steps.all_reduce(small, _OF_BOOL[reduction], group, world)
        return lax.ne(small, lax.full_like(small, 0))
    if reduction in ("sum", "mean"):
        total = steps.all_reduce(x, steps.SUM, group, world)
        return total if reduction == "sum" else lax.div(
            total, lax.full_like(total, len(group)))
    if kind(x) == "f" and reduction in ("max", "min"):
        return _extremum(x, reduction, group, world)
    if kind(x) in "iu" and reduction in steps.reductions(group):
        return steps.all_reduce(x, reduction, group, world)
    # what XLA has no collective of, and what has a derivative by each factor
    return _folded(steps.all_gather(x, group, world), reduction)


def _chunks(x: Any, axis: int, size: int) -> Any:
    """The parts of x along an axis, along a new first axis."""
    axis %= x.ndim
    shape = (*x.shape[:axis], size, x.shape[axis] // size, *x.shape[axis + 1 :])
    return jnp.moveaxis(lax.reshape(x, shape), axis, 0)


def _joined(parts: Any, axis: int) -> Any:
    """The parts along the first axis, one after the other along an axis of each."""
    axis %= parts.ndim - 1
    shape = list(parts.shape[1:])
    shape[axis] *= parts.shape[0]
    return lax.reshape(jnp.moveaxis(parts, 0, axis), shape)


@op(reduced_over_group, source="stablehlo.all_reduce", derivative=REDUCING, execution=COLLECTIVE,
    samples=Cases(case((2, 3), **ALONE), case((3,), reduction="sum", **ALONE)))
def all_reduce(
    x: AnyType, *, reduction: str = "sum", group: Ints, world: int, axes: str = ""
) -> Array:
    """The reduction of the operands of all processes of a group, in each of them.

    ``reduction`` is "sum", "mean", "prod", "max", "min", "and", "or" or "xor". Of bool, the sum is
    whether any is true and the product whether all are, as in PyTorch. A NaN in any process is one
    in the maximum and minimum; complex numbers are ordered by their real part, then by the
    imaginary one. Integers wrap. The gradient of a maximum is shared by the processes that have it.
    """
    return _reduced(x, reduction, steps.members(group, axes), world)


@op(gathered, source="stablehlo.all_gather", derivative=LINEAR, execution=COLLECTIVE,
    samples=Cases(case((2, 3), **ALONE), case((3,), axis=-1, **ALONE)))
def all_gather(x: AnyType, *, axis: int = 0, group: Ints, world: int, axes: str = "") -> Array:
    """The operands of all processes of a group, one after the other along ``axis``."""
    if len(group) == 1:
        return x
    return _joined(steps.all_gather(x, steps.members(group, axes), world), axis)


@op(scattered, source="stablehlo.reduce_scatter", derivative=REDUCING, execution=COLLECTIVE,
    samples=Cases(case((2, 3), **ALONE), case((3,), axis=-1, **ALONE)))
def reduce_scatter(
    x: AnyType, *, reduction: str = "sum", axis: int = 0, group: Ints, world: int, axes: str = ""
) -> Array:
    """This process's part, along ``axis``, of the reduction of the operands of a group.

    Reductions are those of ``all_reduce``; the parts are in the order of the group.
    """
    if len(group) == 1:
        return x
    group = steps.members(group, axes)
    parts = _chunks(x, axis, len(group))
    if kind(x) != "b" and reduction in ("sum", "mean"):
        part = steps.reduce_scatter(parts, group, world)
        return part if reduction == "sum" else lax.div(part, lax.full_like(part, len(group)))
    return lax.dynamic_index_in_dim(
        _reduced(parts, reduction, group, world), steps.place_in(group, world), keepdims=False)


@op(exchanged, source="stablehlo.all_to_all", derivative=LINEAR, execution=COLLECTIVE,
    samples=Cases(case((2, 3), **ALONE), case((2, 3), split_axis=1, concat_axis=0, **ALONE)))
def all_to_all(
    x: AnyType, *, split_axis: int = 0, concat_axis: int = 0, group: Ints, world: int,
    axes: str = "",
) -> Array:  # fmt: skip
    """Parts of the operands of a group: each process sends one along ``split_axis`` to each.

    What it receives is in the order of the group along ``concat_axis``.
    """
    if len(group) == 1:
        return x
    return _joined(
        steps.all_to_all(_chunks(x, split_axis, len(group)), steps.members(group, axes), world),
        concat_axis)


@op(permuted, source="stablehlo.collective_permute", derivative=LINEAR, execution=COLLECTIVE,
    samples=Cases(case((2, 3), sources=(0,), targets=(0,), **ALONE)))
def collective_permute(
    x: AnyType, *, sources: Ints, targets: Ints, group: Ints, world: int, axes: str = ""
) -> Array:
    """The operand of the process that sends to this one; zeros in one that receives from none.

    The process at position ``sources[i]`` of the group sends to that at ``targets[i]``.
    """
    if len(group) == 1:
        return x if sources else lax.full_like(x, 0)
    if len(group) == world:
        return steps.permute(
            x, [(group[s], group[t]) for s, t in zip(sources, targets, strict=True)],
            steps.members(group, axes))
    # XLA's has all processes connect, also those that send and receive nothing
    place = steps.place_in(group, world)
    source_of = np.full(len(group), -1, np.int32)
    source_of[list(targets)] = sources
    source = lax.dynamic_index_in_dim(jnp.asarray(source_of), place, keepdims=False)
    received = lax.dynamic_index_in_dim(
        steps.all_gather(x, group, world), lax.max(source, np.int32(0)), keepdims=False)
    return lax.select(
        lax.broadcast(lax.ge(source, np.int32(0)), x.shape), received, lax.full_like(x, 0))


@op(sent, source="stablehlo.collective_broadcast", derivative=LINEAR, execution=COLLECTIVE,
    samples=Cases(case((2, 3), **ALONE)))
def collective_broadcast(
    x: AnyType, *, source: int = 0, group: Ints, world: int, axes: str = ""
) -> Array:
    """The operand of the process at position ``source`` of a group, in each of its processes."""
    if len(group) == 1:
        return x
    return steps.broadcast(x, source, steps.members(group, axes), world)


def _position_samples(entry: OpDef) -> Iterator[Sample]:
    """The only device."""
    yield Sample([], ALONE, "one")


@op(position, source="jax.lax.axis_index", samples=_position_samples,
    derivative=NOT_DIFFERENTIABLE)
def axis_index(*, group: Ints, world: int, axes: str = "") -> Array:
    """The position of a device along ``axes`` of a mesh, an int32; inside ``shard_map``."""
    if len(group) == 1:
        return lax.full((), 0, np.dtype(np.int32))
    return lax.axis_index(tuple(axes.split(",")))
