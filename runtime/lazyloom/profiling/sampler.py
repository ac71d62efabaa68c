"""Where a program is, looked at every few milliseconds."""

from __future__ import annotations

import sys
import threading
import time
from types import CodeType, FrameType
from typing import Final

from ..trace.source import Site, is_users
from .events import UserLine

_clock: Final = time.perf_counter
#: seconds between two looks
INTERVAL: Final = 0.005


class Sampler:
    """Adds up for each line of the user's how long the watched threads were there.

    A thread looks at the stacks of the others, which run on. It is the only thing that a profile
    starts; :meth:`stop` ends it.
    """

    def __init__(self, threads: set[int], samples: dict[UserLine, float]) -> None:
        self._threads: Final = threads
        self._samples: Final = samples
        self._stop: Final = threading.Event()
        self._lines: dict[tuple[CodeType, int], UserLine] = {}
        #: whether a file is the user's, of those that were met
        self._users: dict[str, bool] = {}
        self._thread: Final = threading.Thread(
            target=self._look, name="lazyloom-profile", daemon=True)

    def start(self) -> None:
        """Begin to look, at the calling thread and those that join the set of threads."""
        self._threads.add(threading.get_ident())
        self._thread.start()

    def stop(self) -> None:
        """End; nothing is added afterwards."""
        self._stop.set()
        self._thread.join()
        # while a host of another language imports its part, that is not known to be one
        for line in [line for line in self._samples if not is_users(line.file)]:
            del self._samples[line]

    def _look(self) -> None:
        before = _clock()
        while not self._stop.wait(INTERVAL):
            now = _clock()
            for place in _places(self._threads, self._users):
                line = self._lines.get(place)
                if line is None:
                    site = Site(*place)
                    line = self._lines[place] = UserLine(site.file, site.line)
                self._samples[line] = self._samples.get(line, 0.0) + now - before
            before = now


def _places(threads: set[int], known: dict[str, bool]) -> list[tuple[CodeType, int]]:
    """Where each of the threads is: the user's code nearest to it, and the instruction.

    No frame is kept beyond the call. One that is kept keeps what its function's names refer to,
    also when that has returned: values that programs would then have to write to memory.
    """
    stacks: list[list[tuple[CodeType, int]]] = []
    at: FrameType | None = None
    for thread, frame in sys._current_frames().items():
        if thread in threads:
            stack: list[tuple[CodeType, int]] = []
            at = frame
            while at is not None:
                code = at.f_code
                users = known.get(code.co_filename)
                if users is not False:
                    stack.append((code, at.f_lasti))
                    if users:
                        break
                at = at.f_back
            stacks.append(stack)
    # whose a file is may take a look at the disk, with all frames let go of
    del frame, at
    found: list[tuple[CodeType, int]] = []
    for stack in stacks:
        for place in stack:
            file = place[0].co_filename
            users = known.get(file)
            if users is None:
                users = known[file] = is_users(file)
            if users:
                found.append(place)
                break
    return found
