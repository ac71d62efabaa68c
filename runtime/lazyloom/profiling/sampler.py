"""Where a program is, looked at every few milliseconds."""

from __future__ import annotations

import sys
import threading
import time
from types import FrameType
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
        self._places: dict[tuple[object, int], UserLine] = {}
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
            for thread, frame in sys._current_frames().items():
                if thread in self._threads:
                    line = self._line(frame)
                    if line is not None:
                        self._samples[line] = self._samples.get(line, 0.0) + now - before
                # a frame keeps its variables, and with them memory that a program would reuse
                del frame
            before = now

    def _line(self, frame: FrameType | None) -> UserLine | None:
        while frame is not None:
            code = frame.f_code
            if is_users(code.co_filename):
                key = (code, frame.f_lasti)
                line = self._places.get(key)
                if line is None:
                    site = Site(code, frame.f_lasti)
                    line = self._places[key] = UserLine(site.file, site.line)
                return line
            frame = frame.f_back
        return None
