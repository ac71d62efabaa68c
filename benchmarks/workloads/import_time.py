"""The time that an import takes in a new process."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

from suite import Case, Contender, Limit, Turn, Workload

CODE = """
import time
started = time.perf_counter()
import {module}
print(time.perf_counter() - started)
"""


def importing(module: str) -> Callable[[], Turn]:
    def make() -> Turn:
        def turn(units: int) -> dict[str, float]:
            started = time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-c", CODE.format(module=module)],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            whole = time.perf_counter() - started
            return {"import": float(done.stdout.split()[-1]), "whole process": whole}

        return turn

    return make


OURS = ("lazyloom", "lazyloom_numpy", "lazyloom_torch")

WORKLOAD = Workload(
    name="import_time",
    title="Import time",
    about=(
        "`import` of the module alone in a new process, the files in the system's cache: the "
        "statement itself, and the process from its start to its end."
    ),
    cases=[Case("", units=1, warm=1, rounds=11, budget=40, per="process")],
    contenders=[
        *(Contender(m, "lazyloom", importing(m)) for m in OURS),
        Contender("numpy", "numpy", importing("numpy")),
        Contender("jax", "jax", importing("jax")),
        Contender("torch", "torch", importing("torch")),
        Contender("mlx.core", "mlx", importing("mlx.core")),
        Contender("tinygrad", "tinygrad", importing("tinygrad")),
        Contender("torch_xla", "torch_xla", importing("torch_xla")),
    ],
    base="lazyloom_torch",
    limits=[Limit("import", ["import"], OURS, 0.7)],
)  # fmt: skip
