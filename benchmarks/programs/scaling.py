"""Steps of ResNet-50 and all-reduces, by several devices of one process or several processes."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Callable
from typing import Any

from .first_steps import example
from .two_processes import all_reduce

#: height and width of images, and their classes
SIDE, CLASSES = 64, 1000
RATE = 1e-4
STEP, RATE_OF_IMAGES, SHARE = "step", "images per second", "share of communication"
#: float32 numbers of all-reduces
SIZES = {"1 kB": 1 << 8, "64 kB": 1 << 14, "1 MB": 1 << 18, "16 MB": 1 << 22, "64 MB": 1 << 24}
#: images of a step: of all parts together, and of each part
STRONG, WEAK = 16, 4

Unit = Callable[[], Any]


def model_and_batch(torch: Any, images: int) -> tuple[Any, Any, Any]:
    torch.manual_seed(0)
    model = example("resnet", torch).resnet50(CLASSES)
    return (model, torch.randn(images, 3, SIDE, SIDE), torch.randint(0, CLASSES, (images,)))


def resnet50(torch: Any, images: int) -> Unit:
    """A step of this process, and one without the all-reduce of gradients.

    The part of the time that the latter saves is the share of communication.
    """
    size = int(os.environ["WORLD_SIZE"])
    model, x, y = model_and_batch(torch, images // size)
    called = torch.nn.parallel.DistributedDataParallel(model) if size > 1 else model
    optimizer = torch.optim.SGD(model.parameters(), RATE)

    def step(together: bool) -> float:
        if size > 1:
            torch.distributed.barrier()
        begun = time.perf_counter()
        with contextlib.nullcontext() if together or size == 1 else called.no_sync():
            loss = torch.nn.functional.cross_entropy(called(x), y)
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        loss.item()
        return time.perf_counter() - begun

    def unit() -> dict[str, float]:
        seconds = step(True)
        share = 1 - step(False) / seconds if size > 1 else 0.0
        return {STEP: seconds, RATE_OF_IMAGES: images / seconds, SHARE: max(share, 0.0)}

    return unit


PROGRAMS: dict[str, Callable[[Any], Unit]] = {
    **{name: functools.partial(all_reduce, count=count) for name, count in SIZES.items()},
    **{f"{images} images": functools.partial(resnet50, images=images)
       for images in sorted({STRONG, *(WEAK * n for n in (1, 2, 4, 8))})},
}


def on_mesh(devices: int, program: str) -> Unit:
    """A unit of a program on a mesh of this process's devices."""
    import lazyloom
    import lazyloom_torch as torch

    mesh = lazyloom.make_mesh({"data": devices})
    if program in SIZES:
        x = lazyloom.shard(torch.ones(devices, SIZES[program]), mesh, ("data",))
        lazyloom.sync(x, wait=True)

        def summed() -> None:
            lazyloom.sync(lazyloom.shard(x.sum(0), mesh, ()), wait=True)

        return summed
    images = int(program.split()[0])
    model, x, y = model_and_batch(torch, images)
    for tensor in [*model.parameters(), *model.buffers()]:
        if tensor.is_floating_point():
            tensor.data = lazyloom.shard(tensor.data, mesh, ())
    x, y = (lazyloom.shard(t, mesh, ("data",)) for t in (x, y))
    optimizer = torch.optim.SGD(model.parameters(), RATE)
    again: list[Unit] = []

    def unit() -> dict[str, float]:
        begun = time.perf_counter()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        loss.item()
        seconds = time.perf_counter() - begun
        if not again:
            record = lazyloom.last_evaluation()
            assert record is not None
            again.append(collectives_again(mesh, record.collectives))
        return {STEP: seconds, RATE_OF_IMAGES: images / seconds, SHARE: again[0]() / seconds}

    return unit


def collectives_again(mesh: Any, found: Any) -> Unit:
    """A program of nothing but all-reduces of as many numbers; a unit gives its seconds."""
    import lazyloom
    import lazyloom_torch as torch

    operands = [
        lazyloom.shard(torch.ones(mesh.size, max(c.nbytes // 4, 1)), mesh, ("data",))
        for c in found if c.name == "all-reduce"]
    lazyloom.sync(*operands, wait=True)

    def unit() -> float:
        if not operands:
            return 0.0
        begun = time.perf_counter()
        last = None
        results = []
        for x in operands:
            # each waits for the one before, as those of a step do
            part = x.sum(0) if last is None else (x + last[0] * 0).sum(0)
            last = lazyloom.shard(part, mesh, ())
            results.append(last)
        lazyloom.sync(*results, wait=True)
        return time.perf_counter() - begun

    return unit
