"""Memory checks before the start of XLA's client."""

from __future__ import annotations

import os
import sys
from typing import Final

from .. import allocation, memory_limits

#: the least memory of XLA's client: its libraries, and threads with their stacks and arenas
#: (measured on two processors: 1,241 MB, of which this covers 1,164)
_LIBRARIES: Final = 300 << 20
_THREADS: Final = 8 + 2 * min(os.cpu_count() or 1, 2)
_ARENA: Final = 64 << 20


def require(loaded: bool) -> None:
    """Raise MemoryError if XLA's client, whose libraries may be loaded, cannot start."""
    if memory_limits.look():
        stack = memory_limits.limit_of("RLIMIT_STACK") or 2 << 20
        arena = _ARENA if sys.platform == "linux" and not allocation.one_heap() else 0
        memory_limits.require(
            _THREADS * (stack + arena) + (0 if loaded else _LIBRARIES), "to start XLA")
