"""Measured verdicts on regions, in place of estimates.

A verdict is looked up by its region's signature. All of them are one entry of the disk cache, found
if machine, threads and versions are those that it was measured with; a process reads it once,
and learns what other processes measure meanwhile only when it measures itself.

What is measured beside programs is of a region by itself. Inside a program it may be otherwise: XLA
fuses an op with its neighbours, and the threads of both compete. So such a verdict is supposed at
first, and decides nothing, until a whole program has been run by turns with it and without.

Programs with ``reproducible=True`` are divided by estimates alone.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..counters import counters
from ..hooks import hooks
from ..interrupts import reraise_from_handler
from ..program.program import Instruction, Structure
from ..settings import reproducible
from . import registry
from .answers import Call
from .generator import Generator, Region

#: the ratio of medians from which on they decide; those of a class decide about other ops, too
MARGIN: Final = 1.05
MARGIN_OF_CLASS: Final = 1.1
#: what the key of an op begins with that is the name of its class
_CLASS: Final = "class "
#: the fraction of the pairs that must agree
AGREEING: Final = 0.75
#: how many of the newest verdicts are kept
KEPT: Final = 10_000


class Verdict(NamedTuple):
    """The measurement of a region.

    Attributes:
        generator: the name of its generator.
        calls: the key of each of its ops (:func:`call_key`), without repetition; of a region of one
            op that has a class the name of the class.
        seconds, of_xla: the medians of runs of the region, and of XLA's code for its ops.
        runs: how many alternating runs there were of each.
        clear: whether one was faster than the other by more than noise.
        estimated: whether the generator estimates the region to be worthwhile.
        supposed: how often it may be tried yet in a whole program, by which it decides nothing
            until one has confirmed it; 0 if it decides.
    """

    generator: str
    calls: tuple[str, ...]
    seconds: float
    of_xla: float
    runs: int
    clear: bool
    estimated: bool
    supposed: int = 0

    @property
    def overrules(self) -> bool:
        """True if it may reverse an estimate: the region is made although it was estimated not to
        be worthwhile, or vice versa. Of the ops of a class, some may be estimated otherwise."""
        return self.clear and not self.supposed and (
            bool(self.of_class) or self.quicker != self.estimated)

    @property
    def quicker(self) -> bool:
        """True if the region was quicker than XLA."""
        return self.seconds < self.of_xla

    @property
    def of_class(self) -> str:
        """The class of ops for which it holds, or "" if it is that of one region."""
        return self.calls[0].removeprefix(_CLASS) if self.calls[0].startswith(_CLASS) else ""

    def text(self) -> str:
        """Return a text for reports: "measured 12 us, XLA 30 us", and of which class, if of one."""
        of = f", as {self.of_class}" if self.of_class else ""
        return f"measured {in_time(self.seconds)}, XLA {in_time(self.of_xla)}{of}"


class Candidate(NamedTuple):
    """A region that can be measured.

    Attributes:
        generator: the code generator that runs it.
        region: it as a program of its own.
        estimated: whether the generator estimates it to be worthwhile.
    """

    generator: Generator
    region: Region
    estimated: bool


def in_time(seconds: float) -> str:
    """Return a time for reports: "12 us", "1.5 ms"."""
    return f"{1e6 * seconds:.0f} us" if seconds < 1e-3 else f"{1e3 * seconds:.3g} ms"


def verdict(
    generator: Generator, region: Region, pairs: Sequence[tuple[float, float]], estimated: bool
) -> Verdict:
    """Return the verdict of alternating runs of a region and of XLA, given the seconds of each
    pair."""
    mine, xla = (statistics.median(times) for times in zip(*pairs, strict=True))
    quicker = sum(a < b for a, b in pairs) / len(pairs)
    whole = class_key(generator, region)
    margin = MARGIN_OF_CLASS if whole else MARGIN
    if xla >= mine:
        clear = xla > margin * mine and quicker >= AGREEING
    else:
        clear = mine > margin * xla and quicker <= 1 - AGREEING
    calls = [whole] if whole else sorted(
        {call_key(i) for i in region.program.structure.instructions})
    return Verdict(generator.name, tuple(calls), mine, xla, len(pairs), clear, estimated)


def signature(generator: Generator, region: Region) -> str:
    """Return the key of a verdict: the generator with its version, and the region."""
    whole = class_key(generator, region)
    what = whole or f"{region.program.key}\n{region.composites}"
    return _hash(f"{generator.name}\n{registry.identity(generator)}\n{what}")


def class_key(generator: Generator, region: Region) -> str:
    """Return the key of the class of a region's only op, or ""."""
    instructions = region.program.structure.instructions
    return _class_of(generator, instructions[0]) if len(instructions) == 1 else ""


def _class_of(generator: Generator, i: Instruction) -> str:
    """Return the key of an op's class, or ""; a class that cannot be told is none."""
    try:
        found = generator.size_class(Call.of(i))
    except Exception as error:
        reraise_from_handler(error)
        return ""
    return f"{_CLASS}{found}" if isinstance(found, str) and found else ""


def call_key(i: Instruction) -> str:
    """Return the key of an op with attributes and types; equal for equal calls."""
    types = [None if t is None else t.text for t in (*i.operand_types, *i.types)]
    return _hash(f"{i.spec.op.name} {list(i.spec.attrs)} {i.spec.bits!r} {types}")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


