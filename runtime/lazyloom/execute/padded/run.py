"""Execution of a padded program: padding of its inputs, slicing of its results."""

from __future__ import annotations

import time
from typing import Any, Final

import numpy as np

from ...backends.data import device_array, given, padded_array
from ...backends.selection import backend
from ...counters import counters
from ...interrupts import Deferred
from ...program.evaluations import Evaluation
from ...program.plan import Plan
from ...program.program import Structure
from ..compiling import programs
from ..history import history_of
from ..whole_program import compare, feed, launch, tell_failed, wait
from .choice import Chosen

#: extents that are kept on the device
KEPT: Final = 1024


def run_padded(chosen: Chosen, plan: Plan, donate: bool) -> bool:
    """Run the padded program of a bucket with the plan's leaves, and take what is asked for.

    False where there is not the memory for it.
    """
    evaluation: Evaluation = plan.evaluation
    target = chosen.target
    entry = target.entry
    history = history_of(entry)
    structure = target.structure
    donatable = chosen.donatable(plan)
    info = entry.dispatch_info(plan.wanted, donatable)
    if info is None:
        with entry.lock:
            info = programs.dispatch_of(entry, plan.wanted, donatable, donate)
    if not evaluation.found:
        evaluation.found = "memory"
        counters["program_hits"] += 1
    evaluation.backend = info.backend
    tell_failed(plan, info)
    started = time.perf_counter()
    arguments: list[Any] = []
    try:
        for buffer, own, t in zip(
            plan.leaves, plan.structure.leaf_types, structure.leaf_types, strict=True
        ):
            buffer.used = True
            arguments.append(device_array(buffer) if own is t else padded_array(buffer, t))
        feed(plan, entry, info, arguments)
        arguments.append(_extents(chosen.values))
    except MemoryError:
        history.is_slower(0)
        return False
    counters["runs_padded"] += 1
    with Deferred(True):
        launch(plan, info, arguments)
        # until what is asked for is cut out, nothing has arrived
        plan.completed = False
        _cut(plan, structure)
        plan.completed = True
    if not donate:
        wait(plan)
    if history.to_compare > 0:
        compare(plan, entry, started)
    evaluation.bytes_out = sum(plan.nodes[n].types[r].nbytes for n, r in plan.wanted)
    evaluation.regions = info.regions
    evaluation.ran_padded(
        plan.structure, plan.wanted, plan.donatable if donate else [],
        target.padding, chosen.values)
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


#: the extents of runs on the device, of the newest ones
_on_device: Final[dict[tuple[int, ...], Any]] = {}


def _extents(values: tuple[int, ...]) -> Any:
    """A device array of extents, as a padded program takes them."""
    found = _on_device.get(values)
    if found is None:
        if len(_on_device) >= KEPT:
            _on_device.clear()
        found = given(backend().upload(np.array(values, np.int64)), "upload")
        _on_device[values] = found
    return found
