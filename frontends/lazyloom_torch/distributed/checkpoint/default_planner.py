"""The planners that are used where none is given.

Nested dicts and lists become a flat dict of dotted names. Each part of a tensor is written once,
by the process with the fewest bytes of those that have it; it is read by all that need some of it.
"""

from __future__ import annotations

import dataclasses
import io
import math
from typing import Any

from ..._functions.creation import empty
from ..._tensor import Tensor
from ...serialization import load as load_file
from ...serialization import save as save_file
from . import _nested_dict as nested
from ._parts import part_of
from .metadata import (
    STATE_DICT_TYPE,
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorStorageMetadata,
)
from .planner import (
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
    WriteItemType,
)
from .planner_helpers import read_items, write_items


def create_default_local_save_plan(state_dict: dict[str, Any], is_coordinator: bool) -> SavePlan:
    """What this process can write: its parts of DTensors, and all that all processes have."""
    return SavePlan([item for fqn, obj in state_dict.items() for item in write_items(fqn, obj)])


def create_default_global_save_plan(
    all_plans: list[SavePlan], rewrite_index_hints: bool = True
) -> tuple[list[SavePlan], Metadata]:
    """The plans with each part's number in its tensor, and what the checkpoint consists of.

    Raises ValueError if one name stands for other things in some process.
    """
    found: dict[str, Any] = {}
    plans = []
    for plan in all_plans:
        items = []
        for item in plan.items:
            fqn, data = item.index.fqn, item.tensor_data
            if data is None:
                found[fqn] = BytesStorageMetadata()
                items.append(item)
                continue
            entry = found.setdefault(
                fqn, TensorStorageMetadata(data.properties, data.size, []))
            if not isinstance(entry, TensorStorageMetadata) or entry.size != data.size:
                raise ValueError(
                    f"{fqn} is a tensor of size {list(data.size)} in one process and something "
                    "else in another: all processes save one state, each its part of it")
            if rewrite_index_hints:
                index = dataclasses.replace(item.index, index=len(entry.chunks))
                item = dataclasses.replace(item, index=index)
            entry.chunks.append(data.chunk)
            items.append(item)
        plans.append(dataclasses.replace(plan, items=items))
    return plans, Metadata(found)


def create_default_local_load_plan(
    state_dict: dict[str, Any], metadata: Metadata, strict: bool = True
) -> LoadPlan:
    """What this process reads for a flat state.

    Raises RuntimeError for a name that was not saved, unless ``strict`` is False, and ValueError
    for a tensor of another size.
    """
    items: list[ReadItem] = []
    for fqn, obj in state_dict.items():
        saved = metadata.state_dict_metadata.get(fqn)
        if saved is None:
            if strict:
                raise RuntimeError(f"Missing key in checkpoint state_dict: {fqn}.")
            continue
        if isinstance(saved, TensorStorageMetadata) and isinstance(obj, Tensor) and (
            tuple(saved.size) != tuple(obj.shape)
        ):
            raise ValueError(
                f"Size mismatch between saved {saved.size} and current: {obj.size()} for {fqn}")
        items += read_items(fqn, saved, obj)
    return LoadPlan(items)


def create_default_global_load_plan(all_plans: list[LoadPlan]) -> list[LoadPlan]:
    """The plans as they are."""
    return all_plans


def _written_once(plans: list[SavePlan], to_lowest: bool) -> list[SavePlan]:
    """The plans, with what several processes could write in one of them alone."""
    who: dict[MetadataIndex, list[int]] = {}
    for rank, plan in enumerate(plans):
        for item in plan.items:
            who.setdefault(item.index, []).append(rank)
    sizes = [0] * len(plans)
    keeps: dict[MetadataIndex, int] = {}
    for plan in plans:
        for item in plan.items:
            if item.index not in keeps:
                ranks = who[item.index]
                chosen = ranks[0] if to_lowest else min(ranks, key=lambda r: (sizes[r], r))
                keeps[item.index] = chosen
                sizes[chosen] += _bytes_of(item)
    return [dataclasses.replace(plan, items=[i for i in plan.items if keeps[i.index] == rank])
            for rank, plan in enumerate(plans)]


