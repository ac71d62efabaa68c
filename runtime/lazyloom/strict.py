"""Strict modes: occurrences that an option turns into warnings or errors, and that tests count.

:data:`lazyloom.settings.STRICT` says what each mode is about. What meets an occurrence asks
:data:`~lazyloom.settings.watching` first, one flag, which is False until a program uses a mode or
counts: :func:`asked` then says whether somebody wants to know, and :func:`occurred` tells them.
"""

from __future__ import annotations

import warnings
from typing import Any, Final, NamedTuple, Protocol

from . import settings
from .errors import (
    FallbackError,
    LoomError,
    NaNError,
    NewProgramError,
    PerformanceWarning,
    ReadForbiddenError,
    TransferError,
)

_ERRORS: Final[dict[str, type[LoomError]]] = {
    "reads": ReadForbiddenError, "compiles": NewProgramError, "transfers": TransferError,
    "fallbacks": FallbackError, "nan": NaNError,
}
#: programs are counted where they run, and NaNs only watched where a thread asks for it
_NOT_COUNTED: Final = ("compiles", "nan")


class Occurrence(NamedTuple):
    """Something that a strict mode is about, or a run of a program.

    Attributes:
        line: the user's ``file:line``.
        reason: what it was, and why it came to that.
    """

    line: str
    reason: str


class Counter(Protocol):
    """What is told of the occurrences of the process, whatever the modes."""

    def occurred(self, kind: str, occurrence: Occurrence) -> None:
        """Take one that a mode of that name is about, other than "compiles" and "nan"."""
        ...

    def ran(self, structure: Any, occurrence: Occurrence, new: bool) -> None:
        """Take a run of a program.

        Args:
            structure: the program's, or None if one for many extents ran padded in its place.
            new: the process had not run it in any form, or compiled it again for this run.
        """
        ...


#: those who count, a list that is replaced when one comes or goes
counters: Final[list[list[Any]]] = [[]]


def count(counter: Counter) -> None:
    """Tell a counter of all that occurs from now on, in any thread."""
    settings.watching[0] = True
    counters[0] = [*counters[0], counter]


def count_no_longer(counter: Counter) -> None:
    """Tell a counter of nothing any more."""
    counters[0] = [c for c in counters[0] if c is not counter]


def asked(kind: str) -> bool:
    """Whether this thread's mode of that name is other than "allow", or somebody counts.

    Programs are counted where they run (:func:`ran`), whichever are new, and NaNs are not.
    """
    if not settings.watching[0]:
        return False
    if counters[0] and kind not in _NOT_COUNTED:
        return True
    return bool(settings.get_option(kind) != "allow")


def ran(structure: Any, site: Any, reason: str, new: bool) -> None:
    """Tell those who count of a run."""
    for counter in counters[0]:
        counter.ran(structure, Occurrence(str(site), reason), new)


def occurred(kind: str, site: Any, what: str, advice: str, op: str | None = None) -> None:
    """Count an occurrence, and warn or raise if this thread's mode says so.

    Args:
        kind: the name of the mode.
        site: the user's place, a :class:`~lazyloom.trace.source.Site`.
        what: what occurred, a sentence without its place.
        advice: what to do instead.
        op: the op that it is about, if there is one.

    Raises:
        ReadForbiddenError, NewProgramError, TransferError, FallbackError, NaNError: the mode is
            "error".
        PerformanceWarning: it is "warn", and filters make errors of warnings.
    """
    if kind not in _NOT_COUNTED:
        for counter in counters[0]:
            counter.occurred(kind, Occurrence(str(site), what))
    mode = settings.get_option(kind)
    if mode == "allow":
        return
    met = settings.occurrences()
    warmup: int = settings.get_option("warmup")
    if warmup:
        number = met.met.get(kind, 0)
        if number < warmup:
            met.met[kind] = number + 1
            return
    if mode == "error":
        raise _ERRORS[kind](
            f"{what} at {site} while options({kind}=\"error\") is in force; {advice}",
            op=op, site=str(site))
    _warn(kind, site, f"{what} at {site}; {advice}", met)


def _warn(kind: str, site: Any, text: str, met: settings.Occurrences) -> None:
    """Warn at the user's line, once for each."""
    if met.filters is not warnings.filters:
        met.filters = warnings.filters
        met.told = set()
    key = (kind, str(site))
    if key in met.told:
        return
    warnings.warn_explicit(text, PerformanceWarning, site.file, max(site.line, 1))
    met.told.add(key)
