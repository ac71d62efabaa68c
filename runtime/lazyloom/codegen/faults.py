"""Failures of code generators, each reported once."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Sequence
from typing import Final, NamedTuple

from ..counters import counters
from ..interrupts import reraise_from_handler
from ..program.regions import ProgramRegion

#: the newest that are remembered in words
KEPT: Final = 256


class Failure(NamedTuple):
    """What a generator failed at.

    Attributes:
        generator: its name; for "compile" the names of all that have regions of the program.
        region: the key of the region's program; "" where there is none yet.
        ops: the region's ops, or those that were asked about.
        when: "import"; "ask", for a question about ops or a region; "bind", for constants of a
            region that goes on without; "compile", where XLA compiles a program without its
            regions and not with them; else "build", "load", "run" or "verify".
        error: what went wrong, in words.
    """

    generator: str
    region: str
    ops: tuple[str, ...]
    when: str
    error: str


_failures: Final[dict[tuple[str, str], Failure]] = {}
#: a signal's handler that computes arrays may get here while it is held
_lock: Final = threading.RLock()


def told(error: BaseException) -> str:
    """An error of a generator's in words, whatever its own text does."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception as again:
        reraise_from_handler(again)
        return type(error).__name__


def not_compiled(program: str, regions: Sequence[ProgramRegion], why: str) -> Failure:
    """That XLA compiles the program of a key without its regions, and not with them."""
    names = sorted({region.generator for region in regions})
    return Failure(", ".join(names), program, tuple(op for r in regions for op in r.ops),
                   "compile", why)


def failed(found: Failure, question: str = "") -> bool:
    """Keep a failure, and warn where it is the first; whether it is.

    That is the first of the region, or of the question, of the generator.
    """
    key = (found.generator, question or found.region)
    with _lock:
        known = key in _failures
        _failures.setdefault(key, found)
    if known:
        return False
    counters["regions_failed"] += 1
    ops = ", ".join(found.ops[:6]) + (", ..." if len(found.ops) > 6 else "")
    if found.when == "ask":
        about = f" about {ops}" if ops else ""
        text = (f"the code generator {found.generator!r} failed when it was asked{about}, which "
                f"counts as no: {found.error}")
    elif found.when == "import":
        text = f"the code generator {found.generator!r} cannot be used: {found.error}"
    elif found.when == "compile":
        text = (f"XLA cannot compile a program with what the code generator {found.generator!r} "
                f"does of it ({ops}), and compiled it without: {found.error}")
    elif found.when == "verify":
        text = (
            f"the code generator {found.generator!r} gave something else than XLA for a region of "
            f"{len(found.ops)} op{'s' if len(found.ops) > 1 else ''} ({ops}), which runs without "
            f"it: {found.error}")
    else:
        what = "bind the constants of" if found.when == "bind" else found.when
        text = (
            f"the code generator {found.generator!r} failed to {what} a region of "
            f"{len(found.ops)} op{'s' if len(found.ops) > 1 else ''} ({ops}), which runs without "
            f"it: {found.error}")
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
