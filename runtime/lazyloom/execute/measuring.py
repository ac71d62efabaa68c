"""Measurement of regions against the backend's own code, kept on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from ..backends import fingerprint
from ..backends.selection import backend
from ..cache import memory
from ..codegen import verdicts
from ..interrupts import reraise_from_handler

#: what verdicts on disk are found by, beside what changes machine code
_DESCRIPTION: Final = b"verdicts"
#: how often a verdict is tried in programs that neither confirm nor refute it
TRIALS: Final = 2


def on_disk() -> bytes | None:
    """The verdicts that are kept for this machine and these versions, as they were packed."""
    return fingerprint.load("verdict", _DESCRIPTION)


def measure(asked: Iterable[verdicts.Candidate]) -> None:
    """Measure regions, and divide programs by that from now on.

    One that cannot be measured stays as it was.
    """
    found = {}
    for candidate in asked:
        one = measured(candidate)
        if one is not None:
            found[verdicts.signature(candidate.generator, candidate.region)] = one
    if found:
        adopt(verdicts.joined(found))
        memory.clear()


def measured(
    candidate: verdicts.Candidate, ends: Callable[[], bool] | None = None
) -> verdicts.Verdict | None:
    """The verdict of a region; None for one that cannot be measured.

    Once ``ends()`` it is given up, between two runs.
    """
    generator, region, estimated = candidate
    try:
        pairs = backend().timed(generator, region) if ends is None else (
            backend().timed(generator, region, ends))
    except Exception as error:
        reraise_from_handler(error)
        return None
    return verdicts.verdict(generator, region, pairs, estimated)


def adopt(whole: verdicts.Verdicts) -> None:
    """Divide programs by verdicts from now on, and keep them on disk."""
    verdicts.adopt(whole)
    keep(whole)


def keep(whole: verdicts.Verdicts) -> None:
    """Keep verdicts on disk for later processes."""
    fingerprint.store("verdict", _DESCRIPTION, whole.packed().encode())


def supposed(found: Mapping[str, verdicts.Verdict]) -> verdicts.Verdicts:
    """What is known with verdicts that were measured beside programs, which decide nothing yet."""
    return verdicts.joined({s: v._replace(supposed=TRIALS) for s, v in found.items()})
