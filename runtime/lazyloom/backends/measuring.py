"""Measuring regions beside the backend, and keeping what came of it on disk."""

from __future__ import annotations

from collections.abc import Sequence

from ..cache import memory
from ..codegen import verdicts
from ..interrupts import reraise_from_handler
from . import fingerprint
from .selection import backend

#: what verdicts on disk are found by, beside what changes machine code
_DESCRIPTION = b"verdicts"


def on_disk() -> bytes | None:
    """The verdicts that are kept for this machine and these versions, as they were packed."""
    return fingerprint.load("verdict", _DESCRIPTION)


def measure(candidates: Sequence[verdicts.Candidate]) -> None:
    """Measure regions, and divide programs by that from now on.

    One that cannot be measured stays as it was.
    """
    found = {}
    for generator, region, estimated in candidates:
        try:
            pairs = backend().timed(generator, region)
        except Exception as error:
            reraise_from_handler(error)
            continue
        found[verdicts.signature(generator, region)] = verdicts.verdict(
            generator, region, pairs, estimated)
    if found:
        fingerprint.store("verdict", _DESCRIPTION, verdicts.add(found).packed().encode())
        memory.clear()
