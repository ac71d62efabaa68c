"""What the distributed examples share: where they run, the loop, checkpoint and resume.

The scripts are programs for PyTorch. One process on one device, one process on a mesh of devices
(``--devices 8``), and several processes (``python -m lazyloom_torch run -n 4``) run the same steps
on the same images or tokens: a batch is the same whatever it is divided into.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

EXAMPLES = Path(__file__).resolve().parents[1]
sys.path.append(str(EXAMPLES))
import either  # noqa: E402

#: steps that are not timed: programs are made in them
WARM = 3

Arrays = Sequence[numpy.ndarray]


def model_file(name: str) -> Any:
    """A module of ``examples/torch_models``, whose ``torch`` is this program's."""
    return either.load(EXAMPLES / "torch_models" / f"{name}.py", "torch")


progress = model_file("training")


def options(description: str, **defaults: Any) -> argparse.ArgumentParser:
    """A parser with the options that every script has; the defaults are keyword arguments."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add("--devices", type=int, default=1, help="devices of a mesh that one process makes")
    add("--steps", type=int, default=defaults.get("steps", 500))
    add("--batch", type=int, default=defaults.get("batch", 64),
        help="of a step, on all devices and processes together")
    add("--accumulate", type=int, default=defaults.get("accumulate", 1),
        help="parts of the batch, one after the other, whose gradients are added up")
    add("--lr", type=float, default=defaults.get("lr", 0.1), help="learning rate after warm-up")
    add("--warmup", type=int, default=defaults.get("warmup", 20), help="steps of warm-up")
    add("--seed", type=int, default=0)
    add("--checkpoint", metavar="FILE", help="written every --every steps and at the end")
    add("--every", type=int, default=100, help="steps between checkpoints")
    add("--resume", action="store_true", help="go on from the checkpoint, if it is there")
    add("--stop-at", type=int, metavar="STEP",
        help="end there, as if interrupted: the schedule is that of --steps")
    add("--report", metavar="FILE", help="losses and seconds of all steps, as JSON")
    add("--quiet", action="store_true", help="no progress bar")
    return parser


class Place:
    """One process with one device."""

    rank, processes = 0, 1

    def model(self, model: Any) -> Any:
        """The model as it is called in a step."""
        return model

    def batch(self, arrays: Arrays) -> list[Any]:
        """Tensors of a batch, or of this process's rows of it."""
        return [torch.from_numpy(numpy.ascontiguousarray(a)) for a in arrays]

    def mean(self, loss: float) -> float:
        """The mean of all processes' losses."""
        return loss

    def adding(self, model: Any) -> Any:
        """A context for all parts of a batch but the last one."""
        return contextlib.nullcontext()

    def close(self) -> None:
        pass


class Mesh(Place):
    """One process with several devices, each of which has a part of every batch."""

    def __init__(self, devices: int) -> None:
        # before the first value is computed
        os.environ.setdefault("JAX_NUM_CPU_DEVICES", str(devices))
        import lazyloom

        self.shard = lazyloom.shard
        self.mesh = lazyloom.make_mesh({"data": devices})

    def model(self, model: Any) -> Any:
        """Parameters and buffers are whole on every device: gradients are all-reduced."""
        for tensor in [*model.parameters(), *model.buffers()]:
            if tensor.is_floating_point():
                tensor.data = self.shard(tensor.data, self.mesh, ())
        return model

    def batch(self, arrays: Arrays) -> list[Any]:
        return [self.shard(t, self.mesh, ("data",)) for t in super().batch(arrays)]


class Processes(Place):
    """One of several processes, each of which has a part of every batch."""

    def __init__(self) -> None:
        dist.init_process_group("gloo")
        self.rank, self.processes = dist.get_rank(), dist.get_world_size()

    def model(self, model: Any) -> Any:
        return DistributedDataParallel(model)

    def batch(self, arrays: Arrays) -> list[Any]:
        each = len(arrays[0]) // self.processes
        own = slice(self.rank * each, (self.rank + 1) * each)
        return super().batch([a[own] for a in arrays])

    def mean(self, loss: float) -> float:
        total = torch.tensor(loss)
        dist.all_reduce(total)
        return total.item() / self.processes

    def adding(self, model: Any) -> Any:
        return model.no_sync()

    def close(self) -> None:
        dist.destroy_process_group()


