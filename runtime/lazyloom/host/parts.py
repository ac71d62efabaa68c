"""Long computations split into parts on several threads.

OpenBLAS's own threads wait for each other by spinning: where something else is at work on the other
cores, a product that takes microseconds on one thread takes tens of milliseconds on two. These
wait for the system to wake them, and one that gets no core costs no more than its part takes.
"""

from __future__ import annotations

import os
import threading

# not from queue, as which a file of the user's may be imported
from _queue import SimpleQueue
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..interrupts import start
from ..locks import closed_gate, open_gate
from .subnormals import flush_subnormals

Work = Callable[[int, int], Any]


class _Allowed(threading.local):
    def __init__(self) -> None:
        #: threads that a computation on this thread may use
        self.threads = 1


allowed: Final = _Allowed()


class _Helpers:
    """Threads that wait for parts."""

    def __init__(self) -> None:
        self.waiting: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.count = 0
        self.lock = threading.Lock()

    def need(self, count: int) -> None:
        with self.lock:
            while self.count < count:
                self.count += 1
                start(threading.Thread(
                    target=_help, args=(self.waiting,), name="lazyloom-parts", daemon=True))


def _help(waiting: SimpleQueue[Callable[[], None]]) -> None:
    # as the thread that wants a part
    flush_subnormals()
    with np.errstate(all="ignore"):
        while True:
            part = waiting.get()
            part()
            del part


_helpers = _Helpers()


class _Part:
    """Some of the work, done by whoever comes first: a helper, or the thread that wants it."""

    def __init__(self, work: Work, start: int, end: int) -> None:
        self.work, self.start, self.end = work, start, end
        self.taken = threading.Lock()
        #: opened when it is done; the thread that wants it waits there
        self.done = closed_gate()
        self.error: BaseException | None = None

    def __call__(self) -> None:
        if not self.taken.acquire(blocking=False):
            return
        try:
            self.work(self.start, self.end)
        except BaseException as error:
            self.error = error
        finally:
            open_gate(self.done)


def in_parts(count: int, work: Work) -> None:
    """Call ``work(start, end)`` for all of ``range(count)``, on as many threads as are allowed."""
    threads = min(allowed.threads, count)
    if threads < 2:
        work(0, count)
        return
    _helpers.need(threads - 1)
    ends = [count * k // threads for k in range(threads + 1)]
    others = [_Part(work, a, b) for a, b in zip(ends[1:-1], ends[2:], strict=True)]
    for part in others:
        _helpers.waiting.put(part)
    work(0, ends[1])
    for part in others:
        part()  # unless a helper has begun
        part.done.acquire()
        if part.error is not None:
            raise part.error


def product(a: Any, b: Any) -> Any:
    """``a @ b``, of matrices or of as many matrices each."""
    if allowed.threads < 2:
        return np.matmul(a, b)
    found = np.empty((*a.shape[:-1], b.shape[-1]), a.dtype)
    if a.ndim > 2:
        in_parts(len(a), lambda i, j: np.matmul(a[i:j], b[i:j], found[i:j]))
    elif len(a) >= b.shape[1]:
        in_parts(len(a), lambda i, j: np.matmul(a[i:j], b, found[i:j]))
    else:
        in_parts(b.shape[1], lambda i, j: np.matmul(a, b[:, i:j], found[:, i:j]))
    return found


def _after_fork() -> None:
    # the child has no such threads
    global _helpers
    _helpers = _Helpers()


os.register_at_fork(after_in_child=_after_fork)
