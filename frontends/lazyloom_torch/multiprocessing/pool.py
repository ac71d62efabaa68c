"""``torch.multiprocessing.pool``: Python's pool of processes."""

from __future__ import annotations

from multiprocessing.pool import Pool

__all__ = ["Pool"]
