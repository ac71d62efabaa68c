"""How elements of several processes become one."""

from __future__ import annotations

import enum
from typing import Any


class ReduceOp(enum.Enum):
    """The reductions of collectives.

    ``AVG`` is the sum divided by the number of processes, in each dtype that has a quotient.
    ``BAND``, ``BOR`` and ``BXOR`` take integers and bool.
    """

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8

    def __repr__(self) -> str:
        return f"<RedOpType.{self.name}: {self.value}>"

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"


class _OldReduceOp:
    """``torch.distributed.reduce_op``, the old name of :class:`ReduceOp`."""

    SUM, PRODUCT, MIN, MAX = ReduceOp.SUM, ReduceOp.PRODUCT, ReduceOp.MIN, ReduceOp.MAX


reduce_op = _OldReduceOp()


def supports_complex(reduceOp: ReduceOp) -> bool:
    """Whether a reduction takes complex numbers."""
    return reduceOp in (ReduceOp.SUM, ReduceOp.AVG, ReduceOp.PREMUL_SUM)


def checked(op: Any, tensor: Any, function: str) -> ReduceOp:
    """The reduction, if it is one and fits the tensor's dtype.

    Raises TypeError for what is none, ValueError for complex numbers that it does not take,
    RuntimeError for bits of floating-point numbers, averages of integers, and ``PREMUL_SUM``.
    """
    if not isinstance(op, ReduceOp):
        raise TypeError(f"{function}: op is {op!r}, expected one of torch.distributed.ReduceOp")
    if op is ReduceOp.PREMUL_SUM:
        raise RuntimeError(f"{function}: ReduceOp.PREMUL_SUM is NCCL's; multiply before, and sum")
    if tensor.is_complex() and not supports_complex(op):
        raise ValueError(f"{function} does not support {op} on complex tensors")
    if op in (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR) and (
        tensor.is_floating_point() or tensor.is_complex()
    ):
        raise RuntimeError(f"{function}: Cannot use {op} with non-integral dtype {tensor.dtype}")
    if op is ReduceOp.AVG and not (tensor.is_floating_point() or tensor.is_complex()):
        raise RuntimeError(
            f"{function}: {op} of {tensor.dtype} has no exact result; sum, and divide by the "
            "number of processes")
    return op
