"""Several observers of runs, reads, uploads and captures in the one slot that there is for them.

``hooks.observer`` is what the runtime tells of these, or None; one that is alone is called without
what is here.
"""

from __future__ import annotations

import threading
from typing import Any, Final

from .hooks import hooks

_lock: Final = threading.Lock()


class Observers:
    """Passes on to each of several observers what the runtime tells."""

    def __init__(self, each: tuple[Any, ...]) -> None:
        self.each: Final = each

    def begins(self, plan: Any) -> tuple[Any, ...]:
        """Note that a plan is about to run; return what :meth:`ended` is to be told."""
        return tuple([o.begins(plan) for o in self.each])

    def ended(self, runs: tuple[Any, ...]) -> None:
        """Note that the run ended, or failed."""
        for o, run in zip(self.each, runs, strict=True):
            o.ended(run)

    def waits(self) -> tuple[Any, ...]:
        """What a read, or an upload, is to be told when it has ended."""
        return tuple([o.waits() for o in self.each])

    def read(self, waited: tuple[Any, ...], site: Any, value: Any, nbytes: int) -> None:
        """Note a read of so many bytes, 0 for a mere wait."""
        for o, since in zip(self.each, waited, strict=True):
            o.read(since, site, value, nbytes)

    def uploaded(self, waited: tuple[Any, ...], site: Any, source: Any, buffer: Any) -> None:
        """Note that an array of the host was copied into a buffer."""
        for o, since in zip(self.each, waited, strict=True):
            o.uploaded(since, site, source, buffer)

    def recorded_call(self, function: Any, first: bool, site: Any) -> None:
        """Note that a call of a captured function is recorded."""
        for o in self.each:
            o.recorded_call(function, first, site)


def _present() -> tuple[Any, ...]:
    found = hooks.observer
    return found.each if isinstance(found, Observers) else () if found is None else (found,)


def _set(each: tuple[Any, ...]) -> None:
    hooks.observer = None if not each else each[0] if len(each) == 1 else Observers(each)


def add(observer: Any) -> None:
    """Have the runtime tell an observer from now on, beside those that there are."""
    with _lock:
        _set((*_present(), observer))


def remove(observer: Any) -> None:
    """Tell an observer nothing more; what has begun still ends for it."""
    with _lock:
        _set(tuple([o for o in _present() if o is not observer]))
