"""Background compilation: one program at a time, at low priority.

A thread keeps the queue. What compiles is another process, which neither takes turns with this
one nor has to be waited for when it ends. Programs that another process cannot know (ops that were
added at run time), or for a device that cannot be shared, are compiled on the thread itself, and so
are all where no other process can be begun. A program that has ended the other process twice is
not compiled in this one: it goes on op by op.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from ... import logs, startup
from ...backends.backend import NotPadded, Request
from ...backends.selection import backend
from ...cache import disk, memory
from ...codegen import registry
from ...counters import counters
from ...interrupts import Deferred, reraise_from_handler, start
from ...locks import closed_gate, open_gate
from ...program.evaluations import Evaluation
from ...settings import WITHOUT, tuning
from ...trace.source import Site
from .. import compile_costs, costs
from ..history import history_of
from . import programs
from .process_errors import CompilerLost, NoCompilerError, NotCompiled

if TYPE_CHECKING:
    from .process import CompilerProcess

_T = TypeVar("_T")

#: seconds without work after which the other process ends, and the thread (no constant)
IDLE = 10.0
#: how often one program may end the other process
LOSSES: Final = 2
#: seconds for which functions in C wait for others, to be compiled with them
TOGETHER: Final = 0.25
#: in the place of a user's line, for functions in C
_FUNCTIONS: Final = "kernels of the host"


class _Stopped(Exception):
    """The process ends."""


class FunctionQueue(Protocol):
    """What knows functions in C that wait to be compiled."""

    def waiting(self) -> dict[str, str]:
        """The texts of some of them by their names: as many as should be compiled at once."""
        ...

    def compiled(self, texts: Mapping[str, str], data: bytes) -> None:
        """Take the library that has those functions."""
        ...

    def failed(self, texts: Mapping[str, str], error: Exception, all_of_them: bool) -> None:
        """They cannot be compiled, for that reason, and perhaps no others either."""
        ...


class _Job:
    __slots__ = ("entry", "wanted", "donatable", "donate", "site", "record", "estimated")

    def __init__(
        self, entry: memory.Entry, wanted: list[tuple[int, int]], donatable: list[int],
        donate: bool, site: Site,
    ) -> None:  # fmt: skip
        self.entry = entry
        self.wanted = list(wanted)
        self.donatable = list(donatable)
        self.donate = donate
        self.site = str(site)
        #: of no run: looking for a program on disk writes into it
        self.record = Evaluation(0, "", site)
        #: seconds, before what is known of earlier compilations
        self.estimated: float = history_of(entry).compile_estimate / compile_costs.factor()


class _Compiler:
    """The queue, and the thread that works on it.

    Attributes:
        lock: held while what is below changes; a signal's handler may get here meanwhile. No
            condition: an exception that reaches a thread right after it has taken the lock of one
            keeps that for ever.
        waiting: the gates of the threads that wait for a change.
        queue: the programs that wait, in no order.
        functions: what knows the functions in C that wait, None before there were any.
        asked: whether they are to be compiled, after all programs.
        busy: a program is being compiled.
        stopped: nothing is begun: the process ends, or does without.
        errors: what could not be compiled, and why; the newest.
        begun: what compiles, as a rule, None before it was needed.
        inside: held while the thread is in foreign code, which the end of the process waits for.
        lowered: the thread's priority is low.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.waiting: list[Any] = []
        self.queue: list[_Job] = []
        self.functions: FunctionQueue | None = None
        self.asked = False
        self.thread: threading.Thread | None = None
        self.busy = False
        self.stopped = "background" in WITHOUT
        self.errors: list[tuple[str, Exception]] = []
        self.begun: CompilerProcess | None = None
        self.inside = threading.Lock()
        self.lowered = False

    @property
    def process(self) -> CompilerProcess:
        """What compiles, as a rule. Its modules are slow to import, and most programs end before
        they need it."""
        if self.begun is None:
            # a signal's handler that computes arrays would find half of it
            with Deferred(True):
                from .process import CompilerProcess
            with self.lock:
                if self.begun is None:
                    self.begun = CompilerProcess()
        return self.begun

    def changed(self) -> None:
        """Have threads that wait for a change look again."""
        for gate in self.waiting:
            open_gate(gate)

    def wait_for(self, condition: Callable[[], Any], seconds: float) -> bool:
        """Wait until a condition holds, for so many seconds at most; whether it does.

        The caller does not hold the lock.
        """
        end = time.monotonic() + seconds
        gate = closed_gate()
        self.waiting.append(gate)
        try:
            while not condition():
                left = end - time.monotonic()
                if left <= 0:
                    return False
                gate.acquire(timeout=min(left, threading.TIMEOUT_MAX))
            return True
        finally:
            self.waiting.remove(gate)

    def begin(self) -> None:
        """Begin the thread if there is none; the caller holds the lock.

        There is none either where an interrupt kept it from starting.
        """
        if (self.queue or self.asked) and not self.stopped and (
            self.thread is None or not self.thread.is_alive()
        ):
            self.thread = threading.Thread(target=self.run, name="lazyloom-compiler", daemon=True)
            start(self.thread)

    def run(self) -> None:
        self.lowered = False
        while True:
            with self.lock:
                if self.thread is not threading.current_thread():
                    return  # it was taken for one that had not started
                self.busy = False
                self.changed()
            self.wait_for(lambda: self.queue or self.asked or self.stopped, IDLE)
            if self.asked and not self.queue:
                # others are mostly called as often by then
                self.wait_for(lambda: self.queue or self.stopped, TOGETHER)
            job: _Job | None = None
            with self.lock:
                if self.stopped or self.thread is not threading.current_thread():
                    return
                if not self.queue and not self.asked:
                    self.thread = None
                    ended = None if self.begun is None else self.begun.close()
                    break
                if self.queue:
                    job = max(self.queue, key=_cost)
                    self.queue.remove(job)
                else:
                    self.asked = False
                self.busy = True
            functions = self.functions
            if job is None:
                if functions is not None:
                    self.compile_functions(functions)
            else:
                self.compile(job)
                del job
                # now there is a process for those that have not taken long enough to begin one
                self.asked = self.asked or functions is not None and bool(functions.waiting())
        if ended is not None:
            from .process import wait_for

            wait_for(ended)

    def compile(self, job: _Job) -> None:
        entry = job.entry
        history = history_of(entry)
        try:
            if not self.on_disk(job):
                if programs.deadly(entry, job.donate):
                    raise NotCompiled(history.failure)
                why = ""
                with entry.lock:
                    request = programs.asked(entry, job.wanted, job.donatable, job.donate)
                    if logs.hears("compile", logs.INFO):
                        why = programs.why_new(entry)
                if not self.elsewhere(job, request):
                    self.here(job, request)
                # of no run
                startup.taken(math.inf)
                counters["background_compiles"] += 1
                if logs.hears("compile", logs.INFO):
                    logs.say("compile", logs.INFO, "compiled the program first run at "
                             f"{job.site}, of {len(request.structure.instructions)} ops, beside "
                             f"the program; {why}")
            history.compiled_beside()
            counters["promotions"] += 1
        except NotPadded as error:
            history.unpadded = str(error)
        except _Stopped:
            pass
        except Exception as error:
            counters["background_failures"] += 1
            self.note(job.site, error)
            if logs.hears("compile", logs.INFO):
                logs.say("compile", logs.INFO, f"the program first run at {job.site} could not be "
                         f"compiled ({error}), and goes on op by op")
            # what runs op by op goes on doing so
            history.cannot_compile(str(error) or type(error).__name__)
            if entry.structure.padding is not None:
                # it would be asked for again by every program that it could serve
                history.unpadded = history.failure
        finally:
            history.queued = False

    def compile_functions(self, functions: FunctionQueue) -> None:
        """Have the functions in C compiled that wait."""
        texts = functions.waiting()
        try:
            if texts:
                functions.compiled(
                    texts, self.by_process(lambda: self.process.compile_functions(texts)))
        except _Stopped:
            return
        except Exception as error:
            # NotCompiled, CompilerLost, NoCompilerError, LibraryError
            reraise_from_handler(error)
            counters["background_failures"] += 1
            self.note(_FUNCTIONS, error)
            # a process that was lost says nothing of others; anything else is so for all
            functions.failed(texts, error, not isinstance(error, CompilerLost))
        # a program that came meanwhile is compiled first
        self.asked = self.asked or bool(functions.waiting())

    def note(self, site: str, error: Exception) -> None:
        """Remember what went wrong, for :func:`failures`."""
        self.errors = [*self.errors[-15:], (site, error)]

    def on_disk(self, job: _Job) -> bool:
        """Load the program from disk, where nobody has looked yet; whether it was there."""
        entry = job.entry
        if entry.looked or not disk.enabled():
            return False
        with self.inside, entry.lock:
            return programs.look(entry, job.wanted, job.donate, job.record) is None

    def elsewhere(self, job: _Job, request: Request) -> bool:
        """Have the program compiled by another process; False where that cannot be."""
        if not backend().compiles_elsewhere() or not programs.storable(
            request.structure
        ) or not registry.elsewhere(request.generators):
            return False
        begun, before = counters["compilers_begun"], counters["compiler_process_us"]
        try:
            code = self.by_process(lambda: self.process.compile(request, job.donate))
        except CompilerLost as error:
            why = f"{error}, as did the one before it"
            programs.note_deadly(job.entry, job.donate, why)
            raise NotCompiled(why) from error
        except NoCompilerError as error:
            if all(known is not error for _, known in self.errors):
                self.note(job.site, error)
            return False
        finally:
            # one that has been begun for this has imported what it needs, too
            _cost_of(job, (counters["compiler_process_us"] - before) * 1e-6,
                     begun == counters["compilers_begun"])
        if code is None:
            return False
        with self.inside:
            try:
                executable = programs.loaded(code, request)
            except Exception as error:
                reraise_from_handler(error)
                # say, a region that cannot be built here
                return False
            with job.entry.lock:
                programs.take(job.entry, request, executable)
        return True

    def by_process(self, compiled: Callable[[], _T]) -> _T:
        """What the process compiles, or another one if that is lost.

        Raises CompilerLost where the other one is lost, too.
        """
        losses = 0
        while True:
            if self.wait_for(lambda: self.stopped, self.process.pause()):
                raise _Stopped
            try:
                return compiled()
            except CompilerLost:
                if self.stopped:
                    raise _Stopped from None
                losses += 1
                if losses == LOSSES:
                    raise

    def here(self, job: _Job, request: Request) -> None:
        """Compile the program on this thread."""
        if not self.lowered:
            # before the priority goes down: the client's threads, which run programs, keep it
            backend().fingerprint()
            with contextlib.suppress(OSError, AttributeError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
            self.lowered = True
        with self.inside:
            before = time.thread_time()
            executable = programs.compiled(request)
            _cost_of(job, time.thread_time() - before, True)
            with job.entry.lock:
                programs.keep(job.entry, request, job.donate, executable)


def _cost_of(job: _Job, seconds: float, alone: bool) -> None:
    """Count what compiling a job's program took; it may have ended, or not have begun."""
    if seconds > 0.0:
        history_of(job.entry).costs_processor(seconds)
        compile_costs.compiled(job.estimated, seconds, alone)


def _cost(job: _Job) -> float:
    return history_of(job.entry).spent


_compiler = _Compiler()


def idle() -> bool:
    """Whether nothing is being compiled, or waits."""
    return not (_compiler.busy or _compiler.queue or _compiler.asked)


def busy() -> bool:
    """Whether something is being compiled now; takes no lock."""
    return _compiler.busy


def queued() -> int:
    """How many programs wait to be compiled; takes no lock."""
    return len(_compiler.queue)


def start_seconds() -> float:
    """Seconds until a process that compiles has started; 0 where one has, or none is needed."""
    begun = _compiler.begun
    if begun is not None and begun.pid or not backend().compiles_elsewhere():
        return 0.0
    return costs.START


#: what becomes of a request
REFUSED: Final = 0
QUEUE_FULL: Final = 1
ACCEPTED: Final = 2


def request(
    entry: memory.Entry, wanted: list[tuple[int, int]], donatable: list[int], donate: bool,
    site: Site,
) -> int:  # fmt: skip
    """Have an entry's program compiled beside the program.

    Returns :data:`REFUSED` (0) where nothing is compiled beside it, :data:`QUEUE_FULL` where
    programs wait that have cost more, or :data:`ACCEPTED`.
    """
    c = _compiler
    history = history_of(entry)
    with c.lock:
        if c.stopped or not tuning.compiled_beside:
            return REFUSED
        if len(c.queue) >= tuning.compiled_beside:
            least = min(c.queue, key=_cost)
            if _cost(least) >= history.spent:
                return QUEUE_FULL
            c.queue.remove(least)
            history_of(least.entry).queued = False
        c.queue.append(_Job(entry, wanted, donatable, donate, site))
        history.queued = True
        c.begin()
        c.changed()
    return ACCEPTED


def request_functions(functions: FunctionQueue, begin: bool) -> None:
    """Have functions in C compiled that wait.

    Where no process is there to do so, one is begun if ``begin`` says so.
    """
    c = _compiler
    with c.lock:
        c.functions = functions
        if not c.stopped and (begin or (c.begun is not None and c.begun.pid)):
            c.asked = True
            c.begin()
            c.changed()


def wait(timeout: float | None = None) -> bool:
    """Wait until nothing is being compiled beside the program; whether that is so."""
    c = _compiler
    with c.lock:
        c.begin()
        c.changed()
    return c.wait_for(lambda: c.stopped or not (c.busy or c.queue or c.asked),
                      math.inf if timeout is None else timeout)


def unfinished() -> int:
    """How many programs are being compiled, or wait."""
    return len(_compiler.queue) + _compiler.busy


def failures() -> list[tuple[str, Any]]:
    """What could not be compiled beside the program: (the user's line, the error), the newest."""
    return list(_compiler.errors)


def _stop() -> None:
    """Drop what waits. The other process finishes what it is at; what is compiled on the thread is
    waited for, as XLA cannot be stopped in the middle."""
    c = _compiler
    with c.lock:
        c.stopped = True
        for job in c.queue:
            history_of(job.entry).queued = False
        c.queue = []
        c.asked = False
        c.changed()
    if c.begun is not None:
        c.begun.close()
    while True:
        with contextlib.suppress(KeyboardInterrupt):
            c.inside.acquire()  # for ever: the thread enters no foreign code any more
            return


def _after_fork() -> None:
    # the child has no such thread, and may not use the runtime if its parent did
    global _compiler
    # or the other process would live as long as the child
    if _compiler.begun is not None:
        _compiler.begun.close(shared=True)
    _compiler = _Compiler()
    _compiler.stopped = True


atexit.register(_stop)
os.register_at_fork(after_in_child=_after_fork)
