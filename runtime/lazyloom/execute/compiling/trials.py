"""Measurements beside programs, and trials of what they suppose in the programs themselves.

A program that has run for long has the regions of its heavy ops measured, one for each class of ops
on a machine, on the thread that compiles. What comes of that is supposed at first: a region by
itself may be quicker and still slow a program down. Once trying has paid, the program is compiled
anew, divided as it is supposed to be better, and runs by turns as it was and as it would be. Whole
turns of the loop around it are timed. The quicker program stays, and what was supposed is confirmed
or refuted, for other programs and processes, too.
"""

from __future__ import annotations

import math
import os
import statistics
import threading
import time
from collections.abc import Sequence
from typing import Any, Final

from ... import logs
from ...backends.backend import Executable, Request
from ...backends.selection import backend
from ...cache import disk, memory
from ...codegen import registry, verdicts
from ...codegen.generator import Generator
from ...codegen.report import candidates
from ...counters import counters
from ...foreign import Foreign
from ...interrupts import Deferred, reraise_from_handler
from ...program.plan import Plan
from ...program.program import Program
from ...settings import tuning
from .. import costs, measuring
from ..history import History, history_of
from . import background, programs

#: says what is measured beside programs: "0" nothing; "1" all regions, of each program that has
#: run for :data:`RUNS` times, for later processes and without trials
VARIABLE: Final = "LAZYLOOM_CODEGEN_MEASURE"
RUNS: Final = 20
#: a program is watched whose heavy ops are estimated to take so many seconds a run
WORTH: Final = 1e-4
#: compiling a program anew is tried once its heavy ops have taken so many times as long as that
#: is estimated to take
PAYS = 10.0
#: turns of each program in a trial, the seconds that one takes at least by estimate, its runs at
#: least and at most, and those before it that are not timed
TURNS: Final = 7
TURN_SECONDS: Final = 0.05
FEWEST: Final = 9
MOST: Final = 256
WARM: Final = 3
#: the program that is divided anew is the quicker one from this ratio of medians on, where so large
#: a part of its turns was quicker than the other's before it
MARGIN: Final = 1.02
AGREEING: Final = 0.7
#: what a trial finds
WON: Final = "won"
LOST: Final = "lost"
UNDECIDED: Final = "undecided"
#: seconds (no constant, as tests have a clock of their own)
clock = time.perf_counter
#: seconds that measuring beside programs has taken of this process
_spent: Final = [0.0]
#: the signatures of what could not be measured
_failed: Final[set[str]] = set()


def _asked() -> str:
    """What the environment says: "1" for all regions, "0" for none, "" for classes of ops."""
    if not os.environ.get(VARIABLE, ""):
        return ""
    return "1" if memory.on(VARIABLE) else "0"


def watch(entry: memory.Entry, info: memory.DispatchInfo, plan: Plan) -> None:
    """Have an entry's program count its runs, where parts of it may be measured beside it."""
    asked = _asked()
    generators = programs.generators_of(entry)
    if asked == "0" or not tuning.measuring_seconds or not generators or (
        entry.choice.watched or entry.choice.estimated or not disk.enabled()
    ):
        return
    if not asked and not any(map(_has_classes, registry.generators(generators))):
        return
    history = history_of(entry)
    heavy = (history.run_estimate or costs.run_estimate(plan)).heavy
    if not asked and heavy < WORTH:
        return
    with entry.lock:
        known: _Watch | _Settled | None = history.watch
        if info.loaded is entry.program and (known is None or not known.knows(info.loaded)):
            request = programs.request_of(entry)
            if request.verify or request.segmented or request.structure.padding is not None:
                # their regions are not those of a whole program with these extents
                history.watch = _Settled(info.loaded)
                return
            every = RUNS if asked else max(RUNS, math.ceil(tuning.measuring_after / heavy))
            history.watch = _Watch(entry, info.loaded, request, heavy, every, bool(asked))


def _has_classes(generator: Generator) -> bool:
    return type(generator).size_class is not Generator.size_class


class _Settled:
    """What an entry has whose program was tried: the one that stays."""

    __slots__ = ("program",)

    def __init__(self, program: Executable) -> None:
        self.program: Final = program

    def knows(self, program: Executable) -> bool:
        """Whether a program is that one."""
        return program is self.program


