"""Checkpoints as folders of files, in PyTorch's layout.

Each process writes a file ``__<rank>_<number>.distcp`` of its parts, each as ``torch.save`` writes
it; ``.metadata`` says what is where. That comes last, under another name, and is renamed: until
then the folder holds the checkpoint that it held before, whose files are kept so long. A process
that is killed meanwhile leaves files that nothing names, and that the next save removes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import pickle
import re
import threading
import uuid
import warnings
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import IO, Any, Final

from ..._tensor import Tensor
from ...futures import Future
from ...serialization import load as load_file
from ...serialization import save as save_file
from ._pickled import read_metadata, write_metadata
from ._places import _StorageInfo, _StoragePrefix
from .default_planner import narrowed
from .metadata import Metadata, StorageMeta
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
from .storage import StorageReader, StorageWriter, WriteResult

CURRENT_DCP_VERSION: Final = "1.0.0"
DEFAULT_SUFFIX: Final = ".distcp"
_METADATA: Final = ".metadata"
_DATA: Final = re.compile(r"__\d+_(\d+)\.distcp")


class SerializationFormat(Enum):
    """How parts are written; only as ``torch.save`` does."""

    TORCH_SAVE = "torch_save"
    SAFETENSORS = "safetensors"


class FileSystem:
    """Files and folders, as writers and readers use them."""

    @contextlib.contextmanager
    def create_stream(self, path: str | os.PathLike[str], mode: str) -> Iterator[IO[bytes]]:
        """An open file."""
        with open(path, mode) as stream:
            yield stream

    def concat_path(self, path: str | os.PathLike[str], suffix: str) -> Path:
        return Path(path) / suffix

    def init_path(self, path: str | os.PathLike[str]) -> Path:
        return Path(path)

    def rename(self, path: str | os.PathLike[str], new_path: str | os.PathLike[str]) -> None:
        """Rename a file, in place of one that has the new name."""
        os.replace(path, new_path)

    def mkdir(self, path: str | os.PathLike[str]) -> None:
        Path(path).mkdir(parents=True, exist_ok=True)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether it is a path below a folder that can be written."""
        if isinstance(checkpoint_id, Path):
            return True
        return "://" not in str(checkpoint_id) and any(
            p.exists() and os.access(p, os.W_OK) for p in Path(checkpoint_id).absolute().parents)

    def exists(self, path: str | os.PathLike[str]) -> bool:
        return Path(path).exists()

    def rm_file(self, path: str | os.PathLike[str]) -> None:
        Path(path).unlink()

    def ls(self, path: str | os.PathLike[str]) -> list[str]:
        return [str(p) for p in Path(path).iterdir()]


class _Part(io.RawIOBase):
    """A part of a file, as a file of its own; of a given length, or to the end."""

    def __init__(self, whole: Any, begin: int, length: int | None = None) -> None:
        self._whole, self._begin, self._length = whole, begin, length
        whole.seek(begin)

    def readable(self) -> bool:
        return bool(self._whole.readable())

    def writable(self) -> bool:
        return bool(self._whole.writable())

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return int(self._whole.tell()) - self._begin

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_CUR:
            offset += self.tell()
        elif whence == os.SEEK_END:
            if self._length is None:
                return int(self._whole.seek(offset, os.SEEK_END)) - self._begin
            offset += self._length
        self._whole.seek(self._begin + max(0, offset))
        return self.tell()

    def read(self, size: int | None = -1) -> bytes:
        if self._length is not None:
            left = max(0, self._length - self.tell())
            size = left if size is None or size < 0 else min(size, left)
        return bytes(self._whole.read(-1 if size is None else size))

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[:len(data)] = data
        return len(data)

    def write(self, data: Any) -> int:
        return int(self._whole.write(data))

    def flush(self) -> None:
        if not self._whole.closed:
            self._whole.flush()


def _item_size(item: WriteItem) -> int:
    data = item.tensor_data
    if data is None:
        return 0
    size = data.properties.dtype.itemsize
    for n in data.chunk.sizes:
        size *= n
    return int(size)


def _buckets(count: int, items: list[WriteItem]) -> list[list[WriteItem]]:
    """Items in lists of about the same size, the large ones first."""
    if count == 1:
        return [items]
    found: list[list[WriteItem]] = [[] for _ in range(count)]
    sizes = [0] * count
    for item in sorted(items, key=_item_size, reverse=True):
        least = sizes.index(min(sizes))
        found[least].append(item)
        sizes[least] += _item_size(item)
    return [items for items in found if items]


def _sync_folder(path: Path) -> None:
    """Let the names of a folder's files outlast a loss of power, where the system can do that."""
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def synced(stream: IO[bytes]) -> None:
    """Let what was written to a file be on the disk."""
    stream.flush()
    os.fsync(stream.fileno())


