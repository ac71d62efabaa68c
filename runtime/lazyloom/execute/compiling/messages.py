"""Messages and counts of compilations that block the program."""

from __future__ import annotations

import threading
import time
from typing import Final

from ... import settings
from ...cache import disk
from ...counters import counters
from ...interrupts import start
from ...program.evaluations import Evaluation
from ...program.program import Structure

#: seconds after which a program that waits for its compiler says so
AFTER: Final = 2.0
#: set to 0, nothing is said
VARIABLE: Final = "LAZYLOOM_COMPILE_MESSAGES"


class told:  # noqa: N801 - used as a function
    """A ``with`` block in which the program waits for a compiler; said once if it takes long.

    ``watched``: its regions are verified or timed.
    """

    __slots__ = ("_structure", "_evaluation", "_watched", "_timer", "_started")

    def __init__(
        self, structure: Structure, evaluation: Evaluation, watched: bool = False
    ) -> None:
        self._structure = structure
        self._evaluation = evaluation
        self._watched = watched
        self._timer: threading.Timer | None = None
        self._started = 0.0

    def __enter__(self) -> None:
        self._started = time.perf_counter()
        if settings.says_messages(VARIABLE):
            timer = threading.Timer(
                AFTER, say,
                # an option of the thread that waits
                (self._structure, self._evaluation, self._watched, settings.reproducible()))
            timer.daemon, timer.name = True, "lazyloom-message"
            try:
                start(timer)
            except BaseException:
                timer.cancel()
                raise
            self._timer = timer

    def __exit__(self, *exc: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        counters["compile_wait_us"] += int((time.perf_counter() - self._started) * 1e6)


def say(
    structure: Structure, evaluation: Evaluation, watched: bool = False, reproducible: bool = True
) -> None:
    """Tell what is being compiled, and why the program waits for it."""
    names = sorted({i.spec.op.name for i in structure.instructions})
    ops = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
    kept = ("it is kept on disk for the next run" if disk.enabled() else
            "the next run compiles it again, as LAZYLOOM_CACHE=0 keeps nothing on disk")
    if watched:
        why = ("programs are compiled before they run, and not kept, as their regions are verified "
               "or timed")
    elif reproducible:
        why = f"{kept}. Without options(reproducible=True) programs run op by op meanwhile"
    else:
        why = f"{kept}. Op by op the run was estimated to take longer, or cannot be done"
    settings.tell(
        f"lazyloom: compiling a program of {len(structure.instructions)} ops ({ops}) for the "
        f"{evaluation.reason} at {evaluation.site} has taken {AFTER:.0f} s and goes on; {why}. "
        f"{VARIABLE}=0 silences this.", VARIABLE)
