"""Failures of code generators, each reported once."""

from __future__ import annotations

import contextlib
import importlib
import os
import threading
import warnings
from collections.abc import Sequence
from typing import Final, NamedTuple

from .. import logs
from ..counters import counters
from ..interrupts import reraise_from_handler
from ..program.regions import ProgramRegion

#: how many of the newest failures are listed
KEPT: Final = 256


class Failure(NamedTuple):
    """A failure of a generator.

    Attributes:
        generator: its name; for "compile" the names of all that have regions of the program.
        region: the key of the region's program; "" where there is none yet.
        ops: the region's ops, or those that it was asked about.
        when: "import"; "ask", for a question about ops or a region; "bind", for constants of a
            region that continues without them; "compile", where XLA compiles a program without its
            regions but not with them; "serialize" or "restore", for an engine's bytes, without
            which it is built again; else "build", "load", "run" or "verify".
        error: the error, in words.
        place: the line of the generator's file that raised it, as "file.py:12"; "" if none did.
        traceback: the traceback from the generator's first function on; "" if none raised it.
    """

    generator: str
    region: str
    ops: tuple[str, ...]
    when: str
    error: str
    place: str = ""
    traceback: str = ""


#: what follows from failures of some kinds, for the warning; XLA computes the region after others
_CONSEQUENCES: Final = {
    "bind": "which runs without them, as it was built",
    "build": "which is left to XLA but for the parts of it that can be built",
    "load": "which is left to XLA but for the parts of it that can be built",
    "serialize": "which the next process builds again",
    "restore": "which is built again",
    "run": "which host kernels compute in this call; later programs leave the region to XLA",
}
_ACTIONS: Final = {
    "bind": "bind the constants of", "serialize": "serialise the engine of",
    "restore": "restore the engine of",
}
#: files of which frames say nothing about a generator: ours, and those that import its module
_OURS: Final = (os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep,
               os.path.dirname(importlib.__file__) + os.sep, "<frozen importlib")
_failures: Final[dict[tuple[str, str], Failure]] = {}
#: single ops and groups that could not be built, by generator and a key of theirs
_alone: Final[set[tuple[str, str]]] = set()
#: a signal handler that computes arrays may get here while it is held
_lock: Final = threading.RLock()


def told(error: BaseException) -> str:
    """Return a generator's error in words, even if its own text cannot be made."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception as again:
        reraise_from_handler(again)
        return type(error).__name__


def raised(
    generator: str, region: str, ops: tuple[str, ...], when: str, error: BaseException,
    asked: str = "",
) -> Failure:  # fmt: skip
    """Return the failure that a generator's function raised an error, ``asked`` for something."""
    import traceback  # nothing has failed when the package is imported

    frames = traceback.extract_tb(error.__traceback__)
    first = next((k for k, f in enumerate(frames) if not f.filename.startswith(_OURS)), None)
    place = text = ""
    if first is not None:
        frames = traceback.StackSummary.from_list(frames[first:])
        mine = [f for f in frames if f.filename == frames[0].filename]
        place = f"{os.path.basename(mine[-1].filename)}:{mine[-1].lineno}"
        text = "".join(frames.format())
    return Failure(generator, region, ops, when, asked + told(error), place, text)


def not_compiled(program: str, regions: Sequence[ProgramRegion], why: str) -> Failure:
    """Return the failure that XLA compiles a program only without its regions."""
    names = sorted({region.generator for region in regions})
    return Failure(", ".join(names), program, tuple(op for r in regions for op in r.ops),
                   "compile", why)


def failed(failure: Failure, question: str = "") -> bool:
    """Record a failure; if it is the first, warn and return True.

    It is compared with failures of the same generator at the same region or question.
    """
    key = (failure.generator, question or failure.region)
    with _lock:
        seen_before = key in _failures
        part = _is_part(failure)
        _failures.setdefault(key, failure)
    if seen_before:
        return False
    counters["regions_failed"] += 1
    ops = ", ".join(failure.ops[:6]) + (", ..." if len(failure.ops) > 6 else "")
    if failure.when == "ask":
        about = f" about {ops}" if ops else ""
        text = (f"the code generator {failure.generator!r} failed when it was asked{about}, which "
                f"counts as no: {failure.error}")
    elif failure.when == "import":
        text = f"the code generator {failure.generator!r} cannot be used: {failure.error}"
    elif failure.when == "compile":
        text = (f"XLA cannot compile a program with what the code generator {failure.generator!r} "
                f"does of it ({ops}), and compiled it without: {failure.error}")
    elif failure.when == "verify":
        text = (
            f"the code generator {failure.generator!r} gave something else than XLA for a region "
            f"of {len(failure.ops)} op{'s' if len(failure.ops) > 1 else ''} ({ops}), which runs "
            f"without it: {failure.error}")
    else:
        action = _ACTIONS.get(failure.when, failure.when)
        consequence = _CONSEQUENCES.get(failure.when, "which is left to XLA")
        if len(failure.ops) == 1 and failure.when in ("build", "load"):
            consequence = "which is left to XLA"
        text = (
            f"the code generator {failure.generator!r} failed to {action} a region of "
            f"{len(failure.ops)} op{'s' if len(failure.ops) > 1 else ''} ({ops}), {consequence}: "
            f"{failure.error}")
    if failure.place:
        text += f" (at {failure.place})"
    if logs.hears("codegen", logs.INFO):
        logs.say("codegen", logs.INFO, text)
    if part:
        return True
    # where warnings are errors, this one would replace the value that exists
    with contextlib.suppress(RuntimeWarning):
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    return True


def _is_part(failure: Failure) -> bool:
    """Return True for several ops of a region that could not be built for the same reason.

    Of a region whose halves are tried, the whole and the single op are worth a warning.
    """
    return failure.when in ("build", "load") and len(failure.ops) > 1 and any(
        f.generator == failure.generator and f.error == failure.error
        and f.when == failure.when and len(f.ops) > len(failure.ops) for f in _failures.values())


def not_alone(generator: str, key: str) -> None:
    """Remember that a generator cannot build an op, or a group, by itself."""
    with _lock:
        _alone.add((generator, key))


def unbuilt() -> set[tuple[str, str]]:
    """Return the regions that could not be built, as (generator, key of the region's program), and
    the single ops and groups."""
    with _lock:
        return {key for key, f in _failures.items() if f.when in ("build", "load")} | _alone


def refused() -> set[tuple[str, str]]:
    """Return the regions not to be built, as (generator, key of the region's program)."""
    with _lock:
        return set(_failures)


def why(generator: str, region: str) -> str:
    """Return the error of a generator at a region, "" if it had none."""
    with _lock:
        failure = _failures.get((generator, region))
    return "" if failure is None else failure.error


def failures() -> list[Failure]:
    """Return the failures of generators in this process, oldest first."""
    with _lock:
        return list(_failures.values())[-KEPT:]


def forget() -> None:
    """Forget all failures, so that generators try again."""
    with _lock:
        _failures.clear()
        _alone.clear()
