"""Foreign code that a program waits for, which must not wait for the program in turn.

A code generator that asks for a value while it is asked, builds or runs waits for locks and threads
that wait for it. Such a question is an error at once.
"""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import Final

from .errors import ReadForbiddenError

#: of each thread, whose code it is in, at what, and the frame of the ``with`` block
_local: Final = threading.local()
#: a signal's handler that computes arrays may get here while it is held
_lock: Final = threading.RLock()
#: one number: how many threads are in such code; while it is 0 nobody has to be asked.
#: An interrupt may leave it too high
inside: Final[list[int]] = [0]


class Foreign:
    """A ``with`` block that calls code of others.

    Args:
        who: it, and what it is at: "the code generator 'a', which builds a region,".
    """

    __slots__ = ("_who", "_before")

    def __init__(self, who: str) -> None:
        self._who: Final = who
        self._before: tuple[str, FrameType] | None = None

    def __enter__(self) -> None:
        self._before = getattr(_local, "who", None)
        _local.who = (self._who, sys._getframe(1))
        with _lock:
            inside[0] += 1

    def __exit__(self, *exc: object) -> None:
        with _lock:
            inside[0] -= 1
        _local.who = self._before


def check() -> None:
    """Raise ReadForbiddenError if this thread is in code of others."""
    found: tuple[str, FrameType] | None = getattr(_local, "who", None)
    if found is None:
        return
    who, block = found
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame is not block:
        frame = frame.f_back
    if frame is None:
        # an interrupt came before the end of the block could be noted
        _local.who = None
        return
    raise ReadForbiddenError(
        f"{who} asked Lazyloom for a value, and the program that would compute it waits for that; "
        "compute with NumPy there")
