"""The run of a compiled program: its arguments, the launch and its results."""

from __future__ import annotations

import math
import time
from typing import Any

from .. import memory_limits, strict
from ..backends import returned
from ..backends.data import device_array, given, scalar_vector
from ..backends.selection import backend
from ..cache import memory
from ..compiled import COMPILED
from ..counters import counters
from ..dtypes import DType
from ..ending import launching
from ..interrupts import Deferred, deliver, late, reraise_from_handler
from ..program.evaluations import Evaluation
from ..program.plan import Plan
from ..program.reasons import DISPATCH
from ..settings import watching
from ..startup import unnoted
from . import placed
from .history import History


def run_whole(
    entry: memory.Entry, info: memory.DispatchInfo, plan: Plan, donate: bool, started: float
) -> None:
    """Run the plan's own program. Raises FallbackError."""
    tell_failed(plan, info)
    looked = time.perf_counter()
    arguments: list[Any] = []
    placement = entry.placement
    if placement is None:
        for buffer in plan.leaves:
            buffer.used = True
            array = buffer.array
            arguments.append(device_array(buffer) if array is None else array)
        feed(plan, entry, info, arguments)
        dispatch(plan, info, arguments)
    else:
        with placed.turn(placement):
            arguments = placed.arguments(plan.leaves, entry.structure.leaf_types, placement)
            feed(plan, entry, info, arguments)
            dispatch(plan, info, arguments)
            placed.results(plan, info)
    if not donate:
        wait(plan)
    history: History | None = entry.history
    if history is not None and history.to_compare > 0:
        compare(plan, entry, looked)
    evaluation: Evaluation = plan.evaluation
    evaluation.bytes_out = info.bytes_out
    evaluation.program = info.program
    evaluation.regions = info.regions
    if info.segmented:
        evaluation.parts = info.loaded.parts()
    evaluation.form = "compiled"
    if unnoted:
        evaluation.started_up(started)
    evaluation.looked_up(looked - started)
    evaluation.timings[DISPATCH] = time.perf_counter() - looked


def tell_failed(plan: Plan, info: memory.DispatchInfo) -> None:
    """Tell the strict mode "fallbacks" of regions that XLA runs since their generator failed.

    Raises FallbackError where it is "error".
    """
    if not (watching[0] and info.regions.failed and strict.asked("fallbacks")):
        return
    for region in info.regions.failed:
        ops = ", ".join(region.ops[:6]) + (", ..." if len(region.ops) > 6 else "")
        strict.occurred(
            "fallbacks", plan.evaluation.site,
            f"XLA runs a region ({ops}) at which the code generator {region.generator!r} failed",
            "lazyloom.codegen.failures() says why; leave the generator out with "
            "lazyloom.codegen.use(), or mend it")


def feed(
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
    further: Any = info.loaded.further
    if further is not None:
        arguments += further(arguments, [not buffer.shared for buffer in plan.leaves])
    if info.needs or memory_limits.limited:
        memory_limits.to_run(info.needs)
    evaluation.bytes_in = info.bytes_in
    evaluation.bytes_donated = info.bytes_donated
    counters["executions"] += 1
    counters["ops_executed"] += len(plan.nodes)


def dispatch(plan: Plan, info: memory.DispatchInfo, arguments: list[Any]) -> None:
    """:func:`launch`, which no signal's handler interrupts."""
    if COMPILED and info.loaded.direct and info.unchecked is None:
        launching[0] += 1
        try:
            launch(plan, info, arguments)
        finally:
            launching[0] -= 1
    else:
        with Deferred(True):
            launch(plan, info, arguments)


def launch(plan: Plan, info: memory.DispatchInfo, arguments: list[Any]) -> None:
    """Run; once the program has taken its donated inputs, its results arrive."""
    try:
        results: Any = info.loaded.run(*arguments)
        unchecked = info.unchecked
        if unchecked is not None:
            _check(plan, info, unchecked, results)
        arrays: list[Any] = results
        targets = plan.results
        # zip takes longer in compiled code
        for k, number in enumerate(info.position):
            targets[k].array = arrays[number]
        leaves = plan.leaves
        for k in info.taken:
            leaves[k].array = None
        plan.completed = True
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


def wait(plan: Plan) -> None:
    """Wait for the results, so that a run that fails fails while its inputs are there."""
    try:
        _wait(plan)
    except Exception:
        for target in plan.results:
            target.array = None
        plan.completed = False
        raise


def _wait(plan: Plan) -> None:
    for target in plan.results:
        if target.array is not None:
            backend().wait(target.array)


def compare(plan: Plan, entry: memory.Entry, started: float) -> None:
    """Wait for a run's results, and compare what it took with runs op by op."""
    # slow to import, and not needed for a program that is not compared
    from . import comparison

    try:
        _wait(plan)
    except Exception as error:
        reraise_from_handler(error)
        return  # whoever reads them gets the error
    comparison.compared(entry, time.perf_counter() - started)


def _add_scalars(
    arguments: list[Any], entry: memory.Entry, scalars: dict[DType, list[Any]]
) -> None:
    """Add the vector of each dtype's run-time scalars; one that is as last time is not uploaded."""
    for dtype, numbers in scalars.items():
        known = entry.scalars.get(dtype)
        if known is not None and known[0] == numbers and _zeros_agree(known[0], numbers):
            arguments.append(known[1])
            continue
        vector = scalar_vector(numbers, dtype.numpy)
        array = given(backend().upload(vector) if entry.placement is None else placed.upload(
            vector, entry.placement), "upload")
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