class _Watch:
    """What a program calls before its runs (:attr:`.backend.Executable.further`).

    Runs with ``reproducible=True`` do not count.

    Attributes:
        heavy: seconds that the heavy ops of a run are estimated to take.
        every: after how many runs something is done, if the clock says so, too: what heavy ops are
            estimated to take is that of a slow processor.
        began, before: by the clock, when the first run was and when something was done last.
        all: all regions are measured, not one of each class, and there is no trial.
        left: what is to be measured, None before that was looked for.
        queued: it waits for the thread, or is there.
    """

    __slots__ = ("entry", "program", "other", "request", "further", "heavy", "every", "all",
                 "runs", "due", "began", "before", "left", "queued")

    def __init__(
        self, entry: memory.Entry, program: Any, request: Request, heavy: float,
        every: int, all_regions: bool,
    ) -> None:  # fmt: skip
        self.entry: Final = entry
        self.program: Final[Any] = program
        self.other: Executable | None = None
        self.request: Final = request
        self.further: Final = program.further
        self.heavy: Final = heavy
        self.every: Final = every
        self.all: Final = all_regions
        self.runs = 0
        self.due = every
        self.began = self.before = clock()
        self.left: list[verdicts.Candidate] | None = None
        self.queued = False
        program.further = self

    def knows(self, program: Executable) -> bool:
        """Whether a program is the one that is watched, or that is tried in its place."""
        return program is self.program or program is self.other

    def __call__(self, arguments: list[Any], private: list[bool] | None) -> list[Any]:
        if verdicts.applies():
            self.runs += 1
            if self.runs > self.due and not self.queued:
                self._is_due()
        further = self.further
        return [] if further is None else further(arguments, private)

    def _is_due(self) -> None:
        now = clock()
        if not self.all and now - self.before < tuning.measuring_after:
            # not for each run that comes until then
            self.due = self.runs + RUNS
            return
        self.queued = True
        self.due = self.runs + self.every
        self.before = now
        background.when_idle(self.work)

    def work(self) -> None:
        """Do what is due, on the thread that compiles."""
        more = False
        try:
            more = self.entry.program is self.program and self._work()
        finally:
            if not more and self.program.further is self:
                self.program.further = self.further
            self.queued = False

    def _work(self) -> bool:
        """Return True if there is more to do later."""
        if self.left is None:
            self.left = self._candidates()
        while self.left and _spent[0] < tuning.measuring_seconds:
            one = self.left.pop()
            name = verdicts.signature(one.generator, one.region)
            if name in _failed or self._is_known(name, verdicts.current()):
                continue
            if not self._measured(name, one):
                # something else is to be done first
                self.left.append(one)
                return True
            if not self.all:
                return True
        return not self.all and self._try()

    def _candidates(self) -> list[verdicts.Candidate]:
        known = verdicts.joined({})
        with Foreign("a code generator that was asked what can be measured"):
            found = candidates(Program(self.request.structure, list(self.request.outputs), []),
                               registry.generators(self.request.generators))
            return [
                c for c in found if (self.all or verdicts.class_key(c.generator, c.region))
                and not self._is_known(verdicts.signature(c.generator, c.region), known)]

    def _is_known(self, name: str, known: verdicts.Verdicts) -> bool:
        """Whether a region need not be measured; one whose verdict is to decide without a trial is
        where it is supposed."""
        found = known.found.get(name)
        return found is not None and not (self.all and found.supposed)

    def _measured(self, name: str, one: verdicts.Candidate) -> bool:
        """Measure a region; False where that was given up for something else."""
        with background.inside():
            started = clock()
            end = started + tuning.measuring_seconds - _spent[0]
            if background.ends():
                return False
            try:
                found = measuring.measured(one, lambda: background.ends() or clock() > end)
            finally:
                _spent[0] += clock() - started
        if found is None:
            if background.ends():
                return False
            _failed.add(name)
            return True
        counters["regions_measured"] += 1
        if logs.hears("codegen", logs.INFO):
            logs.say("codegen", logs.INFO, f"{one.generator.name}: {found.text()}, beside a "
                     "program")
        if self.all:
            measuring.keep(verdicts.joined({name: found}))
        else:
            measuring.adopt(measuring.supposed({name: found}))
        return True

    def _try(self) -> bool:
        """Begin a trial of what is supposed, if that changes the program; whether it may later."""
        request = self.request
        known = verdicts.joined({})
        verdicts.adopt(known)
        structure, generators = request.structure, request.generators
        supposing = known.supposing(lambda v: v.quicker != v.estimated)
        before = {} if request.verdicts is None else (
            request.verdicts.overruling(structure, generators))
        then = supposing.overruling(structure, generators)
        changes = {s: v for s, v in then.items()
                   if s not in before or before[s].quicker != v.quicker}
        if not changes:
            return False
        estimate = costs.compile_estimate(len(structure.instructions))
        if min(self.runs * self.heavy, clock() - self.began) < PAYS * estimate:
            return True
        anew = request._replace(verdicts=supposing)
        program: Any = background.compile_anew(self.entry, anew)
        if program.regions.failed:
            return False
        program.regions = program.regions._replace(changed=_told(changes))
        self.other = program
        self.program.further = self.further
        _Trial(self.entry, _Side(self.program, request), _Side(program, anew), changes,
               min(MOST, max(FEWEST, math.ceil(TURN_SECONDS / self.heavy))))
        return False


def _told(changes: dict[str, verdicts.Verdict]) -> str:
    """Which generator takes what, as a part of a sentence."""
    return "; ".join(sorted(
        f"{v.of_class or 'a region'}: {v.generator if v.quicker else 'xla'}, before "
        f"{'xla' if v.quicker else v.generator}" for v in changes.values()))


