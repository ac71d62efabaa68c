"""Measurement of regions against the backend's own code, kept on disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..backends import fingerprint
from ..backends.backend import Request
from ..backends.selection import backend
from ..cache import disk, memory
from ..codegen import registry, verdicts
from ..codegen.report import candidates
from ..interrupts import reraise_from_handler
from ..program.program import Program

#: what verdicts on disk are found by, beside what changes machine code
_DESCRIPTION: Final = b"verdicts"
#: has regions measured while programs run, and how often a program runs before that
VARIABLE: Final = "LAZYLOOM_CODEGEN_MEASURE"
AFTER: Final = 20
#: the signatures of what this process has measured beside programs
_tried: Final[set[str]] = set()


def on_disk() -> bytes | None:
    """The verdicts that are kept for this machine and these versions, as they were packed."""
    return fingerprint.load("verdict", _DESCRIPTION)


def measure(asked: Iterable[verdicts.Candidate]) -> None:
    """Measure regions, and divide programs by that from now on.

    One that cannot be measured stays as it was.
    """
    found = _measured(asked)
    if found:
        verdicts.adopt(_kept(found))
        memory.clear()


def _measured(asked: Iterable[verdicts.Candidate]) -> dict[str, verdicts.Verdict]:
    found = {}
    for generator, region, estimated in asked:
        try:
            pairs = backend().timed(generator, region)
        except Exception as error:
            reraise_from_handler(error)
            continue
        found[verdicts.signature(generator, region)] = verdicts.verdict(
            generator, region, pairs, estimated)
    return found


def _kept(found: Mapping[str, verdicts.Verdict]) -> verdicts.Verdicts:
    """Verdicts with those that are known and on disk by now; they are kept there."""
    whole = verdicts.joined(found)
    fingerprint.store("verdict", _DESCRIPTION, whole.packed().encode())
    return whole


def watch(program: Any, request: Request) -> None:
    """Have a program measure its regions for later processes, where the variable says so.

    Before each run from the one after :data:`AFTER` on it measures one of those that were not
    measured yet. What comes of it changes no program of this process.
    """
    if memory.on(VARIABLE) and disk.enabled() and request.generators and not (
        request.verify or request.segmented
    ):
        program.further = _Watch(program, request)


class _Watch:
    """What a program calls before its runs (:attr:`.backend.Executable.further`)."""

    __slots__ = ("program", "request", "further", "runs", "left")

    def __init__(self, program: Any, request: Request) -> None:
        self.program: Final = program
        self.request: Final = request
        self.further: Final = program.further
        self.runs = 0
        self.left: list[verdicts.Candidate] | None = None

    def __call__(self, arguments: list[Any], private: list[bool] | None) -> list[Any]:
        self.runs += 1
        if self.runs > AFTER and not self._measured_one(arguments):
            self.program.further = self.further
        return [] if self.further is None else self.further(arguments, private)

    def _measured_one(self, arguments: list[Any]) -> bool:
        """Whether there was something to measure."""
        if self.left is None:
            whole = Program(self.request.structure, self.request.outputs, [])
            known = verdicts.joined({}).found
            self.left = [c for c in candidates(
                whole, registry.generators(self.request.generators))
                if verdicts.signature(c.generator, c.region) not in known]
        for array in arguments:
            # runs before this one
            backend().wait(array)
        while self.left:
            one = self.left.pop()
            name = verdicts.signature(one.generator, one.region)
            if name not in _tried:
                _tried.add(name)
                found = _measured([one])
                if found:
                    _kept(found)
                return True
        return False
