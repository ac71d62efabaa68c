"""Donation: which inputs of a program give their memory to which results.

A leaf is donated if all of these conditions hold, which are decided in this order:

1. Scheduling (``evaluate/collect.py``; ``capture/recipe.py`` for captured calls): when the plan's
   nodes have released their operands, no node holds the leaf's buffer (``owners == 0``), and nobody
   outside can see its memory (not ``shared``). These leaves are ``Plan.donatable``.
2. Before the run (``evaluate/evaluate.py``): no other plan, on another thread, is about to use the
   buffer (``holds == 1``). With the option ``donate=False`` nothing is donated: such runs have
   programs of their own.
3. Compile time (:func:`match_donations`): the leaf is paired with an output of its type. The
   compiled program writes over the leaves that it has pairs for, whichever run it is.
4. Dispatch (``execute/whole_program.py``): a paired leaf that may not be donated in this run is
   copied, and the program gets the copy.

Op by op there are no pairs (``execute/op_by_op/executor.py``). A kernel that can write its results
over operands says which in ``over``; for results from ``REUSE_FROM_BYTES`` on it gets the donatable
leaves among these whose array nothing else refers to (``host/reuse.py``), as long as memory is not
short. Once the results are there, all donatable leaves let go of their data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..ops.derived import BACKWARD, VJP
from ..types import TensorType, whole_type
from .program import Instruction, Program, Structure
from .stream import Leaf, Result

#: how many light ops an update in place may take from the old contents to the new
LIGHT: Final = 12


def match_donations(
    structure: Structure, outputs: Sequence[tuple[int, int]], donatable: Sequence[int]
) -> dict[int, int]:
    """Pair leaves that may be given up with outputs of the same type: leaf -> output number.

    An output that is made of a leaf by a few light ops, as an update in place is, or is its
    new value among an op's results, gets that leaf's memory, which XLA then writes without a copy.
    What is left is paired in order. How values are divided over devices does not matter: XLA
    takes the memory only where it can.
    """
    instructions = structure.instructions
    free = {leaf: whole_type(structure.leaf_types[leaf]) for leaf in donatable}
    near: list[tuple[int, int, int]] = []
    for number, (n, r) in enumerate(outputs):
        near.extend(_light_sources(instructions, Result(n, r), free, number))
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
            candidates = rest.get(whole_type(instructions[n].types[r]))
            if candidates:
                aliases[candidates.pop(0)] = number
    return aliases


def _light_sources(
    instructions: Sequence[Instruction], output: Result, free: dict[int, TensorType], number: int
) -> list[tuple[int, int, int]]:
    """(distance, output number, leaf) of the free leaves of an output's own type that it is
    made of through light ops of that type alone, or as an op's new values of them."""
    wanted = whole_type(instructions[output.instruction].types[output.number])
    found: list[tuple[int, int, int]] = []
    seen = {output}
    level = [output]
    for distance in range(LIGHT):
        above: list[Result] = []
        for value in level:
            i = instructions[value.instruction]
            for k in _made_of(i, value.number):
                item = i.operands[k]
                t = i.operand_types[k]
                if t is None or whole_type(t) is not wanted:
                    continue
                if isinstance(item, Leaf):
                    if item.number in free:
                        found.append((distance, number, item.number))
                elif isinstance(item, Result) and item not in seen:
                    seen.add(item)
                    above.append(item)
        level = above
    return found


def _made_of(i: Instruction, result: int) -> Sequence[int]:
    """Which operands an op's result may be a new value of.

    A derivative's result is no new value of what it is the derivative by: that is still read when
    a step updates it.
    """
    op = i.spec.op
    if op.times(VJP) or op.times(BACKWARD):
        return []
    if len(i.types) > 1:
        operand = op.aliased_operand(len(i.operands), len(i.types), result)
        return [operand] if operand < len(i.operands) else []
    return [] if i.spec.heavy else range(len(i.operands))


def program_of_plan(
    structure: Structure, wanted: Sequence[tuple[int, int]], donatable: Sequence[int]
) -> Program:
    """The canonical program of a structure, what is wanted of it and what it may overwrite."""
    return Program(structure, wanted, sorted(match_donations(structure, wanted, donatable)))
