"""Run a plan: find or compile its program, feed it, and attach the results."""

from __future__ import annotations

import math
import threading
import time
from typing import Any, Final

import numpy as np

from ..cache import memory
from ..compiled import COMPILED
from ..counters import counters
from ..dtypes import DType
from ..interrupts import Deferred, deliver, late
from ..program.evaluations import Evaluation
from ..program.plan import Plan
from ..trace.graph import Buffer
from ..types import TensorType
from . import memory_limits, returned
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
        from . import programs

        info = programs.prepared(entry, plan, donate)
    else:
        evaluation.found = "memory"
        evaluation.backend = info.backend
        counters["program_hits"] += 1
    looked = time.perf_counter()
    leaves = plan.leaves
    arguments: list[Any] = []
    for buffer in leaves:
        array = buffer.array
        arguments.append(device_array(buffer) if array is None else array)
    if info.copied:
        for k in info.copied:
            arguments[k] = _given(backend().copy(arguments[k]), "copy")
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
    if COMPILED and info.loaded.direct and info.unchecked is None:
        _launch(plan, info, arguments)
    else:
        with Deferred(True):
            _launch(plan, info, arguments)
    if not donate:
        _wait(plan)
    evaluation.bytes_out = info.bytes_out
    evaluation.program = info.program
    timings = evaluation.timings
    if "lookup" not in timings:
        timings["lookup"] = looked - started
    timings["dispatch"] = time.perf_counter() - looked


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
        returned.check_results(results, outputs, plan.structure.instructions, plan.nodes)
    except Exception:
        # the run has written over what it was given to write over
        for k in info.taken:
            plan.leaves[k].array = None
        raise
    info.unchecked = None


def _wait(plan: Plan) -> None:
    """Wait for the results, so that a run that fails fails while its inputs are there."""
    try:
        for target in plan.results:
            backend().wait(target.array)
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
        array = _given(backend().upload(scalar_vector(numbers, dtype.numpy)), "upload")
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


def scalar_vector(numbers: list[Any], dtype: Any) -> Any:
    """Run-time scalars of one dtype as a vector; integers wrap as C's do."""
    if dtype.kind in "iu":
        bits = dtype.itemsize * 8
        mask = (1 << bits) - 1
        unsigned = np.array([int(n) & mask for n in numbers], dtype=f"u{dtype.itemsize}")
        return unsigned.view(dtype)
    if dtype.kind == "V":  # ml_dtypes takes no integers from 2**63 on
        numbers = [float(n) for n in numbers]
    # a number too large for the dtype is an infinity, whatever the program set np.seterr() to
    with np.errstate(all="ignore"):
        return np.array(numbers, dtype=dtype)


#: one upload at a time; a signal's handler may read a value while its thread uploads another
_uploading: Final = threading.RLock()


def device_array(buffer: Buffer) -> Any:
    """The buffer's device array; uploads host data on first use."""
    found = buffer.array
    if found is not None:
        return found
    with _uploading:
        found = buffer.array
        if found is None:
            host = buffer.host
            if host is None:
                raise AssertionError("a buffer without data was used")
            # never in the place of another thread's: the compiled setter releases what it replaces
            # while it can still be read, and a backend lets other threads run meanwhile
            buffer.array = found = _given(backend().upload(host), "upload")
            counters["bytes_uploaded"] += host.nbytes
            buffer.host = None
    return found


def host_array(array: Any, t: TensorType) -> Any:
    """The data of a device array as a fresh NumPy array; waits, and raises the run's error.

    Raises WrongResult unless that is an array of the type.
    """
    data: Any = backend().download(array)
    if not isinstance(data, np.ndarray) or data.dtype != t.dtype.numpy or data.shape != t.shape:
        raise returned.wrong(
            "download", returned.type_text(data), f"a NumPy array of type {t.text}")
    return data


def _given(array: Any, method: str) -> Any:
    """An array that a method of the backend has returned. Raises WrongResult if it is none."""
    if array is None:
        raise returned.wrong(method, "None", "an array")
    return array
