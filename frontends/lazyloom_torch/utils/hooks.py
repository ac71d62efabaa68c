"""``torch.utils.hooks``."""

from __future__ import annotations

from .._tensor import RemovableHandle

__all__ = ["RemovableHandle"]
