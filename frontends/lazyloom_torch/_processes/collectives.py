"""Collectives as ``torch.distributed`` has them: in place, each handed over as it is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lazyloom

from .._core import record
from .._tensor import Tensor
from . import calls
from .arguments import (
    ListError,
    check_list,
    check_same,
    check_tensor,
    done,
    launched,
    member,
    put,
    rank_in,
    ready,
    rows_of,
    stacked,
)
from .groups import ProcessGroup
from .reduce_op import ReduceOp, checked
from .work import Work

#: what the runtime calls the reductions
REDUCTIONS = {
    ReduceOp.SUM: "sum", ReduceOp.AVG: "mean", ReduceOp.PRODUCT: "prod", ReduceOp.MIN: "min",
    ReduceOp.MAX: "max", ReduceOp.BAND: "and", ReduceOp.BOR: "or", ReduceOp.BXOR: "xor",
}  # fmt: skip


def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: ProcessGroup | None = None,
               async_op: bool = False) -> Work | None:  # fmt: skip
    """Replace the tensor, in every process of a group, by the reduction of theirs.

    Args:
        tensor: of one shape and dtype in all processes.
        op: how elements become one.
        group: the processes; None for all.
        async_op: return Work, as PyTorch does. It is asynchronous either way.
    """
    check_tensor(tensor, "tensor")
    reduction = REDUCTIONS[checked(op, tensor, "all_reduce")]
    found = member(group, "all_reduce")
    if found is None:
        return None
    (value,) = ready(tensor)
    result = calls.all_reduce(value, reduction, found)
    launched(result)
    put(tensor, result)
    return done(async_op, tensor)


def all_reduce_coalesced(
    tensors: Any, op: ReduceOp = ReduceOp.SUM, group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Any:
    """:func:`all_reduce` of several tensors."""
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    check_list(tensors, "tensor")
    reductions = [REDUCTIONS[checked(op, t, "all_reduce_coalesced")] for t in tensors]
    found = member(group, "all_reduce_coalesced")
    if found is None:
        return None
    values = ready(*tensors)
    results = [calls.all_reduce(v, r, found) for v, r in zip(values, reductions, strict=True)]
    launched(*results)
    for tensor, result in zip(tensors, results, strict=True):
        put(tensor, result)
    return Work(tensors).get_future() if async_op else None


def reduce(
    tensor: Tensor, dst: int | None = None, op: ReduceOp = ReduceOp.SUM,
    group: ProcessGroup | None = None, async_op: bool = False, group_dst: int | None = None,
) -> Work | None:
    """Replace the tensor, in the process of rank ``dst`` alone, by the reduction of all."""
    check_tensor(tensor, "tensor")
    reduction = REDUCTIONS[checked(op, tensor, "reduce")]
    found = member(group, "reduce")
    if found is None:
        return None
    to = rank_in(found, dst, group_dst, "dst")
    (value,) = ready(tensor)
    result = calls.all_reduce(value, reduction, found)
    launched(result)
    if found.rank() == to:
        put(tensor, result)
    return done(async_op, tensor)


def broadcast(tensor: Tensor, src: int | None = None, group: ProcessGroup | None = None,
              async_op: bool = False, group_src: int | None = None) -> Work | None:  # fmt: skip
    """Replace the tensor, in every process of a group, by that of rank ``src``."""
    check_tensor(tensor, "tensor")
    found = member(group, "broadcast")
    if found is None:
        return None
    source = rank_in(found, src, group_src, "src")
    (value,) = ready(tensor)
    result = calls.broadcast(value, source, found)
    launched(result)
    if found.rank() != source:
        put(tensor, result)
    return done(async_op, tensor)


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: ProcessGroup | None = None,
               async_op: bool = False) -> Work | None:  # fmt: skip
    """Fill a list with the tensors of all processes, which have one shape and dtype."""
    check_list(tensor_list, "tensor_list")
    check_tensor(tensor, "tensor")
    found = member(group, "all_gather")
    if found is None:
        return None
    check_list(tensor_list, "tensor_list", found.size())
    check_same(tensor_list, tensor, "tensor_list")
    (value,) = ready(tensor)
    result = calls.all_gather(value, found)
    launched(result)
    _fill(tensor_list, result)
    return done(async_op, *tensor_list)


def all_gather_into_tensor(output_tensor: Tensor, input_tensor: Tensor,
                           group: ProcessGroup | None = None,
                           async_op: bool = False) -> Work | None:  # fmt: skip
    """Fill a tensor with those of all processes: one after the other along its first dimension, or
    along one more."""
    check_tensor(input_tensor, "input_tensor")
    check_tensor(output_tensor, "output_tensor")
    found = member(group, "all_gather_into_tensor")
    if found is None:
        return None
    if output_tensor.numel() != input_tensor.numel() * found.size():
        raise ListError("output tensor size must be equal to world_size times input tensor size")
    _check_dtypes(output_tensor, input_tensor, "output tensor")
    (value,) = ready(input_tensor)
    result = calls.all_gather(value, found)
    launched(result)
    put(output_tensor, result)
    return done(async_op, output_tensor)


all_gather_single = all_gather_into_tensor


def all_gather_coalesced(
    output_tensor_lists: list[list[Tensor]], input_tensor_list: list[Tensor],
    group: ProcessGroup | None = None, async_op: bool = False,
) -> Any:
    """:func:`all_gather` of several tensors; one list for each process, as PyTorch has them."""
    check_list(input_tensor_list, "tensor_list")
    if not isinstance(output_tensor_lists, list):
        raise TypeError("Invalid function argument: output_tensor_lists should be a list")
    found = member(group, "all_gather_coalesced")
    if found is None:
        return None
    results = [calls.all_gather(v, found) for v in ready(*input_tensor_list)]
    launched(*results)
    for i, result in enumerate(results):
        _fill([outputs[i] for outputs in output_tensor_lists], result)
    flat = [t for outputs in output_tensor_lists for t in outputs]
    return Work(flat).get_future() if async_op else None


def gather(
    tensor: Tensor, gather_list: list[Tensor] | None = None, dst: int | None = None,
    group: ProcessGroup | None = None, async_op: bool = False, group_dst: int | None = None,
) -> Work | None:
    """Fill a list, in the process of rank ``dst`` alone, with the tensors of all processes."""
    check_tensor(tensor, "tensor")
    found = member(group, "gather")
    if found is None:
        return None
    to = rank_in(found, dst, group_dst, "dst", 0)
    mine = found.rank() == to
    if mine:
        if gather_list is None:
            raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
        check_list(gather_list, "gather_list", found.size())
        check_same(gather_list, tensor, "gather_list")
    elif gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    (value,) = ready(tensor)
    result = calls.all_gather(value, found)
    launched(result)
    if mine and gather_list is not None:
        _fill(gather_list, result)
    return done(async_op, *(gather_list or ()), *([] if mine else [tensor]))


def scatter(
    tensor: Tensor, scatter_list: list[Tensor] | None = None, src: int | None = None,
    group: ProcessGroup | None = None, async_op: bool = False, group_src: int | None = None,
) -> Work | None:
    """Fill the tensor of each process with one of a list that the process of rank ``src`` has."""
    check_tensor(tensor, "tensor")
    found = member(group, "scatter")
    if found is None:
        return None
    source = rank_in(found, src, group_src, "src", 0)
    if found.rank() == source:
        if scatter_list is None:
            raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
        check_list(scatter_list, "scatter_list", found.size())
        check_same(scatter_list, tensor, "scatter_list")
        given: Sequence[Tensor] = scatter_list
    elif scatter_list:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    else:
        # each process sends something to each: what the others send is not looked at
        given = [tensor] * found.size()
    whole = _ready_stack(given)
    result = calls.all_to_all(whole, found)
    launched(result)
    put(tensor, rows_of(result, found.size())[source].value)
    return done(async_op, tensor)


def reduce_scatter(output: Tensor, input_list: list[Tensor], op: ReduceOp = ReduceOp.SUM,
                   group: ProcessGroup | None = None,
                   async_op: bool = False) -> Work | None:  # fmt: skip
    """Fill the tensor of each process with the reduction of one tensor of each process's list."""
    check_tensor(output, "output")
    check_list(input_list, "input_list")
    reduction = REDUCTIONS[checked(op, output, "reduce_scatter")]
    found = member(group, "reduce_scatter")
    if found is None:
        return None
    check_list(input_list, "input_list", found.size())
    check_same(input_list, output, "input_list")
    result = calls.reduce_scatter(_ready_stack(input_list), reduction, found)
    launched(result)
    put(output, result)
    return done(async_op, output)


