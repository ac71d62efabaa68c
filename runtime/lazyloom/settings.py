"""Options a program can set for a while."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, Final

from .errors import ArgumentError

_DEFAULTS: Final[dict[str, bool]] = {"donate": True, "forbid_reads": False}
_local = threading.local()
#: one flag: whether any thread has ever set an option; until then nobody has to be asked
_ever_set: Final[list[bool]] = [False]


def get_option(name: str) -> bool:
    """An option's value in this thread. Raises ArgumentError for a name that is none."""
    current: dict[str, bool] = getattr(_local, "options", None) or _DEFAULTS
    if name not in current:
        raise ArgumentError(
            f"option {name!r} is not known, expected one of {', '.join(_DEFAULTS)}")
    return current[name]


def donates() -> bool:
    """The option ``donate`` of this thread; asked at every write in place."""
    return not _ever_set[0] or get_option("donate")


def set_option(name: str, value: Any) -> bool:
    """Set an option for this thread; returns its former value. Raises ArgumentError."""
    before = get_option(name)
    if not isinstance(value, bool):
        raise ArgumentError(f"option {name!r} is {value!r}, expected True or False")
    _ever_set[0] = True
    _local.options = {**(getattr(_local, "options", None) or _DEFAULTS), name: value}
    return before


@contextlib.contextmanager
def options(**changes: Any) -> Iterator[None]:
    """Set options for this thread inside a ``with`` block.

    Args:
        donate: False keeps programs from reusing the memory of their inputs, and tensors from
            letting go of what is written over in place before the new contents are known to be
            good, so that a failed run loses nothing; costs memory, and every run is waited for.
        forbid_reads: True makes every read of a value an error (ReadForbiddenError), to find
            where a program reads.
    """
    before: dict[str, bool] = {}
    try:
        for name, value in changes.items():
            before[name] = set_option(name, value)
        yield
    finally:
        for name, value in before.items():
            set_option(name, value)
