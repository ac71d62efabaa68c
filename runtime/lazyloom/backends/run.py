"""Run a plan: find or compile its program, feed it, and attach the results."""

from __future__ import annotations

import math
import time
from typing import Any

from ..cache import memory
from ..compiled import COMPILED
from ..counters import counters
from ..dtypes import DType
from ..interrupts import Deferred, deliver, late, reraise_from_handler
from ..program.evaluations import Evaluation
from ..program.plan import Plan
from ..program.program import Structure
from . import memory_limits, returned
from .data import device_array, given, padded_array, scalar_vector
from .pieces import run_pieces
from .selection import backend


def run(plan: Plan, donate: bool) -> None:
    """Dispatch the plan's program; fills ``plan.results``. Raises what goes wrong.

    That is NotLowered where an op's definition does not work.
    """
    evaluation: Evaluation = plan.evaluation
    started = time.perf_counter()
    entry = memory.entry_of(plan.structure, donate)
    info = entry.dispatch_info(plan.wanted, plan.donatable)
    if info is None:
        # slow to import, and not needed for a program that ran before
        from . import forms, padded, programs

        pieces = forms.in_pieces(entry, plan, donate)
        if pieces or entry.program is None:
            found = padded.ready(entry, plan, donate, not pieces)
            if found is not None and _ran_padded(
                entry, found[0], found[1], plan, donate, started
            ):
                return
        if pieces:
            _run_in_pieces(entry, plan, donate, started, forms.threads_for(entry, plan))
            return
        info = programs.prepared(entry, plan, donate)
    else:
        evaluation.found = "memory"
        evaluation.backend = info.backend
        counters["program_hits"] += 1
    looked = time.perf_counter()
    arguments: list[Any] = []
    for buffer in plan.leaves:
        array = buffer.array
        arguments.append(device_array(buffer) if array is None else array)
    _prepare(plan, entry, info, arguments)
    if COMPILED and info.loaded.direct and info.unchecked is None:
        _launch(plan, info, arguments)
    else:
        with Deferred(True):
            _launch(plan, info, arguments)
    if not donate:
        _wait(plan)
    if entry.trials:
        _try(plan, entry, looked)
    evaluation.bytes_out = info.bytes_out
    evaluation.program = info.program
    evaluation.form = "whole"
    timings = evaluation.timings
    if "lookup" not in timings:
        timings["lookup"] = looked - started
    timings["dispatch"] = time.perf_counter() - looked


def _prepare(
    plan: Plan, entry: memory.Entry, info: memory.DispatchInfo, arguments: list[Any]
) -> None:
    """Add to the leaves' arrays what else the program takes, and count the run."""
    evaluation: Evaluation = plan.evaluation
    if info.copied:
        for k in info.copied:
            arguments[k] = given(backend().copy(arguments[k]), "copy")
        evaluation.copied = list(info.copied)
        counters["donated_copies"] += len(info.copied)
    if plan.scalars:
        _add_scalars(arguments, entry, plan.scalars)
    if info.needs or memory_limits.limited:
        memory_limits.to_run(info.needs)
    evaluation.bytes_in = info.bytes_in
    evaluation.bytes_donated = info.bytes_donated
    counters["executions"] += 1
    counters["ops_executed"] += len(plan.nodes)


def _ran_padded(
    entry: memory.Entry, target: Any, values: tuple[int, ...], plan: Plan, donate: bool,
    started: float,
) -> bool:  # fmt: skip
    """Run the padded program of a bucket with the plan's leaves, and take what is asked for.

    False where there is not the memory for it.
    """
    from . import padded, programs

    evaluation: Evaluation = plan.evaluation
    whole: memory.Entry = target.entry
    structure = target.structure
    donatable = padded.unchanged(plan, target.padding)
    info = whole.dispatch_info(plan.wanted, donatable)
    if info is None:
        with whole.lock:
            info = programs.dispatch_of(whole, plan.wanted, donatable, donate)
    if not evaluation.found:
        evaluation.found = "memory"
        counters["program_hits"] += 1
    evaluation.backend = info.backend
    looked = time.perf_counter()
    arguments: list[Any] = []
    try:
        for buffer, own, t in zip(
            plan.leaves, plan.structure.leaf_types, structure.leaf_types, strict=True
        ):
            arguments.append(device_array(buffer) if own is t else padded_array(buffer, t))
        _prepare(plan, whole, info, arguments)
        arguments.append(padded.extents(values))
    except MemoryError:
        whole.stays, whole.runs = True, 0
        return False
    counters["runs_padded"] += 1
    with Deferred(True):
        _launch(plan, info, arguments)
        # until what is asked for is cut out, nothing has arrived
        plan.attached = False
        _cut(plan, structure)
        plan.attached = True
    if not donate:
        _wait(plan)
    if whole.trials:
        _try(plan, whole, looked)
    evaluation.bytes_out = sum(plan.nodes[n].types[r].nbytes for n, r in plan.wanted)
    evaluation.ran_padded(
        plan.structure, plan.wanted, plan.donatable if donate else [],
        target.padding, values)
    timings = evaluation.timings
    if "lookup" not in timings:
        timings["lookup"] = looked - started
    seconds = timings["dispatch"] = time.perf_counter() - looked
    padded.ran_padded(entry, target, values, seconds)
    return True


