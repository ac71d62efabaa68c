"""The programs of ``examples/numpy_programs`` at their small sizes."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy

from .progress import Progress

KIND = "numpy"
SIZES: dict[str, dict[str, Any]] = {
    "small": {"name": "image", "runs": 2},
    "full": {"name": "heat", "runs": 3},
}
RUNNER = Path(__file__).resolve().parents[2] / "examples" / "numpy_programs" / "both.py"
ARGUMENTS = {
    "heat": {"n": 64, "steps": 40},
    "kmeans": {"clusters": 12, "images": 1000},
    "kalman": {"targets": 40, "steps": 40},
    "image": {"n": 96},
    "nbody": {"bodies": 64, "steps": 60},
}


def run(np: Any, progress: Progress, name: str, runs: int) -> None:
    """Run the program from nothing until every result is in host memory."""
    if name not in ARGUMENTS:
        raise ValueError(f"name is {name!r}, expected one of {', '.join(ARGUMENTS)}")
    spec = importlib.util.spec_from_file_location("both", RUNNER)
    assert spec is not None and spec.loader is not None
    both = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(both)
    program = both.load(name, np.__name__)
    progress.begin()
    for r in range(runs):
        if r:
            progress.next_epoch()
        found = {key: numpy.asarray(value) for key, value in program(**ARGUMENTS[name]).items()}
        progress.sample([numpy.abs(v).mean() for v in found.values()])
