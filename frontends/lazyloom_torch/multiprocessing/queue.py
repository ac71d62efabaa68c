"""``torch.multiprocessing.queue``: Python's queues. Tensors travel through them by value."""

from __future__ import annotations

from multiprocessing.queues import Queue, SimpleQueue

__all__ = ["Queue", "SimpleQueue"]
