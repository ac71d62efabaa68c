"""Preparation of a run: the facts by which its form is chosen, and what the choice asks for."""

from __future__ import annotations

from ..backends.selection import backend
from ..cache import disk, memory
from ..codegen import verdicts
from ..program.loops import SAVED, rolled_size
from ..program.plan import Plan
from ..settings import whole_only
from . import ab_timing, choose, comparison, compile_costs, costs
from .choose import Decision, Facts
from .compiling import background, programs
from .costs import Estimate
from .history import COMPARED, History, all_saved, history_of


def decide(entry: memory.Entry, plan: Plan, donate: bool) -> Decision:
    """The form of a run of the plan; its program may be loaded, or requested, for it."""
    if whole_only():
        return choose.OPTION
    if entry.choice.watched:
        return choose.WATCHED
    history = history_of(entry)
    if history.decided and entry.program is None:
        history.decided -= 1
        return choose.NOTHING_TO_SAVE
    _expect(entry, history, plan)
    while True:
        decision = choose.choose(history, _facts(entry, history, plan))
        if decision.step == choose.NOTHING:
            if decision is choose.WAITS or decision is choose.FEW_RUNS:
                history.next_round(ab_timing.clock())
            elif decision is choose.NOTHING_TO_SAVE and history.runs >= COMPARED:
                history.decided = costs.DECISION_RUNS
            return decision
        if decision.step == choose.TRY_AGAIN:
            history.try_again()
        elif comparison.was_slower(entry):
            pass
        elif decision.step == choose.LOAD:
            with entry.lock:
                if programs.look(
                    entry, plan.wanted, donate, plan.evaluation, verdicts.in_force()) is None:
                    return choose.LOADED
        else:
            history.next_round(ab_timing.clock())
            outcome = background.request(
                entry, plan.wanted, plan.donatable, donate, plan.evaluation.site)
            if outcome == background.ACCEPTED:
                return decision
            if outcome == background.QUEUE_FULL:
                return choose.QUEUE_FULL
            return choose.NOT_BESIDE if decision is choose.EARNED else choose.WAITS


def _expect(entry: memory.Entry, history: History, plan: Plan) -> None:
    """Note what compiling is estimated to take, where that is not known yet."""
    ops = len(plan.nodes)
    if history.compile_estimate == 0.0 and not history.compiled_only:
        if backend().is_host() and runs_op_by_op(plan):
            history.expect(ops, estimated(history, plan).heavy)
        else:
            history.compiled_only = True
    elif history.runs >= 2 and not history.loops_searched and (
        history.spent >= costs.SEARCH_PER_OP * ops and not history.slower
    ):
        # it comes back: its loops are worth being looked for
        history.loops_searched = True
        if ops >= SAVED:
            history.compile_estimate = min(
                history.compile_estimate, costs.compile_estimate(rolled_size(entry.structure)))


def _facts(entry: memory.Entry, history: History, plan: Plan) -> Facts:
    compiled = entry.program is not None
    if compiled:
        for pair in plan.wanted:
            if pair not in entry.position:
                compiled = False
                break
    idle = history.runs >= costs.EAGER_RUNS and background.idle() and (
        compile_costs.affordable()
        and not (history.member is not None and history.member.goes_first()))
    return Facts(
        len(plan.nodes), bool(plan.leaves), compiled, not entry.looked and disk.enabled(),
        estimated(history, plan), costs.start_seconds(),
        background.start_seconds() if history.runs >= costs.LEAST_RUNS else 0.0,
        ab_timing.clock(), idle, all_saved[0])


def estimated(history: History, plan: Plan) -> Estimate:
    """What a run of a plan of that history is estimated to take op by op."""
    found = history.run_estimate
    if found is None:
        found = history.run_estimate = costs.run_estimate(plan)
    return found


def runs_op_by_op(plan: Plan) -> bool:
    """Return True if all of a plan may run op by op.

    Ops that have effects of their own or can fail while they run are parts of a compiled program.
    """
    # a generator expression takes longer in compiled code
    for spec in plan.stream().specs:  # noqa: SIM110
        if spec.effect or spec.fallible:
            return False
    return True
