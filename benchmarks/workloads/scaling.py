"""ResNet-50 divided over devices of one process, and over processes: weak and strong scaling."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from programs.scaling import RATE_OF_IMAGES, SHARE, SIZES, STEP, STRONG, WEAK, on_mesh
from suite import Case, Contender, Turn, Workload
from suite.machine import cores

DEVICES, PROCESSES = (1, 2, 4, 8), (1, 2, 4)
#: of this process, once there is one: a process joins others once
_group: list[Any] = []


def counted(n: int, what: str, plural: str) -> str:
    return f"{n} {what if n == 1 else plural}"


def name_of(library: str, n: int) -> str:
    if library == "mesh":
        return counted(n, "device", "devices")
    of = ", PyTorch" if library == "torch" else ""
    return counted(n, "process", "processes") + of


def program_of(parts: int, total: int | None, each: int | None, size: str | None) -> str:
    return size or f"{total or parts * (each or 0)} images"


def devices(n: int) -> Callable[..., Turn]:
    def make(total: int | None = None, each: int | None = None, size: str | None = None) -> Turn:
        os.environ["JAX_NUM_CPU_DEVICES"] = str(n)
        unit = on_mesh(n, program_of(n, total, each, size))

        def turn(units: int) -> Mapping[str, float | None] | None:
            found = [unit() for _ in range(units)]
            if found[0] is None:
                return None
            return {name: sum(f[name] for f in found) / units for name in found[0]}

        return turn

    return make


def processes(library: str, n: int) -> Callable[..., Turn]:
    def make(total: int | None = None, each: int | None = None, size: str | None = None) -> Turn:
        from programs.process_group import Group

        if not _group:
            _group.append(Group(library, "programs.scaling", n))
        turn: Turn = _group[0].turn_of(program_of(n, total, each, size))
        return turn

    return make


ROWS: list[tuple[str, int, str, Callable[..., Turn]]] = [
    *[("mesh", n, "lazyloom", devices(n)) for n in DEVICES],
    *[("lazyloom_torch", n, "lazyloom", processes("lazyloom_torch", n)) for n in PROCESSES],
    *[("torch", n, "torch", processes("torch", n)) for n in PROCESSES],
]
STEPS = [
    Case(f"strong: {STRONG} images of all", {"total": STRONG}, warm=2, rounds=7, units=1,
         budget=50, quick=False),
    Case(f"weak: {WEAK} images of each", {"each": WEAK}, warm=2, rounds=7, units=1, budget=60,
         quick=False),
]
REDUCTIONS = [Case(f"all-reduce, {size}", {"size": size}, warm=10, rounds=9, seconds=0.2,
                   budget=20, per="all-reduce", quick=size == "1 kB") for size in SIZES]

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
        "[What a cost model makes of these figures](scaling.md)."
    ),
    cases=[*REDUCTIONS, *STEPS],
    contenders=[
        Contender(name_of(library, n), peer, make,
                  threads=None if library == "mesh" else max(1, cores() // n),
                  only=[] if n > 1 else [c.name for c in STEPS])
        for library, n, peer, make in ROWS],
    base="2 processes",
    measures={STEP: "s", RATE_OF_IMAGES: "", SHARE: ""},
    columns=3,
    headline=[f"{c.name}: {STEP}" for c in STEPS],
)