def reduce_scatter_tensor(output: Tensor, input: Tensor, op: ReduceOp = ReduceOp.SUM,
                          group: ProcessGroup | None = None,
                          async_op: bool = False) -> Work | None:  # fmt: skip
    """Fill the tensor of each process with its part of the reduction of the inputs."""
    check_tensor(output, "output")
    check_tensor(input, "input")
    reduction = REDUCTIONS[checked(op, output, "reduce_scatter_tensor")]
    found = member(group, "reduce_scatter_tensor")
    if found is None:
        return None
    if input.numel() != output.numel() * found.size():
        raise ListError("input tensor must be the same size as output size times world size")
    _check_dtypes(input, output, "input tensor")
    (value,) = ready(input)
    parts = calls.reshaped(value, (found.size(), *output.tensor_type.shape))
    result = calls.reduce_scatter(parts, reduction, found)
    launched(result)
    put(output, result)
    return done(async_op, output)


reduce_scatter_single = reduce_scatter_tensor


def _check_dtypes(one: Tensor, other: Tensor, what: str) -> None:
    if one.tensor_type.dtype is not other.tensor_type.dtype:
        raise ListError(f"{what} is of {one.dtype}, expected {other.dtype} as the other one")


def _ready_stack(tensors: Sequence[Tensor]) -> Any:
    """Tensors along a new first axis, computed before the collective begins."""
    made = stacked(ready(*tensors))
    lazyloom.sync(made)
    return made


