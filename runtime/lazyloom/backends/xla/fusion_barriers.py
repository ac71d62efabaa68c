"""Fusion barriers: where a program ends XLA's fusions, since going on would cost more.

XLA:CPU fuses what it can and computes a value again for each of its readers. That is right for
readers at the same index, which share the work inside a loop, and goes wrong in five cases:

- a long chain becomes one loop, whose machine code makes LLVM run out of memory;
- so does a short chain of ops of many steps each: sixteen dropouts in a row, each twenty
  rounds of Threefry, compiled for minutes, where fifteen took seconds;
- where a value is read at several offsets (the stencils of array programs: ``u[:-1] + u[1:]``,
  ``roll``), each offset computes it again, with all that it was computed from: the code of a few
  steps of such a loop, and its work, grow as a power of the steps;
- where a value of many steps is read by several loops (a reduction, and a loop that uses its
  result) or by far more elements than it has (the key of a random draw), each computes it;
- where a product reads it, which takes its operands only from memory, and a reduction as well (the
  gradients of a layer's weight and bias), XLA would compute it for the reduction and again while it
  transposes it for the product, from one cache line to the next: a transformer's step took 1.5
  times as long.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from typing import Final

from ...ops.derived import VMAP
from ...program.program import Instruction
from ...program.stream import Result
from ...settings import LOWERINGS_KEPT
from .lowering import lower
from .reductions import LEAST
from .while_loops import handed_on

#: the longest chain of ops that XLA may fuse: the CPU code of jaxlib 0.10 for one loop of 600
#: additions to a vector of 4 takes LLVM tens of gigabytes
FUSED: Final = 200
#: the most steps of such a chain in all, as :func:`steps_of` counts them
FUSED_STEPS: Final = 500
#: from this number of steps on, computing a value again costs more than reading it
MANY_STEPS: Final = 64
#: reshapes of transposed values in a row: each doubles XLA's index arithmetic and its time to
#: compile (twelve did not end in 20 s); transposes alone merge
FOLDED: Final = 4
#: how often, on average, an element must be read to be worth a pass over memory
READS: Final = 1.5


def barriers(instructions: list[Instruction], platform: str) -> set[int]:
    """Return the numbers of the instructions whose first result ends a fusion."""
    on_cpu = platform == "cpu"
    read = _elements_read(instructions if on_cpu else [])
    again = _computed_again(instructions if on_cpu else [])
    kept = _multiplied_and_reduced(instructions) if on_cpu else set()
    ends: set[int] = set()
    #: for each op, how many ops in a row up to it XLA may fuse
    depths: list[int] = []
    #: how many steps those have
    steps: list[int] = []
    #: whether such a row reads at other indices than it writes
    moved: list[bool] = []
    #: how many of its reshapes follow a transpose, and whether a transpose came since the last one
    folds: list[tuple[int, bool]] = []
    for number, i in enumerate(instructions):
        depth, many, moves = 0, 0, False
        fold = (0, False)
        if not i.spec.heavy:
            before = _sources(i)
            depth = 1 + max([depths[at] for at in before], default=0)
            if on_cpu:
                many = steps_of(i) + max([steps[at] for at in before], default=0)
                fold = _folded(i, max([folds[at] for at in before], default=fold))
            moves = i.spec.op.access.offset_reads or any(moved[at] for at in before)
        if depth and (
            number in kept or depth == FUSED or many >= FUSED_STEPS or fold[0] == FOLDED
            or (moves and read[number] > READS * i.types[0].size)
            or (many >= MANY_STEPS and again[number] > READS * i.types[0].size)
        ):
            ends.add(number)
            depth, many, moves = 0, 0, False
            fold = (0, False)
        folds.append(fold)
        depths.append(depth)
        steps.append(many)
        moved.append(moves)
    return ends


def _folded(i: Instruction, before: tuple[int, bool]) -> tuple[int, bool]:
    """Return the reshapes after a transpose in a row, and whether a transpose came since the last
    one, including this op."""
    count, transposed = before
    layout = i.spec.op.access.layout
    if layout == "reshape" and transposed:
        return count + 1, False
    return count, transposed or layout == "transpose"


def steps_of(i: Instruction) -> int:
    """Return about how many steps of a loop's code the op is; a list of results shares them."""
    steps = _count(lower(i.spec, i.operand_types).text)[0]
    return steps // max(len(i.types), 1) if i.spec.op.signature.lists else steps


