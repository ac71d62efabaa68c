"""Losses of a network on the handwritten digits, with three optimizers."""

from __future__ import annotations

from pathlib import Path

import numpy

import lazyloom_torch as torch
from lazyloom_torch import nn

FOLDER = Path(__file__).resolve().parents[1] / "data" / "digits"


def load(part="train"):
    """Images, float32 [n, 64] in 0..1, and labels, int64 [n]."""
    raw = (FOLDER / f"{part}-images.idx3-ubyte").read_bytes()[16:]
    images = numpy.frombuffer(raw, numpy.uint8).reshape(-1, 64).astype(numpy.float32) / 16
    raw = (FOLDER / f"{part}-labels.idx1-ubyte").read_bytes()[8:]
    return torch.tensor(images), torch.tensor(numpy.frombuffer(raw, numpy.uint8).astype("int64"))


OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1),
    "SGD with momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.005),
}


def losses(images, labels, make_optimizer, epochs, batch=64):
    """The mean loss of each epoch, as a list of floats."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    optimizer = make_optimizer(model.parameters())
    means = []
    for _ in range(epochs):
        found = []
        for chosen in torch.randperm(len(images)).split(batch)[:-1]:
            loss = nn.functional.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.detach())
        means.append(torch.stack(found).mean().item())
    return means


def draw(figure, epochs=15):
    """Into a figure of matplotlib's."""
    images, labels = load()
    axes = figure.add_subplot()
    for name, make_optimizer in OPTIMIZERS.items():
        axes.plot(range(1, epochs + 1), losses(images, labels, make_optimizer, epochs), label=name)
    axes.set_yscale("log")
    axes.set_xlabel("epoch")
    axes.set_ylabel("training loss (cross-entropy)")
    axes.legend(fontsize=9)
