"""Programs of two processes: all-reduces, and steps of data-parallel training.

One text for PyTorch (gloo) and the torch-like frontend. Rank 0 is the process that is measured;
rank 1 is started by it (``python -m programs.two_processes LIBRARY``) and does what it is told on
its standard input, a line for each turn.
"""

from __future__ import annotations

import importlib
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .models.gpt import model_of

Unit = Callable[[], Any]
VOCABULARY, LENGTH = 256, 128


def all_reduce(torch: Any, count: int) -> Unit:
    """A sum of float32 numbers of both processes, waited for."""
    dist = torch.distributed
    x = torch.full((count,), 1.0)

    def unit() -> Any:
        y = x.clone()
        dist.all_reduce(y)
        return y[0].item()

    return unit


def training(torch: Any, model: Any, x: Any, y: Any) -> Unit:
    """A step with AdamW, the loss read."""
    model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)

    def unit() -> Any:
        optimizer.zero_grad()
        found = model(x)
        loss = torch.nn.functional.cross_entropy(found.reshape(y.numel(), -1), y.reshape(-1))
        loss.backward()
        optimizer.step()
        return loss.item()

    return unit


def mlp(torch: Any) -> Unit:
    nn = torch.nn
    model = nn.Sequential(
        nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    return training(torch, model, torch.randn(64, 64), torch.randint(0, 10, (64,)))


def gpt(torch: Any) -> Unit:
    model = model_of(torch, 4, 256, 8, VOCABULARY, LENGTH)
    tokens = torch.randint(0, VOCABULARY, (8, LENGTH))
    return training(torch, model, tokens, tokens.roll(-1, 1))


def resnet18(torch: Any) -> Unit:
    """ResNet-18 with a first convolution for images of 32 x 32 (He et al.)."""
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.a = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.b = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.norm_a, self.norm_b = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
            self.short = nn.Identity() if stride == 1 and inputs == outputs else nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

        def forward(self, x: Any) -> Any:
            y = F.relu(self.norm_a(self.a(x)))
            return F.relu(self.norm_b(self.b(y)) + self.short(x))

    layers = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    before = 64
    for width, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Block(before, width, stride), Block(width, width, 1)]
        before = width
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))
    return training(torch, model, torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,)))


PROGRAMS: dict[str, Callable[[Any], Unit]] = {
    "1 kB": lambda torch: all_reduce(torch, 256),
    "1 MB": lambda torch: all_reduce(torch, 1 << 18),
    "16 MB": lambda torch: all_reduce(torch, 1 << 22),
    "mlp": mlp, "gpt": gpt, "resnet18": resnet18,
}  # fmt: skip


class Pair:
    """The process that is measured, with the other one."""

    def __init__(self, library: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
        os.environ.update(shared, RANK="0")
        self.other = subprocess.Popen(
            [sys.executable, "-m", "programs.two_processes", library], stdin=subprocess.PIPE,
            text=True, cwd=Path(__file__).parents[1], env={**os.environ, "RANK": "1"})
        self.torch = begun(library)

    def tell(self, line: str) -> None:
        assert self.other.stdin is not None
        self.other.stdin.write(line + "\n")
        self.other.stdin.flush()

    def turn_of(self, program: str) -> Callable[[int], None]:
        """A turn of a program's units, in both processes."""
        self.tell(program)
        unit = made(self.torch, program)

        def turn(units: int) -> None:
            self.tell(str(units))
            for _ in range(units):
                unit()

        return turn


def begun(library: str) -> Any:
    """The library, as one of two processes with half of the cores each."""
    torch = importlib.import_module(library)
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // 2))
    torch.distributed.init_process_group("gloo")
    return torch


def made(torch: Any, program: str) -> Unit:
    torch.manual_seed(0)
    return PROGRAMS[program](torch)


def main() -> None:
    torch = begun(sys.argv[1])
    unit: Unit | None = None
    for line in sys.stdin:
        text = line.strip()
        if not text.isdigit():
            unit = made(torch, text)
            continue
        assert unit is not None
        for _ in range(int(text)):
            unit()
    # the end of the input is that of the other process, which is not waited for
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
