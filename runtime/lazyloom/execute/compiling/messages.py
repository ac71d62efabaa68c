"""What is said and counted of compilations that block the program."""

from __future__ import annotations

import sys
import threading
import time
from typing import Final

from ... import logs, settings
from ...cache import disk
from ...counters import counters
from ...interrupts import start
from ...program.evaluations import Evaluation
from ...program.program import Structure

#: seconds after which a program that waits for its compiler says so (no constant)
AFTER = 2.0
#: seconds between two changes of the line on a terminal
EVERY: Final = 1.0


class told:  # noqa: N801 - used as a function
    """A ``with`` block in which the program waits for a compiler; said if it takes long.

    ``watched``: its regions are verified or timed.
    """

    __slots__ = ("_structure", "_evaluation", "_watched", "_over", "_thread", "_started")

    def __init__(
        self, structure: Structure, evaluation: Evaluation, watched: bool = False
    ) -> None:
        self._structure = structure
        self._evaluation = evaluation
        self._watched = watched
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._started = 0.0

    def __enter__(self) -> None:
        self._started = time.perf_counter()
        # options of the thread that waits
        progress = bool(settings.get_option("progress")) and _is_terminal()
        if progress or logs.hears("compile", logs.WARNING):
            thread = threading.Thread(
                target=self._watch, args=(settings.reproducible(), progress),
                name="lazyloom-message", daemon=True)
            try:
                start(thread)
            except BaseException:
                self._over.set()
                raise
            self._thread = thread

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        counters["compile_wait_us"] += int((time.perf_counter() - self._started) * 1e6)

    def _watch(self, reproducible: bool, progress: bool) -> None:
        if self._over.wait(AFTER):
            return
        say(self._structure, self._evaluation, self._watched, reproducible)
        if not progress:
            return
        what = f"compiling {len(self._structure.instructions)} ops for {self._evaluation.site}"
        while True:
            _show(f"lazyloom: {what}: {time.perf_counter() - self._started:.0f} s")
            if self._over.wait(EVERY):
                break
        _show("")


def _is_terminal() -> bool:
    try:
        return bool(sys.stderr.isatty())
    except (AttributeError, ValueError):
        return False  # no stderr


def _show(text: str) -> None:
    """Write a text over the terminal's line, which is left at its beginning."""
    try:
        sys.stderr.write(f"\r\x1b[K{text}" if text else "\r\x1b[K")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        pass  # no stderr


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
    logs.say(
        "compile", logs.WARNING,
        f"Lazyloom compiles a program of {len(structure.instructions)} ops ({ops}) for the "
        f"{evaluation.reason} at {evaluation.site}, which has taken {AFTER:.0f} s and goes on; "
        f"{why}. "
        "LAZYLOOM_LOG=0 silences this.")
