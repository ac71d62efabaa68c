"""What the devices or processes of a program do together, for people to read."""

from __future__ import annotations

from typing import Final

from ..cache import memory
from ..notebooks import as_html
from ..placements import Mesh, told
from ..program.collectives import Collective, Partitioned, bytes_together, collectives_of
from ..program.evaluations import Evaluation
from ..program.program import Instruction, Program, show_operand
from ..settings import donates
from ..trace.graph import check_process
from ..trace.source import user_site
from ..types import TensorType, common_placement
from .compiling import programs


class CollectivesReport:
    """The collectives of a program, each with the op that it is there for. Prints as text.

    Attributes:
        program: that is explained.
        mesh: on which it runs; None where it runs on one device of each process.
        collectives: in the order of the program: those that XLA put into it on a mesh, or those
            that were recorded.
    """

    def __init__(
        self, program: Program, mesh: Mesh | None,
        collectives: tuple[Collective | Partitioned, ...],
    ) -> None:
        self.program: Final = program
        self.mesh: Final = mesh
        self.collectives: Final = collectives

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return as_html(self.text())

    def text(self) -> str:
        """Each op that has collectives, with its operands as they lie, and what they are."""
        instructions = self.program.structure.instructions
        ops = _counted(len(instructions), "op")
        if self.mesh is None:
            where = "on one device of each process" if self.collectives else "on one device"
        else:
            where = "on the mesh " + ", ".join(f"{name}={n}" for name, n in self.mesh.axes)
        lines = [f"program {self.program.key[:16]}: {ops} {where}"]
        if not self.collectives:
            return "\n".join([*lines, "no collectives"])
        each = "device" if self.mesh is not None else "process"
        lines.append(
            f"{_counted(len(self.collectives), 'collective')}, "
            f"{bytes_together(self.collectives)} on each {each}")
        by_op: dict[int, list[Collective | Partitioned]] = {}
        for c in self.collectives:
            by_op.setdefault(c.number, []).append(c)
        for number in sorted(by_op, key=lambda n: n if n >= 0 else len(instructions)):
            lines.append("  " + (
                _shown(number, instructions[number]) if 0 <= number < len(instructions)
                else "XLA does not say for which op:"))
            lines += [f"    {_one(c)}" for c in by_op[number]]
        return "\n".join(lines)


def explained(program: Program) -> CollectivesReport:
    """The collectives of a program, which is compiled for it on a mesh. Raises what that raises."""
    structure = program.structure
    placement = common_placement(structure.leaf_types)
    mesh = None if placement is None else placement.mesh
    if mesh is None or mesh.size == 1:
        return CollectivesReport(program, mesh, collectives_of(structure))
    check_process()
    donate = donates()
    entry = memory.entry_of(structure, donate)
    # a record that nobody sees: nothing runs
    record = Evaluation(0, "explain", user_site())
    with entry.lock:
        programs.find(entry, list(program.outputs), list(program.donated), donate, record)
        return CollectivesReport(program, mesh, entry.program.collectives)


def _shown(number: int, i: Instruction) -> str:
    operands = ", ".join(
        show_operand(o) + ("" if t is None else f": {_typed(t)}")
        for o, t in zip(i.operands, i.operand_types, strict=True))
    return f"%{number} {i.spec.op.name}({operands}) -> {', '.join(map(_typed, i.types))}"


def _typed(t: TensorType) -> str:
    """A type, with how it is divided where that is stated; the mesh is said above."""
    placement = t.placement
    if placement.mesh is None:
        return t.text + told(placement)
    return t.text if placement.is_propagated else t.text + placement.sharding


def _one(c: Collective | Partitioned) -> str:
    if isinstance(c, Collective):
        return c.text()
    along = f" along {' and '.join(c.axes)}" if c.axes else ""
    return f"{c.name} of {', '.join(c.types)}{along}: {c.nbytes} bytes{c.often()}"


def _counted(n: int, noun: str) -> str:
    return f"{n} {noun}" + "s" * (n != 1)
