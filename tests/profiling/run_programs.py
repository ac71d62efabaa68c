"""Profiles the programs of ``programs/`` in one process, and prints what was found as JSON.

One process, as starting JAX takes longer than all of them.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any

import lazyloom
import lazyloom_numpy as np
import lazyloom_torch  # noqa: F401 - imported before it is profiled
from lazyloom.profiling.rules import found_in
from lazyloom.profiling.watching import Profile

PROGRAMS = Path(__file__).parent / "programs"


def profiled(name: str, arguments: list[str]) -> dict[str, Any]:
    """What a program printed, and the findings of its profile, whatever they cost."""
    path = str(PROGRAMS / f"{name}.py")
    sys.argv = [path, *arguments]
    if "SETTLED" in os.environ:
        # so that compiled programs run, whatever the machine's speed
        with contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(path, run_name="__main__")
        lazyloom.finish_compiling()
    watched = Profile(None, True)
    with watched, contextlib.redirect_stdout(io.StringIO()) as printed:
        runpy.run_path(path, run_name="__main__")
    return {
        "result": printed.getvalue().split()[0],
        "findings": [f.line.line for f in watched.report.findings],
        "all": [{"rule": str(f.rule), "line": f.line.line, "file": f.line.file,
                 "source": f.source, "seconds": f.seconds}
                for f in found_in(watched.events, 0.0)],
        "seconds": watched.events.seconds,
    }


def main() -> None:
    # the first program of a process starts JAX
    float(np.ones(3).sum())
    found = {name: {how: profiled(name, [how] if how else []) for how in ("faulty", "")}
             for name in sys.argv[1:]}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
