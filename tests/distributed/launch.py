"""Starting several processes that run one program, each with a hard limit of time."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


class Ended(NamedTuple):
    """How a process ended: its exit code (None if it had to be killed), output and seconds."""

    code: int | None
    output: str
    seconds: float


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def start(
    program: str, arguments: list[str], rank: int, world: int, port: int, **environment: str
) -> subprocess.Popen[str]:
    """Start one process of several."""
    paths = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    env = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": str(rank),
           "WORLD_SIZE": str(world), "LAZYLOOM_LOG": "0",
           "PYTHONPATH": os.pathsep.join([*paths, str(ROOT)]), **environment}
    env.pop("TORCHELASTIC_USE_AGENT_STORE", None)
    return subprocess.Popen(
        [sys.executable, str(HERE / program), *arguments], env=env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def wait(processes: list[subprocess.Popen[str]], limit: float, enough: int = 0) -> list[Ended]:
    """Wait until all have ended, or ``enough`` of them; those left after ``limit`` are killed."""
    begun = time.monotonic()
    seconds = [limit] * len(processes)
    left = set(range(len(processes)))
    while left and time.monotonic() - begun < limit and (
        not enough or len(processes) - len(left) < enough
    ):
        for i in list(left):
            if processes[i].poll() is not None:
                seconds[i] = time.monotonic() - begun
                left.discard(i)
        time.sleep(0.01)
    for i in left:
        os.kill(processes[i].pid, signal.SIGKILL)
    ended = []
    for i, p in enumerate(processes):
        output, _ = p.communicate()
        ended.append(Ended(None if i in left else p.returncode, output, seconds[i]))
    return ended


def run(
    program: str, arguments: list[str], world: int, limit: float = 30.0, enough: int = 0,
    **environment: str,
) -> list[Ended]:
    """Run a program of this folder in several processes; see :func:`wait`."""
    port = free_port()
    return wait(
        [start(program, arguments, r, world, port, **environment) for r in range(world)], limit,
        enough)