class FileSystemWriter(StorageWriter):
    """Writes a checkpoint into a folder, as the module says.

    Args:
        path: the folder, which is made if it is not there.
        single_file_per_rank: whether each process writes one file (``thread_count`` ones), in place
            of one for each part.
        sync_files: whether files are on the disk, in place of the system's memory, when it ends.
        thread_count: the threads that write.
        per_thread_copy_ahead, cache_staged_state_dict: of no effect.
        overwrite: whether another checkpoint in the folder is replaced; False raises RuntimeError.
        serialization_format: ``SerializationFormat.TORCH_SAVE``.
    """

    def __init__(
        self, path: str | os.PathLike[str], single_file_per_rank: bool = True,
        sync_files: bool = True, thread_count: int = 1, per_thread_copy_ahead: int = 10_000_000,
        cache_staged_state_dict: bool = False, overwrite: bool = True, _extensions: Any = None,
        serialization_format: SerializationFormat = SerializationFormat.TORCH_SAVE,
    ) -> None:
        if _extensions or serialization_format is not SerializationFormat.TORCH_SAVE:
            raise NotImplementedError(
                "FileSystemWriter: parts are written as torch.save does; leave _extensions and "
                "serialization_format out; hf_storage.HuggingFaceStorageWriter writes safetensors "
                "files")
        self.fs = FileSystem()
        self.path = self.fs.init_path(path)
        self.single_file_per_rank = single_file_per_rank
        self.sync_files = sync_files
        self.thread_count = thread_count
        self.overwrite = overwrite
        self.save_id = str(uuid.uuid4())
        self.rank: int | None = None
        self.use_collectives = True

    @property
    def checkpoint_id(self) -> str | os.PathLike[str]:
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        return FileSystem.validate_checkpoint_id(checkpoint_id)

    def storage_meta(self) -> StorageMeta:
        return StorageMeta(checkpoint_id=str(self.path), save_id=self.save_id)

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        if checkpoint_id:
            self.path = self.fs.init_path(checkpoint_id)
        self.save_id = str(uuid.uuid4())

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        self.rank = kwargs.get("rank")
        self.use_collectives = kwargs.get("use_collectives", True)

    def _metadata_path(self) -> Path:
        own = "" if self.use_collectives or self.rank is None else f"__{self.rank}"
        return self.fs.concat_path(self.path, f"{own}{_METADATA}")

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        self.fs.mkdir(self.path)
        if self.fs.exists(self._metadata_path()):
            if not self.overwrite:
                raise RuntimeError(
                    f"Checkpoint already exists and self.overwrite=False: {self.path}; save to "
                    "another folder, or let it be replaced by overwrite=True")
            warnings.warn(
                f"Detected an existing checkpoint in {self.path}, overwriting since "
                "self.overwrite=True.", stacklevel=2)
        if self.rank is not None and not self.use_collectives:
            return dataclasses.replace(plan, storage_data=self._named(self.rank, plan))
        return plan

    def _named(self, rank: int, plan: SavePlan) -> _StoragePrefix:
        """Names for files of a process of which none is there: a checkpoint may be made of them."""
        taken = [int(found[1]) for name in os.listdir(self.path) if (found := _DATA.fullmatch(name))
                 and name.startswith(f"__{rank}_")]
        count = self.thread_count if self.single_file_per_rank else len(plan.items)
        first = 0 if not taken or min(taken) >= count else max(taken) + 1
        return _StoragePrefix(f"__{rank}_", first)

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        return [plan if plan.storage_data is not None else dataclasses.replace(
            plan, storage_data=self._named(rank, plan)) for rank, plan in enumerate(plans)]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future:
        place: _StoragePrefix = plan.storage_data
        parts = (_buckets(self.thread_count, plan.items) if self.single_file_per_rank
                 else [[item] for item in plan.items])
        names = (f"{place.prefix}{place.first + i}{DEFAULT_SUFFIX}" for i in range(len(parts)))
        return self._write_files(list(zip(names, parts, strict=True)), planner)

    def _write_files(
        self, files: list[tuple[str, list[WriteItem]]], planner: SavePlanner
    ) -> Future:
        """Write files, by name and with these items, by as many threads as the writer has."""
        results: list[list[WriteResult]] = [[] for _ in files]
        errors: list[BaseException] = []
        left = iter(range(len(files)))
        lock = threading.Lock()

        def work() -> None:
            while not errors:
                with lock:
                    i = next(left, None)
                if i is None:
                    return
                try:
                    results[i] = self._write_file(*files[i], planner)
                except BaseException as error:
                    errors.append(error)

        others = [threading.Thread(target=work, name="checkpoint")
                  for _ in range(min(self.thread_count, len(files)) - 1)]
        for thread in others:
            thread.start()
        work()
        for thread in others:
            thread.join()
        done = Future()
        if errors:
            raise errors[0]
        done.set_result([r for some in results for r in some])
        return done

    def _write_file(self, name: str, items: list[WriteItem], planner: SavePlanner
               ) -> list[WriteResult]:  # fmt: skip
        found = []
        with self.fs.create_stream(self.fs.concat_path(self.path, name), "wb") as stream:
            for item in items:
                begin = stream.tell()
                data = planner.resolve_data(item)
                if item.type is WriteItemType.BYTE_IO:
                    assert isinstance(data, io.BytesIO)
                    stream.write(data.getbuffer())
                else:
                    assert isinstance(data, Tensor)
                    # a copy of a view alone, not of all that it is a view of
                    whole = data.detach().clone() if data.view_steps else data.detach()
                    save_file(whole, _Part(stream, begin))
                    stream.seek(0, os.SEEK_END)
                length = stream.tell() - begin
                found.append(WriteResult(item.index, length, _StorageInfo(name, begin, length)))
            if self.sync_files:
                synced(stream)
        return found

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        metadata.version = CURRENT_DCP_VERSION
        metadata.storage_data = {r.index: r.storage_data for some in results for r in some}
        metadata.storage_meta = self.storage_meta()
        path = self._metadata_path()
        aside = path.with_name(f"{path.name}.tmp")
        with self.fs.create_stream(aside, "wb") as stream:
            write_metadata(metadata, stream)
            if self.sync_files:
                synced(stream)
        if self.sync_files:
            _sync_folder(self.path)
        self.fs.rename(aside, path)
        if self.sync_files:
            _sync_folder(self.path)
        if self.use_collectives:
            self._remove_others({info.relative_path for info in metadata.storage_data.values()})

    def _remove_others(self, named: set[str]) -> None:
        """Remove the files of earlier checkpoints, and of saves that did not end."""
        for name in os.listdir(self.path):
            if _DATA.fullmatch(name) and name not in named:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self.fs.concat_path(self.path, name))


