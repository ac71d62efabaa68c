"""A thread for calls that may never return."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, Final

from ..locks import closed_gate, open_gate


class Begun:
    """A call on a :class:`Runner`'s thread.

    Attributes:
        result: what it returned.
        error: what it raised, or None.
    """

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.function: Final = function
        self.arguments: Final = arguments
        self.result: Any = None
        self.error: Exception | None = None
        self._gate: Final[Any] = closed_gate()

    def run(self) -> None:
        try:
            self.result = self.function(*self.arguments)
        except Exception as error:
            self.error = error
        open_gate(self._gate)

    def wait(self, timeout: float) -> bool:
        """Wait until it has ended, or for so many seconds; whether it has."""
        return bool(self._gate.acquire(timeout=timeout))


class Runner:
    """A daemon thread that runs calls one after the other.

    Attributes:
        newest: the newest call, until it has been waited for.
    """

    def __init__(self) -> None:
        self.newest: Begun | None = None
        self._calls: Final[queue.SimpleQueue[Begun]] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="lazyloom-together", daemon=True).start()

    def stuck(self, timeout: float) -> bool:
        """Return True if the newest call does not end within so many seconds."""
        return self.newest is not None and not self.newest.wait(timeout)

    def begin(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Begun:
        """Begin a call."""
        call = self.newest = Begun(function, arguments)
        self._calls.put(call)
        return call

    def _run(self) -> None:
        while True:
            call = self._calls.get()
            call.run()
            # or the results of the newest would live until the next
            del call
