"""ResNet-50 divided over devices of one process, and over processes: weak and strong scaling."""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

from programs.scaling import RATE_OF_IMAGES, SHARE, SIZES, STEP, STRONG, WEAK, on_mesh
from suite import Case, Contender, Turn, Workload
from suite.common import in_new_process, settle
from suite.machine import cores

DEVICES, PROCESSES = (1, 2, 4, 8), (1, 2, 4)
#: steps, and all-reduces of each size, that are measured in a process, and those before
MEASURED = {STEP: 5, "all-reduce": 30}
BEFORE = {STEP: 2, "all-reduce": 10}


def counted(n: int, what: str, plural: str) -> str:
    return f"{n} {what if n == 1 else plural}"


def name_of(library: str, n: int) -> str:
    if library == "mesh":
        return counted(n, "device", "devices")
    of = ", PyTorch" if library == "torch" else ""
    return counted(n, "process", "processes") + of


def measured(library: str, n: int, programs: list[str]) -> dict[str, float]:
    """In a new process: the medians of each program's units."""
    found: dict[str, float] = {}
    turn_of: Callable[[str], Turn]
    if library == "mesh":
        def turn_of(program: str) -> Turn:
            unit = on_mesh(n, program)

            def turn(units: int) -> Mapping[str, float | None] | None:
                (found,) = [unit() for _ in range(units)]
                return found

            return turn
    else:
        from programs.process_group import Group

        turn_of = Group(library, "programs.scaling", n).turn_of
    for program in programs:
        kind = "all-reduce" if program in SIZES else STEP
        turn = turn_of(program)
        for _ in range(BEFORE[kind]):
            turn(1)
        # each process of several settles as the first one does: all have the same programs
        settle(turn, 1)
        samples: dict[str, list[float]] = {}
        for _ in range(MEASURED[kind]):
            begun = time.perf_counter()
            took = turn(1) or {program: time.perf_counter() - begun}
            for measure, value in took.items():
                assert value is not None
                samples.setdefault(measure, []).append(value)
        found.update({m: statistics.median(values) for m, values in samples.items()})
    if library == "torch" and n > 1:
        # or its threads may end the process by abort() when the interpreter ends
        importlib.import_module(library).distributed.destroy_process_group()
    return found


def row(library: str, n: int) -> Callable[..., Turn]:
    """A contender: each turn starts its processes, which have the memory for themselves."""

    def make(total: int | None = None, each: int | None = None) -> Turn:
        programs = [f"{total or n * each} images"] if total or each else list(SIZES)
        environment = {"JAX_NUM_CPU_DEVICES": str(n)} if library == "mesh" else {}

        def turn(units: int) -> Mapping[str, float | None] | None:
            arguments: dict[str, Any] = {"library": library, "n": n, "programs": programs}
            return in_new_process("scaling", "measured", arguments, environment)

        return turn

    return make


ROWS: list[tuple[str, int, str]] = [
    *[("mesh", n, "lazyloom") for n in DEVICES],
    *[("lazyloom_torch", n, "lazyloom") for n in PROCESSES],
    *[("torch", n, "torch") for n in PROCESSES],
]
REDUCTION = "all-reduce"
STEPS = [
    Case(f"strong: {STRONG} images of all", {"total": STRONG}, warm=0, rounds=2, units=1,
         quick=False),
    Case(f"weak: {WEAK} images of each", {"each": WEAK}, warm=0, rounds=2, units=1, quick=False),
]

WORKLOAD = Workload(
    name="scaling",
    title="ResNet-50 on more devices and processes",
    about=(
        "A step of ResNet-50 (all layers, full width, images of 64 x 64, SGD, the loss read) on a "
        "mesh of devices of one process, and in processes with `DistributedDataParallel`: a batch "
        f"of {STRONG} images for all (strong scaling), or of {WEAK} for each (weak scaling). All "
        "share the "
        "cores of this machine, so that more devices than cores add no speed: what the tables show "
        "beyond that is what dividing costs. The share of communication is, of processes, what a "
        "step without the all-reduce saves; of devices, what the step's all-reduces take alone. "
        "Each row's processes are started for each round, one row after the other, and give the "
        f"median of {MEASURED[STEP]} steps or {MEASURED[REDUCTION]} all-reduces. "
        "[What a cost model makes of these figures](scaling.md)."
    ),
    cases=[Case(REDUCTION, {}, warm=0, rounds=3, units=1, per="all-reduce"), *STEPS],
    contenders=[
        Contender(name_of(library, n), peer, row(library, n),
                  threads=None if library == "mesh" else max(1, cores() // n),
                  only=[] if n > 1 else [c.name for c in STEPS])
        for library, n, peer in ROWS],
    base="2 processes",
    measures={**dict.fromkeys(SIZES, "s"), STEP: "s", RATE_OF_IMAGES: "", SHARE: ""},
    columns=3,
    headline=[f"{c.name}: {STEP}" for c in STEPS],
)
