"""Contenders that run a program of ``benchmarks/programs``, each turn in a process of its own.

A run is ended when its limit is over; what was not known by then is None, and the contender plays
no further round.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .common import threads
from .workload import Turn

ROOT = Path(__file__).resolve().parents[2]
#: seconds for which a process may live beyond its program's limit: starting and importing
BEYOND = 60.0

FIRST, LATER, LONGEST = "first epoch", "later epoch", "longest wait for a sample"
FIRST_STEP, LATER_STEP = "first step", "later step"
GROWN = "growth of the process in the last epoch"


def run_program(
    program: str, library: str, size: str, arguments: dict[str, Any], limit: float, cache: str,
) -> dict[str, Any]:  # fmt: skip
    """What ``python -m benchmarks.programs`` says of a run, by name."""
    command = [sys.executable, "-m", "benchmarks.programs", program, "--library", library,
               "--size", size, "--limit", str(limit), "--threads", str(threads() or 2),
               "--json"]  # fmt: skip
    for key, value in arguments.items():
        command += ["--set", f"{key}={value}"]
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path, "LAZYLOOM_CACHE_DIR": cache},
        capture_output=True, text=True, timeout=limit + BEYOND,
    )  # fmt: skip
    sys.stderr.write(done.stderr)
    lines = done.stdout.splitlines()
    if not lines:
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise RuntimeError(said[-1])
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def measures_of(found: dict[str, Any]) -> dict[str, float | None]:
    """A run's figures by name: the whole first and last epoch, and what their steps took."""
    seconds, over = found["seconds"], found["over"] is not None
    ended = len(seconds) - 1 if over else len(seconds)
    first = seconds[0] if ended > 0 else None
    # the last epoch of a run that was ended is the one before; the first is not a later one
    last = seconds[-1] if not over and ended > 1 else None
    return {
        FIRST: sum(first) if first else None,
        LATER: sum(last) if last else None,
        LONGEST: None if over else max(map(max, seconds)),
        FIRST_STEP: first[0] if first else None,
        LATER_STEP: statistics.median(last) if last else None,
        GROWN: None if over else float(max(0, found["grown"][-1])),
    }


def running(
    library: str, cache: str = "empty", full: dict[str, Any] | None = None,
    small: dict[str, Any] | None = None,
) -> Callable[..., Turn]:  # fmt: skip
    """A contender's maker; a case gives it the program, the size, the limit and the figures.

    ``cache`` is "empty", or "filled" with what an earlier run of the same has left. ``full`` and
    ``small`` are arguments of this contender alone, by size.
    """

    def make(program: str, size: str, limit: float, figures: list[str],
             arguments: dict[str, Any]) -> Turn:  # fmt: skip
        own = {**arguments, **((full if size == "full" else small) or {})}
        key = "-".join([program, size, *(f"{k}.{v}" for k, v in own.items())])
        folder = os.environ.get("LAZYLOOM_CACHE_DIR") or tempfile.gettempdir()
        filled = os.path.join(folder, key)

        def with_empty_cache() -> dict[str, Any]:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            fresh = tempfile.mkdtemp(dir=folder)
            try:
                found = run_program(program, library, size, own, limit, fresh)
                if library == "lazyloom" and not os.path.exists(filled):
                    os.rename(fresh, filled)
                return found
            finally:
                shutil.rmtree(fresh, ignore_errors=True)

        def turn(units: int) -> dict[str, float | None]:
            if cache == "filled":
                if not os.path.exists(filled):
                    with_empty_cache()
                found = run_program(program, library, size, own, limit, filled)
            else:
                found = with_empty_cache()
            known = measures_of(found)
            return {name: known[name] for name in figures}

        return turn

    return make
