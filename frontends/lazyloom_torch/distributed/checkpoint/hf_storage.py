"""Checkpoints as safetensors files, as libraries of models read and write them.

A file's strings say where its tensors begin in those that they are parts of; without them its
tensors are whole ones. The files are written here, no package is needed.
"""

from __future__ import annotations

import dataclasses
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import lazyloom
from lazyloom.frontend import replacing

from ... import _dtypes
from ..._dtypes import Size
from ..._tensor import Tensor
from ...futures import Future
from ...safetensors import safe_open
from ...safetensors import save as safetensors_bytes
from ._consolidate_hf_safetensors import consolidate_safetensors_files
from ._hf_files import INDEX, SHARDED, file_name, parts_of, remove_others, strings, write_index
from ._places import _StorageInfo
from .filesystem import FileSystemReader, FileSystemWriter, synced
from .metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from .planner import (
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
    WriteItemType,
)
from .storage import WriteResult


class HuggingFaceStorageWriter(FileSystemWriter):
    """Writes a checkpoint of tensors as safetensors files.

    Each file takes the place of the one that was there when it is whole; what earlier saves left
    beside them is removed in the end.

    Args:
        path: the folder, which is made if it is not there.
        fqn_to_index_mapping: the number of the file of each tensor, from 1; None for one file.
        thread_count: the threads that write.
        save_distributed: whether each process writes files with its parts; else one process has
            all of the state.
        enable_consolidation: whether the parts, which go to the folder ``sharded`` of ``path``,
            are put together to whole tensors in ``path``.
        thread_count_consolidation: the files that are put together at once.

    Saving raises ValueError for what is no tensor, for a tensor without a number, and without
    ``save_distributed`` if several processes have parts.
    """

    def __init__(
        self, path: str | os.PathLike[str], fqn_to_index_mapping: dict[str, int] | None = None,
        thread_count: int = 1, save_distributed: bool = False, enable_consolidation: bool = False,
        thread_count_consolidation: int = 1,
    ) -> None:
        super().__init__(path, thread_count=thread_count)
        self.fqn_to_index_mapping = fqn_to_index_mapping
        self.save_distributed = save_distributed
        self.enable_consolidation = enable_consolidation
        self.thread_count_consolidation = thread_count_consolidation
        self.consolidated_output_path: str | None = None
        self._take_path(path)

    def _take_path(self, path: str | os.PathLike[str]) -> None:
        self.path = self.fs.init_path(path)
        if self.enable_consolidation:
            self.consolidated_output_path = str(self.path)
            self.path = self.fs.concat_path(self.path, SHARDED)

    @property
    def metadata_path(self) -> str:
        """The name of the index."""
        return INDEX

    def _metadata_path(self) -> Path:
        folder = self.consolidated_output_path
        return self.fs.concat_path(self.path if folder is None else folder, INDEX)

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        super().reset()
        if checkpoint_id:
            self._take_path(checkpoint_id)

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        plan = super().prepare_local_plan(plan)
        for item in plan.items:
            self._check(item)
        return plan

    def _check(self, item: WriteItem) -> None:
        name = item.index.fqn
        if item.type is WriteItemType.BYTE_IO:
            raise ValueError(
                f"{name!r} is no tensor, and safetensors files hold tensors only: leave it out, "
                "make it a tensor, or save with FileSystemWriter")
        if self.fqn_to_index_mapping is not None and name not in self.fqn_to_index_mapping:
            raise ValueError(
                f"fqn_to_index_mapping has no number for {name!r}: it needs one for each tensor "
                "of the state")

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        having = [rank for rank, plan in enumerate(plans) if plan.items]
        if not self.save_distributed and len(having) > 1:
            raise ValueError(
                f"processes {', '.join(map(str, having))} have parts of the state, and would "
                "write the same file: give save_distributed=True, or save the whole state in one "
                "process (no_dist=True)")
        return [dataclasses.replace(plan, storage_data={
            "fqn_to_index_mapping": self.fqn_to_index_mapping,
            "shard_index": rank if self.save_distributed else None})
            for rank, plan in enumerate(plans, 1)]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future:
        said: dict[str, Any] = plan.storage_data or {}
        numbers: dict[str, int] | None = said.get("fqn_to_index_mapping")
        count = 1 if numbers is None else max(numbers.values(), default=1)
        by_number: dict[int, list[WriteItem]] = {}
        for item in plan.items:
            number = 1 if numbers is None else numbers[item.index.fqn]
            by_number.setdefault(number, []).append(item)
        return self._write_files(
            [(file_name(number, count, said.get("shard_index")), items)
             for number, items in by_number.items()], planner)

    def _write_file(self, name: str, items: list[WriteItem], planner: SavePlanner
               ) -> list[WriteResult]:  # fmt: skip
        tensors: dict[str, Tensor] = {}
        begins: dict[str, tuple[int, ...]] = {}
        for item in items:
            data = planner.resolve_data(item)
            assert isinstance(data, Tensor) and item.tensor_data is not None
            # memory of its own: several names of one tensor are several in the file
            tensors[item.index.fqn] = data.detach().clone()
            begins[item.index.fqn] = tuple(item.tensor_data.chunk.offsets)
        with replacing(os.fspath(self.fs.concat_path(self.path, name))) as out:
            out.write(safetensors_bytes(tensors, strings(begins)))
            if self.sync_files:
                synced(out)
        return [WriteResult(item.index, size, _StorageInfo(name, 0, size)) for item, size in zip(
            items, (t.nbytes for t in tensors.values()), strict=True)]

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        written = [r for some in results for r in some]
        remove_others(Path(self.path), {r.storage_data.relative_path for r in written})
        if not self.save_distributed:
            write_index(Path(self.path),
                        {r.index.fqn: r.storage_data.relative_path for r in written},
                        sum(r.size_in_bytes for r in written))
        elif self.consolidated_output_path is not None:
            numbers = self.fqn_to_index_mapping
            if numbers is None:
                numbers = dict.fromkeys(metadata.state_dict_metadata, 1)
            numbers = {name: numbers[name] for name in metadata.state_dict_metadata}
            consolidate_safetensors_files(
                self.path, self.consolidated_output_path, numbers, self.thread_count_consolidation)
            count = max(numbers.values(), default=1)
            remove_others(Path(self.consolidated_output_path),
                          {file_name(i, count) for i in numbers.values()})


