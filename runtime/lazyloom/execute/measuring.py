"""Measurement of regions against the backend's own code, kept on disk."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

from ..backends import fingerprint
from ..backends.backend import Request
from ..backends.selection import backend
from ..cache import disk, memory
from ..codegen import registry, verdicts
from ..codegen.report import candidates
from ..interrupts import Deferred, reraise_from_handler
from ..program.program import Program
from ..settings import reproducible, tuning

#: what verdicts on disk are found by, beside what changes machine code
_DESCRIPTION: Final = b"verdicts"
#: has regions measured while programs run, and how often a program runs before that
VARIABLE: Final = "LAZYLOOM_CODEGEN_MEASURE"
AFTER: Final = 20
#: the signatures of what this process has measured beside programs
_tried: Final[set[str]] = set()
#: seconds that measuring beside programs has taken of this process
_spent: Final = [0.0]
#: what was handed to the thread last
_last: Final[list[Future[None]]] = []
_order: Final = threading.Lock()
#: seconds (no constant, as tests have a clock of their own)
clock = time.perf_counter


def on_disk() -> bytes | None:
    """The verdicts that are kept for this machine and these versions, as they were packed."""
    return fingerprint.load("verdict", _DESCRIPTION)


def measure(asked: Iterable[verdicts.Candidate]) -> None:
    """Measure regions, and divide programs by that from now on.

    One that cannot be measured stays as it was.
    """
    found = _measured(asked)
    if found:
        verdicts.adopt(_kept(found))
        memory.clear()


def _measured(asked: Iterable[verdicts.Candidate]) -> dict[str, verdicts.Verdict]:
    found = {}
    for generator, region, estimated in asked:
        try:
            pairs = backend().timed(generator, region)
        except Exception as error:
            reraise_from_handler(error)
            continue
        found[verdicts.signature(generator, region)] = verdicts.verdict(
            generator, region, pairs, estimated)
    return found


def _kept(found: Mapping[str, verdicts.Verdict]) -> verdicts.Verdicts:
    """Verdicts with those that are known and on disk by now; they are kept there."""
    whole = verdicts.joined(found)
    fingerprint.store("verdict", _DESCRIPTION, whole.packed().encode())
    return whole


def watch(program: Any, request: Request) -> None:
    """Have a program measure its regions for later processes, where the variable says so.

    A thread does so beside the program, once it has run more than :data:`AFTER` times. What comes
    of it changes no program of this process.
    """
    if memory.on(VARIABLE) and disk.enabled() and request.generators and not (
        request.verify or request.segmented or request.structure.padding is not None
    ):
        program.further = _Watch(program, request)


class _Watch:
    """What a program calls before its runs (:attr:`.backend.Executable.further`).

    Runs with ``reproducible=True`` do not count.
    """

    __slots__ = ("program", "request", "further", "runs")

    def __init__(self, program: Any, request: Request) -> None:
        self.program: Final = program
        self.request: Final = request
        self.further: Final = program.further
        self.runs = 0

    def __call__(self, arguments: list[Any], private: list[bool] | None) -> list[Any]:
        if not reproducible():
            self.runs += 1
            if self.runs > AFTER:
                self.program.further = self.further
                _submit(_Regions(self.request).measure_next)
        return [] if self.further is None else self.further(arguments, private)


class _Regions:
    """The regions of a program that are to be measured beside it, one at a time."""

    __slots__ = ("request", "left")

    def __init__(self, request: Request) -> None:
        self.request: Final = request
        self.left: list[verdicts.Candidate] | None = None

    def measure_next(self) -> None:
        """Measure a region that never was, unless measuring has taken what it may."""
        if _spent[0] >= tuning.measuring_seconds:
            return
        started = clock()
        try:
            more = self._measured_one()
        finally:
            _spent[0] += clock() - started
        if more:
            _submit(self.measure_next)

    def _measured_one(self) -> bool:
        """Return True if there was something to measure."""
        if self.left is None:
            whole = Program(self.request.structure, self.request.outputs, [])
            known = verdicts.joined({}).found
            self.left = [c for c in candidates(
                whole, registry.generators(self.request.generators))
                if verdicts.signature(c.generator, c.region) not in known]
        while self.left:
            one = self.left.pop()
            name = verdicts.signature(one.generator, one.region)
            if name not in _tried:
                _tried.add(name)
                found = _measured([one])
                if found:
                    _kept(found)
                return True
        return False


def _submit(task: Callable[[], None]) -> None:
    try:
        with Deferred(True), _order:
            _last[:] = [_beside().submit(task)]
    except RuntimeError:
        pass  # the process ends


@functools.cache
def _beside() -> ThreadPoolExecutor:
    """Return the thread that measures; the end of the process waits for one region at most."""
    return ThreadPoolExecutor(1, "lazyloom-measuring")


def settled() -> None:
    """Wait until nothing is left to be measured beside programs, for tests."""
    while _last:
        last = _last[0]
        last.result()
        if _last == [last]:
            _last.clear()
