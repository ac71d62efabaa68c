"""Programs of several processes, started by the launcher, and what they leave in files."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
#: seconds after which a launch is given up
LIMIT = 120


def launch(
    program: Path | str, folder: Path, processes: int = 2, *arguments: str, pytorch: bool = False,
    environment: dict[str, str] | None = None,
) -> list[Any]:
    """What each process of a program left by :func:`leave`, by rank.

    ``pytorch`` runs it with the installed PyTorch, else "import torch" is the frontend.
    """
    through = [] if pytorch else ["-m", "lazyloom_torch"]
    out = folder / ("theirs" if pytorch else "ours")
    out.mkdir(exist_ok=True)
    run = [sys.executable, "-m", "lazyloom", "run", "-n", str(processes), "--grace", "5", *through,
           str(program), *arguments]
    env = {**os.environ, "LEAVE_IN": str(out), "LAZYLOOM_LOG": "0",
           **(environment or {})}
    for again in (pytorch, False):
        with subprocess.Popen(run, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True) as p:  # fmt: skip
            try:
                said, _ = p.communicate(timeout=LIMIT)
            except subprocess.TimeoutExpired:
                p.terminate()
                raise
        # now and then PyTorch aborts while it ends
        if p.returncode == 0 or not again:
            break
    assert p.returncode == 0, said
    return [pickle.loads((out / f"rank{r}").read_bytes()) for r in range(processes)]


def leave(found: Any) -> None:
    """In a process of a program: what the test looks at."""
    path = Path(os.environ["LEAVE_IN"]) / f"rank{os.environ['RANK']}"
    path.write_bytes(pickle.dumps(found))


def script(folder: Path, text: str) -> Path:
    """A program in a file, with ``leave``, ``dist``, ``rank`` and ``size`` at hand."""
    path = folder / "program.py"
    path.write_text(f"""
import sys
sys.path.append({str(HERE)!r})
from launches import leave
import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
""" + text)
    return path
