"""What starting takes: imports of modules that are slow, and the start of a device's client.

Each happens once in a process, at the first run that needs it, whose record has it as a phase of
its own (:data:`lazyloom.program.reasons.START`).
"""

from __future__ import annotations

import threading
import time
from threading import get_ident
from typing import Any, Final

#: seconds by thread that no record has yet; mostly empty
unnoted: Final[dict[int, float]] = {}
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
        if _depth.now == 0:
            me = get_ident()
            unnoted[me] = unnoted.get(me, 0.0) + _clock() - self._began


def taken() -> float:
    """The seconds of this thread that no record has yet, which count as noted now."""
    return unnoted.pop(get_ident(), 0.0)
