"""Peak memory of a training step of the transformer."""

from __future__ import annotations

import ctypes
import gc
import importlib
import re
from collections.abc import Callable
from typing import Any

from suite import Case, Contender, Limit, Turn, Workload
from suite.common import in_new_process

from .transformer import LARGE, SMALL

RSS = "growth of the process's peak"
PLAN = "XLA's plan for the program"


def resident(what: str) -> int:
    """Bytes of this process: ``VmRSS`` now, ``VmHWM`` at most."""
    with open("/proc/self/status") as status:
        found = re.search(rf"{what}:\s+(\d+) kB", status.read())
    assert found is not None
    return int(found[1]) * 1024


def measure(maker: str, modules: list[str], arguments: dict[str, Any]) -> dict[str, float]:
    """In a new process: three steps, then how far three more rise above what was there before.

    What compilation took is given back, as far as the allocator does, before the peak is set
    to what is resident; the state of the model counts.
    """
    for module in modules:
        importlib.import_module(module)
    on_xla = "jax" in modules
    if on_xla:
        jax = importlib.import_module("jax")
        (jax.numpy.ones((8, 8)) @ jax.numpy.ones((8, 8))).block_until_ready()
    trim = ctypes.CDLL(None).malloc_trim
    gc.collect()
    trim(0)
    before = resident("VmRSS")
    turn = getattr(importlib.import_module("workloads.transformer"), maker)(**arguments)
    turn(3)
    gc.collect()
    trim(0)
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    turn(3)
    found: dict[str, float] = {RSS: resident("VmHWM") - before}
    if on_xla:
        plans = []
        for executable in jax.devices()[0].client.live_executables():
            m = executable.get_compiled_memory_stats()
            plans.append(m.argument_size_in_bytes + m.output_size_in_bytes
                         - m.alias_size_in_bytes + m.temp_size_in_bytes)
        found[PLAN] = max(plans)
    return found


def measuring(maker: str, modules: list[str]) -> Callable[..., Turn]:
    def make(**arguments: int) -> Turn:
        given = {"maker": maker, "modules": modules, "arguments": arguments}
        return lambda units: in_new_process("memory", "measure", given)

    return make


TORCH = "lazyloom, torch-like"
NUMPY = "lazyloom, NumPy-like"
JAX = "jax.jit, donated"

WORKLOAD = Workload(
    name="memory",
    title="Peak memory of the transformer step",
    about=(
        "How far the resident memory of a new process rises in a step, over what it was before the "
        "model was built: parameters, Adam's state and all temporaries; what compilation took is "
        "given back before, as far as the allocator does, and Lazyloom finds its programs on disk. "
        "The other table is XLA's own plan for the largest program: arguments, results that reuse "
        "none of them, and temporaries."
    ),
    cases=[
        Case("width 256, 4 x 128 tokens", SMALL, units=1, warm=1, rounds=2, budget=20,
             per="process"),
        Case("width 768, 4 x 64 tokens", LARGE, units=1, warm=1, rounds=1, budget=45,
             per="process", quick=False),
    ],
    contenders=[
        Contender(TORCH, "lazyloom",
                  measuring("lazyloom_torch", ["jax", "lazyloom", "lazyloom_torch"])),
        Contender(NUMPY, "lazyloom",
                  measuring("lazyloom_numpy", ["jax", "lazyloom", "lazyloom_numpy"])),
        Contender(JAX, "jax", measuring("jax_jit", ["jax"])),
        Contender("PyTorch eager", "torch", measuring("torch_eager", ["torch"])),
    ],
    base=TORCH,
    measures={RSS: "B", PLAN: "B"},
    limits=[Limit("peak memory beside donated jax.jit", ["width"], [TORCH, NUMPY], 1.05, [JAX])],
)  # fmt: skip
