"""A/B timing of a program's forms within the loop around it.

What a run takes does not tell. A compiled program that nobody waits for runs while the next step is
recorded, on the same processors; one that is read at once has threads woken for it, which one op by
op has not. So the loop goes round in one form and in the other by turns, and whole turns are
timed, from when nothing is under way to when nothing is again.
"""

from __future__ import annotations

import math
import statistics
import time
from typing import Final

from ..backends.selection import backend
from ..interrupts import reraise_from_handler
from ..program.plan import Plan

#: the forms: as a whole; op by op, products in one thread; and in as many as NumPy's take, which
#: is quicker where the machine has nothing else to do, and slower where it has
WHOLE: Final = 0
OP_BY_OP: Final = 1
SEVERAL_THREADS: Final = 2
#: runs of a turn, of which the first ones are not timed: their operands have to change places
RUNS: Final = 12
WARM: Final = 3
#: turns of each form, whose median counts: a form whose turns differ much is not to win by its best
TURNS: Final = 5
#: seconds (no constant, as tests have a clock of their own)
clock = time.perf_counter


class Turns:
    """Turns of a program in ``forms`` forms.

    Threads that run the program at once share its turns.
    """

    __slots__ = ("form", "count", "started", "turns", "seconds", "alone")

    def __init__(self, forms: int) -> None:
        self.form = WHOLE
        self.count = 0
        self.started = -1.0
        self.turns = 0
        #: of a run, for each form those of its turns
        self.seconds: list[list[float]] = [[] for _ in range(forms)]
        #: of the quickest run op by op with one thread, by itself
        self.alone = math.inf

    def next(self, plan: Plan) -> int:
        """The form of the next run, of this plan."""
        if self.count >= RUNS:
            _wait(plan)
            seconds = (clock() - self.started) / (RUNS - WARM)
            self.seconds[self.form].append(seconds)
            self.turns += 1
            self.form = self.turns % len(self.seconds)
            self.count = 0
            self.started = -1.0
        elif self.count >= WARM and self.started < 0:
            _wait(plan)
            self.started = clock()
        self.count += 1
        return self.form

    def done(self) -> bool:
        """Whether each form has had its turns."""
        return self.turns >= TURNS * len(self.seconds)

    def best(self) -> tuple[int, float]:
        """The quickest form, and the seconds that the loop goes round in with the next best."""
        medians = [statistics.median(turns) for turns in self.seconds]
        best = medians.index(min(medians))
        return best, min(medians[:best] + medians[best + 1 :])


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
