"""The collectives of a program: what other processes must run together with this one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..ops.spec import OpDef
from ..types import common_placement
from .program import Instruction, Program, Structure


class Collective(NamedTuple):
    """An instruction that several processes run together.

    Attributes:
        number: that of the instruction.
        name: of the op.
        reduction: such as "sum"; "" where nothing is reduced.
        group: the ranks of the processes, in order.
        world: how many processes there are.
        types: of the operands that are there, such as "float32[2,3]".
        nbytes: the size of what this process hands over.
        described: all that must be equal in all processes of the group.
    """

    number: int
    name: str
    reduction: str
    group: tuple[int, ...]
    world: int
    types: tuple[str, ...]
    nbytes: int
    described: str

    def text(self) -> str:
        """For people to read."""
        of = f" {self.reduction}" if self.reduction else ""
        return (f"{self.name}{of} of {', '.join(self.types)} in group "
                f"{', '.join(map(str, self.group))}: {self.nbytes} bytes")


class Partitioned(NamedTuple):
    """A collective that XLA's partitioner put into a program on a mesh.

    Attributes:
        name: what HLO calls it, such as "all-reduce".
        op: the op that it is there for, "" where XLA does not say.
        types: of its results on one device, such as "f32[128,64]".
        nbytes: their size.
        number: that of the instruction of the op, -1 where XLA does not say.
        axes: of the mesh, along which the devices differ that take part together; () where XLA
            does not say.
        times: how often a run has it: in a loop, as often as that goes round; 0 where the length of
            the loop is not known before.
    """

    name: str
    op: str
    types: tuple[str, ...]
    nbytes: int
    number: int = -1
    axes: tuple[str, ...] = ()
    times: int = 1

    def text(self) -> str:
        """For people to read."""
        of = f" for {self.op}" if self.op else ""
        return (f"{self.name}{of} of {', '.join(self.types)}: {self.nbytes} bytes on each device"
                f"{self.often()}")

    def often(self) -> str:
        """What follows the bytes of one that stands in a loop."""
        if self.times == 1:
            return ""
        return f", {self.times} times" if self.times else ", each iteration"


def bytes_together(collectives: Sequence[Collective | Partitioned]) -> str:
    """The bytes of collectives in one run, such as "96 bytes"; those of loops of a length that is
    not known are said apart."""
    known, each = 0, 0
    for c in collectives:
        times = c.times if isinstance(c, Partitioned) else 1
        known += c.nbytes * times
        each += 0 if times else c.nbytes
    if not each:
        return f"{known} bytes"
    return f"{known} bytes and {each} each iteration" if known else f"{each} bytes each iteration"


def collectives_of(structure: Structure) -> tuple[Collective, ...]:
    """The collectives of a program among more than one process, in the order of recording."""
    found: list[Collective] = []
    for number, spec in enumerate(structure.specs):
        if spec.shared:
            found.append(_collective(number, structure.instructions[number]))
    return tuple(found)


def _collective(number: int, i: Instruction) -> Collective:
    attrs = i.spec.attrs
    op: OpDef = i.spec.op
    types = tuple([t.text for t in i.operand_types if t is not None])
    # a derivative hands over cotangents, which are its last operands
    first = attrs.get("primals1", 0) if op.kind else 0
    nbytes = sum([t.nbytes for t in i.operand_types[first:] if t is not None])
    rest = ", ".join(
        [f"{k}={v!r}" for k, v in attrs.items() if k not in ("group", "world") and v != ""])
    return Collective(
        number, op.name, str(attrs.get("reduction", "")), attrs["group"], attrs["world"], types,
        nbytes, f"{op.name}({', '.join(types)}; {rest})")


def whole(program: Program, group: tuple[int, ...], world: int) -> Collective:
    """All of a program on a mesh of several processes, which must be the same in all of them."""
    n = len(program.structure.instructions)
    text = Program(program.structure, program.outputs, []).text()
    return Collective(n - 1, f"a program of {n} ops", "", group, world, (), 0, text)


def joined(structure: Structure) -> bool:
    """Return True if several processes run a program together."""
    placement = common_placement(structure.leaf_types)
    return placement is not None and placement.is_shared or replicas_of(structure) > 1


def replicas_of(structure: Structure) -> int:
    """How many processes a program is compiled for: 1 unless it has collectives."""
    for spec in structure.specs:
        if spec.shared:
            return int(spec.attrs["world"])
    return 1
