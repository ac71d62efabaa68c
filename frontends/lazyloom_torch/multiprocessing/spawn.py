"""Functions run by several processes at once: ``torch.multiprocessing.spawn``."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from typing import Any


class ProcessException(Exception):  # noqa: N818
    """A process that :func:`spawn` started failed: which of them, and its id."""

    #: which process it was, and the process's id
    error_index = error_pid = -1

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.pid, self.error_pid = msg, error_index, pid, pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A function raised an exception, whose traceback is the message."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg, error_index, error_pid)


class ProcessExitedException(ProcessException):
    """A process ended with an exit code that is not 0, or by a signal."""

    exit_code = 0

    def __init__(self, msg: str, error_index: int, error_pid: int, exit_code: int,
                 signal_name: str | None = None) -> None:  # fmt: skip
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _run(fn: Callable[..., Any], index: int, args: tuple[Any, ...], report: str) -> None:
    """Call the function in its process; what it raises is left as text in a file."""
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # the process that started this one has it, too
    except Exception:
        with open(report, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        sys.exit(1)


class ProcessContext:
    """Processes that run, which :func:`start_processes` gives where it does not wait for them."""

    def __init__(self, processes: list[Any], error_files: list[str]) -> None:
        self.processes, self.error_files = processes, error_files
        self._waiting = {p.sentinel: i for i, p in enumerate(processes)}

    def pids(self) -> list[int]:
        """The ids of the processes."""
        return [int(p.pid) for p in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until one ends or the time is up: True once all have ended without failure.

        The first that fails ends the others, after ``grace_period`` seconds if that is given;
        then ProcessRaisedException or ProcessExitedException is raised.
        """
        if not self._waiting:
            return True
        ready = multiprocessing.connection.wait(self._waiting, timeout=timeout)
        failed = None
        for sentinel in ready:
            index = self._waiting.pop(sentinel)
            process = self.processes[index]
            process.join()
            if process.exitcode and failed is None:
                failed = index
        if failed is None:
            if not self._waiting:
                self._forget_files()
            return not self._waiting
        self._end(grace_period)
        raise self._failure(failed)

    def _end(self, grace_period: float | None) -> None:
        for process in self.processes:
            if process.is_alive() and grace_period is not None:
                process.join(grace_period)
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join(30)
            if process.is_alive():
                process.kill()
                process.join()
        self._waiting.clear()

    def _failure(self, index: int) -> ProcessException:
        process, report = self.processes[index], self.error_files[index]
        pid, code = int(process.pid), int(process.exitcode)
        try:
            if os.path.getsize(report):
                with open(report, "rb") as file:
                    told = pickle.load(file)
                return ProcessRaisedException(
                    f"\n\n-- Process {index} terminated with the following error:\n{told}",
                    index, pid)
        finally:
            self._forget_files()
        if code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"signal {-code}"
            return ProcessExitedException(
                f"process {index} terminated with signal {name}", index, pid, code, name)
        return ProcessExitedException(
            f"process {index} terminated with exit code {code}", index, pid, code)

    def _forget_files(self) -> None:
        for report in self.error_files:
            if os.path.exists(report):
                os.unlink(report)


class SpawnContext(ProcessContext):
    """The processes of :func:`spawn`."""


def start_processes(fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1,
                    join: bool = True, daemon: bool = False, start_method: str = "spawn",
                    ) -> ProcessContext | None:  # fmt: skip
    """Run ``fn(i, *args)`` in processes 0 to ``nprocs - 1``; wait for them if ``join``.

    Raises ProcessRaisedException where one raises, ProcessExitedException where one ends in
    another way, after ending the others.
    """
    context: Any = multiprocessing.get_context(start_method)
    processes, reports = [], []
    for index in range(nprocs):
        descriptor, report = tempfile.mkstemp(prefix="lazyloom-spawn-", suffix=".pickle")
        os.close(descriptor)
        reports.append(report)
        process = context.Process(target=_run, args=(fn, index, args, report), daemon=daemon)
        process.start()
        processes.append(process)
    started = SpawnContext(processes, reports)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True,
          daemon: bool = False, start_method: str = "spawn") -> ProcessContext | None:  # fmt: skip
    """:func:`start_processes` by spawning, whatever the start method is that is asked for."""
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")


__all__ = [
    "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException",
    "SpawnContext", "spawn", "start_processes",
]  # fmt: skip
