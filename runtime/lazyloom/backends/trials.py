"""In which form of a program the loop around it goes round more quickly.

What a run takes does not tell. A compiled program that nobody waits for runs while the next step is
recorded, on the same processors; one that is read at once has threads woken for it, which one in
pieces has not. So the loop goes round in one form and in the other by turns, and whole turns are
timed, from when nothing is under way to when nothing is again.
"""

from __future__ import annotations

import math
import time
from typing import Final

from ..interrupts import reraise_from_handler
from ..program.plan import Plan
from .selection import backend

#: runs of a turn, of which the first ones are not timed: their operands have to change places
RUNS: Final = 10
WARM: Final = 2
#: turns of each form, the quickest of which counts
TURNS: Final = 3
#: seconds (no constant, as tests have a clock of their own)
clock = time.perf_counter


class Trial:
    """Turns of a program as a whole and in pieces.

    Threads that run the program at once share its turns.
    """

    __slots__ = ("pieces", "count", "started", "turns", "seconds")

    def __init__(self) -> None:
        self.pieces = False
        self.count = 0
        self.started = -1.0
        self.turns = 0
        #: of a run as a whole, and in pieces
        self.seconds = [math.inf, math.inf]

    def next(self, plan: Plan) -> bool:
        """Whether the next run, of this plan, is in pieces."""
        if self.count >= RUNS:
            _wait(plan)
            form = int(self.pieces)
            seconds = (clock() - self.started) / (RUNS - WARM)
            self.seconds[form] = min(self.seconds[form], seconds)
            self.turns += 1
            self.pieces = not self.pieces
            self.count = 0
            self.started = -1.0
        elif self.count >= WARM and self.started < 0:
            _wait(plan)
            self.started = clock()
        self.count += 1
        return self.pieces

    def done(self) -> bool:
        """Whether each form has had its turns."""
        return self.turns >= 2 * TURNS

    def whole_is_slower(self) -> bool:
        return self.seconds[0] > self.seconds[1]


def _wait(plan: Plan) -> None:
    """Wait for the runs that a plan's operands are results of."""
    for leaf in plan.leaves:
        array = leaf.array
        if array is not None:
            try:
                backend().wait(array)
            except Exception as error:
                # whoever reads a result of that run gets its error
                reraise_from_handler(error)