class Verdicts:
    """Immutable verdicts, by signature."""

    __slots__ = ("found", "_quicker", "_overruling", "_standing")

    def __init__(self, found: Mapping[str, Verdict]) -> None:
        self.found: Final = dict(found)
        self._overruling: Final = {s: v for s, v in found.items() if v.overrules}
        self._standing: Final = {s: v for s, v in found.items() if not v.supposed}
        #: (generator, op) for ops that are worthwhile after all as a region by themselves
        self._quicker: Final = {
            (v.generator, v.calls[0]) for v in self._overruling.values()
            if v.quicker and len(v.calls) == 1}

    def of(self, generator: Generator, region: Region) -> Verdict | None:
        """Return the verdict of a region, if it was measured and is not supposed."""
        found = self.found.get(signature(generator, region)) if self.found else None
        return None if found is None or found.supposed else found

    def tries(self, generator: Generator, i: Instruction) -> bool:
        """Return True if an op that its generator considers too small may be worthwhile."""
        return bool(self._quicker) and (
            (generator.name, _class_of(generator, i) or call_key(i)) in self._quicker)

    def key(self, structure: Structure, generators: Iterable[str]) -> str:
        """Return what distinguishes a program from one divided only by estimates; "" if nothing
        does.

        It names the verdicts that overrule an estimate and have all their ops in the program.
        """
        return " ".join(sorted(f"{s}{'+' if v.quicker else '-'}" for s, v in self.overruling(
            structure, generators).items()))

    def overruling(
        self, structure: Structure, generators: Iterable[str]
    ) -> dict[str, Verdict]:
        """Return the verdicts that may divide a program otherwise than estimates, by signature.

        Where the quicker one of two generators gets an op, that are also those that agree with an
        estimate.
        """
        names = tuple(generators)
        found = self._among(self._overruling, structure, names)
        if self.found and registry.by_gain(names):
            compared = self._among(self._standing, structure, names)
            if len({v.generator for v in compared.values()}) > 1:
                return compared
        return found

    def _among(
        self, some: Mapping[str, Verdict], structure: Structure, names: tuple[str, ...]
    ) -> dict[str, Verdict]:
        """Return those verdicts of some that have all their ops in a program."""
        of_names = {s: v for s, v in some.items() if v.generator in names}
        if not of_names:
            return {}
        calls = {call_key(i) for i in structure.instructions}
        of_classes = {v.generator for v in of_names.values() if v.of_class}
        for generator in registry.generators(tuple(of_classes)):
            calls |= {_class_of(generator, i) for i in structure.instructions}
        return {s: v for s, v in of_names.items() if calls.issuperset(v.calls)}

    def supposing(self, chosen: Callable[[Verdict], bool]) -> Verdicts:
        """Return the same, of which chosen ones that are supposed decide, too."""
        return Verdicts({s: v._replace(supposed=0) if v.supposed and chosen(v) else v
                         for s, v in self.found.items()})

    def packed(self) -> str:
        """Return JSON as :func:`unpacked` takes it; only the newest if there are too many."""
        return json.dumps(list(self.found.items())[-KEPT:])


NONE: Final = Verdicts({})


def unpacked(text: str | bytes) -> Verdicts:
    """Build verdicts from JSON. Raises ValueError, TypeError."""
    return Verdicts({str(s): _checked(fields) for s, fields in json.loads(text)})


def _checked(fields: Any) -> Verdict:
    generator, calls, seconds, of_xla, runs, clear, estimated, supposed = fields
    return Verdict(str(generator), tuple(map(str, calls)), float(seconds), float(of_xla), int(runs),
                   bool(clear), bool(estimated), int(supposed))


_current: Verdicts | None = None
#: a signal handler that computes arrays may get here while it is held
_lock: Final = threading.RLock()


def current() -> Verdicts:
    """Return the verdicts by which this process divides programs: at first those on disk."""
    global _current
    if _current is None:
        with _lock:
            if _current is None:
                _current = _on_disk()
    return _current


def in_force() -> Verdicts:
    """Return the verdicts by which this thread's programs are divided: none with
    ``reproducible=True``."""
    return current() if applies() else NONE


def applies() -> bool:
    """Return True if verdicts divide this thread's programs."""
    return not reproducible()


def _on_disk() -> Verdicts:
    data = hooks.verdicts()
    if data is None:
        return NONE
    try:
        return unpacked(data)
    except (ValueError, TypeError):
        counters["disk_errors"] += 1
        return NONE


def joined(verdicts: Mapping[str, Verdict]) -> Verdicts:
    """Return some verdicts joined with those of this process and those now on disk.

    One of a class that decides nothing does not replace one that does: where times are close, the
    choice stays as it is. A supposed one replaces none.
    """
    known = {**current().found, **_on_disk().found}
    return Verdicts({**known, **{
        s: v for s, v in verdicts.items() if s not in known or not v.supposed and (
            v.clear or not v.of_class or not known[s].clear)}})


def instead(verdicts: Mapping[str, Verdict]) -> Verdicts:
    """Return some verdicts joined with others as :func:`joined` does, whatever was known before."""
    return Verdicts({**current().found, **_on_disk().found, **verdicts})


def union(packed: bytes, others: bytes) -> bytes | None:
    """Return packed verdicts with those of others that they lack, packed; None if there are none.
    """
    try:
        found = unpacked(packed).found
    except (ValueError, TypeError):
        found = {}
    try:
        added = {s: v for s, v in unpacked(others).found.items() if s not in found}
    except (ValueError, TypeError):
        return None
    return Verdicts({**found, **added}).packed().encode() if added else None


def adopt(verdicts: Verdicts | None) -> None:
    """Divide programs by some verdicts from now on; None means those on disk."""
    global _current
    _current = verdicts
