"""Where programs look for the functions that make batches, under PyTorch's names."""

from __future__ import annotations

from . import collate

__all__ = ["collate"]
