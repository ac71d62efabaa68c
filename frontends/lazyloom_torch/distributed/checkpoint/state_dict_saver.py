"""Saving a state: each process writes its part, now or beside the program."""

from __future__ import annotations

import os
import threading
import warnings
from concurrent.futures import Future
from dataclasses import dataclass
from enum import Enum
from typing import Any

import lazyloom

from ..._processes import groups
from ..._tensor import Tensor
from ._nested_dict import flatten_state_dict
from ._parts import part_of
from ._storage_utils import writer_of
from ._together import Together, together
from .default_planner import DefaultSavePlanner
from .metadata import STATE_DICT_TYPE, Metadata
from .planner import SavePlan, SavePlanner
from .stateful import Stateful
from .storage import StorageWriter


class AsyncCheckpointerType(Enum):
    """Where :func:`async_save` writes; both are a thread here."""

    THREAD = "thread"
    PROCESS = "process"


@dataclass
class AsyncSaveResponse:
    """What is to be waited for: the copy of the state, and the checkpoint."""

    staging_completion: Future[None]
    upload_completion: Future[None]


def save_state_dict(
    state_dict: STATE_DICT_TYPE, storage_writer: StorageWriter, process_group: Any = None,
    coordinator_rank: int = 0, no_dist: bool = False, planner: SavePlanner | None = None,
) -> Metadata:
    """The older name of :func:`save`."""
    warnings.warn("`save_state_dict` is deprecated and will be removed in future versions. Please "
                  "use `save` instead.", FutureWarning, stacklevel=2)
    storage_writer.reset()
    return _save_state_dict(state_dict, storage_writer, process_group, coordinator_rank, no_dist,
                            planner)


def save(
    state_dict: STATE_DICT_TYPE, *, checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: StorageWriter | None = None, planner: SavePlanner | None = None,
    process_group: Any = None, no_dist: bool = False, use_collectives: bool = True,
) -> Metadata:
    """Save a state; all processes call it, and each writes its part.

    A process that is killed meanwhile leaves the checkpoint that was there before as it was.

    Args:
        state_dict: tensors, other things, nested dicts of them, and objects with ``state_dict()``.
        checkpoint_id: where; a folder for files.
        storage_writer: what writes; None for files.
        planner: what plans; None for :class:`DefaultSavePlanner`.
        process_group: the processes; None for all.
        no_dist: whether this process saves alone.
        use_collectives: whether one process writes ``.metadata`` for all; True.

    Raises CheckpointException in all processes if one of them fails; DistributedError if one ends.
    """
    no_dist = no_dist or not groups.is_initialized()
    if no_dist:
        warnings.warn(
            "torch.distributed is disabled, unavailable or uninitialized, assuming the intent is "
            "to save in a single process.", stacklevel=2)
    if not use_collectives:
        raise NotImplementedError(
            "save: use_collectives=False is not supported; leave it out: processes tell each "
            "other their plans, and one writes .metadata for all")
    writer = writer_of(storage_writer, checkpoint_id)
    return _save_state_dict(state_of(state_dict), writer, process_group, 0, no_dist, planner)


def state_of(state_dict: STATE_DICT_TYPE) -> STATE_DICT_TYPE:
    """The dict with the state of objects in place of these."""
    return {k: v.state_dict() if isinstance(v, Stateful) else v for k, v in state_dict.items()}


def _save_state_dict(
    state_dict: STATE_DICT_TYPE, storage_writer: StorageWriter, process_group: Any = None,
    coordinator_rank: int = 0, no_dist: bool = False, planner: SavePlanner | None = None,
) -> Metadata:
    processes = together(process_group, no_dist, coordinator_rank)
    compute(state_dict)
    return _saved(state_dict, storage_writer, processes, planner)


def compute(state_dict: Any) -> None:
    """Compute what this process has of all tensors of a state, at once."""
    parts = [part_of(t) for t in flatten_state_dict(state_dict)[0].values()
             if isinstance(t, Tensor)]
    values = [part.local.value for part in parts if part is not None]
    if values:
        lazyloom.sync(*values)


def _saved(
    state_dict: STATE_DICT_TYPE, writer: StorageWriter, processes: Together,
    planner: SavePlanner | None,
) -> Metadata:
    plans: SavePlanner = DefaultSavePlanner() if planner is None else planner
    held: list[Metadata] = []

    def plan() -> SavePlan:
        plans.set_up_planner(
            state_dict=state_dict, storage_meta=writer.storage_meta(),
            is_coordinator=processes.is_coordinator)
        writer.set_up_storage_writer(
            processes.is_coordinator, rank=processes.rank, use_collectives=True)
        return writer.prepare_local_plan(plans.create_local_plan())

    def plan_all(every: list[SavePlan]) -> list[SavePlan]:
        found, metadata = plans.create_global_plan(every)
        held.append(metadata)
        return writer.prepare_global_plan(found)

    mine = processes.step("plan", plan, plan_all)

    def write() -> Any:
        return writer.write_data(plans.finish_plan(mine), plans).wait()

    def finish(results: list[Any]) -> list[Metadata]:
        writer.finish(held[0], results)
        return held * processes.size

    found: Metadata = processes.step("write", write, finish)
    return found


def async_save(
    state_dict: STATE_DICT_TYPE, *, checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: StorageWriter | None = None, planner: SavePlanner | None = None,
    process_group: Any = None,
    async_checkpointer_type: AsyncCheckpointerType = AsyncCheckpointerType.THREAD,
    async_stager: Any = None, no_dist: bool = False, use_collectives: bool = True,
) -> Future[Any]:
    """:func:`save`, with files written by a thread while the program goes on.

    What is saved is the state at the call: tensors are not copied for that, since writing to one
    gives it new contents and leaves the old ones. A Future of what :func:`save` returns.
    """
    no_dist = no_dist or not groups.is_initialized()
    writer = writer_of(storage_writer, checkpoint_id)
    state = _held(state_of(state_dict))
    processes = together(process_group, no_dist)
    compute(state)
    done: Future[Any] = Future()

    def work() -> None:
        try:
            done.set_result(_saved(state, writer, processes, planner))
        except BaseException as error:
            done.set_exception(error)

    # not a daemon: a program that ends has its last checkpoint written
    threading.Thread(target=work, name="checkpoint").start()
    return done


def _held(state: Any) -> Any:
    """A state whose tensors have the contents that they have now, whatever is written to them."""
    import copy

    from ._parts import with_contents

    if isinstance(state, Tensor):
        return with_contents(state)
    if isinstance(state, dict):
        return {k: _held(v) for k, v in state.items()}
    if isinstance(state, list):
        return [_held(v) for v in state]
    return copy.deepcopy(state)


__all__ = ["AsyncCheckpointerType", "AsyncSaveResponse", "async_save", "save", "save_state_dict"]
