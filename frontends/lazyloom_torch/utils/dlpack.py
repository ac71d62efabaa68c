"""``torch.utils.dlpack``: capsules, for libraries that know no ``__dlpack__``."""

from __future__ import annotations

from typing import Any

from .._interchange import from_dlpack
from .._tensor import Tensor


def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule of a tensor's data, to be taken once."""
    return tensor.__dlpack__()


__all__ = ["from_dlpack", "to_dlpack"]
