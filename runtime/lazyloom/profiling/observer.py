"""Takes notes of what a program runs, reads, uploads and captures, for a profile."""

from __future__ import annotations

import time
import zlib
from threading import Lock, get_ident
from typing import Any, Final

from ..observers import RunObserver
from ..program.plan import Plan
from ..trace.source import Site
from .events import Events, NotedCall, Reads, RoundTrip, Run, SeenProgram, Uploads, UserLine

_clock: Final = time.perf_counter
#: how many runs are noted; a run takes about a kilobyte
MOST_RUNS: Final = 200_000
#: smaller arrays are no uploads that anybody looks for
WORTHWHILE: Final = 4096
#: as many elements of an upload make its checksum
SAMPLED: Final = 4096


class Observer(RunObserver):
    """What ``hooks.observer`` is while a profile is made. Any thread may call it.

    Attributes:
        events: the notes.
        threads: the threads that ran, read or uploaded something.
    """

    def __init__(self, events: Events) -> None:
        self.events: Final = events
        self.threads: Final[set[int]] = set()
        self._programs: Final[dict[Any, int]] = {}
        self._next = 1
        self._lock: Final = Lock()
        #: where a thread read an array since it last ran something, and how many bytes
        self._arrays: Final[dict[int, tuple[Site, int]]] = {}
        #: seconds of all runs so far, by thread
        self._ran: Final[dict[int, float]] = {}

    def begins(self, plan: Plan) -> Run | None:
        """Note that a plan is about to run; return what :meth:`ended` is to be told."""
        events = self.events
        with self._lock:
            if len(events.runs) >= MOST_RUNS:
                events.dropped += 1
                return None
            program = self._programs.get(plan.structure)
            if program is None:
                program = self._programs[plan.structure] = len(events.programs)
                events.programs.append(_seen(plan))
            first = self._next
            self._next += len(plan.results)
            for number, buffer in enumerate(plan.results, first):
                buffer.number = number
            thread = get_ident()
            self.threads.add(thread)
            self._arrays.pop(thread, None)
            run = Run(thread, _clock(), plan.evaluation, program,
                      tuple([b.number for b in plan.leaves]), first)
            events.runs.append(run)
            return run

    def ended(self, run: Run | None) -> None:
        """Note that the run ended, or failed."""
        if run is not None:
            run.ended = _clock()
            self._ran[run.thread] = self._ran.get(run.thread, 0.0) + run.seconds

    def waits(self) -> tuple[float, float]:
        """What a read, or an upload, is to be told when it has ended."""
        return _clock(), self._ran.get(get_ident(), 0.0)

    def read(self, waited: tuple[float, float], site: Site, value: Any, nbytes: int) -> None:
        """Note a read of so many bytes, 0 for a mere wait."""
        seconds = self._since(waited)
        thread = get_ident()
        line = UserLine(site.file, site.line)
        with self._lock:
            self.threads.add(thread)
            reads = self.events.reads.get(line)
            if reads is None:
                reads = self.events.reads[line] = Reads()
            reads.count += 1
            reads.nbytes += nbytes
            reads.seconds += seconds
            if nbytes >= WORTHWHILE:
                self._arrays[thread] = site, nbytes
        if value is not None:
            buffers = value.node.buffers
            buffer = None if buffers is None else buffers[value.index]
            if buffer is not None and buffer.number:
                self.events.read_results.add(buffer.number)

    def uploaded(self, waited: tuple[float, float], site: Site, source: Any, buffer: Any) -> None:
        """Note that an array of the host was copied into a buffer, None where that failed."""
        seconds = _clock() - waited[0]
        if buffer is None or source.nbytes < WORTHWHILE:
            return
        line = UserLine(site.file, site.line)
        step = -(-source.size // SAMPLED)
        mark = zlib.crc32(source.flat[::step].tobytes(), source.size)
        with self._lock:
            buffer.number = self._next
            self._next += 1
            self.threads.add(get_ident())
            uploads = self.events.uploads.get((line, mark))
            if uploads is None:
                shape = ", ".join(map(str, source.shape))
                uploads = self.events.uploads[line, mark] = Uploads(f"{source.dtype}[{shape}]")
            uploads.count += 1
            uploads.nbytes += source.nbytes
            uploads.seconds += seconds
            uploads.longest = max(uploads.longest, seconds)
            read = self._arrays.get(get_ident())
            trips = self.events.round_trips
            if read is not None and uploads.count == 1 and len(trips) < MOST_RUNS:
                source_site, nbytes = read
                trips.append(RoundTrip(
                    UserLine(source_site.file, source_site.line), line,
                    site.code if site.code is source_site.code else None, nbytes, source.nbytes,
                    seconds, buffer.number))

    def captures(self) -> tuple[float, float]:
        """Note that a call is recorded, or a part of a program; return what its end is told."""
        return self.waits()

    def recorded_call(
        self, since: tuple[float, float], function: Any, first: bool, site: Site
    ) -> None:
        """Note that a call of a captured function was recorded, ``first`` as it had no capture."""
        name = getattr(function, "__qualname__", type(function).__qualname__)
        code = getattr(function, "__code__", None)
        self.events.calls.append(
            NotedCall(name, code, first, UserLine(site.file, site.line), self._since(since)))

    def captured_section(self, since: tuple[float, float], site: Site, ops: object) -> None:
        """Note that a part of a program was captured, of these ops, for calls to run."""
        self.events.calls.append(NotedCall(
            "a part of the program", ops, True, UserLine(site.file, site.line),
            self._since(since)))

    def _since(self, waited: tuple[float, float]) -> float:
        """Seconds besides those of the thread's runs."""
        began, ran = waited
        return max(0.0, _clock() - began - self._ran.get(get_ident(), 0.0) + ran)


def _seen(plan: Plan) -> SeenProgram:
    return SeenProgram(plan.structure, list(plan.wanted), [
        n.place if isinstance(n.place, Site) else (n.place, n.offset) for n in plan.nodes],
        tuple(plan.donatable))
