"""A convolutional network trained on digits, quantised: it tells the digits that it told before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyloom_torch as torch
from examples import digits_data
from lazyloom.quantization import quantize

FOLDER = Path(digits_data.DEFAULT_FOLDER)
nn, F = torch.nn, torch.nn.functional


def digits(part: str) -> tuple[Any, Any]:
    images, labels = digits_data.load(FOLDER, part)
    return torch.tensor(images.reshape(-1, 1, 8, 8)), labels


class Network(nn.Module):  # type: ignore[misc]
    """Two convolutions, a residual block with a convolution on the way around, and two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.inner = nn.Sequential(
            nn.Conv2d(32, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
            nn.Conv2d(64, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64))
        self.around = nn.Sequential(nn.Conv2d(32, 64, 1, bias=False), nn.BatchNorm2d(64))
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(64 * 4, 64), nn.ReLU(), nn.Linear(64, 10))

    def forward(self, x: Any) -> Any:
        x = self.stem(x)
        x = F.relu(self.inner(x) + self.around(x))
        return self.head(F.avg_pool2d(x, 2))


@pytest.fixture(scope="module")
def model() -> Any:
    """The network, trained."""
    torch.manual_seed(0)
    made = Network()
    images, labels = digits("train")
    targets = torch.tensor(labels)
    optimizer = torch.optim.SGD(made.parameters(), lr=0.02, momentum=0.9)
    order = numpy.random.default_rng(0)
    for _ in range(10):
        for rows in numpy.split(order.permutation(len(labels))[:1408], 22):
            picked = torch.tensor(rows)
            loss = F.cross_entropy(made(images[picked]), targets[picked])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return made.eval()


@pytest.mark.slow
@pytest.mark.once("how much accuracy int8 costs; tests of the functions run with both")
@pytest.mark.parametrize("percentile", [None, 99.99])
def test_the_same_digits(model: Any, percentile: float | None) -> None:
    images, _ = digits("train")
    unseen, truth = digits("test")
    fast = quantize(model, [images[k:k + 128] for k in (0, 128, 256)], percentile=percentile)
    with torch.no_grad():
        before = model(unseen).numpy()
    found = fast(unseen).numpy()
    assert (before.argmax(1) == truth).mean() > 0.95
    assert (found.argmax(1) == before.argmax(1)).mean() >= 0.98
    assert (found.argmax(1) == truth).mean() > 0.94
    assert 0 < numpy.abs(found - before).max() < 0.25 * before.std()
