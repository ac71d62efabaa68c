"""The comparison of a program's compiled form with its runs op by op."""

from __future__ import annotations

from ..cache.memory import Entry
from ..counters import counters
from ..program.plan import Plan
from . import ab_timing, choose, compile_costs, costs
from .ab_timing import OP_BY_OP, SEVERAL_THREADS, WHOLE, Turns
from .compiling import programs
from .history import History, all_saved, history_of
from .op_by_op.blas_threads import LONG, SHORT, several


def compared(entry: Entry, seconds: float) -> None:
    """Take account of a run of the compiled program that was waited for."""
    history = history_of(entry)
    if not history.ran_compared(seconds):
        return
    found = choose.verdict(
        history.recent, history.compared, entry.structure.padding is not None)
    if found == choose.SLOW:
        demote(entry)
    elif found == choose.CLOSE:
        begin_turns(history)
    else:
        has_paid(entry)


def has_paid(entry: Entry) -> None:
    """Take account of a compiled program that was seen to be quicker than its ops one by one."""
    history = history_of(entry)
    compile_costs.paid(history.paid())
    if history.demotions:
        programs.note_slower(entry, False)


def demote(entry: Entry) -> None:
    """Run an entry's program op by op for the time being: that is quicker."""
    counters["demotions"] += 1
    programs.note_slower(entry, True)
    history_of(entry).is_slower(1)
    entry.dispatches = []


def was_slower(entry: Entry) -> bool:
    """Whether an earlier process found the program slower than op by op; then it stays so."""
    history = history_of(entry)
    if history.asked_disk:
        return False
    history.asked_disk = True
    if not programs.known_as_slower(entry):
        return False
    history.is_slower(2)
    return True


def begin_turns(history: History) -> None:
    """Find out by turns in which form a program is quicker."""
    estimate = history.run_estimate
    threads = estimate is not None and SHORT <= estimate.longest < LONG and (
        estimate.heavy >= costs.WORTH_THREADS and several())
    history.turns = Turns(3 if threads else 2)


def next_turn(entry: Entry, history: History, plan: Plan) -> int:
    """In which form the next run of an entry is whose forms take turns."""
    turns: Turns = history.turns
    form = turns.next(plan)
    if not turns.done():
        return form
    history.turns = None
    best, other = turns.best()
    if best == WHOLE:
        has_paid(entry)
    else:
        demote(entry)
    history.end_turns(
        best == WHOLE, best == SEVERAL_THREADS, other if best == WHOLE else turns.alone)
    return best


def ran_compiled(history: History) -> None:
    """Count down to the next turns of a program that runs compiled.

    It was quicker than op by op when that was tried; if somebody else wants the processors by now,
    a program that runs beside the recording of the next step may be the slower one. So the loop
    around it is timed now and then.
    """
    history.until_turns -= 1
    looks = history.until_turns & (costs.LOOK - 1) == 0
    if history.until_turns == 0 or looks and history.looped(ab_timing.clock()):
        begin_turns(history)


def stays_op_by_op(entry: Entry) -> bool:
    """Whether the entry's program was slower, and is not yet to be compared again."""
    history = history_of(entry)
    if history.slower and choose.is_tried_again(history):
        history.try_again()
    return history.slower


def ran_op_by_op(entry: Entry, seconds: float) -> None:
    """Count a run of the entry op by op."""
    history = history_of(entry)
    all_saved[0] += history.ran_op_by_op(seconds)
    if history.member is not None:
        history.member.ran_op_by_op(seconds)
    turns: Turns | None = history.turns
    if turns is not None:
        if turns.form == OP_BY_OP:
            turns.alone = min(turns.alone, seconds)
    elif history.several_threads:
        history.ran_with_several_threads(seconds)
