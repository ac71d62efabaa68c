"""From tensors to items of plans: which part this process has, and which parts it needs."""

from __future__ import annotations

from typing import Any

from ..._dtypes import Size
from ..._tensor import Tensor
from ._parts import Part, part_of
from .metadata import (
    ChunkStorageMetadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from .planner import LoadItemType, ReadItem, TensorWriteData, WriteItem, WriteItemType


def _chunk(part: Part) -> ChunkStorageMetadata:
    return ChunkStorageMetadata(Size(part.offsets), Size(part.sizes))


def write_items(fqn: str, obj: Any) -> list[WriteItem]:
    """What this process writes of something: the part of a tensor that it has, if any."""
    if not isinstance(obj, Tensor):
        return [WriteItem(MetadataIndex(fqn), WriteItemType.BYTE_IO)]
    part = part_of(obj)
    if part is None or (0 in part.sizes and 0 not in obj.shape):
        return []  # it has none of it
    chunk = _chunk(part)
    data = TensorWriteData(chunk, TensorProperties.create_from_tensor(part.local), Size(obj.shape))
    return [WriteItem(MetadataIndex(fqn, chunk.offsets),
                      WriteItemType.SHARD if part.is_shard else WriteItemType.TENSOR,
                      tensor_data=data)]


def read_items(fqn: str, saved: Any, obj: Any) -> list[ReadItem]:
    """What this process reads for something in its state.

    Raises ValueError if a tensor of the state was saved as something else.
    """
    if not isinstance(saved, TensorStorageMetadata):
        return [ReadItem(LoadItemType.BYTE_IO, MetadataIndex(fqn), Size((0,)), MetadataIndex(fqn),
                         Size((0,)), Size((0,)))]
    if not isinstance(obj, Tensor):
        raise ValueError(
            f"Invalid checkpoint metadata for {fqn}, expected BytesStorageMetadata but found "
            f"{type(saved)}: it was saved as a tensor of size {list(saved.size)}, and the state "
            f"to load into has a {type(obj).__name__}; put a tensor of that size there")
    part = part_of(obj)
    return [] if part is None else create_read_items_for_chunk_list(fqn, saved, [_chunk(part)])


def create_read_items_for_chunk_list(
    fqn: str, checkpoint_md: TensorStorageMetadata, local_chunks: list[ChunkStorageMetadata],
) -> list[ReadItem]:
    """The reads that fill parts of a tensor from the parts in which it was saved.

    Args:
        fqn: the name of the tensor in the state.
        checkpoint_md: how it was saved.
        local_chunks: the parts that are wanted.
    """
    found = []
    for number, wanted in enumerate(local_chunks):
        for place, there in enumerate(checkpoint_md.chunks):
            begins = [max(a, b) for a, b in zip(wanted.offsets, there.offsets, strict=True)]
            ends = [min(a + m, b + n) for a, m, b, n in zip(
                wanted.offsets, wanted.sizes, there.offsets, there.sizes, strict=True)]
            lengths = [e - b for b, e in zip(begins, ends, strict=True)]
            if any(n <= 0 for n in lengths):
                continue
            found.append(ReadItem(
                LoadItemType.TENSOR,
                MetadataIndex(fqn, wanted.offsets, number),
                Size([b - o for b, o in zip(begins, wanted.offsets, strict=True)]),
                MetadataIndex(fqn, there.offsets, place),
                Size([b - o for b, o in zip(begins, there.offsets, strict=True)]),
                Size(lengths)))
    return found


__all__ = ["create_read_items_for_chunk_list"]