class HuggingFaceStorageReader(FileSystemReader):
    """Reads tensors of the safetensors files in a folder, which anyone may have written.

    Args:
        path: the folder.
        thread_count: the files that are read at once.
    """

    def __init__(self, path: str | os.PathLike[str], thread_count: int = 1) -> None:
        super().__init__(path)
        self.thread_count = thread_count

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        tensors: dict[str, TensorStorageMetadata] = {}
        places: dict[MetadataIndex, _StorageInfo] = {}
        for part in parts_of(Path(self.path)):
            at = MetadataIndex(part.name, part.offsets)
            if at in places:
                continue  # saved by several processes
            places[at] = _StorageInfo(part.path.name, 0, len(part.data))
            end = [o + n for o, n in zip(part.offsets, part.shape, strict=True)]
            found = tensors.setdefault(part.name, TensorStorageMetadata(
                TensorProperties(_dtypes.of(part.kind)), Size(end), []))
            found.chunks.append(ChunkStorageMetadata(Size(part.offsets), Size(part.shape)))
            found.size = Size([max(n, e) for n, e in zip(found.size, end, strict=True)])
        return Metadata(dict(tensors), storage_data=places,
                        storage_meta=StorageMeta(load_id=self.load_id))

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future:
        by_file: dict[str, list[ReadItem]] = {}
        for item in plan.items:
            assert item.type is LoadItemType.TENSOR
            by_file.setdefault(self.storage_data[item.storage_index].relative_path, []).append(item)

        def read(name: str) -> None:
            # modes are a thread's own
            with lazyloom.grad_mode(False), safe_open(
                self.fs.concat_path(self.path, name)
            ) as opened:
                for item in by_file[name]:
                    self._read_slice(opened, item, planner)

        with ThreadPoolExecutor(max(1, self.thread_count)) as pool:
            list(pool.map(read, by_file))
        done = Future()
        done.set_result(None)
        return done

    def _read_slice(self, opened: safe_open, item: ReadItem, planner: LoadPlanner) -> None:
        place = tuple(slice(o, o + n) for o, n in zip(
            item.storage_offsets, item.lengths, strict=True))
        saved = opened.get_slice(item.storage_index.fqn)[place]
        self._put(saved, item, planner)


__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]