_STEP: Final = re.compile(r"= \"?(stablehlo|chlo)\.(\w+)")
#: steps that cost nothing in a loop
_FREE: Final = frozenset((
    "constant", "iota", "broadcast_in_dim", "reshape", "transpose", "optimization_barrier"))
#: steps that XLA expands, and into how many
_SERIES: Final = {
    "bessel_i1e": 120, "digamma": 80, "erf_inv": 50, "lgamma": 80, "polygamma": 300, "zeta": 200,
}  # fmt: skip


@functools.lru_cache(maxsize=LOWERINGS_KEPT)
def _count(text: str) -> tuple[int, int]:
    """Return the steps of an op's lowering, and how many of them are separate loops over their
    operand."""
    steps, loops = 0, 0
    for dialect, name in _STEP.findall(text):
        steps += 0 if name in _FREE else _SERIES.get(name, 1)
        loops += dialect == "stablehlo" and name in ("reduce", "reduce_window")
    return steps, loops


def _computed_again(instructions: list[Instruction]) -> Counter[int]:
    """Return how many elements of each first result are computed if it stays inside a fusion.

    A reduction is a loop of its own, and so is an op with more elements than the value; all other
    readers together count once, since they share a loop.
    """
    computed: Counter[int] = Counter()
    shared: set[int] = set()
    for i in instructions:
        if i.spec.heavy:
            continue
        largest = max((t.size for t in i.types), default=0)
        loops = _count(lower(i.spec, i.operand_types).text)[1]
        for at in dict.fromkeys(_firsts(i)):
            size = instructions[at].types[0].size
            computed[at] += loops * size
            if largest > size:
                computed[at] += largest
            elif largest == size:
                shared.add(at)
    for at in shared:
        computed[at] += instructions[at].types[0].size
    return computed


def _multiplied_and_reduced(instructions: list[Instruction]) -> set[int]:
    """Return the instructions whose first result is a large operand of both a product and a sum.

    Directly, or through an op whose result is its operand.
    """
    lowered = [lower(i.spec, i.operand_types) for i in instructions]
    same = handed_on(instructions, lowered)
    multiplied: set[int] = set()
    reduced: set[int] = set()
    for i, lowering in zip(instructions, lowered, strict=True):
        loops = _count(lowering.text)[1]
        if not (i.spec.heavy or loops):
            continue
        for item, t in zip(i.operands, i.operand_types, strict=True):
            while isinstance(item, Result) and item in same:
                item = same[item]
            if isinstance(item, Result) and not item.number and t is not None and t.size >= LEAST:
                (multiplied if i.spec.heavy else reduced).add(item.instruction)
    return {n for n in multiplied & reduced
            if not instructions[n].spec.heavy and _count(lowered[n].text)[0]}


def _sources(i: Instruction) -> list[int]:
    """Return the instructions whose results an instruction takes."""
    return [item.instruction for item in i.operands if isinstance(item, Result)]


def _firsts(i: Instruction) -> list[int]:
    """Return the instructions whose first result an instruction takes."""
    return [item.instruction for item in i.operands
            if isinstance(item, Result) and item.number == 0]


def _elements_read(instructions: list[Instruction]) -> Counter[int]:
    """Return how many elements of each instruction's first result are read.

    Each op that reads at an offset counts; all others together once, since they share a loop.
    """
    read: Counter[int] = Counter()
    in_place: set[int] = set()
    for i in instructions:
        reads = i.operands and i.spec.op.access.offset_reads
        moved = i.operands[_moved_operand(i)] if reads else None
        source = -1
        if isinstance(moved, Result) and moved.number == 0:
            source = moved.instruction
            size = i.types[0].size
            # the surroundings of the elements of a pad, or of a slice's gradient, are not read
            before = instructions[source].types[0].size
            read[source] += min(size, before) if i.spec.op.access.spreads else size
        in_place.update(at for at in _sources(i) if at != source)
    for at in in_place:
        read[at] += instructions[at].types[0].size
    return read


def _moved_operand(i: Instruction) -> int:
    """Return the operand that is read at an offset: the first, or the last tangent or cotangent of
    a derivative."""
    return 0 if i.spec.op.kind in ("", VMAP) else -1
