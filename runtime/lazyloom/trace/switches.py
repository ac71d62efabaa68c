"""Switches of a thread: whether it records gradients, and whether what it records may be cut."""

from __future__ import annotations

import threading
from typing import Any, Final, final

from ..locks import new_lock

_local: Final[Any] = threading.local()
_counting: Final[Any] = new_lock()


@final
class Switches:
    """State across all threads.

    Attributes:
        without_grad: how many threads do not record gradients.
    """

    __slots__ = ("without_grad",)

    def __init__(self) -> None:
        self.without_grad: int = 0


switches: Final = Switches()


def grad_enabled() -> bool:
    """Return True if this thread records gradients.

    Example:

        >>> with lazyloom.grad_mode(False):
        ...     lazyloom.grad_enabled()
        False
    """
    return switches.without_grad == 0 or bool(getattr(_local, "grad", True))


def set_grad_enabled(enabled: bool) -> bool:
    """Switch the recording of gradients on or off in this thread; returns the previous state.

    Example:

        >>> before = lazyloom.set_grad_enabled(False)
        >>> lazyloom.grad_enabled()
        False
        >>> lazyloom.set_grad_enabled(before)
        False
    """
    before = bool(getattr(_local, "grad", True))
    if enabled != before:
        _local.grad = enabled
        with _counting:
            switches.without_grad += -1 if enabled else 1
    return before


@final
class grad_mode:  # noqa: N801 - used as a function
    """A context in which this thread records gradients or not: ``with grad_mode(False):``

    Example:

        >>> x = lazyloom.from_host([1.0, 2.0]).as_leaf("x")
        >>> with lazyloom.grad_mode(False):
        ...     y = lazyloom.record("exp", [x])
        >>> y.requires_grad
        False
    """

    __slots__ = ("_before", "_enabled")

    def __init__(self, enabled: bool) -> None:
        self._enabled = enabled
        self._before = True

    def __enter__(self) -> None:
        self._before = set_grad_enabled(self._enabled)

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        set_grad_enabled(self._before)


def hold_cuts(hold: bool) -> None:
    """Keep this thread's components from being cut while the ops it records belong together."""
    _local.hold_cuts = hold


def cuts_held() -> bool:
    return bool(getattr(_local, "hold_cuts", False))
