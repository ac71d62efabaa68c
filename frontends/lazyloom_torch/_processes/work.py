"""What an asynchronous collective gives: something to wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import lazyloom

from .._tensor import Tensor
from ..futures import Future
from .errors import as_torch


class Work:
    """A collective that was handed over.

    Its results are those of any recorded work: who reads them waits for them. :meth:`wait` is
    needed for nothing but to know that it is over, and for its error.
    """

    def __init__(self, results: Sequence[Tensor], source: int = -1) -> None:
        self._results = list(results)
        self._source = source
        self._future: Future | None = None
        self._over = False
        self._lock = threading.Lock()

    def _finish(self) -> None:
        """Wait until it is over."""
        values = [t.value for t in self._results]
        if values:
            with as_torch():
                lazyloom.sync(*values, wait=True)

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until it is over. Returns True; raises its error."""
        self._finish()
        self._over = True
        return True

    def synchronize(self) -> None:
        self.wait()

    def get_future(self) -> Future:
        """A future of the list of its results."""
        with self._lock:
            if self._future is None:
                self._future = future = Future()
                threading.Thread(
                    target=_fill, args=(future, self._finish, self._results), name="Work",
                    daemon=True).start()
            return self._future

    def is_completed(self) -> bool:
        """Whether it is over; does not wait."""
        return self._over or self.get_future().done()

    def exception(self) -> Any:
        """Its error, None if it is not over or went well."""
        future = self.get_future()
        return future.error if future.done() else None

    def is_success(self) -> bool:
        return self.is_completed() and self.exception() is None

    def result(self) -> list[Tensor]:
        """The tensors that hold its results."""
        return list(self._results)

    def source_rank(self) -> int:
        """The global rank of the process that sent what was received."""
        return self._source


def _fill(future: Future, finish: Callable[[], None], results: list[Tensor]) -> None:
    try:
        finish()
    except Exception as error:
        future.set_exception(error)
    else:
        future.set_result(results)


def completed(result: Any) -> Future:
    """A future that has its result."""
    future = Future()
    future.set_result(result)
    return future


class Done(Work):
    """Work that is over already."""

    def __init__(self, source: int = -1) -> None:
        super().__init__((), source)