def _bytes_of(item: WriteItem) -> int:
    data = item.tensor_data
    if data is None:
        return 1
    return math.prod(data.chunk.sizes) * data.properties.dtype.itemsize


def _check(metadata: Metadata) -> None:
    """Raise ValueError if the parts of a tensor are not all of it, once."""
    for fqn, entry in metadata.state_dict_metadata.items():
        if isinstance(entry, TensorStorageMetadata) and len(entry.size):
            chunks = entry.chunks
            count = sum(math.prod(c.sizes) for c in chunks)
            problem = count != math.prod(entry.size) or any(
                _meet(a, b) for i, a in enumerate(chunks) for b in chunks[:i])
            if problem:
                raise ValueError(
                    f"Failed to validate global plan: the parts of {fqn}, of size "
                    f"{list(entry.size)}, are not all of it, once: "
                    f"{[(list(c.offsets), list(c.sizes)) for c in chunks]} (offsets, sizes)")


def _meet(a: ChunkStorageMetadata, b: ChunkStorageMetadata) -> bool:
    return all(i < j + n and j < i + m for i, m, j, n in zip(
        a.offsets, a.sizes, b.offsets, b.sizes, strict=True))


def _local(obj: Any) -> Any:
    """What a process has of something."""
    if not isinstance(obj, Tensor):
        return obj
    part = part_of(obj)
    return None if part is None else part.local


