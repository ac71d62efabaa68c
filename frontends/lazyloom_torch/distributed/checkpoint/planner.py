"""What planners are, and what they plan: which process writes or reads which part.

A plan has an item for each part of a tensor, and for each thing that is no tensor. Each process
plans its own state; one of them, the coordinator, sees all plans and may change them.
"""

from __future__ import annotations

import abc
import io
import math
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from ..._dtypes import Size
from ..._tensor import Tensor
from .metadata import (
    STATE_DICT_TYPE,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
)


class WriteItemType(Enum):
    """What is written: a whole tensor, a part of one, or something else."""

    TENSOR = auto()
    SHARD = auto()
    BYTE_IO = auto()


class LoadItemType(Enum):
    """What is read: (a part of) a tensor, or something else."""

    TENSOR = auto()
    BYTE_IO = auto()


@dataclass(frozen=True)
class BytesIOWriteData:
    """How many bytes something takes that is no tensor."""

    nbytes: int


@dataclass(frozen=True)
class TensorWriteData:
    """The part of a tensor that is written; ``size`` is that of the whole tensor."""

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: Size


@dataclass(frozen=True)
class WriteItem:
    """Something that one process writes."""

    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: BytesIOWriteData | None = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self) -> int | None:
        """The bytes of the tensor that this is a part of; None for what is no tensor."""
        if self.tensor_data is None:
            return None
        return math.prod(self.tensor_data.size) * self.tensor_data.properties.dtype.itemsize


@dataclass(frozen=True)
class ReadItem:
    """A part of something saved that one process reads.

    ``lengths`` elements along each dimension, from ``storage_offsets`` of the part
    ``storage_index`` of the checkpoint, to ``dest_offsets`` of ``dest_index``.
    """

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: Size
    storage_index: MetadataIndex
    storage_offsets: Size
    lengths: Size


@dataclass(frozen=True)
class SavePlan:
    """What one process writes."""

    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None
    usable: bool = True


@dataclass
class LoadPlan:
    """What one process reads."""

    items: list[ReadItem]
    storage_data: Any = None
    planner_data: Any = None


class SavePlanner(abc.ABC):
    """Plans a save; the methods are called in the order in which they stand here."""

    @abc.abstractmethod
    def set_up_planner(
        self, state_dict: STATE_DICT_TYPE, storage_meta: StorageMeta | None = None,
        is_coordinator: bool = False,
    ) -> None:
        """A save of ``state_dict`` begins. Called in all processes."""

    @abc.abstractmethod
    def create_local_plan(self) -> SavePlan:
        """What this process has to write. Called in all processes."""

    @abc.abstractmethod
    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """The plan of each process, and what the checkpoint will consist of.

        Called in the coordinator alone, with the plans of all processes by rank.
        """

    @abc.abstractmethod
    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """What this process writes, given its part of the global plan. Called in all processes."""

    @abc.abstractmethod
    def resolve_data(self, write_item: WriteItem) -> Tensor | io.BytesIO:
        """The tensor or the bytes to write for an item; may be called several times."""


class LoadPlanner:
    """Plans a load; the methods are called in the order in which they stand here."""

    @abc.abstractmethod
    def set_up_planner(
        self, state_dict: STATE_DICT_TYPE, metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        """A load into ``state_dict`` begins. Called in all processes."""

    @abc.abstractmethod
    def create_local_plan(self) -> LoadPlan:
        """What this process has to read. Called in all processes."""

    @abc.abstractmethod
    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """The plan of each process, given those of all by rank. Called in the coordinator alone."""

    @abc.abstractmethod
    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """What this process reads, given its part of the global plan. Called in all processes."""

    @abc.abstractmethod
    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Put something that is no tensor into the state dict."""

    def resolve_bytes(self, read_item: ReadItem) -> io.BytesIO:
        """Where to read the bytes of something that is no tensor to."""
        raise NotImplementedError("LoadPlanner.resolve_bytes is not implemented")

    @abc.abstractmethod
    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        """The tensor to read an item to, of the item's ``lengths``; a view of the state's."""

    @abc.abstractmethod
    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        """The tensor of :meth:`resolve_tensor` has its contents."""


__all__ = [
    "BytesIOWriteData", "LoadItemType", "LoadPlan", "LoadPlanner", "ReadItem", "SavePlan",
    "SavePlanner", "TensorWriteData", "WriteItem", "WriteItemType",
]  # fmt: skip
