"""An independent checker of partitions.

It shares no code with partitioning: it counts, orders and recomputes from the program.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import LoomError
from ..program.program import Structure
from ..program.stream import Leaf, Result, ScalarSlot
from ..trace.scalars import Baked
from .partition import Partition


class Unsound(LoomError):
    """A partition does not do what its program does: a defect of partitioning."""


def check(structure: Structure, outputs: Sequence[tuple[int, int]], partition: Partition) -> None:
    """Raise Unsound unless each op is done once, in order, with the right operands and results of
    regions."""
    instructions = structure.instructions
    done: list[int] = []
    seen: set[tuple[int, int]] = set()
    for step in partition.steps:
        if step >= len(partition.parts):
            raise Unsound(f"a step is region {step}, of {len(partition.parts)}")
        members = [-1 - step] if step < 0 else list(partition.parts[step].members)
        if step < 0:
            visible = seen
        else:
            part = partition.parts[step]
            if members != sorted(set(members)):
                raise Unsound(f"region {step} holds {members}")
            results_taken = {item for item in part.operands if isinstance(item, Result)}
            visible = {(r.instruction, r.number) for r in results_taken}
            operands = set(part.operands)
            if not visible <= seen:
                raise Unsound(f"region {step} takes {sorted(visible - seen)} before they are there")
            if len(operands) != len(part.operands):
                raise Unsound(f"region {step} takes an operand twice")
            if len(set(part.outputs)) != len(part.outputs):
                raise Unsound(f"region {step} gives a result twice")
        for n in members:
            if not 0 <= n < len(instructions):
                raise Unsound(f"step {step} holds instruction {n}, which is not there")
            for item in instructions[n].operands:
                if isinstance(item, Result):
                    if (item.instruction, item.number) not in visible:
                        raise Unsound(f"instruction {n} uses {item} before it is there")
                elif step >= 0 and isinstance(item, (Leaf, ScalarSlot)):
                    if item not in operands:
                        raise Unsound(f"region {step} is not given {item}")
            # outside of regions, ``visible`` is ``seen``: all later steps see the results
            visible.update((n, r) for r in range(len(instructions[n].types)))
            done.append(n)
        if step >= 0:
            seen |= set(part.outputs)
            _program(structure, step, partition)
    if sorted(done) != list(range(len(instructions))):
        raise Unsound(f"instructions {sorted(done)} are done, expected each of "
                      f"{len(instructions)} once")
    missing = [o for o in outputs if tuple(o) not in seen]
    if missing:
        raise Unsound(f"the results {missing} are inside regions")
    _owners(structure, partition)
    _used(structure, outputs, partition)


def _owners(structure: Structure, partition: Partition) -> None:
    """Raise Unsound unless each instruction's owner is the region that has it, or none."""
    run = {step for step in partition.steps if step >= 0}
    if len(run) != len(partition.parts):
        raise Unsound(f"the regions {sorted(run)} are run, expected all {len(partition.parts)}")
    home = {n: p for p, part in enumerate(partition.parts) for n in part.members}
    expected = [home.get(n, -1) for n in range(len(structure.instructions))]
    if partition.owner != expected:
        raise Unsound(f"the owners are {partition.owner}, expected {expected}")


def _used(structure: Structure, outputs: Sequence[tuple[int, int]], partition: Partition) -> None:
    """Raise Unsound unless regions give exactly the results that others use."""
    wanted = {(n, r) for n, r in outputs}
    for n, i in enumerate(structure.instructions):
        for item in i.operands:
            if isinstance(item, Result) and (
                partition.owner[n] < 0 or partition.owner[n] != partition.owner[item.instruction]
            ):
                wanted.add((item.instruction, item.number))
    for p, part in enumerate(partition.parts):
        inside = set(part.members)
        unused = [o for o in part.outputs if o not in wanted or o[0] not in inside]
        if unused:
            raise Unsound(f"region {p} gives {unused}, which nothing uses or it does not make")


def _program(structure: Structure, number: int, partition: Partition) -> None:
    """Raise Unsound unless a region's own program consists of its members."""
    part = partition.parts[number]
    program = part.region.program
    region_instructions = program.structure.instructions
    if program.donated:
        raise Unsound(f"region {number} gives up {program.donated}")
    if len(program.structure.leaf_types) != len(part.operands):
        raise Unsound(f"region {number} has {len(program.structure.leaf_types)} leaves, expected "
                      f"{len(part.operands)}")
    used: set[int] = set()
    if len(region_instructions) != len(part.members):
        raise Unsound(f"region {number} has {len(region_instructions)} ops of its own, expected "
                      f"{len(part.members)}")
    for mine, n in zip(region_instructions, part.members, strict=True):
        theirs = structure.instructions[n]
        if mine.spec is not theirs.spec or mine.types != theirs.types:
            raise Unsound(f"region {number} does {mine.spec}, expected {theirs.spec}")
        if mine.operand_types != theirs.operand_types:
            raise Unsound(f"region {number}, op {n}: takes {mine.operand_types}, expected "
                          f"{theirs.operand_types}")
        for a, b in zip(mine.operands, theirs.operands, strict=True):
            if isinstance(a, Leaf):
                used.add(a.number)
                same = part.operands[a.number] == b
            elif isinstance(a, Result):
                same = Result(part.members[a.instruction], a.number) == b
            else:
                same = (a is None or isinstance(a, Baked)) and a == b
            if not same:
                raise Unsound(f"region {number}, op {n}: takes {a}, expected {b}")
    if len(used) != len(part.operands):
        raise Unsound(f"region {number} does not use all of its operands {part.operands}")
    if [(part.members[n], r) for n, r in part.region.program.outputs] != list(part.outputs):
        raise Unsound(f"region {number} gives {part.region.program.outputs}, expected "
                      f"{part.outputs}")
