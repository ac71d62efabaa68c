"""Collectives that gradients flow through, as ``torch.distributed.nn.functional`` has them.

They are recorded like any other function, and run in the program that they are a part of. What is
recorded without gradients is handed over at once, so that a process that reads nothing takes part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lazyloom
from lazyloom import Value

from .._core import record
from .._dtypes import bool_
from .._functions.creation import zeros
from .._tensor import Tensor, operand
from . import calls
from .arguments import check_list, check_tensor, rank_in, stacked
from .collectives import REDUCTIONS
from .groups import ProcessGroup, resolved, world_rank
from .pending import pending
from .reduce_op import ReduceOp, checked


def _group(group: Any, function: str) -> ProcessGroup:
    found = resolved(group)
    if found is None:
        raise RuntimeError(
            f"{function}: this process is rank {world_rank()}, which is not in the given group")
    return found


def record_together(value: Value) -> Tensor:
    """A result, which is handed over with the next step, or now if no gradient flows."""
    made: Tensor = Tensor.from_value(value)
    if value.is_pending:
        if value.requires_grad and lazyloom.grad_enabled():
            pending.add([made])
        else:
            pending.hand_over_all()
    return made


def _instead(kept: Tensor, result: Value) -> Value:
    """A value in place of a collective's result, which this process has no use for.

    It is made of the result nevertheless, so that all processes record the gradient's collective.
    """
    never = zeros((), dtype=bool_)
    found: Value = record("where", [never.value, result, kept.value])
    return found


def _rows(value: Value, count: int) -> tuple[Tensor, ...]:
    return tuple(record_together(value)[i] for i in range(count))


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The tensor of rank ``src``, in every process; its gradient is the sum of theirs."""
    check_tensor(tensor, "tensor")
    found = _group(group, "broadcast")
    source = rank_in(found, src, None, "src")
    return record_together(calls.broadcast(operand(tensor), source, found))


def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The reduction of all processes' tensors; its gradient is the sum of theirs."""
    check_tensor(tensor, "tensor")
    found = _group(group, "all_reduce")
    reduction = REDUCTIONS[checked(op, tensor, "all_reduce")]
    return record_together(calls.all_reduce(operand(tensor), reduction, found))


def reduce(tensor: Tensor, dst: int, op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The reduction in the process of rank ``dst``; in the others their own tensor."""
    check_tensor(tensor, "tensor")
    found = _group(group, "reduce")
    reduction = REDUCTIONS[checked(op, tensor, "reduce")]
    to = rank_in(found, dst, None, "dst")
    result = calls.all_reduce(operand(tensor), reduction, found)
    return record_together(result if found.rank() == to else _instead(tensor.detach(), result))


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all processes, by rank."""
    check_tensor(tensor, "tensor")
    found = _group(group, "all_gather")
    return _rows(calls.all_gather(operand(tensor), found), found.size())


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all processes in that of rank ``dst``; zeros in the others."""
    check_tensor(tensor, "tensor")
    found = _group(group, "gather")
    to = rank_in(found, dst, None, "dst")
    result = calls.all_gather(operand(tensor), found)
    if found.rank() != to:
        result = _instead(zeros(result.shape, dtype=tensor.dtype), result)
    return _rows(result, found.size())


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """The tensor that the process of rank ``src`` has for this one."""
    check_list(list(tensors), "tensors")
    found = _group(group, "scatter")
    source = rank_in(found, src, None, "src")
    parts = stacked([operand(t) for t in tensors])
    return _rows(calls.all_to_all(parts, found), found.size())[source]


def reduce_scatter(output: Tensor, input_list: Sequence[Tensor], op: ReduceOp = ReduceOp.SUM,
                   group: Any = None) -> Tensor:  # fmt: skip
    """This process's part of the reduction of all processes' lists, of the size of ``output``."""
    check_list(list(input_list), "input_list")
    found = _group(group, "reduce_scatter")
    reduction = REDUCTIONS[checked(op, output, "reduce_scatter")]
    parts = stacked([operand(t) for t in input_list])
    return record_together(calls.reduce_scatter(parts, reduction, found))


def all_to_all(output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor],
               group: Any = None) -> tuple[Tensor, ...]:  # fmt: skip
    """What each process has for this one: tensors of one size."""
    check_list(list(input_tensor_list), "input_tensor_list")
    found = _group(group, "all_to_all")
    parts = stacked([operand(t) for t in input_tensor_list])
    return _rows(calls.all_to_all(parts, found), found.size())


def all_to_all_single(
    output: Tensor, input: Tensor, output_split_sizes: Any = None, input_split_sizes: Any = None,
    group: Any = None,
) -> Tensor:
    """The parts along the first dimension that all processes have for this one, joined."""
    check_tensor(input, "input")
    found = _group(group, "all_to_all_single")
    for sizes in (output_split_sizes, input_split_sizes):
        if sizes and len(set(sizes)) > 1:
            raise NotImplementedError(
                "torch.distributed.nn.functional.all_to_all_single: parts of different sizes are "
                "not supported with gradients; pad them to one size")
    value = operand(input)
    n = found.size()
    if not value.shape or value.shape[0] % n:
        raise ValueError("Tensor's dim 0 does not divide equally across group size: "
                         f"{list(value.shape)} for {n} processes")
    parts = calls.reshaped(value, (n, value.shape[0] // n, *value.shape[1:]))
    return record_together(calls.reshaped(calls.all_to_all(parts, found), value.shape))


def all_gather_base(output_tensor: Tensor, input_tensor: Tensor, group: Any = None) -> Tensor:
    """The tensors of all processes, in the size of ``output_tensor``."""
    check_tensor(input_tensor, "input_tensor")
    found = _group(group, "all_gather")
    result = calls.all_gather(operand(input_tensor), found)
    return record_together(calls.reshaped(result, output_tensor.tensor_type.shape))


