"""Foreign code that a program waits for, which must not wait for the program in turn.

A code generator that reads a value while it is queried, builds or runs waits for locks and threads
that wait for it. Such a read is an error at once.
"""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import Final

from .errors import ReadForbiddenError

#: by thread, the foreign code that it is in, what that does, and the frame of the ``with`` block
_local: Final = threading.local()
#: the thread in which the interpreter ends, once it does: no other one computes any more
ending: Final[list[int]] = []
#: reentrant, since a signal handler that computes arrays may get here while it is held
lock: Final = threading.RLock()
#: one number: how many threads are in such code; while it is 0 no check is needed.
#: An interrupt may leave it too high
inside: Final[list[int]] = [0]


class Foreign:
    """A ``with`` block that calls foreign code.

    Args:
        who: the code and what it does: "the code generator 'a', which builds a region,".
    """

    __slots__ = ("_who", "_before")

    def __init__(self, who: str) -> None:
        self._who: Final = who
        self._before: tuple[str, FrameType] | None = None

    def __enter__(self) -> None:
        self._before = getattr(_local, "who", None)
        _local.who = (self._who, sys._getframe(1))
        with lock:
            inside[0] += 1

    def __exit__(self, *exc: object) -> None:
        with lock:
            inside[0] -= 1
        _local.who = self._before


def check() -> None:
    """Raise ReadForbiddenError if this thread is in foreign code.

    Raises SystemExit, which ends the thread, where the interpreter ends in another one.
    """
    if ending and threading.get_ident() != ending[0]:
        raise SystemExit
    entry: tuple[str, FrameType] | None = getattr(_local, "who", None)
    if entry is None:
        return
    who, block = entry
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
