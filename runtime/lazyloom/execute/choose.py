"""The choice of a program's form: compiled, or op by op.

A program that is new runs op by op at once. What its runs have taken and a compiled program could
have saved adds up; when that is about what compiling is estimated to cost, the program is compiled,
beside the program that wants it, and runs compiled from then on (ski rental: no program takes more
than about twice what is best in hindsight). An idle compiler begins before that with what makes up
a part of the loop around it, as long as what it made so far has paid (:mod:`.compiling`).
Where one run op by op would take longer than compiling (heavy ops such as products of matrices
apart, which take as long in one form as in the other), the program is compiled first.

:func:`choose` changes nothing and asks nobody: the history of a structure, the facts of the moment
and the table of costs decide. :func:`lazyloom.execute.prepare.decide` gathers the facts and carries
out the step, :mod:`.run` runs the form. The choice is asked for where there is no compiled program
in memory: what is compiled runs compiled, unless timing both forms in turns (:mod:`.ab_timing`)
finds it slower. Before a structure runs op by op, :mod:`.padded.choice` looks for a padded program
that serves it.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple, final

from ..program import reasons
from . import costs
from .costs import Estimate
from .history import History
from .op_by_op.blas_threads import LONG, SHORT, Threads

#: the forms
COMPILED: Final = "compiled"
OP_BY_OP: Final = "op_by_op"
#: what is done before the run, after which the choice is made again
NOTHING: Final = 0
TRY_AGAIN: Final = 1
LOAD: Final = 2
#: or beside it
COMPILE: Final = 3


class Decision(NamedTuple):
    """A form, what is done for it, and why.

    Attributes:
        form: :data:`COMPILED` or :data:`OP_BY_OP`.
        step: :data:`NOTHING`; :data:`TRY_AGAIN`, to compare the compiled form anew; :data:`LOAD`,
            to look for the program on disk; or :data:`COMPILE`, to have it compiled beside.
        code: for the record, what the form was chosen for (:mod:`lazyloom.program.reasons`).
    """

    form: str
    step: int
    code: str

    @property
    def reason(self) -> str:
        """What the form was chosen for, for people to read."""
        return reasons.CHOICES[self.code]


OPTION: Final = Decision(COMPILED, NOTHING, reasons.OPTION)
WATCHED: Final = Decision(COMPILED, NOTHING, reasons.WATCHED)
COMPILED_ONLY: Final = Decision(COMPILED, NOTHING, reasons.COMPILED_ONLY)
READY: Final = Decision(COMPILED, NOTHING, reasons.READY)
LOADED: Final = Decision(COMPILED, NOTHING, reasons.LOADED)
LONG_RUN: Final = Decision(COMPILED, NOTHING, reasons.LONG_RUN)
NOT_BESIDE: Final = Decision(COMPILED, NOTHING, reasons.NOT_BESIDE)
SLOWER: Final = Decision(OP_BY_OP, NOTHING, reasons.SLOWER)
AGAIN: Final = Decision(OP_BY_OP, TRY_AGAIN, reasons.AGAIN)
LOOK: Final = Decision(OP_BY_OP, LOAD, reasons.LOOK)
NOTHING_TO_SAVE: Final = Decision(OP_BY_OP, NOTHING, reasons.NOTHING_TO_SAVE)
QUEUED: Final = Decision(OP_BY_OP, NOTHING, reasons.QUEUED)
FAILED: Final = Decision(OP_BY_OP, NOTHING, reasons.FAILED)
#: what it could have saved does not count yet, as a run that is the first may be slow, or the last
FEW_RUNS: Final = Decision(OP_BY_OP, NOTHING, reasons.FEW_RUNS)
WAITS: Final = Decision(OP_BY_OP, NOTHING, reasons.WAITS)
QUEUE_FULL: Final = Decision(OP_BY_OP, NOTHING, reasons.QUEUE_FULL)
EARNED: Final = Decision(OP_BY_OP, COMPILE, reasons.EARNED)
EARLY: Final = Decision(OP_BY_OP, COMPILE, reasons.EARLY)


@final
class Facts:
    """What is so when a program is to run, beside its structure's history.

    Attributes:
        ops: how many it has.
        inputs: it has any.
        compiled: there is its program, and it returns what is wanted.
        on_disk: it may be there: nobody has looked yet.
        run_estimate: what a run op by op is estimated to take.
        start: seconds until JAX has started.
        compiler: seconds until a process that compiles has. Asked from the second run on.
        now: the time, in seconds.
        idle: the compiler has nothing to do, may begin one more program that has not earned it yet,
            and no padded program is to come first. Asked from the third run on.
        all_saved: seconds that all programs together could have saved.
    """

    __slots__ = ("ops", "inputs", "compiled", "on_disk", "run_estimate", "start", "compiler", "now",
                 "idle", "all_saved")

    def __init__(
        self, ops: int, inputs: bool, compiled: bool, on_disk: bool, run_estimate: Estimate,
        start: float, compiler: float, now: float, idle: bool, all_saved: float,
    ) -> None:  # fmt: skip
        self.ops: Final = ops
        self.inputs: Final = inputs
        self.compiled: Final = compiled
        self.on_disk: Final = on_disk
        self.run_estimate: Final = run_estimate
        self.start: Final = start
        self.compiler: Final = compiler
        self.now: Final = now
        self.idle: Final = idle
        self.all_saved: Final = all_saved


def choose(history: History, facts: Facts) -> Decision:
    """The form of the next run of a program, and what is done for it."""
    if history.compiled_only:
        return COMPILED_ONLY
    if history.slower:
        return AGAIN if is_tried_again(history) else SLOWER
    if facts.compiled:
        return READY
    saved = could_save(history)
    run = facts.run_estimate.run
    if facts.on_disk and not history.queued and (
        saved + max(0.0, run - history.least) >= facts.start + costs.load_estimate(facts.ops)
    ):
        return LOOK
    #: what is compared with savings
    price = history.compile_estimate + facts.start
    # heavy ops take as long in one form as in the other
    if run - facts.run_estimate.heavy >= price:
        return LONG_RUN
    if history.compile_estimate == math.inf:
        return FAILED
    if history.runs and (saved == 0.0 or (facts.ops == 1 and not facts.inputs)):
        # what fills one array waits for memory
        return NOTHING_TO_SAVE
    if history.queued:
        return QUEUED
    # that of the process that compiles, too, which a program that is waited for does without
    price += facts.compiler
    if saved >= price and history.runs >= costs.LEAST_RUNS:
        return EARNED
    if facts.idle and (facts.start == 0.0 or facts.all_saved >= costs.START_EARLY) and (
        comes_back(history, price, facts.now)
    ):
        return EARLY
    return FEW_RUNS if history.runs < costs.LEAST_RUNS else WAITS


def could_save(history: History) -> float:
    """Seconds that the program could have saved if it had been compiled before its runs op by op.

    The quickest of the newest counts for all of them: others may have waited for a processor.
    """
    spent = history.spent
    # after each run op by op it is asked: builtins take longer in compiled code
    for seconds in history.recent:
        if history.runs * seconds < spent:
            spent = history.runs * seconds
    spent -= history.runs * history.least
    return spent if spent > 0.0 else 0.0


def comes_back(history: History, price: float, now: float) -> bool:
    """Whether a program is one for a compiler that has nothing else to do.

    It makes up a part of the loop around it, and its price (what compiling is estimated to take,
    and the start of JAX here and where it is compiled) is no more than is likely to be saved: a
    loop is taken to go on for as long as it has gone on.
    """
    runs = history.runs
    began = history.round_began
    age = now - history.loop_began
    since = runs - history.round_runs
    # of less than two rounds it cannot be told how long they take: twice in one is not a round
    if runs < costs.EAGER_RUNS or began == 0.0 or since < costs.LEAST_RUNS:
        return False
    # one that waited for a processor counts as two
    took = min(
        history.spent - history.round_spent,
        2 * since * min(history.recent, default=math.inf))
    if took - since * history.least < costs.PART * (now - began):
        return False
    # builtins take longer in compiled code
    granted = costs.EAGER_SECONDS if age > costs.EAGER_SECONDS else age
    if runs >= costs.STEADY_RUNS and price <= costs.STEADY_SECONDS and (
        costs.EAGER_FACTOR * age + granted >= price
    ):
        return True
    return costs.EAGER_FACTOR * could_save(history) + granted >= price


def is_tried_again(history: History) -> bool:
    """Whether a compiled program that was slower has waited long enough to be compared again."""
    times = min(max(0, history.demotions - 1), costs.LESS_OFTEN)
    return history.runs >= costs.AGAIN << 2 * times and could_save(history) > 0.0


#: what the first runs of a compiled program say of it
QUICKER: Final = 0
CLOSE: Final = 1
SLOW: Final = 2


def verdict(recent: list[float], compared: list[float], padded: bool) -> int:
    """What the compiled form is, by the seconds of runs op by op and of compiled ones.

    :data:`CLOSE` says that turns of the loop around the program are worth being timed. The very
    first compiled run does not count.
    """
    # the quickest: where it is not waited for, no thread has to be woken for it
    before = max(min(recent), 1e-9)
    ratio = min(compared[1:]) / before
    # beside longer runs what it rests on is little, and turns in the slower form would take long
    close = not padded and before < costs.BRIEF
    if ratio > costs.SLOWER * (costs.FAR if close else 1.0):
        return SLOW
    return CLOSE if close and ratio >= costs.SLOWER * costs.NEAR else QUICKER


def threads(history: History, longest: float) -> Threads:
    """How many threads the products of a run op by op are worth, by the longest one's seconds."""
    if longest < SHORT or history.several_threads:
        return Threads.AS_THEY_ARE
    return Threads.ONE if longest < LONG else Threads.SEVERAL
