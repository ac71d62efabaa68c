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
from ...backends.backend import Executable, NotPadded, Request
from ...backends.selection import backend
from ...cache import disk, memory
from ...codegen import registry, verdicts
from ...counters import counters
from ...interrupts import Deferred, reraise_from_handler, start
from ...locks import closed_gate, open_gate
from ...program.evaluations import Evaluation
from ...settings import WITHOUT, tuning
from ...trace.source import UNKNOWN, Site
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
#: and for tasks
_MEASURING: Final = "measuring beside programs"


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
        tasks: what is to be done once nothing else is, in order.
        busy: a program is being compiled, or a task done.
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
        self.tasks: list[Callable[[], None]] = []
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
        if (self.queue or self.asked or self.tasks) and not self.stopped and (
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
            self.wait_for(
                lambda: self.queue or self.asked or self.tasks or self.stopped, IDLE)
            if self.asked and not self.queue:
                # others are mostly called as often by then
                self.wait_for(lambda: self.queue or self.stopped, TOGETHER)
            job: _Job | None = None
            task: Callable[[], None] | None = None
            with self.lock:
                if self.stopped or self.thread is not threading.current_thread():
                    return
                if not self.queue and not self.asked and not self.tasks:
                    self.thread = None
                    ended = None if self.begun is None else self.begun.close()
                    break
                if self.queue:
                    job = max(self.queue, key=_cost)
                    self.queue.remove(job)
                elif self.asked:
                    self.asked = False
                else:
                    task = self.tasks.pop(0)
                self.busy = True
            functions = self.functions
            if task is not None:
                self.do(task)
            elif job is None:
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

    def do(self, task: Callable[[], None]) -> None:
        """Do a task; what it raises is noted."""
        self.lower_priority()
        try:
            task()
        except _Stopped:
            pass
        except Exception as error:
            reraise_from_handler(error)
            counters["background_failures"] += 1
            self.note(_MEASURING, error)

    def compile(self, job: _Job) -> None:
        entry = job.entry
        history = history_of(entry)
        try:
            if not self.on_disk(job):
                if programs.deadly(entry, job.donate):
                    raise NotCompiled(history.failure)
                why = ""
                with entry.lock:
                    request = programs.asked(
                        entry, job.wanted, job.donatable, job.donate, verdicts.current())
                    if logs.hears("compile", logs.INFO):
                        why = programs.why_new(entry)
                executable = self.elsewhere(job, request)
                if executable is not None:
                    with entry.lock:
                        programs.take(entry, request, executable)
                else:
                    with self.inside:
                        executable = self.here(job, request)
                        with entry.lock:
                            programs.keep(entry, request, job.donate, executable)
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
            return programs.look(
                entry, job.wanted, job.donate, job.record, verdicts.current()) is None

    def elsewhere(self, job: _Job, request: Request) -> Executable | None:
        """Have the program compiled by another process; None where that cannot be."""
        try:
            return self.by_other(job, request)
        except CompilerLost as error:
            why = f"{error}, as did the one before it"
            programs.note_deadly(job.entry, job.donate, why)
            raise NotCompiled(why) from error

    def by_other(self, job: _Job, request: Request) -> Executable | None:
        """:meth:`elsewhere`; raises CompilerLost where that has ended two processes."""
        if not backend().compiles_elsewhere() or not programs.storable(
            request.structure
        ) or not registry.elsewhere(request.generators):
            return None
        begun, before = counters["compilers_begun"], counters["compiler_process_us"]
        try:
            code = self.by_process(lambda: self.process.compile(request, job.donate))
        except NoCompilerError as error:
            if all(known is not error for _, known in self.errors):
                self.note(job.site, error)
            return None
        finally:
            # one that has been begun for this has imported what it needs, too
            _cost_of(job, (counters["compiler_process_us"] - before) * 1e-6,
                     begun == counters["compilers_begun"])
        if code is None:
            return None
        with self.inside:
            try:
                return programs.loaded(code, request)
            except Exception as error:
                reraise_from_handler(error)
                # say, a region that cannot be built here
                return None

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

    def here(self, job: _Job, request: Request) -> Executable:
        """Compile the program on this thread, which holds :attr:`inside`."""
        self.lower_priority()
        before = time.thread_time()
        executable = programs.compiled(request)
        _cost_of(job, time.thread_time() - before, True)
        return executable

    def lower_priority(self) -> None:
        """Have this thread give way to all others."""
        if not self.lowered:
            # before the priority goes down: the client's threads, which run programs, keep it
            backend().fingerprint()
            with contextlib.suppress(OSError, AttributeError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
            self.lowered = True


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


def when_idle(task: Callable[[], None]) -> None:
    """Have a task done on the thread that compiles, once nothing is to be compiled.

    It is not where nothing is compiled beside the program.
    """
    c = _compiler
    with c.lock:
        if not c.stopped:
            c.tasks.append(task)
            c.begin()
            c.changed()


def inside() -> contextlib.AbstractContextManager[Any]:
    """What a task is within while it is in foreign code, which the end of the process waits for."""
    return _compiler.inside


def ends() -> bool:
    """Whether a task is to return soon: the process ends, or a program waits to be compiled."""
    return _compiler.stopped or bool(_compiler.queue)


def compile_anew(entry: memory.Entry, request: Request) -> Executable:
    """Compile the program of an entry that has one as a request says, for a task.

    Raises NotLowered, NotCompiled, CompilerLost, and whatever the backend raises.
    """
    c = _compiler
    job = _Job(entry, [], [], entry.donate, (entry.first_run or (0, UNKNOWN))[1])
    executable = c.by_other(job, request)
    if executable is None:
        with c.inside:
            if c.stopped:
                raise _Stopped
            executable = c.here(job, request)
            programs.store_executable(request, entry.donate, executable)
    counters["background_compiles"] += 1
    return executable


def settle() -> None:
    """Wait until nothing is to be compiled, and all tasks are done."""
    c = _compiler
    with c.lock:
        c.begin()
        c.changed()
    c.wait_for(lambda: c.stopped or not (c.busy or c.queue or c.asked or c.tasks), math.inf)


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
        c.tasks = []
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
