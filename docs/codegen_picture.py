"""Draw ``docs/codegen.svg``: a training step of a small network, as oneDNN and XLA share it.

``python docs/codegen_picture.py``; oneDNN has to be there (the extra ``onednn``).
"""

from __future__ import annotations

from pathlib import Path

import lazyloom
import lazyloom_torch as torch
from lazyloom import codegen


def step() -> lazyloom.Program:
    """The program of a step, which nothing has run."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1, stride=2), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    images, labels = torch.randn(8, 3, 32, 32), torch.randint(0, 10, (8,))
    lazyloom.sync()
    loss = nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    return lazyloom.program_of(loss, *(p.grad for p in model.parameters()))


if __name__ == "__main__":
    with codegen.use("onednn"):
        codegen.explain(step()).save(Path(__file__).with_name("codegen.svg"))
