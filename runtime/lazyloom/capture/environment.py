"""Guards on the state of the process and the thread.

Frontends register the settings of theirs that calls depend on (:func:`register`), such as default
dtypes and autocast, and the objects that give random numbers (:func:`register_generators`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .. import settings
from ..trace.graph import Value
from ..trace.switches import grad_enabled
from .state import is_generator

#: functions that each return a tuple to compare
_parts: Final[list[Callable[[], tuple[Any, ...]]]] = []


def register(part: Callable[[], tuple[Any, ...]]) -> None:
    """Add a function that returns, as a tuple, a frontend's settings that calls depend on."""
    _parts.append(part)


def current() -> tuple[Any, ...]:
    """Return the current settings of this thread."""
    state: list[Any] = [grad_enabled(), settings.donates(), settings.reproducible()]
    for part in _parts:
        state.extend(part())
    return tuple(state)


class Generators:
    """How a frontend's sources of random numbers work.

    Args:
        cls: their class.
        key: returns the key that a generator's next draw is folded into, a Value.
        number: returns the number of its next draw.
        advance: skips a number of draws, and returns the number of the first.
        shared: returns the generators that are used where none is named.
    """

    def __init__(
        self, cls: type, key: Callable[[Any], Value], number: Callable[[Any], int],
        advance: Callable[[Any, int], int], shared: Callable[[], list[Any]],
    ) -> None:
        self.cls = cls
        self.key = key
        self.number = number
        self.advance = advance
        self.shared = shared


_kinds: Final[list[Generators]] = []


def register_generators(kind: Generators) -> None:
    """Add a class of sources of random numbers."""
    _kinds.append(kind)
    is_generator.append(lambda x: isinstance(x, kind.cls))


def kind_of(generator: Any) -> Generators:
    """Return the registered :class:`Generators` of a source of random numbers."""
    return next(kind for kind in _kinds if isinstance(generator, kind.cls))


def shared_generators() -> list[Any]:
    """Return the sources of random numbers that are used where none is named."""
    return [g for kind in _kinds for g in kind.shared()]
