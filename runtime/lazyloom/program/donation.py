"""Which inputs of a program give their memory to which of its results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..types import TensorType
from .program import Instruction, Leaf, Program, Result, Structure

#: how many light ops an update in place may take from the old contents to the new
LIGHT: Final = 12


def match_donations(
    structure: Structure, outputs: Sequence[tuple[int, int]], donatable: Sequence[int]
) -> dict[int, int]:
    """Pair leaves that may be given up with outputs of the same type: leaf -> output number.

    An output that is made of a leaf by a few light ops, as an update in place is, or is its
    new value among an op's results, gets that leaf's memory, which XLA then writes without a copy.
    What is left is paired in order.
    """
    instructions = structure.instructions
    free = {leaf: structure.leaf_types[leaf] for leaf in donatable}
    near: list[tuple[int, int, int]] = []
    for number, (n, r) in enumerate(outputs):
        made = instructions[n]
        if len(made.types) == 1:
            near.extend(_light_sources(instructions, n, free, number))
            continue
        at = made.spec.op.aliased_operand(len(made.operands), len(made.types), r)
        if at < len(made.operands) and made.operand_types[at] is made.types[r]:
            source = made.operands[at]
            if isinstance(source, Result):
                if source.number == 0:
                    near.extend(_light_sources(instructions, source.instruction, free, number))
            elif isinstance(source, Leaf) and source.number in free:
                near.append((0, number, source.number))
    near.sort()
    aliases: dict[int, int] = {}
    taken: set[int] = set()
    for _, number, leaf in near:
        if leaf not in aliases and number not in taken:
            aliases[leaf] = number
            taken.add(number)
    rest: dict[TensorType, list[int]] = {}
    for leaf in donatable:
        if leaf not in aliases:
            rest.setdefault(free[leaf], []).append(leaf)
    for number, (n, r) in enumerate(outputs):
        if number not in taken:
            candidates = rest.get(instructions[n].types[r])
            if candidates:
                aliases[candidates.pop(0)] = number
    return aliases


def _light_sources(
    instructions: Sequence[Instruction], start: int, free: dict[int, TensorType], number: int
) -> list[tuple[int, int, int]]:
    """(distance, output number, leaf) of the free leaves of an output's own type that it is
    made of through light ops of that type alone."""
    wanted = instructions[start].types[0]
    found: list[tuple[int, int, int]] = []
    seen = {start}
    level = [start]
    for distance in range(LIGHT):
        above: list[int] = []
        for n in level:
            i = instructions[n]
            if i.spec.heavy:
                continue
            for item, t in zip(i.operands, i.operand_types, strict=True):
                if t is not wanted:
                    continue
                if isinstance(item, Leaf):
                    if item.number in free:
                        found.append((distance, number, item.number))
                elif isinstance(item, Result) and item.number == 0:
                    if item.instruction not in seen:
                        seen.add(item.instruction)
                        above.append(item.instruction)
        level = above
    return found


def program_of_plan(
    structure: Structure, wanted: Sequence[tuple[int, int]], donatable: Sequence[int]
) -> Program:
    """The canonical program of a structure, what is wanted of it and what it may overwrite."""
    return Program(structure, wanted, sorted(match_donations(structure, wanted, donatable)))
