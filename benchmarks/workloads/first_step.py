"""The first training step of a process: nothing cached, and with the disk cache of another."""

from __future__ import annotations

import importlib
import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

from suite import Case, Contender, Limit, Turn, Workload
from suite.common import in_new_process, since_the_process_started

from .transformer import SMALL

#: what a process that finds all its programs on disk has none of
IDLE = ("programs_compiled", "jax_traces", "eval_shapes")
COUNTS = "programs compiled, JAX traces and shape inferences by tracing"


def first_step(workload: str, maker: str, modules: list[str], arguments: dict[str, Any]) -> Any:
    """In a new process: import, start the device, then build the model and do one step."""
    for module in modules:
        importlib.import_module(module)
    if "jax" in modules:
        importlib.import_module("jax").devices()
    started = time.perf_counter()
    getattr(importlib.import_module(f"workloads.{workload}"), maker)(**arguments)(1)
    found = {"after imports": time.perf_counter() - started,
             "from the start of the process": since_the_process_started()}  # fmt: skip
    if "lazyloom" in modules:
        stats = importlib.import_module("lazyloom").stats()
        found[COUNTS] = sum(stats[name] for name in IDLE)
    return found


def stepping(maker: str, modules: list[str], warm: bool) -> Callable[..., Turn]:
    def make(workload: str, arguments: dict[str, Any]) -> Turn:
        filled = os.path.join(os.environ["LAZYLOOM_CACHE_DIR"], f"{workload}-{maker}")
        given = {"workload": workload, "maker": maker, "modules": modules,
                 "arguments": arguments}  # fmt: skip
        if warm:
            os.makedirs(filled, mode=0o700, exist_ok=True)
            in_new_process("first_step", "first_step", given, {"LAZYLOOM_CACHE_DIR": filled})

        def turn(units: int) -> dict[str, float]:
            if warm:
                cache = {"LAZYLOOM_CACHE_DIR": filled}
                return in_new_process("first_step", "first_step", given, cache)
            with tempfile.TemporaryDirectory() as empty:
                return in_new_process(
                    "first_step", "first_step", given, {"LAZYLOOM_CACHE_DIR": empty})

        return turn

    return make


LAZYLOOM = ["jax", "lazyloom"]
COLD = "lazyloom, torch-like, empty cache"
WARM = "lazyloom, torch-like, second process"
COLD_NUMPY = "lazyloom, NumPy-like, empty cache"
WARM_NUMPY = "lazyloom, NumPy-like, second process"
TRANSFORMER = "transformer, width 256"

WORKLOAD = Workload(
    name="first_step",
    title="First step of a process",
    about=(
        "A new process builds the model and does one training step, its loss read. *After imports* "
        "counts from the moment when the library, and JAX with its device, are loaded. Once with "
        "an empty disk cache, once in a second process that finds what the first has stored; "
        "jax.jit and PyTorch without any cache, which is their default."
    ),
    cases=[
        Case(TRANSFORMER, {"workload": "transformer", "arguments": SMALL}, units=1, warm=0,
             rounds=3, budget=75, per="process", quick=False),
        Case("MLP", {"workload": "mlp", "arguments": {"read": True}}, units=1, warm=0,
             rounds=3, budget=40, per="process"),
    ],
    contenders=[
        Contender(COLD, "lazyloom",
                  stepping("lazyloom_torch", [*LAZYLOOM, "lazyloom_torch"], warm=False)),
        Contender(WARM, "lazyloom",
                  stepping("lazyloom_torch", [*LAZYLOOM, "lazyloom_torch"], warm=True)),
        Contender(COLD_NUMPY, "lazyloom",
                  stepping("lazyloom_numpy", [*LAZYLOOM, "lazyloom_numpy"], warm=False)),
        Contender(WARM_NUMPY, "lazyloom",
                  stepping("lazyloom_numpy", [*LAZYLOOM, "lazyloom_numpy"], warm=True)),
        Contender("jax.jit", "jax", stepping("jax_jit", ["jax"], warm=False)),
        Contender("PyTorch eager", "torch", stepping("torch_eager", ["torch"], warm=False)),
    ],
    base=WARM,
    measures={COUNTS: ""},
    limits=[
        Limit("first step with a warm disk cache beside a cold one", [TRANSFORMER + ": a",
              TRANSFORMER + ": f"], [WARM], 0.2, [COLD]),
        Limit("first step with a warm disk cache beside a cold one", [TRANSFORMER + ": a",
              TRANSFORMER + ": f"], [WARM_NUMPY], 0.2, [COLD_NUMPY]),
        Limit("nothing is compiled, traced or inferred in a second process",
              [TRANSFORMER + ": p", "MLP: p"], [WARM, WARM_NUMPY], 0),
    ],
    headline=[TRANSFORMER + ": a", TRANSFORMER + ": f", "MLP: a", "MLP: f"],
)  # fmt: skip
