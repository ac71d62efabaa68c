"""When parameters are averaged (Lin et al., "Don't Use Large Mini-Batches, Use Local SGD", 2018).
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from ...._processes.groups import ProcessGroup, default_group
from .utils import average_parameters_or_parameter_groups


class ModelAverager(ABC):
    """What averages the parameters of a group of processes; None for all.

    Attributes:
        step: how many times it was asked.
    """

    def __init__(self, process_group: ProcessGroup | None = None) -> None:
        self.process_group = default_group() if process_group is None else process_group
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Iterable[Any]) -> None:
        """Called after each step of an optimizer."""


class PeriodicModelAverager(ModelAverager):
    """Averages at every ``period``-th step from ``warmup_steps`` on.

    Raises ValueError for a period below 1 or a negative number of steps.
    """

    def __init__(self, period: int, warmup_steps: int = 0,
                 process_group: ProcessGroup | None = None) -> None:  # fmt: skip
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        if period == 1:
            warnings.warn(
                "When period is 1, no need to use model averaging because the communication cost "
                "of all-reducing parameters will be no less than the cost of all-reducing "
                "gradients by DistributedDataParallel in the backward pass. Therefore, only "
                "DistributedDataParallel should be used for this case.", stacklevel=2)
        self.warmup_steps, self.period = warmup_steps, period

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Average parameters, or those of an optimizer's groups, if this step is one to do so."""
        since = self.step - self.warmup_steps
        if since >= 0 and since % self.period == 0:
            average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1


__all__ = ["ModelAverager", "PeriodicModelAverager"]
