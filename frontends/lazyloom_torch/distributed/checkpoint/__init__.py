"""``torch.distributed.checkpoint``: states of several processes, in files of PyTorch's layout."""

from __future__ import annotations

from ... import _absent
from ..._absent_names import ALONE
from . import format_utils as format_utils
from . import state_dict as state_dict
from .api import CheckpointException
from .default_planner import DefaultLoadPlanner, DefaultSavePlanner
from .filesystem import FileSystemReader, FileSystemWriter
from .hf_storage import HuggingFaceStorageReader, HuggingFaceStorageWriter
from .metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    TensorStorageMetadata,
)
from .planner import LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, WriteItem
from .state_dict_loader import load, load_state_dict
from .state_dict_saver import async_save, save, save_state_dict
from .storage import StorageReader, StorageWriter

__all__ = [
    "BytesStorageMetadata", "CheckpointException", "ChunkStorageMetadata", "DefaultLoadPlanner",
    "DefaultSavePlanner", "FileSystemReader", "FileSystemWriter", "HuggingFaceStorageReader",
    "HuggingFaceStorageWriter", "LoadPlan", "LoadPlanner", "Metadata", "ReadItem", "SavePlan",
    "SavePlanner", "StorageReader", "StorageWriter", "TensorStorageMetadata", "WriteItem",
    "async_save", "load", "load_state_dict", "save", "save_state_dict",
]  # fmt: skip

__getattr__ = _absent.missing(__name__, reason=ALONE)
