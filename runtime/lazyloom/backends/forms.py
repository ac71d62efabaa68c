"""In which form a program runs: whole, as one executable, or in pieces, op by op.

A program that is new runs in pieces at once. What that costs adds up; when it has cost about what
compiling is estimated to cost, the program is compiled, beside the program that wants it, and runs
whole from then on (ski rental: no program takes more than about twice what is best in hindsight).
Where one run in pieces would take longer than compiling (products of matrices apart, which take as
long in one form as in the other), the program is compiled first.

With the option ``reproducible`` every program runs whole, and so it does where the runs of other
code generators are verified or timed.
"""

from __future__ import annotations

import math
import sys
from typing import Final, final

from .. import settings
from ..cache import disk, memory
from ..counters import counters
from ..program.loops import SAVED, compile_seconds, rolled_size
from ..program.plan import Plan
from ..trace.specs import Spec
from . import background, programs, trials
from .blas_threads import LONG, SHORT, Threads, several
from .selection import backend
from .trials import PIECES, THREADS, WHOLE, Trial

#: seconds that an op takes in pieces beside its work: a call of NumPy, and the way there
PER_OP: Final = 2e-6
#: seconds a byte of result, and a floating-point operation of a heavy op, take there
PER_BYTE: Final = 0.5e-9
PER_FLOP: Final = 1 / 2e10
#: compiling takes so many seconds beside what the ops take
COMPILE: Final = 0.03
#: importing JAX and starting its client, where that was not done yet
START: Final = 0.7
#: seconds in pieces, of all programs together, from which JAX is imported for a program that has
#: not earned it alone: they share it, and what ends before that is not slowed down
START_EARLY = 0.35
#: to look for a program on disk and to load it, and for each op
LOAD: Final = 0.004
LOAD_PER_OP: Final = 3e-5
#: a program has taken so many seconds an op, a few times what the search takes, before its loops
#: are looked for
SEARCH_PER_OP: Final = 5e-5
#: seconds a run that a program in pieces has to take for compiling it to gain anything (no
#: constant, as tests of what is compiled beside set it, whatever the machine's speed)
WORTH = 5e-5
#: an idle compiler takes a program that ran so often, once compiling is estimated to take at most
#: so many times what it has cost, and so many seconds
EAGER_RUNS: Final = 3
EAGER_FACTOR: Final = 4.0
EAGER_SECONDS: Final = 1.0
#: or that ran so often, if compiling is estimated to take so many seconds at most
STEADY_RUNS: Final = 10
STEADY_SECONDS: Final = 60.0
#: runs of a compiled program that are waited for are compared with those in pieces: it runs in
#: pieces again where it took this many times FAR as long, and stays where it took this many times
#: NEAR; in between, what counts is which form the program goes on in more quickly (no constant)
SLOWER = 1.25
NEAR = 0.4
FAR = 2.0
#: seconds of a run in pieces up to which that is found out: beside longer ones what it rests on is
#: little, and turns in the slower form would take long
BRIEF = 0.003
#: estimated seconds of a program's products from which several threads may be worth it for them
WORTH_THREADS: Final = 5e-5
#: a program goes back to one thread once so many runs more than not took longer with several
LATE: Final = 8
#: the loop around one that runs whole is timed for so many runs at a time, a power of two, and
#: compared again once so many times more than not were longer than with the next best form
LOOK: Final = 32
LATE_LOOKS: Final = 8
#: and all of it is compared again after so many runs, and four times as many each time, so often
AGAIN = 100
LESS_OFTEN: Final = 3


@final
class _All:
    """What all programs have cost in pieces."""

    __slots__ = ("seconds",)

    def __init__(self) -> None:
        self.seconds: float = 0.0


_all: Final = _All()


