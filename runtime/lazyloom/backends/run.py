"""Execution of a plan: lookup or compilation, inputs, and results."""

from __future__ import annotations

import time
from typing import Any

from .. import settings
from ..cache import memory
from ..counters import counters
from ..interrupts import Deferred
from ..program.evaluations import Evaluation
from ..program.plan import Plan
from .blas_threads import Threads
from .data import device_array
from .launch import compare, dispatch, feed, wait
from .pieces import run_pieces
from .selection import backend

#: :mod:`.forms`, which is slow to import, from the first program on that does not run whole; an
#: import in each run asks interpreted code whether it was done. And of :mod:`.padded`, likewise
_forms: Any = None
_choice: Any = None
_run_padded: Any = None


def _late() -> Any:
    global _forms, _choice, _run_padded
    # a signal's handler that computes arrays would find modules that are half imported
    with Deferred(True):
        from . import forms
        from .padded import choice
        from .padded.run import run_padded

        _choice, _run_padded = choice, run_padded
        _forms = forms
    return forms


def run(plan: Plan, donate: bool) -> None:
    """Dispatch the plan's program; fills ``plan.results``. Raises what goes wrong.

    That is NotLowered where an op's definition does not work.
    """
    started = time.perf_counter()
    entry = memory.entry_of(plan.structure, donate)
    if entry.trial is not None or entry.calm:
        if _is_tried(entry, plan, donate, started):
            return
    info = entry.dispatch_info(plan.wanted, plan.donatable)
    if info is None:
        if _ran_otherwise(entry, plan, donate, started):
            return
        # slow to import, and not needed for a program that ran before
        from . import programs

        info = programs.prepared(entry, plan, donate)
    else:
        evaluation: Evaluation = plan.evaluation
        evaluation.found = "memory"
        evaluation.backend = info.backend
        counters["program_hits"] += 1
    _run_whole(entry, info, plan, donate, started)


def _is_tried(entry: memory.Entry, plan: Plan, donate: bool, started: float) -> bool:
    """Whether the plan was to run in pieces for the sake of a trial, and has."""
    forms = _forms or _late()
    if entry.calm:
        entry.calm -= 1
        if entry.calm == 0:
            forms.try_forms(entry)
        elif entry.calm & (forms.LOOK - 1) == 0:
            forms.went_whole(entry)
        return False
    if settings.whole_only():
        return False
    form = forms.next_form(entry, plan)
    if form == forms.WHOLE:
        return False
    threads = Threads.AS_THEY_ARE if form == forms.THREADS else forms.threads_for(entry, plan)
    _run_in_pieces(entry, plan, donate, started, threads)
    return True


def _ran_otherwise(entry: memory.Entry, plan: Plan, donate: bool, started: float) -> bool:
    """Whether the plan was to run padded or in pieces, and has."""
    forms = _forms or _late()
    pieces: bool = forms.in_pieces(entry, plan, donate)
    # where its own program is slower than pieces, one for larger extents is, too
    if not entry.stays and (pieces or entry.program is None):
        chosen = _choice.ready(entry, plan, donate, not pieces)
        if chosen is not None:
            looked = time.perf_counter()
            if _run_padded(chosen, plan, donate):
                _lookup_took(plan, looked - started)
                seconds = plan.evaluation.timings["dispatch"] = time.perf_counter() - looked
                _choice.ran_padded(entry, chosen, seconds)
                return True
    if pieces:
        _run_in_pieces(entry, plan, donate, started, forms.threads_for(entry, plan))
    return pieces


def _run_whole(
    entry: memory.Entry, info: memory.DispatchInfo, plan: Plan, donate: bool, started: float
) -> None:
    """Run the plan's own program."""
    looked = time.perf_counter()
    arguments: list[Any] = []
    for buffer in plan.leaves:
        buffer.used = True
        array = buffer.array
        arguments.append(device_array(buffer) if array is None else array)
    feed(plan, entry, info, arguments)
    dispatch(plan, info, arguments)
    if not donate:
        wait(plan)
    if entry.trials:
        compare(plan, entry, looked)
    evaluation: Evaluation = plan.evaluation
    evaluation.bytes_out = info.bytes_out
    evaluation.program = info.program
    evaluation.regions = info.regions
    if info.segmented:
        evaluation.parts = info.loaded.parts()
    evaluation.form = "whole"
    _lookup_took(plan, looked - started)
    evaluation.timings["dispatch"] = time.perf_counter() - looked


def _run_in_pieces(
    entry: memory.Entry, plan: Plan, donate: bool, started: float, threads: Threads
) -> None:
    """Run the plan op by op, and count what that costs."""
    forms = _forms or _late()
    evaluation: Evaluation = plan.evaluation
    evaluation.ran_in_pieces(plan.structure, plan.wanted, plan.donatable if donate else [])
    evaluation.backend = backend().name
    counters["runs_in_pieces"] += 1
    counters["ops_executed"] += len(plan.nodes)
    looked = time.perf_counter()
    run_pieces(plan, entry, threads, donate)
    took = time.perf_counter() - looked
    # what had to be prepared is ready the next time
    seconds = max(0.0, took - evaluation.timings.get("prepare", 0.0))
    forms.ran_in_pieces(entry, seconds)
    evaluation.spent = entry.spent
    evaluation.estimate = -1.0 if entry.stays else entry.estimate
    evaluation.failure = entry.failure
    _lookup_took(plan, looked - started)
    evaluation.timings["pieces"] = took


def _lookup_took(plan: Plan, seconds: float) -> None:
    """Note how long the program was looked for, unless the disk was: that has been noted."""
    timings = plan.evaluation.timings
    if "lookup" not in timings:
        timings["lookup"] = seconds
