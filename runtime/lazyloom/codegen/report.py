"""Reports of a program's partition, and the reasons."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from ..errors import ArgumentError, type_name
from ..hooks import hooks
from ..interrupts import reraise_from_handler
from ..program.evaluations import last_evaluation
from ..program.program import Program
from ..program.regions import counted
from ..trace.graph import check_process
from . import faults, registry, verdicts
from .check import check
from .generator import Call, Generator, Region
from .partition import Part, Partition, partition
from .verdicts import Candidate


class Report:
    """Where each op of a program runs.

    Attributes:
        program: the program.
        partition: it in regions.
    """

    __slots__ = ("program", "partition")

    def __init__(self, program: Program, found: Partition) -> None:
        self.program: Final = program
        self.partition: Final = found

    @property
    def coverage(self) -> float:
        """The part of the program's ops that are in regions."""
        owner = self.partition.owner
        return sum(p >= 0 for p in owner) / max(len(owner), 1)

    def generator(self, number: int) -> str:
        """The generator that runs an instruction, "xla" for XLA.

        Raises ArgumentError for a number that no instruction has.
        """
        count = len(self.partition.owner)
        if not 0 <= number < count:
            raise ArgumentError(
                f"generator: instruction {number} was asked for, expected 0 to {count - 1}")
        p = self.partition.owner[number]
        return registry.XLA if p < 0 else self.partition.parts[p].generator.name

    def left_behind(self) -> list[int]:
        """The heavy ops (products, convolutions, ...) that are XLA's while regions exist.

        Less those that a generator leaves to XLA on purpose: ``No(reason, deliberate=True)``.
        """
        return self.partition.left_behind(self.program.structure.instructions)

    def line(self, number: int) -> str:
        """Of an instruction: what it gives and where it runs, or why no generator does it."""
        i = self.program.structure.instructions[number]
        p = self.partition.owner[number]
        results = ", ".join(t.text for t in i.types)
        head = f"%{number} = {i.spec.op.name} : {results}"
        if p >= 0:
            return f"{head} -> {self.generator(number)}, region {p}"
        reasons = self.partition.reasons[number]
        why = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
        return f"{head} -> xla{f' ({why})' if why else ''}"

    def summary(self) -> str:
        """How many ops run where, in how many regions."""
        found = self.partition
        count = Counter(self.generator(n) for n in range(len(found.owner)))
        total = ", ".join(f"{name} {k}" for name, k in count.most_common())
        return f"{len(found.owner)} ops: {total}; {len(found.parts)} regions"

    def describe(self, number: int) -> str:
        """Of a region: its generator, its ops and groups, and what a run takes.

        That is what was measured, or else what is estimated.
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

        Of those for which their generator estimates both; None where there is none.
        """
        found = [of_xla - seconds for seconds, of_xla in map(
            self._estimates, range(len(self.partition.parts)))
            if seconds is not None and of_xla is not None]
        return sum(found) if found else None

    @property
    def measured_gain(self) -> float | None:
        """Seconds by which the regions were measured to take less than XLA's code for their ops.

        Of those that were measured (:func:`measure`); None where none was.
        """
        found = [v.of_xla - v.seconds for p in self.partition.parts
                 if (v := p.verdict) is not None]
        return sum(found) if found else None

    def _estimates(self, number: int) -> tuple[float | None, float | None]:
        """Of a region, the seconds that its generator and XLA are estimated to take."""
        part = self.partition.parts[number]
        return (_estimated(part.generator.seconds, part.region),
                _estimated(part.generator.seconds_of_xla, part.region))

    def text(self) -> str:
        """A line an op: where it runs, or why no generator does it; then the regions."""
        found = self.partition
        lines = [f"  {self.line(n)}" for n in range(len(found.owner))]
        lines.append(self.summary())
        lines += [f"  {self.describe(p)}" for p in range(len(found.parts))]
        gain = self.expected_gain
        if gain is not None:
            lines.append(f"  expected gain: {1e6 * gain:.0f} us a run")
        gain = self.measured_gain
        if gain is not None:
            lines.append(f"  measured gain: {1e6 * gain:.0f} us a run")
        for n in self.left_behind():
            lines.append(f"  warning: %{n}, {self.program.structure.instructions[n].spec.op.name}, "
                         "is heavy work that no generator does")
        return "\n".join(lines)

    __str__ = text

    def svg(self) -> str:
        """The program's graph as a drawing in SVG, regions in the colours of their generators.

        Inputs are not drawn. Heavy ops of :meth:`left_behind` have a red border; a program's
        results a mark below.
        """
        # rarely asked for
        from .picture import svg

        return svg(self)

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


def _estimated(
    estimate: Callable[[Region], float | None], region: Region
) -> float | None:
    try:
        found = estimate(region)
        return None if found is None else float(found)
    except Exception as error:
        reraise_from_handler(error)
        return None


def explain(program: Program) -> Report:
    """Where each op of a program runs with the generators in use.

    Args:
        program: of :func:`lazyloom.program_of`, or of an evaluation's record.

    Raises ArgumentError for what is no program.
    """
    if not isinstance(program, Program):
        raise ArgumentError(
            f"explain: a {type_name(program)} was given, expected a program, such as "
            "lazyloom.program_of(value)")
    structure = program.structure
    found = partition(structure, program.outputs, registry.generators(registry.in_use()),
                      faults.refused(), verdicts.current())
    check(structure, program.outputs, found)
    return Report(program, found)


def measure(program: Program | None = None) -> Report:
    """Time the regions of a program beside XLA's code for their ops, and decide by that.

    Each region, and what the generators in use take to be too small for one, runs by turns with
    what XLA makes of its ops, on random numbers of the same types. A region that was slower is not
    made any more, and one that was quicker is, wherever it occurs, in this process and, by way of
    the disk cache, in later ones. Programs in memory are forgotten, so that the next run of each
    is divided anew. Compiling takes most of the time, some 0.2 s a region.

    Args:
        program: of :func:`lazyloom.program_of`, or of an evaluation's record; None for that of the
            newest evaluation.

    Returns the report of the program as it is divided then.

    Raises ArgumentError for what is no program, and where nothing was evaluated yet.
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
    """What of a program can be measured: its regions by estimate, and those too small for one."""
    structure, outputs = program.structure, program.outputs
    small: list[Part] = []
    found = [Candidate(p.generator, p.region, True)
             for p in partition(structure, outputs, chosen, faults.refused()).parts]
    partition(structure, outputs, chosen, faults.refused(), candidates=small)
    found += [Candidate(p.generator, p.region, False) for p in small]
    return list({verdicts.signature(c.generator, c.region): c for c in found[::-1]}.values())[::-1]
