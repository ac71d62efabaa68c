"""Several processes that run one program, the first of which is measured.

It starts the others (``python -m programs.process_group LIBRARY MODULE``), which do what they are
told on their standard input: a line with a program of the module's ``PROGRAMS``, then a line with a
number of units for each turn. Each process has its part of the cores.
"""

from __future__ import annotations

import importlib
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from suite.workload import Turn


class Group:
    """The process that is measured, with the others.

    Args:
        library: "torch" or the torch-like frontend.
        module: has ``PROGRAMS``: by name a function that makes a unit of work of the library. A
            unit gives nothing, or what it took, by name of the measure.
        size: how many processes there are. Of a single one no process group is made.
    """

    def __init__(self, library: str, module: str, size: int) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(size)}
        os.environ.update(shared, RANK="0")
        self.module = module
        self.others = [
            subprocess.Popen(
                [sys.executable, "-m", "programs.process_group", library, module],
                stdin=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1],
                env={**os.environ, "RANK": str(rank)})
            for rank in range(1, size)]
        self.torch = begun(library)

    def tell(self, line: str) -> None:
        for other in self.others:
            assert other.stdin is not None
            other.stdin.write(line + "\n")
            other.stdin.flush()

    def turn_of(self, program: str) -> Turn:
        """A turn of a program's units, in all processes."""
        self.tell(program)
        unit = made(self.torch, self.module, program)

        def turn(units: int) -> Mapping[str, float | None] | None:
            self.tell(str(units))
            found = [unit() for _ in range(units)]
            if not isinstance(found[0], dict):
                return None
            return {name: sum(f[name] for f in found) / units for name in found[0]}

        return turn


def begun(library: str) -> Any:
    """The library, as one of the processes with its part of the cores."""
    torch = importlib.import_module(library)
    size = int(os.environ["WORLD_SIZE"])
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // size))
    if size > 1:
        torch.distributed.init_process_group("gloo")
    return torch


def made(torch: Any, module: str, program: str) -> Any:
    torch.manual_seed(0)
    return importlib.import_module(module).PROGRAMS[program](torch)


def main() -> None:
    library, module = sys.argv[1:]
    torch = begun(library)
    unit: Any = None
    for line in sys.stdin:
        text = line.strip()
        if not text.isdigit():
            # what was there is dropped first: both at a time may not fit
            unit = None
            unit = made(torch, module, text)
            continue
        assert unit is not None
        for _ in range(int(text)):
            unit()
    # the end of the input is that of the first process, which is not waited for
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
