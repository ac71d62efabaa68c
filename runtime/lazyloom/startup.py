"""What starting takes: imports of modules that are slow, and the start of a device's client.

Each happens once in a process, at the first run that needs it, whose record has it as a phase of
its own (:data:`lazyloom.program.reasons.START`).
"""

from __future__ import annotations

import threading
import time
from threading import get_ident
from typing import Any, Final

#: by thread when each ended that no record has yet, and the seconds that it took; mostly empty
unnoted: Final[dict[int, list[tuple[float, float]]]] = {}
#: seconds from which something counts: what was there already takes less
LEAST: Final = 1e-3
_depth: Final[Any] = threading.local()
_clock: Final = time.perf_counter


class starting:  # noqa: N801 - used as a function
    """A ``with`` block that is part of starting; of nested ones the outermost counts."""

    __slots__ = ("_began",)

    def __enter__(self) -> None:
        _depth.now = getattr(_depth, "now", 0) + 1
        self._began = _clock()

    def __exit__(self, *exc: object) -> None:
        _depth.now -= 1
        now = _clock()
        if _depth.now == 0 and now - self._began >= LEAST:
            unnoted.setdefault(get_ident(), []).append((now, now - self._began))


def taken(since: float) -> float:
    """The seconds of what ended on this thread since a time and has no record yet.

    All that this thread has started counts as noted afterwards.
    """
    spans = unnoted.pop(get_ident(), [])
    return sum(seconds for ended, seconds in spans if ended >= since)
