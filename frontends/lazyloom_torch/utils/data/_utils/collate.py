"""``torch.utils.data._utils.collate``."""

from __future__ import annotations

from .._collate import default_collate, default_convert

__all__ = ["default_collate", "default_convert"]