def place_of(args: argparse.Namespace) -> Place:
    """Where the program runs; before anything is computed. Raises SystemExit for what cannot be."""
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    if processes > 1 and args.devices > 1:
        raise SystemExit(f"--devices {args.devices} is for one process, and there are {processes}")
    parts = args.accumulate * max(processes, args.devices)
    if args.batch % parts:
        raise SystemExit(
            f"--batch {args.batch}: expected a multiple of {parts}, so many parts does it have")
    if args.devices > 1 and "lazyloom_torch" not in sys.modules:
        raise SystemExit("--devices: a mesh is Lazyloom's, python -m lazyloom_torch script.py")
    if processes > 1:
        return Processes()
    return Mesh(args.devices) if args.devices > 1 else Place()


def chosen(rows: int, batch: int, step: int, seed: int) -> numpy.ndarray:
    """The rows of a step's batch: every epoch has all rows, in an order of its own."""
    if batch > rows:
        raise SystemExit(f"--batch {batch}: there are {rows} rows")
    epoch, number = divmod(step, rows // batch)
    order = numpy.random.default_rng((seed, epoch)).permutation(rows)
    return order[number * batch:(number + 1) * batch]


def train(
    args: argparse.Namespace, place: Place, model: Any, optimizer: Any, rows: int,
    batch_of: Callable[[numpy.ndarray, numpy.random.Generator], Arrays],
    loss_of: Callable[..., Any], clip: float | None = None, unit: str = "images",
    per_row: int = 1,
) -> list[float]:
    """Train up to ``args.steps`` steps; the loss of every step that was done here.

    Args:
        rows: how many there are to choose a batch of.
        batch_of: the arrays of a batch by the numbers of its rows; it may draw of the generator.
        loss_of: the loss of the model, given it and the tensors of a batch.
        clip: limits the norm of the gradient.
        unit, per_row: what is counted, and how many of it a row has.
    """
    scheduler = progress.warmup_cosine(optimizer, args.warmup, args.steps)
    done = 0
    if args.resume and args.checkpoint and os.path.exists(args.checkpoint):
        done = progress.load_checkpoint(args.checkpoint, model, optimizer, scheduler)
        if place.rank == 0:
            print(f"resumed after step {done}", file=sys.stderr)
    end = args.steps if args.stop_at is None else min(args.stop_at, args.steps)
    called = place.model(model)
    called.train()
    bar = progress.Progress(end - done, "step", args.quiet or place.rank > 0)
    losses: list[float] = []
    seconds: list[float] = []
    for step in range(done, end):
        begun = time.perf_counter()
        # what is drawn in a step does not depend on where training was resumed
        torch.manual_seed((args.seed * 1_000_003 + step) * place.processes + place.rank)
        arrays = batch_of(chosen(rows, args.batch, step, args.seed),
                          numpy.random.default_rng((args.seed, 1, step)))
        optimizer.zero_grad()
        total = 0.0
        each = args.batch // args.accumulate
        for part in range(args.accumulate - 1):
            tensors = place.batch([a[part * each:(part + 1) * each] for a in arrays])
            with place.adding(called):
                loss = loss_of(called, *tensors) / args.accumulate
                loss.backward()
            # read here, each part is a program of its own, which the next one finds
            total += loss.item()
        loss = loss_of(called, *place.batch([a[-each:] for a in arrays])) / args.accumulate
        loss.backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        scheduler.step()
        losses.append(place.mean(total + loss.item()))
        seconds.append(time.perf_counter() - begun)
        timed = seconds[min(WARM, len(seconds) - 1):]
        bar.step(loss=losses[-1], **{f"{unit}/s": args.batch * per_row * len(timed) / sum(timed)})
        if args.checkpoint and ((step + 1) % args.every == 0 or step + 1 == end):
            save(args.checkpoint, step + 1, place, model, optimizer, scheduler)
    if place.rank == 0 and args.report:
        found = {"first": done, "losses": losses, "seconds": seconds,
                 "batch": args.batch, "processes": place.processes, "devices": args.devices}
        Path(args.report).write_text(json.dumps(found) + "\n")
    return losses


def save(path: str, step: int, place: Place, model: Any, optimizer: Any, scheduler: Any) -> None:
    """Write a checkpoint, of which the first process's is one for all: whole, or not at all."""
    if place.rank == 0:
        progress.save_checkpoint(path + ".new", step, model, optimizer, scheduler)
        os.replace(path + ".new", path)
