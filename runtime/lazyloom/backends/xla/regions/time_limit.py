"""A time limit for what code generators build."""

from __future__ import annotations

import contextlib
import contextvars
import os
import signal
import threading
from collections.abc import Callable
from typing import TypeVar

Built = TypeVar("Built")


def within(seconds: float, build: Callable[[], Built]) -> Built:
    """Return what a function builds, or give it up after some seconds.

    It runs on a thread of its own. What is given up cannot be stopped: it goes on, its result is
    dropped, and the processes that it has started are killed, so that it ends if it waits for one.

    Raises what the function raises, and TimeoutError.
    """
    results: list[Built] = []
    errors: list[BaseException] = []
    identifiers: list[int] = []
    done = threading.Event()

    def call() -> None:
        identifiers.append(threading.get_native_id())
        try:
            results.append(build())
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    context = contextvars.copy_context()
    thread = threading.Thread(
        target=context.run, args=(call,), name="lazyloom-build", daemon=True)
    try:
        thread.start()
    except RuntimeError:
        # there is no further thread, so nothing can wait beside it
        return build()
    if not done.wait(seconds):
        for identifier in identifiers:
            _end_children(identifier)
        raise TimeoutError(
            f"it took longer than {seconds:g} s and was given up; the option build_seconds allows "
            "more")
    if errors:
        raise errors[0]
    return results[0]


def _end_children(thread: int) -> None:
    """Kill the processes that a thread of this process has started, and those that they have."""
    found: list[int] = []
    pending = [f"/proc/self/task/{thread}/children"]
    while pending:
        # where the system does not tell, they go on
        with contextlib.suppress(OSError), open(pending.pop(), encoding="ascii") as file:
            children = [int(word) for word in file.read().split()]
            found += children
            for child in children:
                with contextlib.suppress(OSError):
                    pending += [f"/proc/{child}/task/{task}/children"
                                for task in os.listdir(f"/proc/{child}/task")]
    for child in found:
        with contextlib.suppress(OSError):
            os.kill(child, signal.SIGKILL)
