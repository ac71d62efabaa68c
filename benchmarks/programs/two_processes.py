"""Programs of two processes: all-reduces, and steps of data-parallel training.

One text for PyTorch (gloo) and the torch-like frontend; :mod:`programs.process_group` runs them.
"""

from __future__ import annotations

from collections.abc import Callable
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
