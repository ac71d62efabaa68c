"""The programs of ``examples/numpy_programs`` at their small sizes."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
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


@functools.cache
def program_of(name: str, module: str) -> Callable[..., dict[str, Any]]:
    """The program whose import line names the module; the same one however often it is run."""
    if name not in ARGUMENTS:
        raise ValueError(f"name is {name!r}, expected one of {', '.join(ARGUMENTS)}")
    spec = importlib.util.spec_from_file_location("both", RUNNER)
    assert spec is not None and spec.loader is not None
    both = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(both)
    found: Callable[..., dict[str, Any]] = both.load(name, module)
    return found


def run(np: Any, progress: Progress, name: str, runs: int) -> None:
    """Run the program from nothing until every result is in host memory."""
    program = program_of(name, np.__name__)
    progress.begin()
    for r in range(runs):
        if r:
            progress.next_epoch()
        found = {key: numpy.asarray(value) for key, value in program(**ARGUMENTS[name]).items()}
        progress.sample([numpy.abs(v).mean() for v in found.values()])
