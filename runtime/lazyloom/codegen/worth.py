"""Profitability of regions, and a mode for tests in which every region is worth a call."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Final

from ..cache import memory
from .answers import YES, Answer, No

_everything = 0
#: for each thread, whether it asks as if nothing were too small
_asking: Final = threading.local()


def at_least(number: float, least: float, what: str) -> Answer:
    """Return YES if there is enough work for a generator's call, or why not, for predicates.

    ``at_least(work, 200_000, "multiplications")``. A no is deliberate: XLA is faster at small
    work. It is always yes within :func:`whatever_the_size`.
    """
    if number >= least or _everything or getattr(_asking, "on", False):
        return YES
    return No(f"{number} {what}, expected {least} or more to be worth a call", deliberate=True)


def if_measured(reason: str) -> Answer:
    """Return a deliberate no, which a measurement may overrule as that of :func:`at_least`.

    For ops that a generator can do, and XLA does quicker as far as is known.
    """
    return YES if getattr(_asking, "on", False) else No(reason, deliberate=True)


@contextlib.contextmanager
def whatever_the_size() -> Iterator[None]:
    """Within a ``with`` block, nothing is too small for a generator that uses :func:`at_least`.

    It is for tests, whose samples are small, and applies to the process, not to a thread. Programs
    in memory are forgotten at both ends; with ``reproducible=True`` all that run within are
    compiled again.
    """
    global _everything
    _everything += 1
    memory.clear()
    try:
        yield
    finally:
        _everything -= 1
        memory.clear()


def at_any_size(question: Callable[[], Answer]) -> Answer:
    """Return the answer to a question as if nothing were too small."""
    _asking.on = True
    try:
        return question()
    finally:
        _asking.on = False


def key() -> str:
    """Return what distinguishes programs compiled within :func:`whatever_the_size` from others."""
    return " whatever the size" if _everything else ""
