"""Inference mode: tensors made in it are marked.

The mark is part of the number that says when a storage was made (:mod:`lazyloom.tensor.storage`),
so it costs storages made outside the mode only a look at a counter. All views and aliases of a
storage have it.
"""

from __future__ import annotations

import threading
from typing import Any, Final, final

from ..locks import new_lock


@final
class Mode:
    """Attributes: ``threads``, how many are in the mode."""

    __slots__ = ("threads",)

    def __init__(self) -> None:
        self.threads: int = 0


mode: Final = Mode()
_local: Final[Any] = threading.local()
_counting: Final[Any] = new_lock()


def inference_enabled() -> bool:
    """Return True if this thread is in inference mode."""
    return mode.threads != 0 and bool(getattr(_local, "enabled", False))


def set_inference_enabled(enabled: bool) -> bool:
    """Switch this thread's inference mode on or off; returns the previous state."""
    before = bool(getattr(_local, "enabled", False))
    if enabled != before:
        _local.enabled = enabled
        with _counting:
            mode.threads += 1 if enabled else -1
    return before


def marked(created: int) -> int:
    """The number that says when a storage was made, marked if this thread is in the mode."""
    return -2 - created if inference_enabled() else created


def is_marked(created: int) -> bool:
    """Return True if a storage was made in the mode."""
    return created < -1
