"""Loading a state: each process reads the parts that it needs, whoever wrote them."""

from __future__ import annotations

import os
import warnings
from typing import Any

import lazyloom

from ..._processes import groups
from ._storage_utils import reader_of
from ._together import together
from .default_planner import DefaultLoadPlanner
from .metadata import Metadata
from .planner import LoadPlan, LoadPlanner
from .state_dict_saver import compute
from .stateful import Stateful
from .storage import StorageReader


def load_state_dict(
    state_dict: dict[str, Any], storage_reader: StorageReader, process_group: Any = None,
    coordinator_rank: int = 0, no_dist: bool = False, planner: LoadPlanner | None = None,
) -> None:
    """The older name of :func:`load`."""
    warnings.warn("`load_state_dict` is deprecated and will be removed in future versions. Please "
                  "use `load` instead.", FutureWarning, stacklevel=2)
    storage_reader.reset()
    _load_state_dict(state_dict, storage_reader, process_group, coordinator_rank, no_dist, planner)


def load(
    state_dict: dict[str, Any], *, checkpoint_id: str | os.PathLike[str] | None = None,
    storage_reader: StorageReader | None = None, planner: LoadPlanner | None = None,
    process_group: Any = None, no_dist: bool = False,
) -> None:
    """Load a state in place; all processes call it, however many saved it and in which parts.

    Tensors of the state get their contents, with the placements that they have; other things are
    replaced. What has ``state_dict()`` gets what was loaded by ``load_state_dict()``.

    Args:
        state_dict: the state, with the names that were saved.
        checkpoint_id: from where; a folder for files.
        storage_reader: what reads; None for files.
        planner: what plans; None for :class:`DefaultLoadPlanner`.
        process_group: the processes; None for all.
        no_dist: whether this process loads alone.

    Raises CheckpointException in all processes if one of them fails; DistributedError if one ends.
    """
    no_dist = no_dist or not groups.is_initialized()
    if no_dist:
        warnings.warn(
            "torch.distributed is disabled, unavailable or uninitialized, assuming the intent is "
            "to load in a single process.", stacklevel=2)
    reader = reader_of(storage_reader, checkpoint_id)
    keys = sorted(state_dict)
    found = {k: v.state_dict() if isinstance(v, Stateful) else v
             for k, v in ((k, state_dict[k]) for k in keys)}
    _load_state_dict(found, reader, process_group, 0, no_dist, planner)
    for key in keys:
        held = state_dict[key]
        if isinstance(held, Stateful):
            held.load_state_dict(found[key])
        else:
            state_dict[key] = found[key]


def _load_state_dict(
    state_dict: dict[str, Any], storage_reader: StorageReader, process_group: Any = None,
    coordinator_rank: int = 0, no_dist: bool = False, planner: LoadPlanner | None = None,
) -> None:
    processes = together(process_group, no_dist, coordinator_rank)
    plans: LoadPlanner = DefaultLoadPlanner() if planner is None else planner

    def plan() -> LoadPlan:
        metadata: Metadata = storage_reader.read_metadata()
        plans.set_up_planner(state_dict, metadata, processes.is_coordinator)
        storage_reader.set_up_storage_reader(
            metadata, processes.is_coordinator, rank=processes.rank, use_collectives=True)
        return storage_reader.prepare_local_plan(plans.create_local_plan())

    def plan_all(every: list[LoadPlan]) -> list[LoadPlan]:
        return storage_reader.prepare_global_plan(plans.create_global_plan(every))

    mine = processes.step("plan", plan, plan_all)

    def read() -> None:
        with lazyloom.grad_mode(False):
            storage_reader.read_data(plans.finish_plan(mine), plans).wait()
            # what was read is no part of the first step
            compute(state_dict)

    processes.step("read", read, lambda every: every)


__all__ = ["load", "load_state_dict"]
