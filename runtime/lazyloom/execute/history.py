"""What was measured of a structure's runs, and what came of it.

The thread that runs a program, others that run it at the same time and the compiler's thread write
here: methods that change several fields hold the one lock of all histories meanwhile, and whoever
sets a single field needs none.
"""

from __future__ import annotations

import math
import threading
from typing import Any, Final, final

from ..cache.memory import Entry
from ..compiled import ALONE
from . import costs
from .costs import Estimate

#: the newest runs op by op, and the first ones of the compiled program after its very first, which
#: are compared
COMPARED: Final = 5

#: seconds that all programs which came back could have saved
all_saved: Final[list[float]] = [0.0]

#: a signal's handler that computes arrays may get here while its thread holds it
_lock: Final = threading.RLock()


_ALONE: Final[bool] = ALONE


@final
class History:
    """The history of one structure.

    Attributes, of its runs op by op:
        runs, spent: how many there were since it was last compiled, and the seconds they took.
        recent: seconds of the newest, in no order.
        run_estimate: what one is estimated to take, or None.
        schedule: how it runs op by op, a :class:`~.op_by_op.schedule.Schedule`, or None.
        compiled_only: it cannot run op by op.

    Of compiling it:
        compile_estimate: seconds that this is estimated to take, 0 before that was asked, infinite
            if it failed beside the program.
        least: seconds that a run of the compiled program takes at least.
        decided: for how many runs more the decision stands that compiling saves nothing.
        loops_searched: its loops were looked for, for the estimate.
        queued: it is to be compiled, or is being compiled, beside the program.
        loop_began: when that was first looked at, which is with its first run.
        round_began, round_runs, round_spent: since when it is looked at how much of the time its
            runs op by op take, 0 before that, and what ``runs`` and ``spent`` were then.
        unpaid: seconds of processor that compiling it took, until it is seen to have paid.
        failure: why compiling it beside the program failed, or "".
        deadly: that has ended the processes that compiled it, so that it is not done in this one.

    Of the comparison of its forms (:mod:`.comparison`):
        to_compare, compared: how many runs of the program are yet to be waited for, and the seconds
            of those that were.
        slower: the compiled form was: it runs op by op for the time being.
        demotions: how often it was.
        asked_disk: it was asked whether earlier processes found it slower.
        turns: times the forms by turns, an :class:`~.ab_timing.Turns`, or None.
        accepted, until_turns: how often the compiled form won them, and after how many runs they
            are repeated, 0 for never.
        several_threads: products use as many threads as NumPy's do, which was quicker.
        bound: seconds that the winner's later runs are compared with. Compiled: the time of the
            loop around the program, a run, in the next best form. Several threads: the quickest
            run op by op with one thread.
        late: goes up by one whenever such a time exceeds the bound, and down by one, to 0 at least,
            whenever it does not. Compiled: one time is that of :data:`~.costs.LOOK` runs of the
            loop, and :data:`~.costs.LATE_LOOKS` repeats the turns. Several threads: one time is
            that of a run, and :data:`~.costs.LATE` goes back to one thread.
        look_began: when the present one of these times of the loop began, 0 before the first.

    Of what is measured beside the program (:mod:`.compiling.trials`):
        watch: what counts its runs, or knows that they need not be counted; None before that.

    Of padding:
        member: what it is among structures that differ in extents alone, a
            :class:`~.padded.members.Member`, or None.
        unpadded: why a structure with padding has no program, or "".
    """

    __slots__ = (
        "runs", "spent", "recent", "run_estimate", "schedule", "compiled_only",
        "compile_estimate", "least", "decided", "loops_searched", "queued",
        "loop_began", "round_began", "round_runs", "round_spent", "unpaid", "failure", "deadly",
        "to_compare", "compared", "slower", "demotions", "asked_disk", "turns", "accepted",
        "until_turns", "several_threads", "bound", "late", "look_began", "watch", "member",
        "unpadded",
    )  # fmt: skip

    def __init__(self) -> None:
        # first: __del__ asks for it, also of one that an interrupt left half made
        self.schedule: Any = None
        self.runs = 0
        self.spent = 0.0
        self.recent: list[float] = []
        self.run_estimate: Estimate | None = None
        self.compiled_only = False
        self.compile_estimate = 0.0
        self.least = 0.0
        self.decided = 0
        self.loops_searched = False
        self.queued = False
        self.loop_began = 0.0
        self.round_began = 0.0
        self.round_runs = 0
        self.round_spent = 0.0
        self.unpaid = 0.0
        self.failure = ""
        self.deadly = False
        self.to_compare = 0
        self.compared: list[float] = []
        self.slower = False
        self.demotions = 0
        self.asked_disk = False
        self.turns: Any = None
        self.accepted = 0
        self.until_turns = 0
        self.several_threads = False
        self.bound = 0.0
        self.late = 0
        self.look_began = 0.0
        self.watch: Any = None
        self.member: Any = None
        self.unpadded = ""

    def __del__(self) -> None:
        self.keep_schedule(None)

    def keep_schedule(self, schedule: Any) -> None:
        """Take over how it runs op by op, or None; what it had before is let go of."""
        before = self.schedule
        self.schedule = schedule
        if before is not None and before is not schedule:
            before.let_go()

    def expect(self, ops: int, heavy: float) -> None:
        """Note what compiling a program of so many ops is estimated to take, and its runs then.

        ``heavy``: estimated seconds of its heavy ops.
        """
        self.least = costs.least_run(ops, heavy)
        self.compile_estimate = costs.compile_estimate(ops)

    def ran_op_by_op(self, seconds: float) -> float:
        """Count a run op by op; the seconds that it could have saved, 0 for the first.

        That may have been slowed down by much else.
        """
        if _ALONE:
            return self._ran_op_by_op(seconds)
        with _lock:
            return self._ran_op_by_op(seconds)

    def _ran_op_by_op(self, seconds: float) -> float:
        saved = 0.0
        if self.runs:
            # builtins take longer in compiled code
            least = seconds
            for other in self.recent:
                if 2 * other < least:
                    least = 2 * other
            if least > self.least:
                saved = least - self.least
        if len(self.recent) < COMPARED:
            self.recent.append(seconds)
        else:
            self.recent[self.runs % COMPARED] = seconds
        self.runs += 1
        self.spent += seconds
        return saved

    def could_have_served(self, seconds: float) -> None:
        """Count a run of another structure for which this one's padded program is, too."""
        with _lock:
            self.runs += 1
            self.spent += seconds
            # on average, whatever the extents of the newest
            self.recent = [self.spent / self.runs]

    def wasted(self, seconds: float, runs: int = 0) -> None:
        """Count work that a larger program did in vain for this one."""
        with _lock:
            self.runs += runs
            self.spent += seconds

    def next_round(self, now: float) -> None:
        """Look anew at how much of the time the runs op by op take, where it is time for that."""
        with _lock:
            if self.round_began == 0.0:
                self.loop_began = now
            if self.round_began == 0.0 or self.runs - self.round_runs >= costs.PART_RUNS:
                self.round_began, self.round_runs, self.round_spent = now, self.runs, self.spent

    def compare(self) -> None:
        """Have the compiled program's next runs compared with those op by op."""
        with _lock:
            # the first is not counted
            self.to_compare = COMPARED + 1
            self.compared = []
            self.turns = None

    def ran_compared(self, seconds: float) -> bool:
        """Count a run of the compiled program that was waited for; whether it was the last."""
        with _lock:
            self.to_compare -= 1
            self.compared.append(seconds)
            return self.to_compare == 0

    def end_turns(self, compiled: bool, several_threads: bool, bound: float) -> None:
        """Note which form was the quicker one in turns, and what it must not exceed."""
        with _lock:
            if compiled:
                # where this was found out because the loop was slow, it is slow in any form
                self.bound = math.inf if self.late == costs.LATE_LOOKS else bound
                self.until_turns = costs.AGAIN << 2 * min(self.accepted, costs.LESS_OFTEN)
                self.accepted += 1
            else:
                self.several_threads = several_threads
                self.bound = bound
            self.late, self.look_began = 0, 0.0

    def ran_with_several_threads(self, seconds: float) -> None:
        """Go back to one thread where somebody else wants the processors.

        Threads that wait for each other take long then.
        """
        with _lock:
            self.late = self.late + 1 if seconds > self.bound else max(0, self.late - 1)
            if self.late == costs.LATE:
                self.several_threads, self.late = False, 0

    def looped(self, now: float) -> bool:
        """Count the :data:`~.costs.LOOK` last runs of the loop around a compiled program.

        Whether they have taken too long too often: turns say which form is quicker by now.
        """
        with _lock:
            if self.look_began:
                late = now - self.look_began > costs.LOOK * self.bound
                self.late = self.late + 1 if late else max(0, self.late - 1)
            self.look_began = now
            if self.late != costs.LATE_LOOKS:
                return False
            self.until_turns = 0
            return True

    def has_program(self) -> None:
        """Begin anew with a compiled program, which is compared with earlier runs if any."""
        self.keep_schedule(None)
        if self.recent:
            self.compare()

    def compiled_beside(self) -> None:
        """Forget what runs op by op have cost, as there is a program now."""
        with _lock:
            self.spent, self.runs, self.round_began = 0.0, 0, 0.0

    def cannot_compile(self, why: str) -> None:
        """Note that compiling it beside the program has failed: it goes on op by op."""
        with _lock:
            self.failure = why
            self.compile_estimate = math.inf

    def is_deadly(self, why: str) -> None:
        """Note that compiling it ends processes."""
        with _lock:
            self.deadly = True
            self.failure = why

    def is_slower(self, demotions: int) -> None:
        """Have it run op by op for the time being, which is quicker."""
        with _lock:
            self.demotions += demotions
            self.slower = True
            self.runs = 0

    def try_again(self) -> None:
        """Have it run compiled again: the machine may have had much to do when it was slower."""
        with _lock:
            self.slower, self.runs = False, 0
            self.compare()

    def costs_processor(self, seconds: float) -> None:
        """Count what compiling it took."""
        with _lock:
            self.unpaid += seconds

    def paid(self) -> float:
        """The seconds that compiling it took, which count no more."""
        with _lock:
            before, self.unpaid = self.unpaid, 0.0
        return before


def history_of(entry: Entry) -> History:
    """The history of an entry's structure."""
    found: History | None = entry.history
    if found is None:
        with _lock:
            found = entry.history
            if found is None:
                found = entry.history = History()
    return found
