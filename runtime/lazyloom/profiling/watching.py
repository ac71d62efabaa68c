"""Profiles: a part of a program that is watched."""

from __future__ import annotations

import atexit
import os
import time
from threading import Lock
from types import TracebackType
from typing import Any, Final

from .. import logs, observers
from ..codegen.faults import failures
from ..errors import ArgumentError, type_name
from ..hooks import hooks
from ..program.evaluations import stats
from .events import Events
from .observer import Observer
from .reports import ProfileReport
from .sampler import Sampler

#: the environment variable that names the file
VARIABLE: Final = "LAZYLOOM_PROFILE"
#: one flag: whether a profile is being made
_watching: Final[list[bool]] = [False]

_entering: Final = Lock()


class Profile:
    """A context in which a program is watched; :attr:`report` tells what was found.

    Entered twice, it begins anew.
    """

    def __init__(self, path: str | os.PathLike[str] | None, sources: bool) -> None:
        if path is not None and not isinstance(path, (str, bytes, os.PathLike)):
            raise ArgumentError(
                f"profile: path is {type_name(path)}, expected a str, bytes or os.PathLike, or "
                "None for no file")
        self._path: Final = path
        #: the process in which it was begun
        self._of = 0
        self._sources: Final = sources
        self._noted: Events | None = None
        self._observer: Observer | None = None
        self._sampler: Any = None
        self._before: dict[str, int] = {}
        self._failed_before = 0
        self._report: ProfileReport | None = None

    def __enter__(self) -> Profile:
        events = Events()
        observer = Observer(events)
        with _entering:
            if _watching[0]:
                raise ArgumentError(
                    "profile: another profile is being made in this process; end it first, as one "
                    "watches all threads")
            _watching[0] = True
        self._of = os.getpid()
        self._noted = events
        self._report = None
        self._observer = observer
        self._before = dict(stats())
        self._failed_before = len(failures())
        self._sampler = Sampler(observer.threads, events.samples)
        events.began = time.perf_counter()
        events.processor = time.process_time()
        observers.add(observer)
        self._sampler.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:  # fmt: skip
        try:
            self.end()
        except OSError as problem:
            if error is None:
                raise
            # the program's own error is the one to be told
            logs.say("profile", logs.WARNING,
                     f"Lazyloom could not write the profile: {problem}")

    def end(self, quiet: bool = False) -> None:
        """End the profile and write its report; a ``quiet`` one writes none if nothing ran."""
        events = self._noted
        if events is None or events.ended:
            raise ArgumentError(
                "profile: it has not begun, or has ended already; use it in a with block")
        if self._of != os.getpid():
            # a forked child, in which nothing was watched: the file is the parent's
            events.ended = time.perf_counter()
            return
        observers.remove(self._observer)
        _watching[0] = False
        events.ended = time.perf_counter()
        events.processor = time.process_time() - events.processor
        self._sampler.stop()
        events.counters = {k: v - self._before.get(k, 0) for k, v in stats().items()}
        events.generator_failures = failures()[self._failed_before:]
        if self._path is not None and (events.runs or not quiet):
            self.report.save(self._path)

    @property
    def events(self) -> Events:
        """What was noted. Raises ArgumentError before the profile has ended."""
        if self._noted is None or not self._noted.ended:
            raise ArgumentError(
                "report: the profile has not ended; ask for it after the with block")
        return self._noted

    @property
    def report(self) -> ProfileReport:
        """What was found. Raises ArgumentError before the profile has ended."""
        if self._report is None:
            self._report = ProfileReport(self.events, self._sources)
        return self._report


_process: Profile | None = None


def watch_process(path: str) -> None:
    """Watch the process from now to its end, and write the report then.

    ``%p`` in the path is the process's number; without it the processes that this one starts are
    not watched. Nothing is written where no program ran.
    """
    global _process
    if "%p" not in path:
        # they would write the same file
        os.environ.pop(VARIABLE, None)
    _process = Profile(path.replace("%p", str(os.getpid())), True)
    _process.__enter__()
    hooks.end_profile = end_process
    atexit.register(end_process)


def end_process() -> None:
    """Write the report that :func:`watch_process` began, once."""
    global _process
    watched, _process = _process, None
    if watched is not None:
        try:
            watched.end(quiet=True)
        except OSError as error:
            logs.say("profile", logs.WARNING,
                     f"Lazyloom could not write the profile that {VARIABLE} asks for: {error}")