class _Side:
    """One of the two programs of a trial."""

    __slots__ = ("program", "request", "further", "dispatches", "seconds")

    def __init__(self, program: Any, request: Request) -> None:
        self.program: Final[Any] = program
        self.request: Final = request
        self.further: Final = program.further
        self.dispatches: list[memory.DispatchInfo] = []
        #: of a run, those of its turns
        self.seconds: list[float] = []


class _Trial:
    """Turns of a program as it was and divided anew, which begin when it is made.

    Threads that run the program at once share them.
    """

    __slots__ = ("entry", "sides", "changes", "runs", "now", "count", "started", "over", "_lock")

    def __init__(
        self, entry: memory.Entry, old: _Side, new: _Side, changes: dict[str, verdicts.Verdict],
        runs: int,
    ) -> None:  # fmt: skip
        self.entry: Final = entry
        self.sides: Final = (old, new)
        self.changes: Final = changes
        self.runs: Final = runs
        self.now = 0
        self.count = 0
        self.started = 0.0
        self.over = False
        self._lock: Final = threading.Lock()
        for side in self.sides:
            side.program.further = _Turn(self, side)

    def before_run(self, arguments: Sequence[Any]) -> None:
        """Take account of a run that is about to begin, of one of the two."""
        if not verdicts.applies() or not self._lock.acquire(blocking=False):
            return
        try:
            history: History | None = self.entry.history
            if self.over:
                return
            if history is not None and history.turns is not None:
                # runs op by op have turns of their own meanwhile
                self.count = 0
                return
            if self.count == WARM:
                _wait(arguments)
                self.started = clock()
            elif self.count == WARM + self.runs:
                _wait(arguments)
                self.sides[self.now].seconds.append((clock() - self.started) / self.runs)
                with Deferred(True):
                    self._next()
                self.count = 0
            self.count += 1
        finally:
            self._lock.release()

    def _next(self) -> None:
        entry = self.entry
        old, new = self.sides
        with entry.lock:
            side = self.sides[self.now]
            if entry.program is not side.program:
                # it was compiled for other results meanwhile
                self._end()
                return
            side.dispatches = entry.dispatches
            if len(new.seconds) < TURNS:
                self.now = 1 - self.now
                other = self.sides[self.now]
                programs.put(entry, other.request, other.program)
                entry.dispatches = other.dispatches
                return
            found = _found(new.seconds, old.seconds)
            self._end()
            if found == WON:
                counters["programs_divided_anew"] += 1
            else:
                programs.put(entry, old.request, old.program)
                entry.dispatches = old.dispatches
            history_of(entry).watch = _Settled(entry.program)
        background.when_idle(lambda: self._judge(found))

    def _end(self) -> None:
        self.over = True
        for side in self.sides:
            side.program.further = side.further

    def _judge(self, found: str) -> None:
        """Confirm what was supposed, or refute it, on the thread that compiles."""
        known = verdicts.joined({}).found
        # what another program has confirmed or refuted meanwhile stays
        supposed = {s: v for s in self.changes if (v := known.get(s)) is not None and v.supposed}
        measuring.adopt(verdicts.instead({s: _judged(v, found) for s, v in supposed.items()}))
        if logs.hears("codegen", logs.INFO):
            old, new = (statistics.median(side.seconds) for side in self.sides)
            logs.say("codegen", logs.INFO, (
                f"a measurement changed which generator takes {_told(self.changes)}"
                if found == WON else f"the choice stays as it is, against {_told(self.changes)}")
                + f"; the loop around the program takes {verdicts.in_time(new)}, "
                f"before {verdicts.in_time(old)}")


class _Turn:
    """What a program of a trial calls before its runs."""

    __slots__ = ("trial", "further")

    def __init__(self, trial: _Trial, side: _Side) -> None:
        self.trial: Final = trial
        self.further: Final = side.further

    def __call__(self, arguments: list[Any], private: list[bool] | None) -> list[Any]:
        self.trial.before_run(arguments)
        further = self.further
        return [] if further is None else further(arguments, private)


def _found(new: Sequence[float], old: Sequence[float]) -> str:
    """What the turns of a trial say of the program that is divided anew."""
    # turn by turn, beside what else the machine has to do
    agreeing = sum(a < b for a, b in zip(new, old, strict=False)) / len(new)
    ratio = statistics.median(old) / max(statistics.median(new), 1e-9)
    if ratio > MARGIN and agreeing >= AGREEING:
        return WON
    return LOST if ratio < 1 and agreeing <= 1 - AGREEING else UNDECIDED


def _judged(v: verdicts.Verdict, found: str) -> verdicts.Verdict:
    """A verdict that was supposed, after a trial."""
    if found == UNDECIDED and v.supposed > 1:
        return v._replace(supposed=v.supposed - 1)
    return v._replace(supposed=0, clear=found == WON)


def _wait(arguments: Sequence[Any]) -> None:
    """Wait for the runs that arguments are results of."""
    for array in arguments:
        try:
            backend().wait(array)
        except Exception as error:
            # whoever reads a result of that run gets its error
            reraise_from_handler(error)
