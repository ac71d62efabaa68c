"""The choice of a program's form: compiled, or op by op.

A program that is new runs in pieces at once. What its runs have taken and a compiled program could
have saved adds up; when that is about what compiling is estimated to cost, the program is compiled,
beside the program that wants it, and runs whole from then on (ski rental: no program takes more
than about twice what is best in hindsight). An idle compiler begins before that with what makes up
a part of the loop around it, as long as what it made so far has paid (:mod:`.compile_costs`).
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
from . import background, compile_costs, programs, trials
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
#: seconds that all programs together could have saved, from which JAX is imported for one that has
#: not earned it alone: they share it, and what ends before that is not slowed down
START_EARLY = 0.35
#: to look for a program on disk and to load it, and for each op
LOAD: Final = 0.004
LOAD_PER_OP: Final = 3e-5
#: a program has taken so many seconds an op, a few times what the search takes, before its loops
#: are looked for
SEARCH_PER_OP: Final = 5e-5
#: seconds that a run of a compiled program takes at least, to be handed over, and for how many of
#: its instructions as much again: what a run in pieces takes beyond that could be saved (no
#: constant, as tests of what is compiled beside set it, whatever the machine's speed)
WORTH = 5e-5
INSTRUCTIONS: Final = 100
#: of one run it cannot be told whether what it took was its own
LEAST_RUNS: Final = 2
#: an idle compiler takes a program that ran so often, once compiling is estimated to take at most
#: so many times what it has cost, and so many seconds
EAGER_RUNS: Final = 3
EAGER_FACTOR: Final = 4.0
EAGER_SECONDS: Final = 1.0
#: or that ran so often, if compiling is estimated to take so many seconds at most
STEADY_RUNS: Final = 10
STEADY_SECONDS: Final = 60.0
#: in either case what it could save is this part of the time in which it came round (no constant,
#: as tests of what is compiled beside set it)
PART = 0.05
#: which is measured over so many runs
PART_RUNS: Final = 8
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
    """Seconds that programs which came back could have saved."""

    __slots__ = ("seconds",)

    def __init__(self) -> None:
        self.seconds: float = 0.0


_all: Final = _All()


def ran_in_pieces(entry: memory.Entry, seconds: float) -> None:
    """Count a run of the entry in pieces."""
    if entry.runs:
        # the first may have been slowed down by much else
        _all.seconds += max(0.0, min(seconds, 2 * min(entry.recent, default=seconds)) - entry.least)
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
    if settings.whole_only() or entry.refused or entry.choice.watched:
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
        expect(entry, ops)
    elif entry.runs >= 2 and not entry.searched and entry.spent >= SEARCH_PER_OP * ops:
        # it comes back: its loops are worth being looked for
        entry.searched = True
        if ops >= SAVED:
            entry.estimate = min(entry.estimate, compile_estimate(rolled_size(entry.structure)))
    start = start_seconds()
    run, _, products = estimated(entry, plan)
    saved = could_save(entry)
    if not entry.looked and not entry.queued and disk.enabled() and (
        saved + max(0.0, run - entry.least) >= start + LOAD + LOAD_PER_OP * ops
    ):
        if was_slower(entry):
            return True
        with entry.lock:
            if programs.look(entry, plan.wanted, donate, plan.evaluation) is None:
                return False
    estimate = entry.estimate + start
    # products take as long in one form as in the other
    if run - products >= estimate:
        return False
    if entry.runs and (saved == 0.0 or (ops == 1 and not plan.leaves)):
        # to hand it over whole would take as long: what fills one array waits for memory
        return True
    earned = saved >= estimate and entry.runs >= LEAST_RUNS
    if not entry.queued and (earned or (
        is_early(entry, estimate) and (start == 0.0 or _all.seconds >= START_EARLY)
        and background.idle()
        and not (entry.member is not None and entry.member.goes_first())
    )):
        return was_slower(entry) or background.request(
            entry, plan.wanted, plan.donatable, donate, plan.evaluation.site
        ) or not earned
    return True


def compile_estimate(ops: int) -> float:
    """Seconds that compiling so many instructions is estimated to take, as far as was measured."""
    return (COMPILE + compile_seconds(ops)) * compile_costs.factor()


def expect(entry: memory.Entry, ops: int) -> None:
    """Note what compiling a program of so many ops is estimated to take, and its runs then."""
    entry.estimate = compile_estimate(ops)
    entry.least = WORTH * (1 + ops / INSTRUCTIONS)


def could_save(entry: memory.Entry) -> float:
    """Seconds that the program could have saved if it had been compiled before its runs in pieces.

    The quickest of the newest counts for all of them: others may have waited for a processor.
    """
    spent = entry.spent
    if entry.recent:
        spent = min(spent, entry.runs * min(entry.recent))
    return max(0.0, spent - entry.runs * entry.least)


def was_slower(entry: memory.Entry) -> bool:
    """Whether an earlier process found the program slower than in pieces; then it stays so."""
    if entry.noted:
        return False
    entry.noted = True
    if not programs.known_as_slower(entry):
        return False
    entry.demotions += 2
    entry.stays = True
    entry.runs = 0
    return True


def start_seconds() -> float:
    """Seconds until JAX is imported and its client has started."""
    return 0.0 if "jaxlib.xla_client" in sys.modules else START


def is_early(entry: memory.Entry, estimate: float) -> bool:
    """Whether a program is one for a compiler that has nothing else to do."""
    runs = entry.runs
    now: float = trials.clock()
    came = entry.came
    since = runs - entry.runs_then
    # one that waited for a processor counts as two
    took = min(entry.spent - entry.spent_then, 2 * since * min(entry.recent, default=math.inf))
    part = took - since * entry.least >= PART * (now - came)
    if came == 0.0 or since >= PART_RUNS:
        entry.came, entry.runs_then, entry.spent_then = now, runs, entry.spent
    # of less than two rounds it cannot be told how long they take: twice in one is not a round
    if runs < EAGER_RUNS or came == 0.0 or since < LEAST_RUNS or not part:
        return False
    return (
        (runs >= STEADY_RUNS and estimate <= STEADY_SECONDS)
        or EAGER_FACTOR * could_save(entry) + EAGER_SECONDS >= estimate
    ) and compile_costs.affordable()


def stays(entry: memory.Entry) -> bool:
    """Whether the entry's program was slower than in pieces, and is not yet to be tried again."""
    if entry.stays and (
        entry.runs >= AGAIN << 2 * min(max(0, entry.demotions - 1), LESS_OFTEN)
    ) and could_save(entry):
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
    else:
        has_paid(entry)


def has_paid(entry: memory.Entry) -> None:
    """Take account of a compiled program that was seen to be quicker than pieces."""
    compile_costs.paid(entry.cost)
    entry.cost = 0.0
    if entry.demotions:
        programs.note_slower(entry, False)


def demote(entry: memory.Entry) -> None:
    """Run an entry's program in pieces for the time being: that is quicker."""
    counters["demotions"] += 1
    entry.demotions += 1
    programs.note_slower(entry, True)
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
        has_paid(entry)
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
