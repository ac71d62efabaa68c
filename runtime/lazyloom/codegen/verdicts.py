"""Measured verdicts on regions, in place of estimates.

A verdict is found by its region's signature. All of them are one entry of the disk cache, found
where machine, threads and versions are those that it was measured with; a process reads it once,
and what other processes measure meanwhile it learns when it measures itself. So a program that it
compiles again is divided as before.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..counters import counters
from ..hooks import hooks
from ..program.program import Instruction, Structure
from . import registry
from .generator import Generator, Region

#: how far medians have to be apart to decide
MARGIN: Final = 1.05
#: the part of the pairs that has to say the same
AGREEING: Final = 0.75
#: the newest that are kept
KEPT: Final = 10_000


class Verdict(NamedTuple):
    """What was measured of a region.

    Attributes:
        generator: the name of its generator.
        calls: what each of its ops is found by (:func:`call_key`), one of each.
        seconds, of_xla: the medians of runs of the region, and of XLA's code for its ops.
        runs: how many there were of each, by turns.
        clear: one was quicker than the other by more than noise.
        estimated: whether the generator takes the region to be worth it.
    """

    generator: str
    calls: tuple[str, ...]
    seconds: float
    of_xla: float
    runs: int
    clear: bool
    estimated: bool

    @property
    def overrules(self) -> bool:
        """Whether the region is made though it was not estimated to be worth it, or not made."""
        return self.clear and (self.seconds < self.of_xla) != self.estimated

    def text(self) -> str:
        """For reports: "measured 12 us, XLA 30 us"."""
        return f"measured {_time(self.seconds)}, XLA {_time(self.of_xla)}"


class Candidate(NamedTuple):
    """A region that can be measured.

    Attributes:
        generator: what runs it.
        region: it as a program of its own.
        estimated: whether the generator takes it to be worth it.
    """

    generator: Generator
    region: Region
    estimated: bool


def _time(seconds: float) -> str:
    return f"{1e6 * seconds:.0f} us" if seconds < 1e-3 else f"{1e3 * seconds:.3g} ms"


def verdict(
    generator: Generator, region: Region, pairs: Sequence[tuple[float, float]], estimated: bool
) -> Verdict:
    """The verdict of runs of a region and of XLA, by turns: of each pair the seconds."""
    mine, xla = (statistics.median(times) for times in zip(*pairs, strict=True))
    quicker = sum(a < b for a, b in pairs) / len(pairs)
    if xla >= mine:
        clear = xla > MARGIN * mine and quicker >= AGREEING
    else:
        clear = mine > MARGIN * xla and quicker <= 1 - AGREEING
    calls = sorted({call_key(i) for i in region.program.structure.instructions})
    return Verdict(generator.name, tuple(calls), mine, xla, len(pairs), clear, estimated)


def signature(generator: Generator, region: Region) -> str:
    """What a verdict is found by: the generator with its version, and the region."""
    text = f"{generator.name}\n{registry.identity(generator)}\n{region.program.key}\n"
    return _hash(f"{text}{region.composites}")


def call_key(i: Instruction) -> str:
    """What an op with attributes and types is found by; equal for equal calls."""
    types = [None if t is None else t.text for t in (*i.operand_types, *i.types)]
    return _hash(f"{i.spec.op.name} {list(i.spec.attrs)} {i.spec.bits!r} {types}")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


class Verdicts:
    """Some verdicts, by signature. Nothing of it changes."""

    __slots__ = ("found", "_quicker", "_overruling")

    def __init__(self, found: Mapping[str, Verdict]) -> None:
        self.found: Final = dict(found)
        self._overruling: Final = {s: v for s, v in found.items() if v.overrules}
        #: of ops that are worth it after all, if they are a region by themselves
        self._quicker: Final = {
            (v.generator, v.calls[0]) for v in self._overruling.values()
            if not v.estimated and len(v.calls) == 1}

    def of(self, generator: Generator, region: Region) -> Verdict | None:
        """The verdict of a region, if it was measured."""
        return self.found.get(signature(generator, region)) if self.found else None

    def tries(self, generator: Generator, i: Instruction) -> bool:
        """Whether an op may be worth it that its generator takes to be too small."""
        return bool(self._quicker) and (generator.name, call_key(i)) in self._quicker

    def key(self, structure: Structure, generators: Iterable[str]) -> str:
        """What tells a program from one that is divided by estimates; "" where none is.

        It names the verdicts that overrule an estimate and have all their ops in the program.
        """
        names = set(generators)
        if not any(v.generator in names for v in self._overruling.values()):
            return ""
        calls = {call_key(i) for i in structure.instructions}
        return " ".join(sorted(
            f"{s}{'+' if not v.estimated else '-'}" for s, v in self._overruling.items()
            if v.generator in names and calls.issuperset(v.calls)))

    def packed(self) -> str:
        """As :func:`unpacked` takes it; the newest of too many."""
        return json.dumps(list(self.found.items())[-KEPT:])


NONE: Final = Verdicts({})


def unpacked(text: str | bytes) -> Verdicts:
    """From JSON. Raises ValueError, TypeError."""
    return Verdicts({str(s): _checked(fields) for s, fields in json.loads(text)})


def _checked(fields: Any) -> Verdict:
    generator, calls, seconds, of_xla, runs, clear, estimated = fields
    return Verdict(str(generator), tuple(map(str, calls)), float(seconds), float(of_xla), int(runs),
                   bool(clear), bool(estimated))


_current: Verdicts | None = None
#: a signal's handler that computes arrays may get here while it is held
_lock: Final = threading.RLock()


def current() -> Verdicts:
    """Those that programs of this process are divided by: at first what is on disk."""
    global _current
    if _current is None:
        with _lock:
            if _current is None:
                _current = _on_disk()
    return _current


def _on_disk() -> Verdicts:
    data = hooks.verdicts()
    if data is None:
        return NONE
    try:
        return unpacked(data)
    except (ValueError, TypeError):
        counters["disk_errors"] += 1
        return NONE


def joined(found: Mapping[str, Verdict]) -> Verdicts:
    """Some verdicts with those of this process and those that are on disk by now."""
    return Verdicts({**current().found, **_on_disk().found, **found})


def adopt(found: Verdicts | None) -> None:
    """Divide programs by some verdicts from now on; None for those on disk."""
    global _current
    _current = found
