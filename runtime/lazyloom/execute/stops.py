"""Where a program ends XLA's fusions, because going on would cost more than the memory saved.

XLA:CPU fuses what it can and computes a value again for each of its readers. That is right for
readers at the same index, which share the work inside a loop, and goes wrong in two ways:

- a long chain becomes one loop, whose machine code takes LLVM out of memory;
- where a value is read at several places (the stencils of array programs: ``u[:-1] + u[1:]``,
  ``roll``), each place computes it anew, with all that it was computed from: the code of a few
  steps of such a loop grows, and its work with it, as a power of the steps.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from ..program import Instruction

#: XLA may fuse a chain of at most so many ops: the CPU code of jaxlib 0.10 for one loop of 600
#: additions to a vector of 4 takes LLVM tens of gigabytes
FUSED: Final = 200
#: ops that read their first operand at other indices than they write
MOVING: Final = frozenset(
    ("slice", "dynamic_slice", "roll", "pad", "flip", "index", "take", "take_along_axis"))
#: how often, on average, an element must be read to be worth a pass over memory
READS: Final = 1.5


def stops(instructions: list[Instruction], platform: str) -> set[int]:
    """Numbers of the instructions whose (one) result ends a fusion."""
    read = _elements_read(instructions if platform == "cpu" else [])
    found: set[int] = set()
    #: how many ops in a row XLA may fuse, up to each
    depths: list[int] = []
    #: whether such a row reads at other indices than it writes
    moved: list[bool] = []
    for number, i in enumerate(instructions):
        depth, moves = 0, False
        if not i.spec.heavy:
            before = _sources(i)
            depth = 1 + max([depths[at] for at in before], default=0)
            moves = _moves(i) or any(moved[at] for at in before)
        if len(i.types) == 1 and depth and (
            depth == FUSED or (moves and read[number] > READS * i.types[0].size)
        ):
            found.add(number)
            depth, moves = 0, False
        depths.append(depth)
        moved.append(moves)
    return found


def _sources(i: Instruction) -> list[int]:
    """The instructions whose results an instruction takes."""
    items = [item[0] if type(item) is tuple else item for item in i.operands]
    return [item for item in items if type(item) is int and item >= 0]


def _elements_read(instructions: list[Instruction]) -> Counter[int]:
    """How many elements of each instruction's first result are read.

    Each op that moves counts for itself; all others together once, since they share a loop.
    """
    read: Counter[int] = Counter()
    in_place: set[int] = set()
    for i in instructions:
        source = i.operands[_moved_operand(i)] if i.operands and _moves(i) else None
        if type(source) is int and source >= 0:
            size = i.types[0].size
            # what surrounds the elements of a pad, or of a slice's gradient, is not read
            spreads = i.spec.op.name == "pad" or "." in i.spec.op.name
            read[source] += min(size, instructions[source].types[0].size) if spreads else size
        in_place.update(at for at in _sources(i) if at != source)
    for at in in_place:
        read[at] += instructions[at].types[0].size
    return read


def _moves(i: Instruction) -> bool:
    """Whether the op, or the op whose derivative it is, reads at other indices than it writes."""
    return i.spec.op.name.partition(".")[0] in MOVING


def _moved_operand(i: Instruction) -> int:
    """The operand that is read so: the first, or the cotangent of a derivative."""
    return -1 if "." in i.spec.op.name else 0
