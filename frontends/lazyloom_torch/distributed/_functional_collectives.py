"""``torch.distributed._functional_collectives``: collectives that give new tensors.

They are recorded like other functions, with gradients; nothing has to be waited for.
"""

from __future__ import annotations

from typing import Any

from .._core import record
from .._dtensor.mesh import DeviceMesh
from .._processes import calls
from .._processes.functional import _group, record_together
from .._processes.groups import ProcessGroup
from .._tensor import Tensor, operand

_REDUCTIONS = {"sum": "sum", "avg": "mean", "product": "prod", "max": "max", "min": "min",
               "band": "and", "bor": "or", "bxor": "xor"}


def _resolved(group: Any, name: str) -> ProcessGroup:
    """A group given as that, as a mesh of one dimension, or as a mesh and its dimension."""
    if isinstance(group, DeviceMesh):
        group = group.get_group()
    elif isinstance(group, tuple) and len(group) == 2 and isinstance(group[0], DeviceMesh):
        group = group[0].get_group(group[1])
    return _group(group, name)


def _reduction(op: Any) -> str:
    found = _REDUCTIONS.get(str(op).lower())
    if found is None:
        raise ValueError(f"the reduction is {op!r}, expected one of {', '.join(_REDUCTIONS)}")
    return found


def _attributes(group: ProcessGroup, **others: Any) -> dict[str, Any]:
    return {"group": group.ranks, "world": group.world, **others}


def wait_tensor(tensor: Tensor) -> Tensor:
    """The tensor: whoever reads it waits."""
    return tensor


def all_reduce(self: Tensor, reduceOp: str, group: Any, tag: str = "") -> Tensor:  # noqa: N803
    """The reduction of all processes' tensors."""
    found = _resolved(group, "all_reduce")
    return record_together(calls.all_reduce(operand(self), _reduction(reduceOp), found))


def all_gather_tensor(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """All processes' tensors, one after the other along a dimension."""
    found = _resolved(group, "all_gather_tensor")
    return record_together(record(
        "all_gather", [operand(self)], _attributes(found, axis=gather_dim)))


def reduce_scatter_tensor(self: Tensor, reduceOp: str, scatter_dim: int,  # noqa: N803
                          group: Any, tag: str = "") -> Tensor:  # fmt: skip
    """This process's part, along a dimension, of the reduction of all processes' tensors."""
    found = _resolved(group, "reduce_scatter_tensor")
    return record_together(record("reduce_scatter", [operand(self)], _attributes(
        found, reduction=_reduction(reduceOp), axis=scatter_dim)))


def broadcast(self: Tensor, src: int, group: Any, tag: str = "") -> Tensor:
    """The tensor of the process of global rank ``src``."""
    found = _resolved(group, "broadcast")
    return record_together(calls.broadcast(operand(self), found.ranks.index(src), found))


def all_to_all_single(
    self: Tensor, output_split_sizes: Any, input_split_sizes: Any, group: Any, tag: str = ""
) -> Tensor:
    """What each process has for this one along the first dimension: parts of one size."""
    from .._processes.functional import all_to_all_single as exchange

    return exchange(self, self, output_split_sizes, input_split_sizes,
                    _resolved(group, "all_to_all_single"))


all_gather_tensor_autograd = all_gather_tensor
reduce_scatter_tensor_autograd = reduce_scatter_tensor
all_to_all_single_autograd = all_to_all_single

__all__ = [
    "all_gather_tensor", "all_gather_tensor_autograd", "all_reduce", "all_to_all_single",
    "all_to_all_single_autograd", "broadcast", "reduce_scatter_tensor",
    "reduce_scatter_tensor_autograd", "wait_tensor",
]  # fmt: skip
