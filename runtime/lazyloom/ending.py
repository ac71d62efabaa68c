"""The end of the interpreter, beside threads that compute.

Where the interpreter ends, a daemon thread that comes back from foreign code is ended on the spot,
before it has the interpreter's lock again. XLA's code cannot be left so: C++ ends the process by
SIGABRT, whatever its exit code was to be. And JAX takes its client apart meanwhile. So threads are
let out of XLA first, and not in again.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from types import FrameType
from typing import Final

from . import foreign

#: seconds for which threads that compute or compile are waited for
LONGEST: Final = 60.0
#: seconds until a thread that has left XLA ends, at its next request, or has let go of arrays: that
#: is XLA's, too, and nobody sees it
SETTLES: Final = 0.05
#: how the names of Lazyloom's own threads begin
OWN_THREADS: Final = "lazyloom-"
#: one number: how many threads are in a program that compiled code launches, which has no frame
launching: Final[list[int]] = [0]

_HERE: Final = os.path.dirname(os.path.abspath(__file__)) + os.sep
#: where programs are compiled and run
_RUNNING: Final = tuple([f"{_HERE}{part}{os.sep}" for part in ("evaluate", "execute", "backends")])
#: where a thread waits for other processes, in Python
_WAITING: Final = f"{_HERE}distributed{os.sep}"
_THREADS: Final = os.path.abspath(threading.__file__)


def end_threads() -> None:
    """Return when no other thread is in XLA; what they ask for from now on ends them.

    Called when the interpreter ends: threads that it waits for have ended. Threads of Lazyloom's
    own are looked after where they are begun.
    """
    me = threading.get_ident()
    if foreign.ending != [me]:
        foreign.ending[:] = [me]
        with foreign.lock:
            foreign.inside[0] += 1
    now = quiet = time.monotonic()
    deadline = now + LONGEST
    while now < deadline:
        if launching[0] > 0 or _computing(me):
            quiet = now
        elif now - quiet > SETTLES or not _others(me):
            return
        time.sleep(0.001)
        now = time.monotonic()


def _others(me: int) -> bool:
    """Whether there are threads that Lazyloom has not begun."""
    return any(t.ident != me and not t.name.startswith(OWN_THREADS) for t in threading.enumerate())


def _computing(me: int) -> bool:
    """Whether another thread than this one runs or compiles a program that it wants."""
    return any(ident != me and _runs(frame) for ident, frame in sys._current_frames().items())


def _runs(frame: FrameType | None) -> bool:
    """Whether a stack has frames of running a program above others that are not Lazyloom's."""
    runs = called = False
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(_WAITING):
            return False
        if name.startswith(_RUNNING):
            runs = True
        elif runs and name != _THREADS and not name.startswith(_HERE):
            called = True
        frame = frame.f_back
    return runs and called
