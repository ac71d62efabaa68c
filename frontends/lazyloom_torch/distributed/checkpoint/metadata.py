"""What a checkpoint says about itself: the tensors in it, their parts, and where each part is.

The names of classes and fields are PyTorch's, since the file ``.metadata`` is a pickle of them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

from ..._dtypes import Size, dtype, get_default_dtype
from ..._formats import contiguous_format, strided
from ..._tensor import Tensor


@dataclass
class ChunkStorageMetadata:
    """A part of a tensor: where it begins in it, and its size."""

    offsets: Size
    sizes: Size


class _MEM_FORMAT_ENCODING(Enum):  # noqa: N801 - files have the name
    """The memory format of a tensor in a file; here all are contiguous."""

    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


@dataclass
class TensorProperties:
    """What a tensor is beside its size. All but ``dtype`` is as PyTorch writes it, and not used."""

    dtype: dtype = field(default_factory=get_default_dtype)
    layout: Any = strided
    requires_grad: bool = False
    memory_format: Any = contiguous_format
    pin_memory: bool = False

    def __getstate__(self) -> tuple[Any, ...]:
        return (self.dtype, self.layout, self.requires_grad,
                _MEM_FORMAT_ENCODING.TORCH_CONTIGUOUS_FORMAT, self.pin_memory)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.dtype, self.layout, self.requires_grad, _, self.pin_memory = state
        self.memory_format = contiguous_format

    @staticmethod
    def create_from_tensor(tensor: Tensor) -> TensorProperties:
        """Those of a tensor."""
        return TensorProperties(tensor.dtype, requires_grad=tensor.requires_grad)


@dataclass
class TensorStorageMetadata:
    """A tensor in a checkpoint, and the parts in which it was saved."""

    properties: TensorProperties
    size: Size
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """Something that is no tensor."""


STORAGE_TYPES: TypeAlias = TensorStorageMetadata | BytesStorageMetadata
STATE_DICT_TYPE: TypeAlias = dict[str, Any]


@dataclass
class StorageMeta:
    """Where a checkpoint was saved, and how often it was since."""

    checkpoint_id: str | os.PathLike[str] | None = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """What a checkpoint consists of.

    Attributes:
        state_dict_metadata: the tensors and other things in it, by their name in the flat dict.
        planner_data: of the planner; the default one's has the path of each name in nested dicts.
        storage_data: of the writer; that of files has the place of each part.
        storage_meta: where it was saved.
        version: of the layout of files.
    """

    state_dict_metadata: dict[str, STORAGE_TYPES]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


@dataclass(frozen=True)
class MetadataIndex:
    """Which part of which tensor: its name, and where the part begins.

    ``index`` is where the part is in the list of parts, as a hint; it is not compared.
    """

    fqn: str
    offset: Size | None = None
    index: int | None = field(hash=False, compare=False, default=None)

    def __init__(self, fqn: str, offset: Sequence[int] | None = None, index: int | None = None
                 ) -> None:
        own = self.__dict__  # a frozen dataclass sets no attributes
        own["fqn"], own["index"] = fqn, index
        if offset is not None:
            own["offset"] = Size(tuple(offset))


__all__ = [
    "BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "MetadataIndex", "StorageMeta",
    "TensorProperties", "TensorStorageMetadata",
]  # fmt: skip
