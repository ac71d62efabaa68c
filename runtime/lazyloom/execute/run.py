"""The road of a run: the program is found, its form is chosen, and it runs in that form."""

from __future__ import annotations

import time
from math import inf
from typing import Any, Final

from .. import logs, sources, strict
from ..backends.selection import backend
from ..cache import memory
from ..compiled import COMPILED
from ..counters import counters
from ..errors import DistributedError
from ..hooks import hooks
from ..interrupts import Deferred
from ..placements import Placement
from ..program import reasons
from ..program.evaluations import Evaluation
from ..program.plan import Plan
from ..program.reasons import DISPATCH, OP_BY_OP, PREPARE, START
from ..settings import watching, whole_only
from ..startup import starting, unnoted
from .choose import could_save, threads
from .costs import PADDED_OPS, start_seconds
from .history import History, history_of
from .op_by_op.blas_threads import Threads
from .op_by_op.executor import run_op_by_op
from .whole_program import run_whole

_clock: Final = time.perf_counter


class _Late:
    """Modules that choose a form and prepare it, from the first program on for which that is done.

    They are slow to import, and an import in each run asks interpreted code whether it was done.
    """

    def __init__(self) -> None:
        # a signal's handler that computes arrays would find modules that are half imported
        with Deferred(True):
            from ..host import functions_on_demand
            from . import ab_timing, choose, comparison, known_numbers, prepare
            from .compiling import background, programs, trials
            from .padded import choice
            from .padded.run import run_padded

        if COMPILED:
            sources.show("lazyloom")
        self.ab_timing: Any = ab_timing
        self.background: Any = background
        self.choose: Any = choose
        self.comparison: Any = comparison
        self.functions_on_demand: Any = functions_on_demand
        self.requested: list[bool] = functions_on_demand.requested
        self.known_numbers: Any = known_numbers
        self.padded_choice: Any = choice
        self.prepare: Any = prepare
        self.programs: Any = programs
        #: what programs that differ in nothing but extents, and comparisons, are told of a run
        self.ran_op_by_op: Any = comparison.ran_op_by_op
        self.run_padded: Any = run_padded
        self.trials: Any = trials


_late: _Late | None = None


def _modules() -> _Late:
    global _late
    found = _late
    if found is None:
        with starting():
            found = _late = _Late()
    return found


def run(plan: Plan, donate: bool) -> None:
    """Dispatch the plan's program; fills ``plan.results``. Raises what goes wrong.

    A program that is in memory, with the results that are wanted, runs compiled at once; only where
    there is none, the form is chosen (:mod:`.choose`). Raises NotLowered where an op's definition
    does not work.
    """
    started = _clock()
    if memory.numbers_wanted[0] and plan.scalars:
        found = _modules().known_numbers.of_plan(plan)
        if found is not None:
            # whoever has the plan afterwards knows the numbers as parameters
            structure, scalars = plan.structure, plan.scalars
            plan.become(found[0], found[1])
            try:
                _run_plan(plan, donate, started)
            finally:
                plan.become(structure, scalars)
            return
    _run_plan(plan, donate, started)


def _run_plan(plan: Plan, donate: bool, started: float) -> None:
    entry = memory.entry_of(plan.structure, donate)
    if entry.first_run is None:
        entry.ran_first(plan.evaluation)
    if watching[0] and strict.counters[0]:
        _run_counted(entry, plan, donate, started)
    else:
        _run(entry, plan, donate, started)
    if logs.hears("run", logs.DEBUG):
        logs.say("run", logs.DEBUG, plan.evaluation.text())


def _run_counted(entry: memory.Entry, plan: Plan, donate: bool, started: float) -> None:
    """Run the plan, and tell those who count whether it was new."""
    history: History | None = entry.history
    had_program = entry.program is not None
    first = not had_program and (history is None or history.runs == 0)
    _run(entry, plan, donate, started)
    evaluation: Evaluation = plan.evaluation
    padded = evaluation.form == "padded"
    new = not padded and (first or had_program and evaluation.found == "compiled")
    ops = len(plan.nodes)
    found = evaluation.found.replace("_", " ")
    reason = f"{evaluation.reason} of {ops} op{'s' if ops > 1 else ''}, {found}"
    if new:
        differs: Any = evaluation.differs
        if differs is not None:
            reason = f"{reason}; {differs.in_one_line()}"
    strict.ran(None if padded else plan.structure, evaluation.site, reason, new)


def _run(entry: memory.Entry, plan: Plan, donate: bool, started: float) -> None:
    placement: Placement | None = entry.placement
    if plan.collective or placement is not None and placement.is_shared:
        _run_together(entry, plan, donate, started)
        return
    history: History | None = entry.history
    if history is not None and (history.turns is not None or history.until_turns):
        if _took_turn(entry, history, plan, donate, started):
            return
    info = entry.dispatch_info(plan.wanted, plan.donatable)
    if info is not None and info.measured and _modules().programs.by_estimates():
        entry = _modules().programs.estimated(entry)
        info = entry.dispatch_info(plan.wanted, plan.donatable)
    if info is None:
        if entry.placement is None:
            if _ran_otherwise(entry, plan, donate, started):
                return
        modules = _modules()
        info = modules.programs.prepared(entry, plan, donate)
        modules.trials.watch(entry, info, plan)
    else:
        evaluation: Evaluation = plan.evaluation
        evaluation.found = "memory"
        evaluation.backend = info.backend
        counters["program_hits"] += 1
    run_whole(entry, info, plan, donate, started)