def _cut(plan: Plan, structure: Structure) -> None:
    """Replace padded results by what is asked for; waits where there are any."""
    instructions = structure.instructions
    for (number, index), result in zip(plan.wanted, plan.results, strict=True):
        own = plan.nodes[number].types[index]
        if instructions[number].types[index] is own:
            continue
        whole = backend().host_view(result.array)
        result.host = whole[tuple([slice(n) for n in own.shape])].copy()
        result.array = None
        result.origin = None


def _run_in_pieces(
    entry: memory.Entry, plan: Plan, donate: bool, started: float, threads: Any
) -> None:
    """Run the plan op by op, and count what that costs."""
    evaluation: Evaluation = plan.evaluation
    evaluation.ran_in_pieces(plan.structure, plan.wanted, plan.donatable if donate else [])
    evaluation.backend = backend().name
    counters["runs_in_pieces"] += 1
    counters["ops_executed"] += len(plan.nodes)
    looked = time.perf_counter()
    run_pieces(plan, entry, threads, donate)
    took = time.perf_counter() - looked
    entry.runs += 1
    # what had to be prepared is ready the next time
    seconds = max(0.0, took - evaluation.timings.get("prepare", 0.0))
    if entry.member is not None:
        from . import padded

        padded.ran_in_pieces(entry, seconds)
    entry.spent += seconds
    entry.quickest = min(entry.quickest, seconds)
    evaluation.spent = entry.spent
    evaluation.estimate = -1.0 if entry.stays else entry.estimate
    evaluation.timings["lookup"] = looked - started
    evaluation.timings["pieces"] = took


def _try(plan: Plan, entry: memory.Entry, started: float) -> None:
    """Wait for a run's results, and compare what it took with runs in pieces."""
    from . import forms

    try:
        _wait_for(plan)
    except Exception as error:
        reraise_from_handler(error)
        return  # whoever reads them gets the error
    forms.tried(entry, time.perf_counter() - started)


def _launch(plan: Plan, info: memory.DispatchInfo, arguments: list[Any]) -> None:
    """Run; once the program has taken its donated inputs, its results arrive."""
    try:
        results: Any = info.loaded.run(*arguments)
        unchecked = info.unchecked
        if unchecked is not None:
            _check(plan, info, unchecked, results)
        arrays: list[Any] = results
        for target, number in zip(plan.results, info.position, strict=True):
            target.array = arrays[number]
        leaves = plan.leaves
        for k in info.taken:
            leaves[k].array = None
        plan.attached = True
    finally:
        # the dispatch may have asked interpreted code about arguments of a kind new to it
        if late:
            deliver()


def _check(
    plan: Plan, info: memory.DispatchInfo, outputs: tuple[tuple[int, int], ...], results: Any
) -> None:
    """Compare what the first run of a program returned with what it should; raises WrongResult."""
    try:
        returned.check_results(
            results, outputs, info.program.structure.instructions, plan.nodes)
    except Exception:
        # the run has written over what it was given to write over
        for k in info.taken:
            plan.leaves[k].array = None
        raise
    info.unchecked = None


def _wait_for(plan: Plan) -> None:
    for target in plan.results:
        if target.array is not None:
            backend().wait(target.array)


def _wait(plan: Plan) -> None:
    """Wait for the results, so that a run that fails fails while its inputs are there."""
    try:
        _wait_for(plan)
    except Exception:
        for target in plan.results:
            target.array = None
        plan.attached = False
        raise


def _add_scalars(
    arguments: list[Any], entry: memory.Entry, scalars: dict[DType, list[Any]]
) -> None:
    """Add the vector of each dtype's run-time scalars; one that is as last time is not uploaded."""
    for dtype, numbers in scalars.items():
        known = entry.scalars.get(dtype)
        if known is not None and known[0] == numbers and _zeros_agree(known[0], numbers):
            arguments.append(known[1])
            continue
        array = given(backend().upload(scalar_vector(numbers, dtype.numpy)), "upload")
        if dtype.kind != "c":
            entry.scalars[dtype] = (numbers, array)
        arguments.append(array)


def _zeros_agree(before: list[Any], numbers: list[Any]) -> bool:
    """Whether numbers that are equal are the same bits: zeros may differ by their sign."""
    if 0 not in numbers:
        return True
    for a, b in zip(before, numbers, strict=True):
        if b == 0 and math.copysign(1.0, a) != math.copysign(1.0, b):
            return False
    return True
