"""Programs in C of the workloads: compiled here, run in a process of their own."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from .common import SHORTEST


def start(name: str, *arguments: str) -> Callable[[str], str]:
    """Compile and start ``benchmarks/c/NAME.c``; gives what asks it something.

    That takes a line for its standard input and gives the line that it answers with.
    """
    source = Path(__file__).resolve().parents[1] / "c" / f"{name}.c"
    flags = subprocess.run(
        [sys.executable, "-m", "lazyloom_capi", "--cflags", "--libs"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    program = str(Path(tempfile.mkdtemp(prefix="lazyloom-bench-c-")) / name)
    built = subprocess.run(
        ["cc", "-O2", str(source), *shlex.split(flags), "-o", program],
        capture_output=True, text=True,
    )  # fmt: skip
    if built.returncode:
        raise RuntimeError(built.stderr.strip().splitlines()[0])
    child = subprocess.Popen([program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             text=True)  # fmt: skip
    assert child.stdin is not None and child.stdout is not None
    requests, answers = child.stdin, child.stdout

    def ask(request: str) -> str:
        requests.write(f"{request}\n")
        requests.flush()
        line = answers.readline()
        if not line:
            raise RuntimeError(f"the C program ended with status {child.wait()}")
        return line

    return ask


def settle(turn: Callable[[int], object], units: int) -> None:
    """Take turns until programs that are worth compiling are compiled.

    The worker sees nothing of what the runtime in the C program counts.
    """
    until = time.perf_counter() + 2 * SHORTEST
    while time.perf_counter() < until:
        turn(units)
