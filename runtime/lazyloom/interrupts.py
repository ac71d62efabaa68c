"""Ctrl-C waits while a step that must not be left half done is under way.

Python delivers SIGINT to the main thread between any two instructions, and inside calls of
C++ that call back into Python. A run that has taken its donated inputs but not handed over
its results would lose them.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any, Final

from .compiled import COMPILED

# What the module's functions wrap: they turn handlers into enums and back, which costs more
# than a dispatch.
_getsignal: Final[Any] = getattr(signal.getsignal, "__wrapped__", signal.getsignal)
_signal: Final[Any] = getattr(signal.signal, "__wrapped__", signal.signal)

_MAIN: Final = threading.main_thread().ident
_SIGINT: Final = int(signal.SIGINT)


class Deferred:
    """A ``with`` block that SIGINT does not interrupt; it is delivered at the end.

    Does nothing in threads other than the main one, which get no signals, nor around compiled
    code, which handles none.

    Args:
        interpreted: the block calls interpreted functions even where the core is compiled.
    """

    __slots__ = ("_needed", "_before", "_arrived")

    def __init__(self, interpreted: bool = False) -> None:
        self._needed = interpreted or not COMPILED
        self._before: Any = None
        self._arrived = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._arrived = True

    def __enter__(self) -> None:
        if self._needed and threading.get_ident() == _MAIN and callable(_getsignal(_SIGINT)):
            self._before = _signal(_SIGINT, self._note)

    def __exit__(self, *exc: object) -> None:
        before = self._before
        if before is not None:
            _signal(_SIGINT, before)
            if self._arrived:
                self._pass_on(before)

    def _pass_on(self, handler: Any) -> None:
        handler(signal.SIGINT, None)


#: handlers of interrupts that a :class:`Postponed` block kept back
late: Final[list[Any]] = []


class Postponed(Deferred):
    """A ``with`` block that SIGINT does not interrupt; :func:`deliver` does so afterwards.

    For interpreted code that compiled code has called and still waits for: raising at the end of
    the block would lose what it is about to return.
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(True)

    def _pass_on(self, handler: Any) -> None:
        late.append(handler)


def deliver() -> None:
    """Deliver the interrupts that were kept back; does nothing in other threads."""
    if threading.get_ident() == _MAIN:
        while late:
            late.pop()(signal.SIGINT, None)
