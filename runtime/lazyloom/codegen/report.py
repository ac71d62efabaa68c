"""Reports of a program's partition, and the reasons."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from ..errors import ArgumentError, type_name
from ..hooks import hooks
from ..program.evaluations import last_evaluation
from ..program.program import Program
from ..program.regions import counted
from ..trace.graph import check_process
from . import faults, registry, verdicts
from .answers import Call
from .check import check
from .claims import Part
from .generator import Generator
from .mapped import with_batches
from .partition import Partition, partition
from .verdicts import Candidate
from .worth import estimates

if TYPE_CHECKING:
    from .drawing import GraphDrawing

#: the most ops of a program whose report has a line for each by default
LONG: Final = 32
_SHAPE: Final = re.compile(r"\b([a-z]+\d*)\[[\d,]*\]")
_COUNT: Final = re.compile(r"\b\d+(?= [a-z]+, expected)")


class Report:
    """Where each op of a program runs.

    Attributes:
        program: the program.
        partition: its division into regions.
        bodies: reports of the functions of loops and branches that are offered, by where they
            stand: ``%3.body`` is the attribute ``body`` of instruction 3, and ``%3.body.vjp`` its
            derivative.
    """

    __slots__ = ("program", "partition", "bodies")

    def __init__(self, program: Program, partition: Partition) -> None:
        self.program: Final = program
        self.partition: Final = partition
        self.bodies: Final[dict[str, Report]] = {
            b.program.path: Report(Program(b.program.structure, b.program.outputs, []), b.partition)
            for b in sorted((b for loop in partition.loops for b in loop.bodies),
                            key=lambda b: b.program.instruction)}

    @property
    def coverage(self) -> float:
        """The fraction of the program's ops that are in regions.

        A loop whose functions are offered counts as the ops of these.
        """
        done, total = self.partition.counts()
        return done / max(total, 1)

    def generator(self, number: int) -> str:
        """Return the generator that runs an instruction, "xla" for XLA.

        Raises ArgumentError for a number that no instruction has.
        """
        count = len(self.partition.owner)
        if not 0 <= number < count:
            raise ArgumentError(
                f"generator: instruction {number} was asked for, expected 0 to {count - 1}")
        p = self.partition.owner[number]
        return registry.XLA if p < 0 else self.partition.parts[p].generator.name

    def left_behind(self) -> list[int]:
        """Return the heavy ops (products, convolutions, ...) that XLA runs while regions exist.

        Except those that a generator leaves to XLA on purpose: ``No(reason, deliberate=True)``, and
        loops with regions in their functions, of which :attr:`bodies` tell.
        """
        return self.partition.left_behind(self.program.structure.instructions)

    def line(self, number: int) -> str:
        """Describe an instruction: its results and where it runs, or why no generator does it."""
        i = self.program.structure.instructions[number]
        p = self.partition.owner[number]
        results = ", ".join(t.text for t in i.types)
        head = f"%{number} = {i.spec.op.name} : {results}"
        if p >= 0:
            return f"{head} -> {self.generator(number)}, region {p}"
        reasons = self.partition.reasons[number]
        why = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
        inside = self.partition.unoffered.get(number)
        if inside is not None:
            why += f"{'; ' if why else ''}not offered: {inside}"
        return f"{head} -> xla{f' ({why})' if why else ''}"

    def summary(self) -> str:
        """Return how many ops run where, in how many regions."""
        partition = self.partition
        count = Counter(self.generator(n) for n in range(len(partition.owner)))
        total = ", ".join(f"{name} {k}" for name, k in count.most_common())
        return f"{len(partition.owner)} ops: {total}; {len(partition.parts)} regions"

    def describe(self, number: int) -> str:
        """Describe a region: its generator, its ops and groups, and the time of a run.

        The time is measured, or else estimated.
        """
        part = self.partition.parts[number]
        seconds, of_xla = self._estimates(number) if part.verdict is None else (None, None)
        names = counted(
            (Call.of(i).op for i in part.region.program.structure.instructions), 6)
        groups = sorted({name for name, _ in part.region.composites})
        return (
            f"region {number}: {part.generator.name}, {names}"
            + (f"; as {', '.join(groups)}" if groups else "")
            + (f"; {part.verdict.text()}" if part.verdict is not None else "")
            + (f"; {1e6 * seconds:.0f} us estimated" if seconds is not None else "")
            + (f", {1e6 * of_xla:.0f} by XLA" if seconds is not None and of_xla is not None
               else ""))

    @property
    def expected_gain(self) -> float | None:
        """Seconds by which the regions are estimated to take less than XLA's code for their ops.

        Counts those for which their generator estimates both; None if there are none.
        """
        gains = [of_xla - seconds for seconds, of_xla in map(
            self._estimates, range(len(self.partition.parts)))
            if seconds is not None and of_xla is not None]
        return sum(gains) if gains else None

    @property
    def measured_gain(self) -> float | None:
        """Seconds by which the regions were measured to take less than XLA's code for their ops.

        Counts those that were measured (:func:`measure`); None if none was.
        """
        gains = [v.of_xla - v.seconds for p in self.partition.parts
                 if (v := p.verdict) is not None]
        return sum(gains) if gains else None

    def _gains(self) -> list[str]:
        return [f"  {kind} gain: {1e6 * gain:.0f} us a run" for kind, gain in (
            ("expected", self.expected_gain), ("measured", self.measured_gain))
            if gain is not None]

    def _estimates(self, number: int) -> tuple[float | None, float | None]:
        """Return the seconds that a region's generator and XLA are estimated to take."""
        part = self.partition.parts[number]
        return estimates(part.generator, part.region)

    def text(self) -> str:
        """Return a line per op: where it runs, or why no generator does it; then the regions."""
        partition = self.partition
        lines = [f"  {self.line(n)}" for n in range(len(partition.owner))]
        lines.append(self.summary())
        lines += [f"  {self.describe(p)}" for p in range(len(partition.parts))]
        lines += self._gains()
        for n in self.left_behind():
            lines.append(f"  warning: %{n}, {self.program.structure.instructions[n].spec.op.name}, "
                         "is heavy work that no generator does")
        lines += self._of_bodies(Report.text)
        return "\n".join(lines)

    def _of_bodies(self, told: Callable[[Report], str]) -> list[str]:
        lines: list[str] = []
        for path, report in self.bodies.items():
            lines += [f"  {path}:", *(f"    {line}" for line in told(report).split("\n"))]
        return lines

    def grouped(self) -> str:
        """Return how many ops of each name run where, and of XLA's why, by reason.

        Shapes and counts in reasons are left out, so that equal reasons are one line.
        """
        partition = self.partition
        instructions = self.program.structure.instructions
        done: dict[str, Counter[str]] = {}
        why: dict[str, Counter[str]] = {}
        for n, i in enumerate(instructions):
            op = i.spec.op.name
            if partition.owner[n] >= 0:
                done.setdefault(self.generator(n), Counter())[op] += 1
            else:
                reasons = partition.reasons[n]
                reason = "; ".join(f"{g}: {_alike(r, op)}" for g, r in reasons.items())
                if n in partition.unoffered:
                    reason += f"; not offered: {partition.unoffered[n]}"
                why.setdefault(reason, Counter())[op] += 1
        lines = [self.summary()]
        for name, ops in done.items():
            lines.append(f"  {name}: {_counts(ops)}")
        for reason, ops in sorted(why.items(), key=lambda item: -item[1].total()):
            lines.append(f"  xla: {_counts(ops)}{f' ({reason})' if reason else ''}")
        regions = Counter(_alike(self.describe(p).partition(": ")[2])
                          for p in range(len(partition.parts)))
        for region, count in regions.most_common():
            lines.append(f"  {count} region{'s' if count > 1 else ''}: {region}")
        lines += self._gains()
        left = Counter(instructions[n].spec.op.name for n in self.left_behind())
        if left:
            lines.append(f"  warning: {_counts(left)}: heavy work that no generator does")
        lines += self._of_bodies(Report.grouped)
        return "\n".join(lines)

    def __str__(self) -> str:
        """Return :meth:`text`, or for programs of more than 32 ops :meth:`grouped`."""
        if self._length() <= LONG:
            return self.text()
        return f"{self.grouped()}\n  report.text() has a line for each op"

    def _length(self) -> int:
        return len(self.partition.owner) + sum(
            report._length() for report in self.bodies.values())

    def svg(self) -> str:
        """Return the program's graph as SVG, with regions in the colours of their generators.

        Inputs are not drawn. Heavy ops of :meth:`left_behind` have a red border, and a program's
        results a mark below.
        """
        # rarely needed
        from .drawing import svg

        return svg(self.drawing())

    def drawing(self) -> GraphDrawing:
        """Return what :meth:`svg` draws."""
        from .picture import drawing_of

        return drawing_of(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the drawing to a file, ``"program.svg"``, or the text to one that ends in .txt.

        Raises ArgumentError for a name that ends otherwise.
        """
        ending = os.path.splitext(path)[1].lower()
        if ending not in (".svg", ".txt"):
            raise ArgumentError(
                f"save: {os.fspath(path)!r} was given, expected a name that ends in .svg, or in "
                ".txt for the text")
        with open(path, "w", encoding="utf-8", errors="replace") as file:
            file.write(self.svg() if ending == ".svg" else self.text() + "\n")


def _counts(ops: Counter[str]) -> str:
    return ", ".join(f"{n} {op}" for op, n in ops.most_common())


def _alike(reason: str, op: str = "") -> str:
    """Return a reason without what differs from op to op: shapes, counts and the op's name."""
    reason = _SHAPE.sub(r"\1", reason)
    reason = _COUNT.sub("n", reason)
    if op:
        name = rf"(?<![\w.]){re.escape(op)}(?![\w.])"
        reason = re.sub(rf"\bno {name}", "no such op", reason)
        reason = re.sub(name, "it", reason)
    words = reason.split(", ")
    return ", ".join(dict.fromkeys(words))


def explain(program: Program) -> Report:
    """Report where each op of a program runs with the generators in use.

    Args:
        program: from :func:`lazyloom.program_of`, or from an evaluation's record.

    Raises ArgumentError if ``program`` is not a program.
    """
    if not isinstance(program, Program):
        raise ArgumentError(
            f"explain: a {type_name(program)} was given, expected a program, such as "
            "lazyloom.program_of(value)")
    structure = with_batches(program.structure)
    names = registry.chosen()
    divided = partition(structure, program.outputs, registry.generators(names), faults.refused(),
                        verdicts.in_force(), unbuilt=faults.unbuilt(),
                        by_gain=registry.by_gain(names))
    check(structure, program.outputs, divided)
    return Report(program, divided)


def measure(program: Program | None = None) -> Report:
    """Compare the times of a program's regions with XLA's code for their ops, and decide by that.

    Each region, including those that the generators in use consider too small, runs alternately
    with XLA's code for its ops, on random numbers of the same types. A region that was slower is no
    longer made, and one that was faster is, wherever it occurs, in this process and, through
    the disk cache, in later ones. Programs in memory are forgotten, so that each is divided again
    at its next run. Compiling takes most of the time, some 0.2 s per region.

    Args:
        program: from :func:`lazyloom.program_of`, or from an evaluation's record; None for that of
            the newest evaluation.

    Returns the report of the program as it is then divided.

    Raises ArgumentError if ``program`` is not a program, and if nothing was evaluated yet.
    """
    check_process()
    if program is None:
        record = last_evaluation()
        program = None if record is None else record.program
        if program is None:
            raise ArgumentError("measure: nothing was evaluated yet, expected a program, such as "
                                "lazyloom.program_of(value)")
    elif not isinstance(program, Program):
        raise ArgumentError(
            f"measure: a {type_name(program)} was given, expected a program, such as "
            "lazyloom.program_of(value)")
    hooks.measure(candidates(program, registry.generators(registry.in_use())))
    return explain(program)


def candidates(program: Program, chosen: Sequence[Generator]) -> list[Candidate]:
    """Return what can be measured in a program: its regions by estimate, and those too small."""
    structure, outputs = with_batches(program.structure), program.outputs
    failed, unbuilt = faults.refused(), faults.unbuilt()
    regions: list[Candidate] = []
    # those of each by itself, so that two that do the same are compared
    for asked in (chosen, *([[g] for g in chosen] if len(chosen) > 1 else ())):
        small: list[Part] = []
        regions += [Candidate(p.generator, p.region, True) for p in partition(
            structure, outputs, asked, failed, unbuilt=unbuilt).every_part()]
        partition(structure, outputs, asked, failed, candidates=small, unbuilt=unbuilt)
        regions += [Candidate(p.generator, p.region, False) for p in small]
    found: dict[str, Candidate] = {}
    for c in regions:
        found.setdefault(verdicts.signature(c.generator, c.region), c)
    return list(found.values())