def _fill(tensors: Sequence[Tensor], result: Any) -> None:
    """Write the parts along the first axis into tensors."""
    for tensor, part in zip(tensors, rows_of(result, len(tensors)), strict=True):
        put(tensor, part.value)


# -- all to all -----------------------------------------------------------------------------------


def all_to_all_single(
    output: Tensor, input: Tensor, output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None, group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Send each process a part of the input along its first dimension, and join what comes.

    Args:
        output: what comes from the processes, in the order of their ranks.
        output_split_sizes: how many rows come from each; None for as many from each.
        input_split_sizes: how many rows each is sent; None for as many to each.
    """
    check_tensor(output, "output")
    check_tensor(input, "input")
    found = member(group, "all_to_all_single")
    if found is None:
        return None
    _check_dtypes(output, input, "output")
    n = found.size()
    sent, come = _splits(input, input_split_sizes, n), _splits(output, output_split_sizes, n)
    (value,) = ready(input)
    rest = value.shape[1:]
    if input_split_sizes is None and output_split_sizes is None:
        parts = calls.reshaped(value, (n, value.shape[0] // n, *rest))
        result = calls.all_to_all(parts, found)
        launched(result)
        put(output, result)
        return done(async_op, output)
    most = _most(max(*sent, *come), found)
    with lazyloom.grad_mode(False):
        padded = [_padded(p, most) for p in Tensor.from_value(value).split(sent)]
        whole = stacked([p.value for p in padded])
        lazyloom.sync(whole)
        result = calls.all_to_all(whole, found)
        launched(result)
        rows = [row[:size].value for row, size in zip(rows_of(result, n), come, strict=True)]
        put(output, record("concatenate", rows, {"axis": 0}))
    return done(async_op, output)


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor],
    group: ProcessGroup | None = None, async_op: bool = False,
) -> Work | None:
    """Send each process one tensor of a list, and fill a list with what comes from each.

    Tensors may have different sizes; what a process sends another has the size that that expects.
    """
    check_list(output_tensor_list, "output_tensor_list")
    check_list(input_tensor_list, "input_tensor_list")
    found = member(group, "all_to_all")
    if found is None:
        return None
    n = found.size()
    check_list(output_tensor_list, "output_tensor_list", n)
    check_list(input_tensor_list, "input_tensor_list", n)
    kinds = {t.tensor_type.dtype for t in (*output_tensor_list, *input_tensor_list)}
    if len(kinds) > 1:
        raise ValueError("Invalid usage of tensors with different dtypes in all_to_all: "
                         f"{', '.join(sorted(k.name for k in kinds))}")
    sizes = [t.numel() for t in (*input_tensor_list, *output_tensor_list)]
    most = _most(max(sizes), found)
    with lazyloom.grad_mode(False):
        flat = [Tensor.from_value(v).reshape(-1) for v in ready(*input_tensor_list)]
        whole = stacked([_padded(t, most).value for t in flat])
        lazyloom.sync(whole)
        result = calls.all_to_all(whole, found)
        launched(result)
        for tensor, row in zip(output_tensor_list, rows_of(result, n), strict=True):
            put(tensor, row[: tensor.numel()].value)
    return done(async_op, *output_tensor_list)


def _splits(tensor: Tensor, sizes: list[int] | None, count: int) -> list[int]:
    """How many rows of a tensor each process has. Raises ListError if they do not fit."""
    rows = tensor.tensor_type.shape[0] if tensor.tensor_type.shape else 1
    if not sizes:
        if rows % count:
            raise ListError(
                f"Tensor's dim 0 does not divide equally across group size: {rows} rows for "
                f"{count} processes")
        return [rows // count] * count
    if len(sizes) != count:
        raise ListError(
            f"Number of tensor splits not equal to group size: {len(sizes)}, expected {count}")
    if sum(sizes) != rows:
        raise ListError(
            f"Split sizes doesn't match total dim 0 size: {list(sizes)} for {rows} rows")
    return [int(s) for s in sizes]


def _padded(tensor: Tensor, rows: int) -> Tensor:
    """The tensor with zeros up to a number of rows."""
    from .._functions.creation import zeros

    missing = rows - tensor.tensor_type.shape[0]
    if not missing:
        return tensor
    more = zeros((missing, *tensor.tensor_type.shape[1:]), dtype=tensor.dtype)
    return Tensor.from_value(record("concatenate", [tensor.value, more.value], {"axis": 0}))


def _most(own: int, group: ProcessGroup) -> int:
    """The largest of a number that each member has, which is the same in all."""
    from .objects import exchanged

    return max(exchanged(own, group))
