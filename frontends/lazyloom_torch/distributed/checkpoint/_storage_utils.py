"""The writer or reader that a call of ``save`` or ``load`` means."""

from __future__ import annotations

import os
from typing import Any

from .filesystem import FileSystemReader, FileSystemWriter


def _chosen(given: Any, checkpoint_id: str | os.PathLike[str] | None, kind: Any) -> Any:
    if given is not None:
        given.reset(checkpoint_id)
        return given
    if not checkpoint_id:
        raise RuntimeError(
            "`checkpoint_id` must be specified if storage_reader/storage_writer is None.")
    if not kind.validate_checkpoint_id(checkpoint_id):
        raise RuntimeError(
            f"Cannot detect which StorageReader or StorageWriter to use for {checkpoint_id}: it is "
            "no path of a folder that can be written. Please specify the storage_reader/"
            "storage_writer.")
    return kind(checkpoint_id)


def writer_of(given: Any, checkpoint_id: str | os.PathLike[str] | None) -> Any:
    """The writer; of files if none is given. Raises RuntimeError if nothing says where."""
    return _chosen(given, checkpoint_id, FileSystemWriter)


def reader_of(given: Any, checkpoint_id: str | os.PathLike[str] | None) -> Any:
    """The reader; of files if none is given. Raises RuntimeError if nothing says from where."""
    return _chosen(given, checkpoint_id, FileSystemReader)
