"""The main process's side of worker processes: starting them, handing out work, taking batches.

Workers start by forkserver (or spawn): a process that was forked after lazyloom had started
cannot use it. The fork server imports this package once and runs no program, so that a worker
starts in a few milliseconds.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterator
from multiprocessing import connection, forkserver
from multiprocessing.reduction import ForkingPickler
from typing import Any

from ._worker import Exhausted, Failure, unpacked, work

_preloaded = False


def context(given: Any) -> Any:
    """The way to start processes. Raises ValueError for fork."""
    if given is None:
        return _default_context()
    name = given if isinstance(given, str) else given.get_start_method()
    if name == "fork":
        raise ValueError(
            "multiprocessing_context is 'fork', expected 'forkserver' or 'spawn': a process that "
            "was forked after lazyloom had started cannot use it")
    if name not in multiprocessing.get_all_start_methods():
        raise ValueError(
            "multiprocessing_context option should specify a valid start method in "
            f"{multiprocessing.get_all_start_methods()!r}, but got {name!r}")
    return multiprocessing.get_context(given) if isinstance(given, str) else given


def _default_context() -> Any:
    """A fork server with this package in it; spawn where there is none or another one runs.

    A fork server that somebody else started has imported the main module, which may have
    recorded something.
    """
    global _preloaded
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    if not _preloaded:
        server = getattr(forkserver, "_forkserver", None)
        if getattr(server, "_forkserver_pid", None) is not None:
            return multiprocessing.get_context("spawn")
        multiprocessing.get_context("forkserver").set_forkserver_preload([__package__])
        _preloaded = True
    return multiprocessing.get_context("forkserver")


class Workers:
    """Worker processes and their connections, ended when nobody holds this any more."""

    def __init__(self, given: Any, count: int) -> None:
        made = context(given)
        memory = "/dev/shm"
        self.folder = tempfile.mkdtemp(
            prefix="lazyloom-data-", dir=memory if os.access(memory, os.W_OK) else None)
        self.connections: list[Any] = []
        self.processes: list[Any] = []
        self._end = weakref.finalize(
            self, _end, self.connections, self.processes, self.folder, os.getpid())
        for number in range(count):
            here, there = made.Pipe()
            process = made.Process(
                target=work, args=(there, number, count, self.folder), daemon=True)
            process.start()
            there.close()
            self.connections.append(here)
            self.processes.append(process)

    def end(self) -> None:
        """Stop the processes."""
        self._end()

    def send(self, number: int, message: Any) -> None:
        """Pickle and send a message. Raises RuntimeError for a worker that has ended."""
        self.send_bytes(number, ForkingPickler.dumps(message))

    def send_bytes(self, number: int, pickled: bytes | memoryview) -> None:
        """:meth:`send`, of what is pickled already."""
        try:
            self.connections[number].send_bytes(pickled)
        except OSError:
            raise self.lost([number]) from None

    def lost(self, numbers: list[int]) -> RuntimeError:
        """The error that tells of workers that have ended by themselves."""
        for n in numbers:
            self.processes[n].join(timeout=1)
        told = ", ".join(f"{self.processes[n].pid} (exit code {self.processes[n].exitcode})"
                         for n in numbers)
        return RuntimeError(
            f"DataLoader worker (pid(s) {told}) exited unexpectedly. A script that uses workers "
            "keeps what it runs under `if __name__ == \"__main__\":`, because each worker imports "
            "it; its dataset and functions can be pickled")


def _end(connections: list[Any], processes: list[Any], folder: str, owner: int) -> None:
    if os.getpid() != owner:
        return
    for c in connections:
        try:
            c.send(None)
        except (OSError, ValueError):
            pass
        c.close()
    deadline = time.monotonic() + 5
    for p in processes:
        p.join(timeout=max(0.0, deadline - time.monotonic()))
        if p.is_alive():
            p.terminate()
            p.join(timeout=1)
    shutil.rmtree(folder, ignore_errors=True)


class Batches:
    """The batches of one epoch, made by workers, in order unless ``in_order`` is False."""

    def __init__(
        self, workers: Workers, task: bytes | memoryview, positions: Iterator[Any], ahead: int,
        timeout: float, in_order: bool,
    ) -> None:
        self.workers, self.positions = workers, positions
        self.timeout, self.in_order = timeout, in_order
        count = len(workers.processes)
        self.alive = list(range(count))  # workers that still have something to give
        self.turn = 0
        self.sent = self.given = 0
        self.pending: dict[int, int] = {}  # index of a batch -> its worker
        self.ready: dict[int, Any] = {}
        self.finished = False
        for number in range(count):
            workers.send_bytes(number, task)
        for _ in range(ahead * count):
            self._dispatch()

    def __iter__(self) -> Batches:
        return self

    def _dispatch(self, number: int | None = None) -> None:
        """Ask the next worker (or that one) for the next batch, if there are both."""
        if not self.alive:
            return
        try:
            wanted = next(self.positions)
        except StopIteration:
            return
        if number is None or number not in self.alive:
            number = self.alive[self.turn % len(self.alive)]
            self.turn += 1
        self.pending[self.sent] = number
        self.workers.send(number, (self.sent, wanted))
        self.sent += 1

    def __next__(self) -> Any:
        while True:
            found = self._following()
            index, number, result = found
            if isinstance(result, Exhausted):
                if number in self.alive:
                    self.alive.remove(number)
                self._dispatch()
                continue
            self._dispatch(None if self.in_order else number)
            if isinstance(result, Failure):
                result.reraise()
            return result

    def _following(self) -> tuple[int, int, Any]:
        """The next result: its index, worker and value. Raises StopIteration at the end."""
        while True:
            if not self.pending:
                self.finished = True
                raise StopIteration
            index = min(self.pending) if self.in_order else next(iter(self.ready), -1)
            if index in self.ready:
                return index, self.pending.pop(index), self.ready.pop(index)
            self._receive()

    def _receive(self) -> None:
        """Wait for one message or more. Raises RuntimeError for a lost worker, or a timeout."""
        workers = self.workers
        waited = set(self.pending.values())
        sources = {workers.connections[n]: n for n in waited}
        ends = {workers.processes[n].sentinel: n for n in waited}
        found = connection.wait([*sources, *ends], self.timeout or None)
        if not found:
            raise RuntimeError(f"DataLoader timed out after {self.timeout} seconds")
        lost = []
        for source in found:
            if source in sources:
                try:
                    index, result = unpacked(source.recv_bytes())  # type: ignore[union-attr]
                except (EOFError, OSError):
                    lost.append(sources[source])
                    continue
                self.ready[index] = result
            elif not workers.connections[ends[source]].poll():
                lost.append(ends[source])
        if lost:
            raise workers.lost(sorted(set(lost)))

    def drain(self) -> None:
        """Take what was asked for and not taken, so that the workers can begin another epoch."""
        self.alive = []
        while self.pending:
            try:
                next(self)
            except StopIteration:
                return
            except Exception:
                continue
