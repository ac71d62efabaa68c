"""The table of costs by which a program's form is chosen, and the estimates made of them.

Seconds, unless a name says otherwise. Those that tests set are no constants: a test of what is
compiled beside the program must not depend on the machine's speed.
"""

from __future__ import annotations

import math
import sys
from typing import Final, final

from ..program.loops import compile_seconds
from ..program.plan import Plan
from ..program.stream import INDEX_BITS, INDEX_MASK
from . import compile_costs

# Op by op: a call of NumPy and the way there; a byte of result; a floating-point operation of a
# heavy op.
RUN_PER_OP: Final = 2e-6
RUN_PER_BYTE: Final = 0.5e-9
RUN_PER_FLOP: Final = 1 / 2e10

# Compiling, beside what the ops take; the import of JAX and the start of its client, in this
# process or in the one that compiles.
COMPILE: Final = 0.03
START: Final = 0.7
#: what all programs together could have saved, from which JAX is imported for one that has not
#: earned it alone: they share it, and what ends before that is not slowed down
START_EARLY = 0.35
# A program is looked for on disk and loaded, and as much more for each op.
LOAD: Final = 0.004
LOAD_PER_OP: Final = 3e-5
#: a program has taken so much for each op, a few times what the search takes, before its loops are
#: looked for
SEARCH_PER_OP: Final = 5e-5

#: a run of a compiled program takes at least so much, to be handed over, and as much again for
#: each so many of its instructions; what a run op by op takes beyond that could be saved
WORTH = 5e-5
INSTRUCTIONS: Final = 100

#: a compiled program's heavy ops take at least this part of what they are estimated to take op by
#: op: about as long, and the estimate is that of a slow processor
HEAVY_PART = 0.25

#: runs for which it stands that a compiled program would take as long as the newest op by op
DECISION_RUNS: Final = 15

#: runs from which it can be told whether what they took was their own
LEAST_RUNS: Final = 2
#: an idle compiler takes a program after so many runs, once compiling is estimated to take at most
#: so many times what it has cost, and what its loop has taken, up to so many seconds: what ends
#: soon gains nothing, and what has gone on for a while is likely to go on
EAGER_RUNS: Final = 3
EAGER_FACTOR = 4.0
EAGER_SECONDS: Final = 1.0
#: or after so many runs, if compiling is estimated to take at most so long, and no longer than so
#: many times what its loop has taken
STEADY_RUNS: Final = 10
STEADY_SECONDS: Final = 60.0
#: in either case it could save this part of the time in which it comes round, over so many runs
PART = 0.05
PART_RUNS: Final = 8

#: the compiled form is the slower one where it takes so many times as long as op by op
SLOWER = 1.25
#: of programs that are brief op by op, where it takes FAR times as long as that; it is the quicker
#: one below NEAR times; in between turns of the loop around the program are timed
NEAR = 0.4
FAR = 2.0
BRIEF = 0.003
#: the form that lost is tried again after so many runs, and four times as many each time, so often
AGAIN = 100
LESS_OFTEN: Final = 3

#: estimated seconds of a program's heavy ops from which several threads may be worth it for them
WORTH_THREADS: Final = 5e-5
#: one thread is used again once so many runs more than not took longer with several
LATE: Final = 8
#: the loop around a compiled program is timed for so many runs at a time, a power of two, and the
#: forms are compared again once so many times more than not were longer than with the next best
LOOK: Final = 32
LATE_LOOKS: Final = 8


@final
class Estimate:
    """What a run op by op is estimated to take, beside what it has yet to prepare.

    Attributes:
        run: of all ops.
        longest, heavy: of the longest heavy op, and of all of them. Every op counts whose spec is
            ``heavy`` (a product, convolution, sort, factorisation or scan), and is estimated as if
            it were a product of its first two operands.
    """

    __slots__ = ("run", "longest", "heavy")

    def __init__(self, run: float, longest: float, heavy: float) -> None:
        self.run: Final = run
        self.longest: Final = longest
        self.heavy: Final = heavy


def run_estimate(plan: Plan) -> Estimate:
    """The estimate of a plan, which rests on its structure alone."""
    longest = heavy = 0.0
    seconds = RUN_PER_OP * len(plan.nodes)
    stream = plan.stream()
    leaf_types = plan.structure.leaf_types
    nodes = plan.nodes
    for number, n in enumerate(nodes):
        size = n.types[0].nbytes
        if size > 4096:
            seconds += RUN_PER_BYTE * size
        if stream.specs[number].heavy:
            # right for a product of matrices: (m k)(k n)(m n) = (m k n)^2
            product = float(n.types[0].size)
            start = stream.ends[number - 1] if number else 0
            for code in stream.operands[start : min(start + 2, stream.ends[number])]:
                if code < 0:
                    source = -1 - code
                    product *= nodes[source >> INDEX_BITS].types[source & INDEX_MASK].size
                elif code < stream.leaves:
                    product *= leaf_types[code].size
            work = 2 * math.sqrt(product) * RUN_PER_FLOP
            seconds += work
            heavy += work
            longest = max(longest, work)
    return Estimate(seconds, longest, heavy)


def compile_estimate(ops: int) -> float:
    """Seconds that compiling so many instructions takes, as far as earlier ones were measured."""
    return (COMPILE + compile_seconds(ops)) * compile_costs.factor()


def least_run(ops: int, heavy: float) -> float:
    """Seconds that a run of a compiled program of so many ops takes at least.

    ``heavy``: those of its heavy ops (:attr:`Estimate.heavy`).
    """
    return WORTH * (1 + ops / INSTRUCTIONS) + HEAVY_PART * heavy


def load_estimate(ops: int) -> float:
    """Seconds that a program takes to be looked for on disk and loaded."""
    return LOAD + LOAD_PER_OP * ops


def start_seconds() -> float:
    """Seconds until JAX is imported and its client has started."""
    global _started
    if not _started:
        _started = "jaxlib.xla_client" in sys.modules
    return 0.0 if _started else START


_started = False

#: structures of fewer ops run op by op as quickly as one is padded
PADDED_OPS: Final = 12
