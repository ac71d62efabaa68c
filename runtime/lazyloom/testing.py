"""Assertions on what a program does: how many programs are new, how many run, what is read.

``lazyloom_pytest`` makes a marker and a fixture of pytest of them; ``docs/strict.md`` tells of
both.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final

from . import strict
from .errors import ArgumentError
from .strict import Occurrence

#: what can be counted: how many of one, and of several, are called
KINDS: Final[dict[str, tuple[str, str]]] = {
    "compiles": ("new program", "new programs"),
    "programs": ("run of a program", "runs of programs"),
    "reads": ("read", "reads"),
    "transfers": ("transfer", "transfers"),
    "fallbacks": ("fallback", "fallbacks"),
}


class Counts:
    """What occurred while it counted, in all threads of the process.

    Attributes:
        compiles: the runs of programs that were new; see :func:`assert_compiles`.
        programs: all runs of programs.
        reads, transfers, fallbacks: as ``docs/options.md`` defines them.

    Each is a list of occurrences, oldest first, with ``line``, the user's ``file:line``, and
    ``reason``.
    """

    def __init__(self, known: set[Any] | None = None) -> None:
        self.compiles: list[Occurrence] = []
        self.programs: list[Occurrence] = []
        self.reads: list[Occurrence] = []
        self.transfers: list[Occurrence] = []
        self.fallbacks: list[Occurrence] = []
        #: the structures that count as known, or None for those that the process has run
        self._known = known

    def occurred(self, kind: str, occurrence: Occurrence) -> None:
        getattr(self, kind).append(occurrence)

    def ran(self, structure: Any, occurrence: Occurrence, new: bool) -> None:
        self.programs.append(occurrence)
        if self._known is not None and structure is not None and structure not in self._known:
            self._known.add(structure)
            new = True
        if new:
            self.compiles.append(occurrence)

    def text(self, kind: str) -> str:
        """Return what was counted of a kind, a line for each."""
        found: list[Occurrence] = getattr(self, kind)
        return "\n".join(f"  {number}. {occurrence.line}: {occurrence.reason}"
                         for number, occurrence in enumerate(found, 1))

    def check(self, kind: str, expected: int) -> None:
        """Raise AssertionError, with the lines and reasons, unless there were so many of a kind.

        Raises ArgumentError for a kind that is none, and for a number that is negative or none.
        """
        _checked(kind, expected)
        count = len(getattr(self, kind))
        if count != expected:
            one, several = KINDS[kind]
            text = f"{count} {one if count == 1 else several}, expected {expected}"
            raise AssertionError(f"{text}:\n{self.text(kind)}" if count else text)


#: the counts of the test that runs, where each test begins as a fresh process does
_tests: Final[list[Counts]] = []


def _checked(kind: str, expected: Any) -> None:
    if kind not in KINDS:
        raise ArgumentError(f"{kind!r} is not counted, expected one of {', '.join(KINDS)}")
    if not isinstance(expected, int) or isinstance(expected, bool) or expected < 0:
        raise ArgumentError(f"{kind} is {expected!r}, expected a number of occurrences, 0 or more")


@contextlib.contextmanager
def counted(*, fresh: bool = False) -> Iterator[Counts]:
    """Count in a ``with`` block, which gets the :class:`Counts`.

    Args:
        fresh: programs that ran before the block count as new again, as in a process that begins
            with it. The marker and the fixture of pytest count so, and so do all counts in their
            tests, from the beginning of the test.
    """
    if fresh:
        known: set[Any] | None = set()
    else:
        of_test = _tests[-1]._known if _tests else None
        known = None if of_test is None else set(of_test)
    counts = Counts(known)
    strict.count(counts)
    if fresh:
        _tests.append(counts)
    try:
        yield counts
    finally:
        strict.count_no_longer(counts)
        if fresh:
            _tests.remove(counts)


@contextlib.contextmanager
def _asserted(kind: str, expected: int) -> Iterator[Counts]:
    _checked(kind, expected)
    with counted() as counts:
        yield counts
    counts.check(kind, expected)


def assert_compiles(expected: int) -> Any:
    """Assert, in a ``with`` block, how many programs are new.

    A program is new where the process has not run it in any form. So the number does not depend on
    what the disk cache has, nor on whether a program is compiled before it runs, later or never. A
    program that is compiled again, for a result that it did not return, counts once more; a
    program for many extents that serves another one does not.

    Args:
        expected: how many there are to be.

    Returns:
        the block; ``as`` gives the :class:`Counts`.

    Raises:
        AssertionError: there were others; it says at which lines, and what each program differs in.
        ArgumentError: ``expected`` is no number, or negative.
    """
    return _asserted("compiles", expected)


def assert_programs(expected: int) -> Any:
    """Assert how many programs run in a ``with`` block, as :func:`assert_compiles` does."""
    return _asserted("programs", expected)


def assert_reads(expected: int) -> Any:
    """Assert how many values the host reads in a ``with`` block, as :func:`assert_compiles`."""
    return _asserted("reads", expected)


def assert_transfers(expected: int) -> Any:
    """Assert how often data of more than one element go from the host to a tensor, or back."""
    return _asserted("transfers", expected)


def assert_fallbacks(expected: int) -> Any:
    """Assert how often something runs in another way than asked for (``docs/options.md``)."""
    return _asserted("fallbacks", expected)


__all__ = [
    "KINDS", "Counts", "Occurrence", "assert_compiles", "assert_fallbacks", "assert_programs",
    "assert_reads", "assert_transfers", "counted",
]
