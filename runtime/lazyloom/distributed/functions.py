"""Collectives on tensors."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final

from ..control_flow.mesh_axes import attributes_of, is_mapped
from ..errors import (
    ArgumentError,
    DistributedError,
    distributed_reports,
    reraised,
    type_name,
)
from ..evaluate.sync import sync
from ..tensor.apply import apply
from ..tensor.tensor import Tensor
from ..trace.graph import Value
from . import processes
from .groups import WORLD, Group
from .together import Together

#: names of reductions, and those of the op table
REDUCTIONS: Final = {
    "sum": "sum", "mean": "mean", "avg": "mean", "prod": "prod", "product": "prod", "max": "max",
    "min": "min", "and": "and", "or": "or", "xor": "xor", "band": "and", "bor": "or",
    "bxor": "xor"}  # fmt: skip


#: a group of processes, or axes of the mesh that a function is mapped over
Members = Group | str | tuple[str, ...] | None


def _apply(name: str, x: Any, group: Members, attributes: dict[str, Any]) -> Any:
    if isinstance(group, (str, tuple)):
        return apply(name, [x], {**attributes, **attributes_of(name, group)})
    if group is not None and not isinstance(group, Group):
        raise ArgumentError(
            f"{name}: the group is a {type_name(group)}, expected one of new_group, the name of an "
            "axis of a mesh or a tuple of such names")
    if is_mapped():
        raise ArgumentError(
            f"{name}: it was called for a group of processes in a function that lazyloom.shard_map "
            "maps over a mesh; pass the name of an axis as the group, or a tuple of names")
    chosen = WORLD if group is None else group
    ranks = chosen.ranks
    if chosen.rank not in range(len(ranks)):
        raise DistributedError(
            f"{name}: this process is rank {processes.rank()}, which is not in the group of ranks "
            f"{', '.join(map(str, ranks))}; only processes of a group call its collectives")
    if len(ranks) == 1:
        return x
    _check()
    return apply(name, [x], {
        **attributes, "group": ranks, "world": processes.world_size()})


def _check() -> None:
    """Raise what has happened to the processes: a program may never read what would tell of it."""
    together = processes.together()
    if together is not None and together.failure is not None:
        raise reraised(together.failure)


def _reduction(function: str, op: str) -> str:
    name = REDUCTIONS.get(op) if isinstance(op, str) else None
    if name is None:
        raise ArgumentError(
            f"{function}: the reduction is {op!r}, expected one of {', '.join(REDUCTIONS)}")
    return name


def _checked(name: str, x: Any) -> None:
    if not isinstance(x, (Tensor, Value)):
        raise ArgumentError(f"{name}: the operand is a {type(x).__name__}, expected a tensor")


def all_reduce(x: Any, op: str = "sum", group: Members = None) -> Any:
    """The reduction of the operands of all processes of a group, in each of them.

    Args:
        x: a tensor of one shape and dtype in all of them.
        op: "sum", "mean" ("avg"), "prod", "max", "min", "and", "or" or "xor" ("band", ...).
        group: all processes by default. In a function that :func:`lazyloom.shard_map` maps, the
            name of an axis of the mesh, or several: the devices along it.

    Returns:
        a tensor of that shape and dtype. Of bool, the sum is whether any is true, the product
        whether all are. The gradient is that of the sum of all processes' results.

    Raises ArgumentError, DTypeError; DistributedError if this process is not in the group.
    """
    _checked("all_reduce", x)
    return _apply("all_reduce", x, group, {"reduction": _reduction("all_reduce", op)})


def all_gather(x: Any, axis: int = 0, group: Members = None) -> Any:
    """The operands of all processes of a group, one after the other along an axis."""
    _checked("all_gather", x)
    return _apply("all_gather", x, group, {"axis": axis})


def reduce_scatter(
    x: Any, op: str = "sum", axis: int = 0, group: Members = None
) -> Any:
    """This process's part, along an axis, of the reduction of the operands of a group.

    Raises ShapeError unless the extent is a multiple of the group's size.
    """
    _checked("reduce_scatter", x)
    return _apply("reduce_scatter", x, group, {
        "reduction": _reduction("reduce_scatter", op), "axis": axis})


def all_to_all(
    x: Any, split_axis: int = 0, concat_axis: int = 0, group: Members = None
) -> Any:
    """Send part i along ``split_axis`` to process i of a group; join what comes along another axis.

    Raises ShapeError unless the extent is a multiple of the group's size.
    """
    _checked("all_to_all", x)
    return _apply("all_to_all", x, group, {"split_axis": split_axis, "concat_axis": concat_axis})


def permute(x: Any, pairs: Iterable[Sequence[int]], group: Members = None) -> Any:
    """The operand of the process that sends to this one; zeros if none does.

    Args:
        x: a tensor of one shape and dtype in all processes.
        pairs: (from, to), positions in the group, alike in all processes of it.
        group: all processes by default.
    """
    _checked("permute", x)
    listed = [tuple(pair) for pair in pairs]
    return _apply("collective_permute", x, group, {
        "sources": tuple([s for s, _ in listed]), "targets": tuple([t for _, t in listed])})


def broadcast(x: Any, source: int = 0, group: Members = None) -> Any:
    """The operand of the process at position ``source`` of a group, in each of them, bit for bit.

    The operand has one shape and dtype in all processes.
    """
    _checked("broadcast", x)
    return _apply("collective_broadcast", x, group, {"source": source})


def dispatch(*tensors: Any) -> None:
    """Hand over the programs of tensors, or all pending work, without waiting for results.

    A process that reads nothing takes part in collectives only if something hands them over.
    Raises DistributedError if the processes cannot go on together.
    """
    _check()
    sync([t.value if isinstance(t, Tensor) else t for t in tensors] if tensors else None, False)


def dispatch_at_exit() -> None:
    """Have pending work handed over when the program ends, for those who wait for it.

    A failure of which the program was not told before is then said on the standard error, in one
    line, and the exit status is 1.
    """
    atexit.register(_dispatch_last, processes.together())


def _dispatch_last(together: Together | None) -> None:
    told = distributed_reports[0] > 0
    try:
        dispatch()
    except DistributedError as error:
        # whoever was told may have gone on by intention, and has nothing to learn from it again
        if not told:
            print(f"lazyloom: at the end of the program: {error}", file=sys.stderr, flush=True)
            if together is not None:
                together.unheard = True


def barrier(group: Group | None = None, timeout: float | None = None) -> None:
    """Wait until all processes of a group have come here.

    Raises DistributedError, naming those that have not within ``timeout`` seconds, which is that of
    ``init`` by default.
    """
    chosen = WORLD if group is None else group
    together = processes.together()
    if together is not None and chosen.size > 1:
        together.barrier(chosen.ranks, timeout)
