"""What collectives are given, checked; and what they give, written."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import lazyloom
from lazyloom import Value

from .._core import record
from .._tensor import Tensor
from . import calls
from .errors import as_torch
from .groups import ProcessGroup, get_global_rank, resolved, world_rank
from .pending import pending
from .work import Work


class ListError(ValueError, RuntimeError):
    """Tensors do not fit the group or each other; PyTorch raises the one or the other."""


def member(group: Any, function: str) -> ProcessGroup | None:
    """The group; None, with a warning, if this process is not in it."""
    found = resolved(group)
    if found is None:
        warnings.warn(
            f"Running {function} on global rank {world_rank()} which does not belong to the given "
            "group.", stacklevel=3)
    return found


def check_tensor(tensor: Any, name: str) -> None:
    """Raise TypeError if an argument is no tensor."""
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(tensor)} instead.")


def check_list(tensors: Any, name: str, count: int | None = None) -> None:
    """Raise TypeError if an argument is no list of tensors, ListError for a wrong number."""
    if not isinstance(tensors, list) or not all(isinstance(t, Tensor) for t in tensors):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
            f"             but got {type(tensors)} with elements of type "
            f"{[type(t) for t in tensors] if isinstance(tensors, list) else ''}.")
    if count is not None and len(tensors) != count:
        raise ListError(
            f"`{name}` has {len(tensors)} tensors, expected one for each of the group's {count} "
            "processes")


def check_same(tensors: Sequence[Tensor], like: Tensor, name: str) -> None:
    """Raise ListError for tensors of another dtype or size than one has."""
    for i, t in enumerate(tensors):
        if t.tensor_type.dtype is not like.tensor_type.dtype:
            raise ListError(
                "Invalid usage of tensors with different dtypes"
                f"Found {t.dtype} in `{name}[{i}]` and  {like.dtype}")
        if t.tensor_type.shape != like.tensor_type.shape:
            raise ListError(
                f"Tensor sizes must match: `{name}[{i}]` has {list(t.shape)}, expected "
                f"{list(like.shape)}")


def rank_in(group: ProcessGroup, rank: int | None, group_rank: int | None, name: str,
            default: int | None = None) -> int:  # fmt: skip
    """The rank in a group that is given as that, or as a global rank.

    Raises ValueError if both are given, or neither and there is no default, ListError for a rank
    that is not in the group.
    """
    if rank is not None and group_rank is not None:
        raise ValueError(f"Can't specify both group_{name} and {name}")
    if group_rank is not None:
        get_global_rank(group, group_rank)  # checks it
        return group_rank
    if rank is None:
        if default is None:
            raise ValueError(f"Must specify {name} or group_{name}")
        rank = group.ranks[0] if group.ranks[0] != 0 or default == 0 else default
    if rank not in group.ranks:
        raise ListError(f"Global rank {rank} is not part of group {group}")
    return group.ranks.index(rank)


def ready(*tensors: Tensor) -> list[Value]:
    """The contents of tensors, with which an explicit collective begins.

    What is pending is handed over first: so the collective's program is the same everywhere,
    whatever each process has computed before, and each process takes part at once, in order.
    """
    with as_torch():
        pending.hand_over_all()
    return [t.value.detach() for t in tensors]


def stacked(values: Sequence[Value]) -> Value:
    """Values of one type along a new first axis."""
    rows = [calls.reshaped(v, (1, *v.shape)) for v in values]
    return rows[0] if len(rows) == 1 else record("concatenate", rows, {"axis": 0})


def rows_of(value: Value, count: int) -> list[Tensor]:
    """The parts along the first axis."""
    whole = Tensor.from_value(value)
    return [whole[i] for i in range(count)]


def launched(*results: Value) -> None:
    """Hand over collectives that were just recorded."""
    with as_torch():
        calls.dispatch(*results)


def put(tensor: Tensor, value: Value) -> None:
    """Write a result into a tensor."""
    with lazyloom.grad_mode(False):
        tensor._assign(calls.reshaped(value, tensor.tensor_type.shape))


def done(async_op: bool, *results: Tensor) -> Work | None:
    """What a collective returns: work to wait for, if it was asked for."""
    return Work(results) if async_op else None