def ran_in_pieces(entry: memory.Entry, seconds: float) -> None:
    """Count a run of the entry in pieces."""
    _all.seconds += seconds
    if entry.member is not None:
        entry.member.ran_in_pieces(seconds)
    entry.ran_in_pieces(seconds)
    trial: Trial | None = entry.trial
    if trial is not None:
        if trial.form == PIECES:
            trial.alone = min(trial.alone, seconds)
    elif entry.threaded:
        entry.late = entry.late + 1 if seconds > entry.alone else max(0, entry.late - 1)
        if entry.late == LATE:
            # somebody else wants the processors: threads that wait for each other take long then
            entry.threaded, entry.late = False, 0


def in_pieces(entry: memory.Entry, plan: Plan, donate: bool) -> bool:
    """Whether to run the plan in pieces; may load its program from disk, or have it compiled."""
    if settings.reproducible() or entry.refused or entry.choice.watched:
        return False
    if stays(entry):
        return True
    if entry.program is not None and all(p in entry.position for p in plan.wanted):
        return False
    ops = len(plan.nodes)
    if entry.estimate == 0.0:
        if not backend().has_host_kernels() or not has_pieces(plan):
            entry.refused = True
            return False
        entry.estimate = COMPILE + compile_seconds(ops)
    elif entry.runs >= 2 and not entry.searched and entry.spent >= SEARCH_PER_OP * ops:
        # it comes back: its loops are worth being looked for
        entry.searched = True
        if ops >= SAVED:
            entry.estimate = min(
                entry.estimate, COMPILE + compile_seconds(rolled_size(entry.structure)))
    start = start_seconds()
    run, _, products = estimated(entry, plan)
    spent = entry.spent
    if not entry.looked and not entry.queued and disk.enabled() and (
        spent + run >= start + LOAD + LOAD_PER_OP * ops
    ):
        with entry.lock:
            if programs.look(entry, plan.wanted, donate, plan.evaluation) is None:
                return False
    estimate = entry.estimate + start
    # products take as long in one form as in the other
    if run - products >= estimate:
        return False
    if entry.runs and (spent < WORTH * entry.runs or (ops == 1 and not plan.leaves)):
        # to hand it over whole would take as long: what fills one array waits for memory
        return True
    if not entry.queued and (spent >= estimate or (
        is_early(entry, estimate) and (start == 0.0 or _all.seconds >= START_EARLY)
        and background.idle()
        and not (entry.member is not None and entry.member.goes_first())
    )):
        return background.request(
            entry, plan.wanted, plan.donatable, donate, plan.evaluation.site
        ) or spent < estimate
    return True


def start_seconds() -> float:
    """Seconds until JAX is imported and its client has started."""
    return 0.0 if "jaxlib.xla_client" in sys.modules else START


def is_early(entry: memory.Entry, estimate: float) -> bool:
    """Whether a program is one for a compiler that has nothing else to do."""
    runs = entry.runs
    if runs >= STEADY_RUNS and estimate <= STEADY_SECONDS:
        return True
    return runs >= EAGER_RUNS and EAGER_FACTOR * entry.spent + EAGER_SECONDS >= estimate


def stays(entry: memory.Entry) -> bool:
    """Whether the entry's program was slower than in pieces, and is not yet to be tried again."""
    if entry.stays and entry.runs >= AGAIN << 2 * min(max(0, entry.demotions - 1), LESS_OFTEN):
        # the machine may have had much to do when they were compared
        entry.stays, entry.runs = False, 0
        entry.try_again()
    return entry.stays


def tried(entry: memory.Entry, seconds: float) -> None:
    """Take account of a run of the compiled program that was waited for."""
    entry.trials -= 1
    entry.tried.append(seconds)
    if entry.trials:
        return
    # the quickest: where it is not waited for, no thread has to be woken for it
    before = max(min(entry.recent), 1e-9)
    ratio = min(entry.tried[1:]) / before
    close = entry.structure.padding is None and before < BRIEF
    if ratio > SLOWER * (FAR if close else 1.0):
        demote(entry)
    elif close and ratio >= SLOWER * NEAR:
        try_forms(entry)


