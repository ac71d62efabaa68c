"""Deferral of signals, Ctrl-C among them, while a step must not be left half done.

Python runs the handlers of signals, which may raise, in the main thread between any two
instructions, and inside calls of C++ that call back into Python. A run that has taken its donated
inputs but not handed over its results would lose them.
"""

from __future__ import annotations

import _thread
import atexit
import ctypes
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

from .compiled import COMPILED
from .locks import closed_gate, open_gate

# What the module's functions wrap: they turn handlers into enums and back, which costs more
# than a dispatch.
_getsignal: Final[Any] = getattr(signal.getsignal, "__wrapped__", signal.getsignal)
_signal: Final[Any] = getattr(signal.signal, "__wrapped__", signal.signal)

_MAIN: Final = threading.main_thread().ident
#: signals whose handlers raise in practice: interrupts, time limits, requests to stop
_SIGNALS: Final = tuple([
    int(getattr(signal, name))
    for name in ("SIGINT", "SIGALRM", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGVTALRM")
    if hasattr(signal, name)])



def _sigaction() -> Any:
    """The C library's function, None where there is none."""
    try:
        found: Any = ctypes.CDLL(None).sigaction
    except (OSError, AttributeError, TypeError):
        return None
    found.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    return found


_ACTION: Final[Any] = _sigaction()
#: room for a struct sigaction, more than it has anywhere
_Room: Final[Any] = ctypes.c_char * 512


def _action(number: int) -> Any:
    """What the system does at a signal, for :func:`_put_back`."""
    if _ACTION is None:
        return None
    found = _Room()
    return found if _ACTION(number, None, found) == 0 else None


def _put_back(number: int, action: Any) -> None:
    if action is not None:
        _ACTION(number, action, None)


class Deferred:
    """A ``with`` block that no signal interrupts; they are delivered at the end.

    Does nothing in threads other than the main one, which get no signals, nor around compiled
    code, which handles none.

    Args:
        interpreted: the block calls interpreted functions even where the core is compiled.
    """

    __slots__ = ("_needed", "_before", "_arrived")

    def __init__(self, interpreted: bool = False) -> None:
        self._needed = interpreted or not COMPILED
        self._before: list[tuple[int, Any, Any]] = []
        self._arrived: list[int] = []

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._arrived.append(number)

    def __enter__(self) -> None:
        if self._needed and threading.get_ident() == _MAIN:
            try:
                for number in _SIGNALS:
                    handler = _getsignal(number)
                    if callable(handler):
                        self._before.append((number, handler, _action(number)))
                        # a signal that has arrived before is handled here, and may raise
                        _signal(number, self._note)
            except BaseException:
                _set(list(self._before))
                raise

    def __exit__(self, *exc: object) -> None:
        if not self._before:
            return
        try:
            _set(list(self._before))
        finally:
            if self._arrived:
                handlers = {number: handler for number, handler, _ in self._before}
                self._pass_on([(handlers[n], n) for n in dict.fromkeys(self._arrived)])

    def _pass_on(self, arrived: list[tuple[Any, int]]) -> None:
        _call(arrived)


def start(thread: threading.Thread) -> None:
    """Start a thread, which no signal interrupts.

    It waits until the thread runs; what a handler raises in the middle of that becomes another
    error, as a lock is given back that was not taken again. What is thrown into another thread
    than the main one may reach the new thread instead, whose start is waited for in vain then.
    """
    if threading.get_ident() != _MAIN:
        _on_own_thread(thread.start)
        return
    with Deferred(True):
        thread.start()


def _set(handlers: list[tuple[int, Any, Any]]) -> None:
    """Set the handlers of signals, all of them, the last one first, whatever one raises."""
    try:
        while handlers:
            number, handler, action = handlers[-1]
            _signal(number, handler)
            _put_back(number, action)
            handlers.pop()
    finally:
        if handlers:
            _set(handlers)


class _Once:
    """A function that is called to its end, once, on a thread that nobody knows.

    Attributes:
        claimed: locked once a thread is at it.
        done: it was called.
        over: its ``acquire`` returns once it was.
        error: what it raised.
    """

    def __init__(self, function: Callable[[], None]) -> None:
        self.function = function
        self.claimed: Any = threading.Lock()
        self.done = False
        self.over: Any = closed_gate()
        self.error: BaseException | None = None

    def run(self) -> None:
        # While a thread is being started, CPython takes it for the one that starts it, and throws
        # at it what that was to get: before this line, so that nothing was claimed. It cannot be
        # taken back: PyThreadState_SetAsyncExc without an exception has all threads look for one
        # from then on, and one that is traced for ever at its first instruction.
        if not self.claimed.acquire(False):
            return
        try:
            self.function()
        except BaseException as error:
            self.error = error
        self.done = True
        open_gate(self.over)


def uninterrupted(function: Callable[[], None]) -> None:
    """Call a function to its end, once, in a :class:`Deferred` block.

    For what puts things in order after an interrupt, which another may follow at once. What
    signals' handlers raise is raised afterwards. The caller holds no lock that it takes.

    In other threads than the main one it is what another thread throws
    (``PyThreadState_SetAsyncExc``) that follows. Nothing keeps that back, so that the
    function runs on a thread that nobody knows.
    """
    if threading.get_ident() != _MAIN:
        _on_own_thread(function)
        return
    begun = False
    raised: BaseException | None = None
    while not begun:
        try:
            with Deferred(True):
                begun = True
                function()
        except BaseException as error:
            if begun:
                raise
            # before the block: there nothing was done yet
            raised = error
    if raised is not None:
        raise raised


def _on_own_thread(function: Callable[[], None]) -> None:
    """Call a function to its end, once, on a thread of its own, whatever is thrown meanwhile."""
    once = _Once(function)
    raised: BaseException | None = None
    while not once.done:
        try:
            if not once.claimed.locked():
                # none was begun, or it ended before its first step
                try:
                    _thread.start_new_thread(once.run, ())
                except RuntimeError:  # there are too many
                    once.run()
            once.over.acquire(timeout=0.1)
        except BaseException as error:
            raised = error
    if once.error is not None:
        raise once.error
    if raised is not None:
        raise raised


def _call(arrived: list[tuple[Any, int]]) -> None:
    """Run handlers with their signals' numbers, all of them, whatever one raises."""
    try:
        while arrived:
            handler, number = arrived.pop(0)
            handler(number, None)
    finally:
        if arrived:
            _call(arrived)


def reraise_from_handler(error: BaseException) -> None:
    """Raise an exception again if the handler of a signal raised it, as one of a time limit does.

    For who makes something else of any Exception: what a handler raises is no failure of the
    code that it interrupted.
    """
    codes: list[Any] = []
    for number in _SIGNALS:
        handler: Any = _getsignal(number)
        if callable(handler):
            function = getattr(handler, "__func__", handler)
            if not hasattr(function, "__code__"):
                function = type(handler).__call__
            codes.append(getattr(function, "__code__", None))
    at = error.__traceback__
    while at is not None:
        if at.tb_frame.f_code in codes:
            raise error
        at = at.tb_next


def half_imported(error: BaseException) -> bool:
    """Whether an error comes of a module that is being imported just now.

    The code that a handler interrupted imports it, so that the error passes, unlike that of a
    circular import or of a module that another one hides: those are not being imported any more.
    """
    at: BaseException | None = error
    while at is not None:
        # the module that has no such name yet, or whose attribute is not there yet
        name = at.name if isinstance(at, ImportError) else getattr(
            getattr(at, "obj", None), "__name__", None)
        spec = getattr(sys.modules.get(name), "__spec__", None) if isinstance(name, str) else None
        if getattr(spec, "_initializing", False):
            return True
        at = at.__cause__
    return False


#: handlers, with their signals' numbers, that a :class:`Postponed` block kept back
late: Final[list[tuple[Any, int]]] = []


class Postponed(Deferred):
    """A ``with`` block that no signal interrupts; :func:`deliver` passes them on afterwards.

    For interpreted code that compiled code has called and still waits for: raising at the end of
    the block would lose what it is about to return.
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(True)

    def _pass_on(self, arrived: list[tuple[Any, int]]) -> None:
        late.extend(arrived)


def deliver() -> None:
    """Run the handlers that were kept back; does nothing in other threads."""
    if threading.get_ident() == _MAIN:
        _call(late)


#: called when the interpreter ends, after the handlers that the program itself has registered (as
#: it imports this first), in order
at_end: Final[list[Callable[[], Any]]] = []


def _end() -> None:
    for each in at_end:
        each()


atexit.register(_end)
