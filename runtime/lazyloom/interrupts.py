"""Deferral of signals, including Ctrl-C, while a step must not be left half done.

Python runs signal handlers, which may raise, in the main thread between any two instructions, and
inside calls of C++ that call back into Python. A run that has taken its donated inputs but not
delivered its results would lose them.
"""

from __future__ import annotations

import _thread
import atexit
import ctypes
import importlib
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

from .compiled import COMPILED
from .locks import closed_gate, open_gate

# The functions in C that the signal module wraps: the wrappers turn handlers into enums and back,
# which costs more than a dispatch.
_in_c: Final[Any] = importlib.import_module("_signal")
_getsignal: Final[Any] = _in_c.getsignal
_signal: Final[Any] = _in_c.signal

_MAIN: Final = threading.main_thread().ident
#: signals whose handlers raise in practice: interrupts, time limits, requests to stop
_SIGNALS: Final = tuple([
    int(getattr(signal, name))
    for name in ("SIGINT", "SIGALRM", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGVTALRM")
    if hasattr(signal, name)])


def _sigaction() -> Any:
    """The C library's function, None if there is none."""
    try:
        function: Any = ctypes.CDLL(None).sigaction
    except (OSError, AttributeError, TypeError):
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    return function


_ACTION: Final[Any] = _sigaction()
#: room for a struct sigaction, more than it needs on any system
_Room: Final[Any] = ctypes.c_char * 512


def _action(number: int) -> Any:
    """What the system does on a signal, for :func:`_put_back`."""
    if _ACTION is None:
        return None
    action = _Room()
    return action if _ACTION(number, None, action) == 0 else None


def _put_back(number: int, action: Any) -> None:
    if action is not None:
        _ACTION(number, action, None)


class Deferred:
    """A ``with`` block that no signal interrupts; signals are delivered at its end.

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
                        # a signal that arrived earlier is handled here, and may raise
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
    """Start a thread without being interrupted by a signal.

    Starting waits until the thread runs; an exception that a handler raises meanwhile becomes
    another error, since a lock is released that was not acquired again. An exception that is thrown
    into another thread than the main one may reach the new thread instead, and the wait for its
    start never ends.
    """
    if threading.get_ident() != _MAIN:
        _on_own_thread(thread.start)
        return
    with Deferred(True):
        thread.start()


def _set(handlers: list[tuple[int, Any, Any]]) -> None:
    """Set the handlers of signals, the last one first; set all of them even if one raises."""
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
    """A function that is called once, to its end, on a thread that nobody else knows.

    Attributes:
        claimed: locked once a thread calls it.
        done: the call has ended.
        over: its ``acquire`` returns once the call has ended.
        error: the exception that the function raised.
    """

    def __init__(self, function: Callable[[], None]) -> None:
        self.function = function
        self.claimed: Any = threading.Lock()
        self.done = False
        self.over: Any = closed_gate()
        self.error: BaseException | None = None

    def run(self) -> None:
        # While a thread is being started, CPython takes it for the one that starts it, and throws
        # exceptions for that one into it: before this line, so nothing is claimed. They cannot be
        # taken back: PyThreadState_SetAsyncExc without an exception makes all threads check for one
        # from then on, and a traced thread checks for ever at its first instruction.
        if not self.claimed.acquire(False):
            return
        try:
            self.function()
        except BaseException as error:
            self.error = error
        self.done = True
        open_gate(self.over)


def uninterrupted(function: Callable[[], None]) -> None:
    """Call a function once, to its end, in a :class:`Deferred` block.

    For code that restores a state after an interrupt, which another may follow at once. An
    exception of a signal handler is raised afterwards. The caller holds no lock that the function
    takes.

    In threads other than the main one, the next interrupt is an exception that another thread
    throws (``PyThreadState_SetAsyncExc``). Nothing can defer that, so the function runs on a
    thread that nobody else knows.
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
            # raised before the block, when nothing was done yet
            raised = error
    if raised is not None:
        raise raised


def _on_own_thread(function: Callable[[], None]) -> None:
    """Call a function once, to its end, on a thread of its own, whatever is thrown meanwhile."""
    once = _Once(function)
    raised: BaseException | None = None
    while not once.done:
        try:
            if not once.claimed.locked():
                # no thread was started, or it ended before its first step
                try:
                    _thread.start_new_thread(once.run, ())
                except RuntimeError:  # there are too many threads
                    once.run()
            once.over.acquire(timeout=0.1)
        except BaseException as error:
            raised = error
    if once.error is not None:
        raise once.error
    if raised is not None:
        raise raised


def _call(arrived: list[tuple[Any, int]]) -> None:
    """Run handlers with their signals' numbers; run all of them even if one raises."""
    try:
        while arrived:
            handler, number = arrived.pop(0)
            handler(number, None)
    finally:
        if arrived:
            _call(arrived)


def reraise_from_handler(error: BaseException) -> None:
    """Raise an exception again if a signal handler raised it, such as one of a time limit.

    For code that converts any Exception: an exception of a handler is not a failure of the code
    that it interrupted.
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
    """Return True if an error comes from a module that is just being imported.

    The code that a handler interrupted imports it, so the error goes away, unlike that of a
    circular import or of a shadowed module: those are no longer being imported.
    """
    at: BaseException | None = error
    while at is not None:
        # the module that does not have the name or the attribute yet
        name = at.name if isinstance(at, ImportError) else getattr(
            getattr(at, "obj", None), "__name__", None)
        spec = getattr(sys.modules.get(name), "__spec__", None) if isinstance(name, str) else None
        if getattr(spec, "_initializing", False):
            return True
        at = at.__cause__
    return False


#: handlers, with their signals' numbers, that a :class:`Postponed` block deferred
late: Final[list[tuple[Any, int]]] = []


class Postponed(Deferred):
    """A ``with`` block that no signal interrupts; :func:`deliver` delivers them afterwards.

    For interpreted code that compiled code has called and still waits for: raising at the end of
    the block would lose the value that it is about to return.
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(True)

    def _pass_on(self, arrived: list[tuple[Any, int]]) -> None:
        late.extend(arrived)


def deliver() -> None:
    """Run the handlers that were deferred; does nothing in threads other than the main one."""
    if threading.get_ident() == _MAIN:
        _call(late)


#: called in order when the interpreter ends, after the handlers that the program itself registered
#: (since it imports this module first)
at_end: Final[list[Callable[[], Any]]] = []


def _end() -> None:
    for each in at_end:
        each()


atexit.register(_end)