class DefaultSavePlanner(SavePlanner):
    """Plans a save as the module says.

    Args:
        flatten_state_dict: whether nested dicts and lists become a flat dict.
        flatten_sharded_tensors, dedup_replicated_tensors, enable_plan_caching: of no effect.
        dedup_save_to_lowest_rank: whether what several processes have is written by the first of
            them, in place of the one with the fewest bytes.
    """

    mappings: dict[str, tuple[str | int, ...]]

    def __init__(
        self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None, dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:
        self.flatten_state_dict = flatten_state_dict
        self.flatten_sharded_tensors = flatten_sharded_tensors
        self.dedup_save_to_lowest_rank = dedup_save_to_lowest_rank
        self.mappings = {}

    def set_up_planner(
        self, state_dict: STATE_DICT_TYPE, storage_meta: StorageMeta | None = None,
        is_coordinator: bool = False,
    ) -> None:
        if self.flatten_state_dict:
            state_dict, self.mappings = nested.flatten_state_dict(state_dict)
        self.state_dict = state_dict
        self.is_coordinator = is_coordinator

    def create_local_plan(self) -> SavePlan:
        plan = create_default_local_save_plan(self.state_dict, self.is_coordinator)
        if self.flatten_state_dict:
            plan = dataclasses.replace(plan, planner_data=self.mappings)
        self.plan = plan
        return plan

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        plans = _written_once(all_plans, self.dedup_save_to_lowest_rank)
        self.global_plan, metadata = create_default_global_save_plan(plans)
        if self.flatten_state_dict:
            paths = {k: v for plan in reversed(all_plans) for k, v in plan.planner_data.items()}
            metadata = dataclasses.replace(metadata, planner_data=paths)
        _check(metadata)
        self.metadata = metadata
        return self.global_plan, metadata

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        self.plan = new_plan
        return new_plan

    def resolve_data(self, write_item: WriteItem) -> Any:
        return self.transform_object(write_item, self.lookup_object(write_item.index))

    def lookup_object(self, index: MetadataIndex) -> Any:
        """What this process has of something in the state; to be overridden."""
        return _local(self.state_dict[index.fqn])

    def transform_object(self, write_item: WriteItem, object: Any) -> Any:
        """What is written of it: a tensor, or the bytes of a file of it; to be overridden."""
        if write_item.type is not WriteItemType.BYTE_IO:
            return object
        held = io.BytesIO()
        save_file(object, held)
        return held


class DefaultLoadPlanner(LoadPlanner):
    """Plans a load as the module says.

    Args:
        flatten_state_dict: whether nested dicts and lists are a flat dict in the checkpoint.
        flatten_sharded_tensors: of no effect.
        allow_partial_load: whether names of the state that were not saved stay as they are.
    """

    original_state_dict: STATE_DICT_TYPE
    mappings: dict[str, tuple[str | int, ...]]

    def __init__(
        self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True,
        allow_partial_load: bool = False,
    ) -> None:
        self.flatten_state_dict = flatten_state_dict
        self.flatten_sharded_tensors = flatten_sharded_tensors
        self.allow_partial_load = allow_partial_load
        self.original_state_dict, self.mappings = {}, {}

    def set_up_planner(
        self, state_dict: STATE_DICT_TYPE, metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        self.original_state_dict = state_dict
        if self.flatten_state_dict:
            state_dict, self.mappings = nested.flatten_state_dict(state_dict)
        self.state_dict = state_dict
        self.metadata = metadata
        self.is_coordinator = is_coordinator

    def create_local_plan(self) -> LoadPlan:
        assert self.metadata is not None
        return create_default_local_load_plan(
            self.state_dict, self.metadata, not self.allow_partial_load)

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        return create_default_global_load_plan(global_plan)

    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        return central_plan

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        found = load_file(value, weights_only=False)
        if self.flatten_state_dict:
            nested.set_element(
                self.original_state_dict, self.mappings[read_item.dest_index.fqn], found)
        else:
            self.state_dict[read_item.dest_index.fqn] = found

    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        return self.transform_tensor(read_item, self.lookup_tensor(read_item.dest_index))

    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        """Nothing: the tensor is a view of the state's."""

    def lookup_tensor(self, index: MetadataIndex) -> Tensor:
        """What this process has of a tensor in the state; to be overridden."""
        found: Tensor = _local(self.state_dict[index.fqn])
        return found

    def transform_tensor(self, read_item: ReadItem, tensor: Tensor) -> Tensor:
        """The part of it that an item fills; to be overridden."""
        return narrowed(tensor.detach(), read_item.dest_offsets, read_item.lengths)


def narrowed(tensor: Tensor, offsets: Any, lengths: Any) -> Tensor:
    """A view of a block of a tensor; the tensor itself if that is all of it."""
    for d, (begin, length) in enumerate(zip(offsets, lengths, strict=True)):
        if begin or length != tensor.shape[d]:
            tensor = tensor.narrow(d, begin, length)
    return tensor


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Fills an empty state with all that was saved, or with what has one of some names.

    Args:
        keys: names in the flat dict, or of dicts above them; None for all.
    """

    def __init__(self, keys: set[str] | None = None, *args: Any, **kwargs: Any) -> None:
        self.keys = keys
        super().__init__(*args, **kwargs)

    def _is_wanted(self, fqn: str, path: tuple[str | int, ...]) -> bool:
        if self.keys is None or fqn in self.keys:
            return True
        return any(".".join(map(str, path[:n])) in self.keys for n in range(1, len(path)))

    def set_up_planner(
        self, state_dict: STATE_DICT_TYPE, metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        if state_dict:
            raise AssertionError("the state dict has to be empty: it is filled with what was saved")
        assert metadata is not None
        paths = metadata.planner_data or {}
        for fqn, saved in metadata.state_dict_metadata.items():
            path = paths.get(fqn, (fqn,))
            if self._is_wanted(fqn, path):
                value = empty(saved.size, dtype=saved.properties.dtype) if isinstance(
                    saved, TensorStorageMetadata) else saved
                nested.set_element(state_dict, path, value)
        super().set_up_planner(state_dict, metadata, is_coordinator)


__all__ = [
    "DefaultLoadPlanner", "DefaultSavePlanner", "create_default_global_load_plan",
    "create_default_global_save_plan", "create_default_local_load_plan",
    "create_default_local_save_plan",
]  # fmt: skip
