"""Run the programs of this folder under NumPy and under Lazyloom, compare, and time them.

Only the import line differs: ``import numpy as np`` becomes ``import lazyloom_numpy as np``.

    python both.py              all programs
    python both.py heat image   some of them
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy

HERE = Path(__file__).resolve().parent
PROGRAMS = ("heat", "kmeans", "kalman", "image", "nbody")
LINE = "import numpy as np\n"


def load(name: str, module: str) -> Callable[..., dict[str, Any]]:
    """The function ``run`` of a program whose import line names the module."""
    path = HERE / f"{name}.py"
    text = path.read_text()
    if text.count(LINE) != 1:
        raise ValueError(f"{path.name}: expected the line {LINE.strip()!r} once")
    space = {"__name__": name, "__file__": str(path)}
    code = compile(text.replace(LINE, f"import {module} as np\n"), f"{path} with {module}", "exec")
    exec(code, space)
    return space["run"]  # type: ignore[return-value]


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """What is not equal, by name; floating-point numbers may differ by 1e-9 of the largest."""
    wrong = [f"{name!r} is there once only" for name in ours.keys() ^ theirs.keys()]
    for name in ours.keys() & theirs.keys():
        a, b = numpy.asarray(ours[name]), numpy.asarray(theirs[name])
        if a.shape != b.shape or a.dtype != b.dtype:
            wrong.append(f"{name!r} is {a.dtype}{a.shape}, expected {b.dtype}{b.shape}")
        elif b.dtype.kind in "fc":
            scale = numpy.abs(b).max(initial=1.0)
            if not numpy.allclose(a, b, rtol=0.0, atol=1e-9 * scale, equal_nan=True):
                wrong.append(f"{name!r} differs by {numpy.nanmax(numpy.abs(a - b)):.2g}")
        elif not numpy.array_equal(a, b):
            wrong.append(f"{name!r} differs in {numpy.sum(a != b)} places")
    return wrong


def timed(run: Callable[..., dict[str, Any]]) -> tuple[dict[str, Any], float]:
    started = time.perf_counter()
    results = {name: numpy.asarray(value) for name, value in run().items()}
    return results, time.perf_counter() - started


def main(names: list[str]) -> int:
    failed = False
    for name in names or PROGRAMS:
        theirs, host = timed(load(name, "numpy"))
        run = load(name, "lazyloom_numpy")
        ours, first = timed(run)
        ours, second = timed(run)
        wrong = differences(ours, theirs)
        failed = failed or bool(wrong)
        times = f"{1e3 * first:7.0f} ms the first time, {1e3 * second:7.0f} ms then"
        print(f"{name:8} NumPy {1e3 * host:7.0f} ms, Lazyloom {times}: "
              f"{'; '.join(wrong) or 'equal'}")  # fmt: skip
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
