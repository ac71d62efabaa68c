"""What each thread of this process is doing, and a snapshot of it for whoever looks.

A snapshot takes no lock of the runtime: it looks at stacks, at counters and at what the threads
have noted of themselves, so that it is there whatever they wait for.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from types import FrameType
from typing import Any, Final, NamedTuple

from ..counters import counters
from ..observers import RunObserver
from ..program.evaluations import Evaluation, evaluations
from ..program.plan import Plan
from ..trace.graph import trace
from ..trace.source import Site, is_internal, is_users

_clock: Final = time.monotonic

# the states of a thread

#: its program records ops
RECORDING: Final = "recording"
#: it compiles a program, or loads one from disk
COMPILING: Final = "compiling"
#: it schedules, prepares and hands over a program, or runs it op by op
RUNNING: Final = "running"
#: it waits for data: the results of what runs, or a copy
WAITING: Final = "waiting"
#: anything else
OTHER: Final = "other"
STATES: Final = (RECORDING, COMPILING, RUNNING, WAITING, OTHER)

#: seconds between the two looks of a snapshot, which tell whether a thread moves on
LOOKS: Final = 0.02
#: how the names of threads begin that Lazyloom has begun
_OWN: Final = "lazyloom-"
_COMPILER: Final = "lazyloom-compiler"
_HERE: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_PROGRAMS: Final = os.path.join(_HERE, "execute", "compiling", "programs.py")
#: functions there inside which a program is compiled or loaded
_COMPILES: Final = frozenset(("compiled", "loaded"))


class _Doing(NamedTuple):
    """What a thread has noted that it is doing: a run, or a wait where there is no evaluation."""

    since: float
    evaluation: Evaluation | None
    before: _Doing | None


class Activity(RunObserver):
    """The observer that notes what threads do, and how often. Any thread may call it."""

    def __init__(self) -> None:
        self._doing: Final[dict[int, _Doing]] = {}
        #: seconds of ``time.monotonic``, and the text of the newest compilation
        self._compiled: tuple[float, str] | None = None
        self._began: Final = _clock()

    # What the runtime tells.

    def begins(self, plan: Plan) -> _Doing | None:
        """Note that a plan is about to run; return what :meth:`ended` is to be told."""
        me = threading.get_ident()
        before = self._doing.get(me)
        self._doing[me] = _Doing(_clock(), plan.evaluation, before)
        return before

    def ended(self, before: _Doing | None) -> None:
        """Note that the run ended, or failed."""
        me = threading.get_ident()
        if before is None:
            self._doing.pop(me, None)
        else:
            self._doing[me] = before

    def waits(self) -> _Doing | None:
        """Note that a read or an upload begins; return what its end is to be told."""
        me = threading.get_ident()
        before = self._doing.get(me)
        if before is not None and before.evaluation is None:
            # its end was not told
            before = before.before
        self._doing[me] = _Doing(_clock(), None, before)
        return before

    def read(self, before: _Doing | None, site: Any, value: Any, nbytes: int) -> None:
        """Note that the read has ended."""
        self.ended(before)

    def uploaded(self, before: _Doing | None, site: Any, source: Any, buffer: Any) -> None:
        """Note that the upload has ended."""
        self.ended(before)

    def compiled(self, text: str) -> None:
        """Note what the log says of a compilation."""
        self._compiled = (_clock(), text)

    # What it is asked.

    def snapshot(self) -> dict[str, Any]:
        """Return what the process does now, and its counters, as JSON has it.

        It takes :data:`LOOKS` seconds. The fields are those of ``docs/debugging.md``.
        """
        recorded, first = trace.recorded, sys._current_frames()
        places = {ident: (id(f), f.f_lasti) for ident, f in first.items()}
        del first
        time.sleep(LOOKS)
        frames = sys._current_frames()
        records = trace.recorded > recorded
        names = {t.ident: t.name for t in threading.enumerate()}
        for ident in set(self._doing) - set(frames):
            # a thread that ended
            self._doing.pop(ident, None)
        threads = []
        beside = False
        for ident, frame in frames.items():
            name = names.get(ident, str(ident))
            if name.startswith(_OWN):
                beside = beside or name == _COMPILER and _is_compiling(frame, True)
                continue
            moves = places.get(ident) != (id(frame), frame.f_lasti)
            threads.append(self._thread(name, ident, frame, records and moves))
        del frames
        now = _clock()
        compiled = self._compiled
        # not imported for this, and not while it is half imported
        background = sys.modules.get("lazyloom.execute.compiling.background")
        busy, queued = getattr(background, "busy", None), getattr(background, "queued", None)
        return {
            "process": os.getpid(), "program": " ".join(sys.argv[:4]) or sys.executable,
            "seconds": now - self._began, "threads": threads,
            "counters": {"ops_traced": trace.recorded, **counters},
            "beside": {"compiling": beside or busy is not None and busy(),
                       "queued": 0 if queued is None else queued()},
            "newest_run": _newest_run(),
            "newest_compile": None if compiled is None else {
                "seconds_ago": now - compiled[0], "text": compiled[1]},
            "memory": _memory(),
        }

    def _thread(
        self, name: str, ident: int, frame: FrameType, records: bool
    ) -> dict[str, Any]:
        doing = self._doing.get(ident)
        site = _users_site(frame)
        told: dict[str, Any] = {"name": name, "state": OTHER, "seconds": None,
                                "line": "" if site is None else str(site), "what": ""}
        if doing is None:
            if records or _records(frame):
                told["state"] = RECORDING
            return told
        told["seconds"] = _clock() - doing.since
        evaluation = doing.evaluation
        if evaluation is None:
            told["state"] = COMPILING if _is_compiling(frame) else WAITING
            return told
        told["state"] = COMPILING if _is_compiling(frame) else RUNNING
        told["what"] = f"{evaluation.reason} of {evaluation.ops} ops"
        told["line"] = str(evaluation.site)
        return told


def _users_site(frame: FrameType | None) -> Site | None:
    """The innermost line of a stack that is the user's."""
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            return Site(frame.f_code, frame.f_lasti)
        frame = frame.f_back
    return None


def _records(frame: FrameType) -> bool:
    """Whether the innermost code of a stack is that of Lazyloom or a frontend."""
    return is_internal(frame.f_code.co_filename)


def _is_compiling(frame: FrameType | None, any_of_it: bool = False) -> bool:
    """Whether a stack is inside the compilation of a program."""
    while frame is not None:
        code = frame.f_code
        if code.co_filename == _PROGRAMS and (code.co_name in _COMPILES):
            return True
        if any_of_it and code.co_name == "by_process":
            return True
        frame = frame.f_back
    return False


def _newest_run() -> dict[str, Any] | None:
    """The newest evaluation, or None; it may not have ended."""
    newest: list[Evaluation] = []
    for _ in range(8):
        try:
            newest = evaluations(1)
            break
        except RuntimeError:
            # another thread has added one meanwhile
            continue
    if not newest:
        return None
    e = newest[-1]
    return {"number": e.number, "reason": e.reason, "line": str(e.site), "ops": e.ops,
            "form": e.form, "found": e.found, "seconds": sum(list(e.timings.values())),
            "error": None if e.error is None else str(e.error)}


def _memory() -> dict[str, int]:
    """Bytes of memory that the process has resident, now and at most, as far as the system says."""
    found: dict[str, int] = {}
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            for line in file:
                name, _, rest = line.partition(":")
                if name in ("VmRSS", "VmHWM"):
                    key = "resident" if name == "VmRSS" else "peak"
                    found[key] = int(rest.split()[0]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return found
