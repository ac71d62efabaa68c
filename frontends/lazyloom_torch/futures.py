"""``torch.futures``: results that come later, from other threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any


class Future:
    """A result that is set once, and what is called then.

    Attributes:
        error: the exception that was set in place of a result, else None.
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._set = threading.Event()
        self._lock = threading.Lock()
        self._result: Any = None
        self._callbacks: list[Callable[[], None]] = []
        self.error: BaseException | None = None

    def __class_getitem__(cls, item: Any) -> Any:
        return cls

    def done(self) -> bool:
        """Whether there is a result or an exception."""
        return self._set.is_set()

    def wait(self) -> Any:
        """The result, once it is there; raises the exception that was set."""
        self._set.wait()
        return self.value()

    def value(self) -> Any:
        """The result. Raises RuntimeError if there is none yet, the exception if one was set."""
        if not self.done():
            raise RuntimeError("the future has no value yet: call wait(), or value() after it")
        if self.error is not None:
            raise self.error
        return self._result

    def set_result(self, result: Any) -> None:
        """Set the result. Raises RuntimeError the second time."""
        self._end(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Set an exception in place of a result. Raises RuntimeError the second time."""
        if not isinstance(result, BaseException):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._end(None, result)

    def _end(self, result: Any, error: BaseException | None) -> None:
        with self._lock:
            if self.done():
                raise RuntimeError("Future can only be marked completed once")
            self._result, self.error = result, error
            self._set.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Call ``callback(self)`` when the future is done, at once if it is."""
        with self._lock:
            if not self.done():
                self._callbacks.append(lambda: callback(self))
                return
        callback(self)

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """A future of what ``callback(self)`` will return."""
        made = Future()

        def call(_: Future) -> None:
            try:
                found = callback(self)
            except Exception as error:
                made.set_exception(error)
            else:
                made.set_result(found)

        self.add_done_callback(call)
        return made


def collect_all(futures: Sequence[Future]) -> Future:
    """A future of the list of futures, done when all of them are."""
    made = Future()
    left = [len(futures)]
    lock = threading.Lock()

    def ended(_: Future) -> None:
        with lock:
            left[0] -= 1
            last = not left[0]
        if last:
            made.set_result(list(futures))

    if not futures:
        made.set_result([])
    for f in futures:
        f.add_done_callback(ended)
    return made


def wait_all(futures: Sequence[Future]) -> list[Any]:
    """The results of futures, once all are there; raises the first exception."""
    return [f.wait() for f in collect_all(futures).wait()]


__all__ = ["Future", "collect_all", "wait_all"]
