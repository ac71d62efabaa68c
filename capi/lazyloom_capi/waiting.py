"""The entries of reads of several tensors, of waits, and of calls once a tensor is ready."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from _lazyloom_abi import ffi, lib  # type: ignore[import-not-found]

import lazyloom
from lazyloom.errors import ArgumentError
from lazyloom.frontend import is_ready, look, thread_options

from . import capture
from .serving import (
    TimedOutError,
    bytes_of,
    entry,
    failed,
    located,
    placed,
    value_of,
    values_of,
)

#: seconds beyond which a lock cannot wait
_LONGEST: Final = threading.TIMEOUT_MAX


@located
def loomp_read_all(tensors: Any, buffers: Any, nbytes: Any, count: int) -> int:
    capture.refuse_read("loom_tensors_read")
    values = values_of(tensors, count, "loom_tensors_read: tensors")
    for i, value in enumerate(values):
        if nbytes[i] != value.type.nbytes:
            raise ArgumentError(
                f"loom_tensors_read: nbytes[{i}]: {nbytes[i]} was given, expected "
                f"{value.type.nbytes} for {value.type.text}")
    if any(v.is_pending for v in values) and (
        lazyloom.get_option("reads") != "error"
    ):
        lazyloom.sync(*values)
    for i, value in enumerate(values):
        array = look(value)
        if not array.flags.c_contiguous or array.dtype.char == "E":
            # bfloat16 has no buffers
            array = bytes_of(array)
        if array.nbytes:
            ffi.memmove(buffers[i], array, array.nbytes)
    return 1


@entry
def loomp_is_ready(tensor: int, ready: Any) -> int:
    ready[0] = is_ready(value_of(tensor))
    return 1


@placed
def _computed(values: list[lazyloom.Value]) -> None:
    lazyloom.sync(*values, wait=True)


#: one flag: the library opened the interpreter, so that nobody else looks after threads at the end
opened: Final[list[bool]] = [False]


def _count(by: int) -> None:
    if opened[0]:
        lib.loomp_at_work(by)


# ---- waits ----------------------------------------------------------------------------


class _Waited(threading.Thread):
    """Computes values for a call that waits no longer than it was told.

    Attributes:
        over: set when all are computed, or one has failed.
        error: what it failed with.
    """

    def __init__(self, values: list[lazyloom.Value], file: int, line: int) -> None:
        # not as the runtime's own threads, which nobody waits for at the end
        super().__init__(name="loom_wait", daemon=True)
        self._work: Callable[[], None] = lambda: _computed(values, file, line)
        # another thread takes them over with its work
        self._options = thread_options()
        self.over = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            for name, value in self._options.items():
                lazyloom.set_option(name, value)
            self._work()
        except BaseException as error:
            self.error = error
        finally:
            # the values are let go of with it
            del self._work
            with _lock:
                _waited.discard(self)
            self.over.set()
            _count(-1)


_lock: Final = threading.Lock()
#: those that may still be at work
_waited: Final[set[_Waited]] = set()


@entry
def loomp_wait(tensors: Any, count: int, timeout: float, file: int, line: int) -> int:
    capture.refuse_read("loom_wait")
    if math.isnan(timeout):
        raise ArgumentError(
            "loom_wait: timeout is not a number, expected seconds, or a negative number for no "
            "limit")
    values = values_of(tensors, count, "loom_wait: tensors")
    if not values:
        return 1
    if not 0 <= timeout <= _LONGEST or all(map(is_ready, values)):
        _computed(values, file, line)
        return 1
    waited = _Waited(values, file, line)
    del values
    with _lock:
        _waited.add(waited)
    _count(1)
    try:
        waited.start()
    except BaseException:
        _waited.discard(waited)
        _count(-1)
        raise
    if not waited.over.wait(timeout):
        raise TimedOutError(
            f"loom_wait: {timeout:g} s are over and not all tensors are ready, expected them in "
            "time; call it again, or read them, to wait longer")
    if waited.error is not None:
        raise waited.error
    return 1


# ---- calls ----------------------------------------------------------------------------


class _Caller(threading.Thread):
    """Calls functions of the host when tensors are ready, in the order in which they were given."""

    def __init__(self) -> None:
        super().__init__(name="loom_ready", daemon=True)
        self._given: deque[tuple[lazyloom.Value, Any]] = deque()
        self._more = threading.Semaphore(0)

    def add(self, value: lazyloom.Value, call: Any) -> None:
        self._given.append((value, call))
        self._more.release()

    def end(self) -> None:
        """End the thread once all has been called, and wait for that."""
        self._more.release()
        self.join()

    def run(self) -> None:
        while True:
            self._more.acquire()
            if not self._given:
                return
            lib.loomp_call_ready(*self._next())
            _count(-1)

    def _next(self) -> tuple[Any, int]:
        value, call = self._given.popleft()
        try:
            lazyloom.sync(value, wait=True)
        except BaseException as error:
            return call, -failed(type(error), error, error.__traceback__)
        return call, 0


_caller: list[_Caller] = []


@located
def loomp_on_ready(tensor: int, call: Any) -> int:
    capture.refuse_read("loom_tensor_on_ready")
    value = value_of(tensor)
    lazyloom.sync(value)
    with _lock:
        if not _caller:
            caller = _Caller()
            caller.start()
            _caller.append(caller)
        _count(1)
        _caller[0].add(value, call)
    return 1


def finish() -> None:
    """Wait for all that was begun: calls are made, waits that timed out are over."""
    with _lock:
        callers, waited = list(_caller), list(_waited)
        _caller.clear()
    for caller in callers:
        caller.end()
    for thread in waited:
        thread.join()
