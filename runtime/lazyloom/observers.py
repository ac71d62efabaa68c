"""Several observers of runs, reads, uploads and captures in the one slot that there is for them.

``hooks.observer`` is what the runtime tells of these, or None; one that is alone is called without
what is here.
"""

from __future__ import annotations

import threading
from typing import Any, Final

from .hooks import hooks

_lock: Final = threading.Lock()


class RunObserver:
    """What the runtime tells an observer; one that does not care for something leaves it out.

    Any thread may call it.
    """

    def begins(self, plan: Any) -> Any:
        """Note that a plan is about to run; return what :meth:`ended` is to be told."""
        return None

    def ended(self, run: Any) -> None:
        """Note that the run ended, or failed."""

    def waits(self) -> Any:
        """Note that a read or an upload begins; return what its end is to be told."""
        return None

    def read(self, waited: Any, site: Any, value: Any, nbytes: int) -> None:
        """Note a read of so many bytes, 0 for a mere wait."""

    def uploaded(self, waited: Any, site: Any, source: Any, buffer: Any) -> None:
        """Note that an array of the host was copied into a buffer."""

    def captures(self) -> Any:
        """Note that a call is recorded, or a part of a program; return what its end is told."""
        return None

    def recorded_call(self, since: Any, function: Any, first: bool, site: Any) -> None:
        """Note that a call of a captured function was recorded."""

    def captured_section(self, since: Any, site: Any, ops: Any) -> None:
        """Note that a capture has ended, with the specs of its ops."""


class Observers(RunObserver):
    """Passes on to each of several observers what the runtime tells."""

    def __init__(self, each: tuple[RunObserver, ...]) -> None:
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

    def captures(self) -> tuple[Any, ...]:
        """Note that a call is recorded, or a part of a program; return what its end is told."""
        return tuple([o.captures() for o in self.each])

    def recorded_call(
        self, since: tuple[Any, ...], function: Any, first: bool, site: Any
    ) -> None:
        """Note that a call of a captured function was recorded."""
        for o, begun in zip(self.each, since, strict=True):
            o.recorded_call(begun, function, first, site)

    def captured_section(self, since: tuple[Any, ...], site: Any, ops: Any) -> None:
        """Note that a capture has ended."""
        for o, begun in zip(self.each, since, strict=True):
            o.captured_section(begun, site, ops)


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