class FileSystemReader(StorageReader):
    """Reads a checkpoint of a folder, which this or PyTorch has written.

    ``.metadata`` is read without running anything that it names.
    """

    def __init__(self, path: str | os.PathLike[str], _extension_registry: Any = None) -> None:
        self.fs = FileSystem()
        self.path = self.fs.init_path(path)
        self.storage_data: dict[Any, _StorageInfo] = {}
        self.load_id = str(uuid.uuid4())

    @property
    def checkpoint_id(self) -> str | os.PathLike[str]:
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        return FileSystem.validate_checkpoint_id(checkpoint_id)

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        self.storage_data = {}
        if checkpoint_id:
            self.path = self.fs.init_path(checkpoint_id)
        self.load_id = str(uuid.uuid4())

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        rank = kwargs.get("rank")
        name = _METADATA if rank is None else f"__{rank}{_METADATA}"
        path = self.fs.concat_path(self.path, name)
        with self.fs.create_stream(path, "rb") as stream:
            try:
                found = read_metadata(stream)
            except (EOFError, pickle.UnpicklingError, ValueError) as error:
                raise pickle.UnpicklingError(
                    f"{path} is no metadata of a checkpoint, or is damaged: {error}") from error
        found.storage_meta = getattr(found, "storage_meta", None) or StorageMeta()
        found.storage_meta.load_id = self.load_id
        return found

    def set_up_storage_reader(
        self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        self.storage_data = metadata.storage_data

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future:
        by_file: dict[str, list[ReadItem]] = {}
        for item in plan.items:
            by_file.setdefault(self.storage_data[item.storage_index].relative_path, []).append(item)
        for name, items in by_file.items():
            items.sort(key=lambda item: self.storage_data[item.storage_index].offset)
            with self.fs.create_stream(self.fs.concat_path(self.path, name), "rb") as stream:
                for item in items:
                    self._read(stream, item, planner)
        done = Future()
        done.set_result(None)
        return done

    def _read(self, stream: Any, item: ReadItem, planner: LoadPlanner) -> None:
        place = self.storage_data[item.storage_index]
        if place.transform_descriptors:
            raise NotImplementedError(
                f"{place.relative_path} was written with extensions "
                f"({', '.join(place.transform_descriptors)}), which are not supported")
        part = _Part(stream, place.offset, place.length)
        if item.type is LoadItemType.BYTE_IO:
            planner.load_bytes(item, io.BytesIO(part.read()))
            return
        try:
            saved = load_file(part, map_location="cpu", weights_only=True)
        except (EOFError, pickle.UnpicklingError, ValueError) as error:
            raise ValueError(
                f"{self.fs.concat_path(self.path, place.relative_path)}, bytes {place.offset} to "
                f"{place.offset + place.length}, which have {item.storage_index.fqn!r}: {error}"
            ) from error
        self._put(narrowed(saved, item.storage_offsets, item.lengths), item, planner)

    def _put(self, saved: Tensor, item: ReadItem, planner: LoadPlanner) -> None:
        """Put what was read for an item into the state."""
        target = planner.resolve_tensor(item).detach()
        if tuple(target.shape) != tuple(item.lengths):
            raise AssertionError(
                f"req {item.storage_index} mismatch sizes {target.size()} vs {item.lengths}")
        target.copy_(saved)
        planner.commit_tensor(item, target)


__all__ = [
    "FileSystem", "FileSystemReader", "FileSystemWriter", "SerializationFormat",
]  # fmt: skip