def demote(entry: memory.Entry) -> None:
    """Run an entry's program in pieces for the time being: that is quicker."""
    counters["demotions"] += 1
    entry.demotions += 1
    entry.stays = True
    entry.runs = 0
    entry.dispatches = []


def try_forms(entry: memory.Entry) -> None:
    """Find out by turns in which form an entry's program is quicker."""
    work = entry.work
    threads = work is not None and SHORT <= work[1] < LONG and work[2] >= WORTH_THREADS and (
        several())
    entry.trial = Trial(3 if threads else 2)


def next_form(entry: memory.Entry, plan: Plan) -> int:
    """In which form the next run of an entry that is on trial is."""
    trial: Trial = entry.trial
    form = trial.next(plan)
    if not trial.done():
        return form
    entry.trial = None
    best, other = trial.best()
    if best == WHOLE:
        # where this was found out because the loop was slow, it is slow in any form
        entry.alone = math.inf if entry.late == LATE_LOOKS else other
        entry.calm = AGAIN << 2 * min(entry.accepted, LESS_OFTEN)
        entry.accepted += 1
    else:
        demote(entry)
        entry.threaded = best == THREADS
        entry.alone = trial.alone
    entry.late, entry.since = 0, 0.0
    return best


def went_whole(entry: memory.Entry) -> None:
    """Look at how long the loop around an entry's whole program took for :data:`LOOK` runs.

    It was quicker than in pieces when that was tried; if somebody else wants the processors by
    now, a program that runs beside the recording of the next step may be the slower one.
    """
    now: float = trials.clock()
    if entry.since:
        late = now - entry.since > LOOK * entry.alone
        entry.late = entry.late + 1 if late else max(0, entry.late - 1)
        if entry.late == LATE_LOOKS:
            entry.calm = 0
            try_forms(entry)
    entry.since = now


def threads_for(entry: memory.Entry, plan: Plan) -> Threads:
    """How many threads the products of matrices in a run of pieces are worth."""
    longest = estimated(entry, plan)[1]
    if longest < SHORT or entry.threaded:
        return Threads.AS_THEY_ARE
    return Threads.ONE if longest < LONG else Threads.SEVERAL


def estimated(entry: memory.Entry, plan: Plan) -> tuple[float, float, float]:
    """:func:`run_estimate`, which rests on the structure alone, of a plan of the entry."""
    found: tuple[float, float, float] | None = entry.work
    if found is None:
        found = entry.work = run_estimate(plan)
    return found


def has_pieces(plan: Plan) -> bool:
    """Whether all of a plan may run op by op: ops with effects of their own run in one program."""
    stream = plan.structure.stream
    at = 0
    for _ in plan.nodes:
        spec: Spec = stream[at]
        if spec.effect or spec.fallible:
            return False
        at += 1 + spec.arity
    return True


def run_estimate(plan: Plan) -> tuple[float, float, float]:
    """Seconds that a run in pieces is estimated to take, beside what it has yet to prepare.

    And those of its longest product of matrices, or the like, and of all of them.
    """
    longest = products = 0.0
    seconds = PER_OP * len(plan.nodes)
    stream = plan.structure.stream
    leaf_types = plan.structure.leaf_types
    nodes = plan.nodes
    at = 0
    for n in nodes:
        spec: Spec = stream[at]
        size = n.types[0].nbytes
        if size > 4096:
            seconds += PER_BYTE * size
        if spec.heavy:
            # right for a product of matrices: (m k)(k n)(m n) = (m k n)^2
            product = float(n.types[0].size)
            for item in stream[at + 1 : at + 3]:
                if isinstance(item, int):
                    t = nodes[item].types[0] if item >= 0 else leaf_types[-1 - item]
                    product *= t.size
            work = 2 * math.sqrt(product) * PER_FLOP
            seconds += work
            products += work
            longest = max(longest, work)
        at += 1 + spec.arity
    return seconds, longest, products
