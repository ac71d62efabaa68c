"""``torch.utils.hooks``."""

from __future__ import annotations

from .._hooks import RemovableHandle

__all__ = ["RemovableHandle"]
