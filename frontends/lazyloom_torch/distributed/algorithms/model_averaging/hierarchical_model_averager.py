"""Averages over small groups often, over large ones seldom (Lin et al., "Hierarchical SGD", 2020).
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

from ...._processes.groups import ProcessGroup, get_world_size, new_subgroups
from .averagers import ModelAverager
from .utils import average_parameters_or_parameter_groups


class HierarchicalModelAverager(ModelAverager):
    """At each step averages over the group with the longest period that divides the step's number.

    Args:
        period_group_size_dict: from periods, the shortest first, to how many processes average; the
            last of ``process_group``'s size.
        warmup_steps: steps before the first average.
        process_group: the processes; None for all.

    Raises ValueError where these do not fit.
    """

    def __init__(self, period_group_size_dict: Mapping[int, int] | None = None,
                 warmup_steps: int = 0,
                 process_group: ProcessGroup | None = None) -> None:  # fmt: skip
        super().__init__(process_group)
        if not period_group_size_dict:
            raise ValueError("Arg ``period_group_size_dict`` must not be empty.")
        self._periods = list(period_group_size_dict)
        if self._periods[0] <= 0:
            raise ValueError("The minimum period in arg ``period_group_size_dict`` must be a "
                             "positive value.")
        if self._periods[-1] == 1:
            warnings.warn(
                "When the maximum period in arg ``period_group_size_dict`` is 1, no need to use "
                "model averaging because the communication cost of all-reducing parameters will "
                "be no less than the cost of all-reducing gradients by DistributedDataParallel in "
                "the backward pass. Therefore, only DistributedDataParallel should be used for "
                "this case.", stacklevel=2)
        whole = get_world_size(self.process_group)
        last = list(period_group_size_dict.values())[-1]
        if last != whole:
            raise ValueError(
                f"The last value in arg ``period_group_size_dict`` {last} must be equal to the "
                f"size of arg ``process_group`` {whole}.")
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        self.warmup_steps = warmup_steps
        self.period_process_group_dict: OrderedDict[int, Any] = OrderedDict(
            (period, self.process_group if size == whole else new_subgroups(
                group_size=size, group=self.process_group)[0])
            for period, size in period_group_size_dict.items())

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Average parameters, or those of an optimizer's groups, over the group of this step."""
        if self.step >= self.warmup_steps:
            for period in reversed(self._periods):
                if self.step % period == 0:
                    average_parameters_or_parameter_groups(
                        params, self.period_process_group_dict[period])
                    break
        self.step += 1
