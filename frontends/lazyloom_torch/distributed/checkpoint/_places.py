"""Where the parts of a checkpoint are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass
class _StorageInfo:
    """Where a part is: in which file, at which byte, of how many."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Sequence[str] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if v is not None}


@dataclass
class _StoragePrefix:
    """How the files of a process are named: ``prefix``, and numbers from ``first`` on."""

    prefix: str
    first: int = 0


# files have them by PyTorch's names
for _kind in (_StorageInfo, _StoragePrefix):
    _kind.__module__ = f"{__package__}.filesystem"
