"""What generators failed at: regions that are XLA's from then on, each told of once."""

from __future__ import annotations

import contextlib
import threading
import warnings
from typing import Final, NamedTuple

from ..counters import counters

#: the newest that are remembered in words
KEPT: Final = 256


class Failure(NamedTuple):
    """A region that a generator failed at.

    Attributes:
        generator: its name.
        region: the key of the region's program.
        ops: the region's ops.
        when: "build", "load" or "run".
        error: what went wrong, in words.
    """

    generator: str
    region: str
    ops: tuple[str, ...]
    when: str
    error: str


_failures: Final[dict[tuple[str, str], Failure]] = {}
_lock: Final = threading.Lock()


def failed(found: Failure) -> bool:
    """Keep a failure, and warn where it is the region's first; whether it is."""
    key = (found.generator, found.region)
    with _lock:
        known = key in _failures
        _failures.setdefault(key, found)
    if known:
        return False
    counters["regions_failed"] += 1
    ops = ", ".join(found.ops[:6]) + (", ..." if len(found.ops) > 6 else "")
    text = (
        f"the code generator {found.generator!r} failed to {found.when} a region of "
        f"{len(found.ops)} op{'s' if len(found.ops) > 1 else ''} ({ops}), which runs without it: "
        f"{found.error}")
    # where warnings are errors, this one would take the place of the value that is there
    with contextlib.suppress(RuntimeWarning):
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    return True


def refused() -> set[tuple[str, str]]:
    """The regions that are not to be made, as (generator, key of the region's program)."""
    with _lock:
        return set(_failures)


def failures() -> list[Failure]:
    """What generators failed at in this process, oldest first."""
    with _lock:
        return list(_failures.values())[-KEPT:]


def forget() -> None:
    """Let generators try again what they failed at."""
    with _lock:
        _failures.clear()
