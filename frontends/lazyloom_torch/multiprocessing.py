"""``torch.multiprocessing``: Python's, and functions about how tensors are shared.

Tensors travel by value: each process has its own.
"""

from __future__ import annotations

import multiprocessing as _python
from collections.abc import Callable
from multiprocessing import *  # noqa: F403
from typing import Any

_strategy = ["file_system"]


def get_all_sharing_strategies() -> set[str]:
    """The names that can be set."""
    return {"file_descriptor", "file_system"}


def set_sharing_strategy(new_strategy: str) -> None:
    """Kept only: tensors are copied. AssertionError for another word."""
    assert new_strategy in get_all_sharing_strategies(), new_strategy
    _strategy[0] = new_strategy


def get_sharing_strategy() -> str:
    """What was set."""
    return _strategy[0]


class ProcessException(Exception):  # noqa: N818
    """A process that :func:`spawn` started failed."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid


class ProcessExitedException(ProcessException):
    """A process ended with an exit code that is not 0, or by a signal."""


def spawn(fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True,
          daemon: bool = False, start_method: str = "spawn") -> Any:
    """Run ``fn(i, *args)`` in ``nprocs`` processes; the list of them where ``join`` is False.

    Raises ProcessExitedException if one fails, after ending the others.
    """
    context = _python.get_context(start_method)
    started = [context.Process(target=fn, args=(i, *args), daemon=daemon)  # type: ignore[attr-defined]
               for i in range(nprocs)]
    for process in started:
        process.start()
    if not join:
        return started
    try:
        for i, process in enumerate(started):
            process.join()
            if process.exitcode:
                raise ProcessExitedException(
                    f"process {i} terminated with exit code {process.exitcode}", i, process.pid)
    finally:
        for process in started:
            if process.is_alive():
                process.terminate()
    return None
