"""``torch.types``: names for annotations."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import Any, TypeAlias

from ._dtypes import Size, device
from ._dtypes import dtype as _dtype  # noqa: F401 - as PyTorch names it
from ._tensor import Tensor

Number: TypeAlias = builtins.int | builtins.float | builtins.bool
Device: TypeAlias = device | str | builtins.int | None
FileLike: TypeAlias = str | os.PathLike[str] | Any
Storage: TypeAlias = Any
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_bool, _float, _int, _device = builtins.bool, builtins.float, builtins.int, device
_size: TypeAlias = Size | Sequence[builtins.int]

__all__ = ["Device", "FileLike", "Number", "Storage"]
