"""Guards on the state of the process and the thread.

Frontends say what of theirs does (:func:`register`): default dtypes, autocast and the like; and
which objects give random numbers (:func:`register_generators`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .. import settings
from ..trace.graph import Value
from ..trace.switches import grad_enabled
from .state import is_generator

#: each gives a tuple that is compared
_parts: Final[list[Callable[[], tuple[Any, ...]]]] = []


def register(part: Callable[[], tuple[Any, ...]]) -> None:
    """Add a function that says what of a frontend's settings calls depend on, as a tuple."""
    _parts.append(part)


def current() -> tuple[Any, ...]:
    """The settings as they are in this thread."""
    found: list[Any] = [grad_enabled(), settings.donates(), settings.reproducible()]
    for part in _parts:
        found.extend(part())
    return tuple(found)


class Generators:
    """How a frontend's sources of random numbers work.

    Args:
        cls: their class.
        key: of one, the key that its next draw is folded into, a Value.
        number: the number of its next draw.
        advance: let so many draws pass; the number of the first.
        shared: those that are in use where none is named.
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
    """How a source of random numbers works."""
    return next(kind for kind in _kinds if isinstance(generator, kind.cls))


def shared_generators() -> list[Any]:
    """The sources of random numbers that are in use where none is named."""
    return [g for kind in _kinds for g in kind.shared()]