def _run_together(entry: memory.Entry, plan: Plan, donate: bool, started: float) -> None:
    """Run a plan that other processes run together with this one: whole, and in its turn.

    Raises DistributedError.
    """
    together = hooks.together
    if together is None:
        raise DistributedError(
            "a program has collectives, and this process is alone: call "
            "lazyloom.distributed.init() before they are recorded")
    info = entry.dispatch_info(plan.wanted, plan.donatable)
    if info is None:
        if watching[0] and strict.asked("compiles"):
            # here, not on the thread that compiles
            _modules().programs.tell_new(entry, plan, donate)
        info = together.compile(_modules().programs.prepared, (entry, plan, donate))
    else:
        plan.evaluation.found = "memory"
        plan.evaluation.backend = info.backend
        counters["program_hits"] += 1
    # one program after the other, whatever threads hand them over
    with together.turn:
        together.begin(plan, entry, info)
        placement: Placement | None = entry.placement
        if plan.scalars and placement is not None and placement.mesh is not None:
            together.same_numbers(plan.scalars, placement.mesh.ranks)
        run_whole(entry, info, plan, donate, started)
        together.dispatched(info.loaded.finished)


def _took_turn(
    entry: memory.Entry, history: History, plan: Plan, donate: bool, started: float
) -> bool:
    """Run the plan op by op if that has its turn in a comparison; whether it did."""
    modules = _modules()
    if history.until_turns:
        modules.comparison.ran_compiled(history)
        return False
    if whole_only():
        return False
    timing = modules.ab_timing
    form = modules.comparison.next_turn(entry, history, plan)
    if form == timing.WHOLE:
        return False
    threads = Threads.AS_THEY_ARE if form == timing.SEVERAL_THREADS else (
        _threads(history, plan))
    _run_op_by_op(entry, plan, donate, started, threads, reasons.TURN)
    return True


def _ran_otherwise(entry: memory.Entry, plan: Plan, donate: bool, started: float) -> bool:
    """Run the plan padded or op by op, if that is chosen; whether it was."""
    known: History | None = entry.history
    if known is not None and known.decided and entry.program is None and not (
        len(plan.nodes) >= PADDED_OPS or entry.choice.watched or whole_only()
    ):
        # what follows would say so, a few calls of interpreted code later
        known.decided -= 1
        _run_op_by_op(
            entry, plan, donate, started, _threads(known, plan), reasons.NOTHING_TO_SAVE)
        return True
    modules = _modules()
    decision = modules.prepare.decide(entry, plan, donate)
    op_by_op: bool = decision.form == modules.choose.OP_BY_OP
    history = history_of(entry)
    # where its own program is slower than op by op, one for larger extents is, too
    if not history.slower and (op_by_op or entry.program is None):
        padded = modules.padded_choice
        chosen = padded.ready(entry, plan, donate, not op_by_op)
        if chosen is not None:
            looked = time.perf_counter()
            if modules.run_padded(chosen, plan, donate):
                evaluation: Evaluation = plan.evaluation
                if unnoted:
                    evaluation.started_up(started)
                evaluation.looked_up(looked - started)
                seconds = evaluation.timings[DISPATCH] = time.perf_counter() - looked
                padded.ran_padded(entry, chosen, seconds)
                return True
    if op_by_op:
        if watching[0] and history.failure and history.compile_estimate == inf and (
            strict.asked("fallbacks")
        ):
            strict.occurred(
                "fallbacks", plan.evaluation.site,
                f"a program of {len(plan.nodes)} ops runs op by op, as it could not be compiled "
                f"({history.failure})", "report the failure, or leave out what cannot be compiled")
        if watching[0] and history.runs == 0 and strict.asked("compiles"):
            modules.programs.tell_new(entry, plan, donate)
        _run_op_by_op(entry, plan, donate, started, _threads(history, plan), decision.code)
    else:
        plan.evaluation.choice = decision.code
    return op_by_op


def _threads(history: History, plan: Plan) -> Threads:
    estimate: Any = history.run_estimate
    if estimate is None:
        estimate = _modules().prepare.estimated(history, plan)
    return threads(history, estimate.longest)


def _run_op_by_op(
    entry: memory.Entry, plan: Plan, donate: bool, started: float, threads: Threads, choice: str
) -> None:
    """Run the plan op by op, and count what that costs."""
    history = history_of(entry)
    evaluation: Evaluation = plan.evaluation
    evaluation.ran_op_by_op(plan.structure, plan.wanted, plan.donatable if donate else [])
    evaluation.backend = backend().name
    counters["runs_op_by_op"] += 1
    counters["ops_executed"] += len(plan.nodes)
    modules = _modules()
    before = 0.0
    if unnoted:
        before = evaluation.started_up(started)
    looked = _clock()
    run_op_by_op(plan, history, threads, donate)
    seconds = _clock() - looked
    timings = evaluation.timings
    if PREPARE in timings:
        # what had to be prepared, and started for it, is ready the next time
        seconds -= timings[PREPARE] + timings.get(START, 0.0) - before
        if seconds < 0.0:
            seconds = 0.0
    evaluation.looked_up(looked - started + timings.get(START, 0.0) - before)
    timings[OP_BY_OP] = seconds
    modules.ran_op_by_op(entry, seconds)
    startup = start_seconds()
    if choice is not reasons.NOTHING_TO_SAVE:
        startup += modules.background.start_seconds()
    evaluation.chosen(
        choice, history.runs, history.spent, could_save(history),
        history.compile_estimate + startup, startup, history.failure)
    requested: list[bool] = modules.requested
    if requested:
        modules.background.request_functions(
            modules.functions_on_demand.FUNCTIONS, requested.pop())
