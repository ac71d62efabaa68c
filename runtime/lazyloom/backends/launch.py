"""The launch of a compiled program: its arguments, its run and its results."""

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
from . import memory_limits, returned
from .data import given, scalar_vector
from .selection import backend


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
        launch(plan, info, arguments)
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


def wait(plan: Plan) -> None:
    """Wait for the results, so that a run that fails fails while its inputs are there."""
    try:
        _wait(plan)
    except Exception:
        for target in plan.results:
            target.array = None
        plan.attached = False
        raise


def _wait(plan: Plan) -> None:
    for target in plan.results:
        if target.array is not None:
            backend().wait(target.array)


def compare(plan: Plan, entry: memory.Entry, started: float) -> None:
    """Wait for a run's results, and compare what it took with runs in pieces."""
    # slow to import, and not needed for a program that is not compared
    from . import forms

    try:
        _wait(plan)
    except Exception as error:
        reraise_from_handler(error)
        return  # whoever reads them gets the error
    forms.tried(entry, time.perf_counter() - started)


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
