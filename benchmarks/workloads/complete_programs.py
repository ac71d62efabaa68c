"""The complete programs of examples/numpy_programs, under NumPy and under our frontend.

Each is plain NumPy code with branches on the host and in-place updates; a run starts from nothing
and ends when every result is in host memory.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy
from suite import Case, Contender, Turn, Workload

RUNNER = Path(__file__).resolve().parents[2] / "examples" / "numpy_programs" / "both.py"
OURS = "lazyloom, NumPy-like"

#: by program: what it does, and its arguments small and large
SIZES: dict[str, tuple[str, dict[str, dict[str, int]]]] = {
    "heat": ("heat equation by Fourier modes and by differences",
             {"small": {"n": 64, "steps": 40}, "large": {"n": 384, "steps": 40}}),
    "kmeans": ("k-means of digits",
               {"small": {"clusters": 12, "images": 1000},
                "large": {"clusters": 60, "images": 1437}}),
    "kalman": ("Kalman filter and smoother",
               {"small": {"targets": 40, "steps": 40}, "large": {"targets": 400, "steps": 40}}),
    "image": ("edges of an image", {"small": {"n": 96}, "large": {"n": 768}}),
    "nbody": ("n-body in place", {"small": {"bodies": 64, "steps": 60},
                                  "large": {"bodies": 700, "steps": 60}}),
}  # fmt: skip


def runner() -> Any:
    spec = importlib.util.spec_from_file_location("both", RUNNER)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def with_module(module: str) -> Any:
    def contender(program: str, size: str) -> Turn:
        run, arguments = runner().load(program, module), SIZES[program][1][size]

        def turn(units: int) -> None:
            for _ in range(units):
                results = run(**arguments)
                turn.results = {k: numpy.asarray(v) for k, v in results.items()}  # type: ignore[attr-defined]

        return turn

    return contender


WORKLOAD = Workload(
    name="complete_programs",
    title="Complete NumPy programs",
    about=(
        "The five programs of examples/numpy_programs, whose import line alone differs: "
        + "; ".join(
            f"{name}, {what}, {', '.join(f'{k} {a}' for k, a in sizes['large'].items())} where "
            "it is large" for name, (what, sizes) in SIZES.items())
        + ". A run makes its data, branches on what it computed, and ends when all results are "
        "in host memory."
    ),
    cases=[
        Case(f"{name}, {size}", {"program": name, "size": size}, warm=2, rounds=9, budget=10,
             seconds=0.05, per="run", quick=name == "kmeans" and size == "small")
        for name in SIZES for size in ("small", "large")
    ],
    contenders=[
        Contender(OURS, "lazyloom", with_module("lazyloom_numpy")),
        Contender("NumPy", "numpy", with_module("numpy")),
    ],
    base=OURS,
    columns=2,
)  # fmt: skip
