"""``torch.utils``."""

from __future__ import annotations

from . import checkpoint, data

__all__ = ["checkpoint", "data"]
