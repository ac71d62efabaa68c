"""Mean and variance of what several processes have together."""

from __future__ import annotations

from typing import Any

from .._core import numel, record
from .._functions.creation import full
from .._tensor import Tensor, operand
from . import calls
from .functional import record_together
from .groups import ProcessGroup, is_initialized, resolved


def joined(group: Any) -> ProcessGroup | None:
    """The processes that a module works with, None if it is alone."""
    if not is_initialized():
        return None
    found = resolved(group)
    return found if found is not None and found.size() > 1 else None


def combined_moments(
    x: Tensor, over: list[int], group: ProcessGroup
) -> tuple[Tensor, Tensor, Tensor]:
    """The mean, the biased variance and the number of elements along some dimensions.

    Each process's own moments are combined as Chan, Golub and LeVeque (1979) do, without the
    cancellation of a mean of squares.
    """
    count = numel([x.shape[d] for d in over])
    own = x.mean(over, keepdim=True)
    squares = (x - own).square().sum(over)
    # batches of processes may differ in size
    counts = full((1,), float(count), dtype=x.dtype)
    rows = record("concatenate", [operand(t) for t in (own.reshape(-1), squares, counts)],
                  {"axis": 0})
    every = record_together(calls.all_gather(rows, group))
    size = squares.numel()
    means, spread, counts = every[:, :size], every[:, size : 2 * size], every[:, 2 * size :]
    total = counts.sum(0)
    mean = (means * counts).sum(0) / total
    variance = (spread + counts * (means - mean).square()).sum(0) / total
    return mean, variance, total
