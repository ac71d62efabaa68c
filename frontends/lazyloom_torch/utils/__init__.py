"""``torch.utils``."""

from __future__ import annotations

from . import checkpoint, data, dlpack, hooks

__all__ = ["checkpoint", "data", "dlpack", "hooks"]
