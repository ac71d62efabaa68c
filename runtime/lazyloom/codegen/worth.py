"""Profitability of regions, estimated, and a mode for tests in which all are worth a call."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from ..cache import memory
from ..interrupts import reraise_from_handler
from .answers import YES, Answer, No
from .generator import Generator, Region

_Answer = TypeVar("_Answer")

_everything = 0
#: for each thread, whether it asks as if nothing were too small
_asking: Final = threading.local()


def at_least(number: float, least: float, what: str) -> Answer:
    """Return YES if there is enough work for a generator's call, or why not, for predicates.

    ``at_least(work, 200_000, "multiplications")``. A no is deliberate: XLA is faster at small
    work. It is always yes within :func:`whatever_the_size`.
    """
    if number >= least or of_any_size():
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


def of_any_size() -> bool:
    """Return True while nothing is too small, nor too slow by estimate."""
    return bool(_everything) or getattr(_asking, "on", False)


def estimates(generator: Generator, region: Region) -> tuple[float | None, float | None]:
    """Return the seconds that a generator estimates for a region, and for XLA's code of its ops.

    None is for what it does not estimate, or fails to, and for what is no time.
    """
    return _estimated(generator.seconds, region), _estimated(generator.seconds_of_xla, region)


def _estimated(estimate: Callable[[Region], float | None], region: Region) -> float | None:
    try:
        given = estimate(region)
        seconds = math.nan if given is None else float(given)
        return seconds if seconds >= 0 else None
    except Exception as error:
        reraise_from_handler(error)
        return None


def at_any_size(question: Callable[[], _Answer]) -> _Answer:
    """Return the answer to a question as if nothing were too small."""
    _asking.on = True
    try:
        return question()
    finally:
        _asking.on = False


def key() -> str:
    """Return what distinguishes programs compiled within :func:`whatever_the_size` from others."""
    return " whatever the size" if _everything else ""
