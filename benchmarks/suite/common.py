"""Small helpers of the workloads."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .workload import Turn

#: seconds of runs after which what is worth compiling was found to be: JAX is imported once all
#: programs together took part of a second op by op, and recording takes as long beside that
SHORTEST = 1.5
#: seconds after which a program that still runs op by op is measured as it is
SETTLED = 30.0


def threads() -> int | None:
    """The number of threads this contender is to use, or None."""
    given = os.environ.get("LAZYLOOM_BENCH_THREADS")
    return int(given) if given else None


def set_torch_threads(torch: Any) -> None:
    count = threads()
    if count is not None:
        torch.set_num_threads(count)


def autocasting(torch: Any, wanted: bool) -> Any:
    """A context in which forward passes are in bfloat16 where PyTorch has them so, if wanted."""
    return torch.autocast("cpu", torch.bfloat16) if wanted else contextlib.nullcontext()


def torch_training(loss_of: Callable[[], Any], optimizer: Any) -> Turn:
    """A turn of training steps, word for word the same for PyTorch and the torch-like frontend.

    The loss is read after every step, when the gradients are gone; ``turn.losses`` keeps them.
    """
    losses: list[float] = []

    def step() -> Any:
        loss = loss_of()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    def turn(steps: int) -> None:
        for _ in range(steps):
            losses.append(step().item())

    turn.losses = losses  # type: ignore[attr-defined]
    return turn


def settle(turn: Turn, units: int) -> None:
    """Where our programs are compiled while they run, take turns until they run compiled."""
    lazyloom = sys.modules.get("lazyloom")
    finish = getattr(lazyloom, "finish_compiling", None)
    if finish is None:
        return
    end = time.perf_counter() + SETTLED
    while time.perf_counter() < end:
        # what was compiled takes over at a later run, and others may then be worth it
        before = lazyloom.stats()["promotions"]  # type: ignore[union-attr]
        until = time.perf_counter() + SHORTEST
        while time.perf_counter() < until:
            turn(units)
        found = lazyloom.stats()["promotions"]  # type: ignore[union-attr]
        if finish(0.0) and found == before:
            return
        finish(SETTLED)


def in_new_process(workload: str, function: str, arguments: dict[str, Any],
                   environment: dict[str, str] | None = None) -> dict[str, float]:  # fmt: skip
    """What a function of a workload's file returns in a new process of this interpreter."""
    script = Path(__file__).with_name("fresh.py")
    started = {"LAZYLOOM_BENCH_STARTED": repr(time.time())}
    done = subprocess.run(
        [sys.executable, str(script), workload, function, json.dumps(arguments)],
        env={**os.environ, **started, **(environment or {})}, capture_output=True, text=True,
        timeout=400,
    )  # fmt: skip
    if done.returncode:
        sys.stderr.write(done.stderr)
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise RuntimeError(lines[-1])
    found: dict[str, float] = json.loads(done.stdout)
    return found


def since_the_process_started() -> float:
    """Seconds since :func:`in_new_process` was called, in the process that it started."""
    return time.time() - float(os.environ["LAZYLOOM_BENCH_STARTED"])
