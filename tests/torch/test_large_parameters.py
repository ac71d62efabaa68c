"""First training steps with parameters of over 256 KiB, beside PyTorch; skipped without it.

Memory of that size is written over by the optimizers' steps, and computed in blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyloom_torch

torch = pytest.importorskip("torch")

STEPS = 3


def mlp(t: Any) -> tuple[Any, tuple[int, ...]]:
    nn = t.nn
    return nn.Sequential(
        nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 10),
    ), (32, 256)


def cnn(t: Any) -> tuple[Any, tuple[int, ...]]:
    nn = t.nn
    return nn.Sequential(
        nn.Conv2d(3, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(64, 128, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(128, 10),
    ), (4, 3, 16, 16)


def lstm(t: Any) -> tuple[Any, tuple[int, ...]]:
    class Last(t.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.cells = t.nn.LSTM(64, 256, 2, batch_first=True)
            self.head = t.nn.Linear(256, 10)

        def forward(self, x: Any) -> Any:
            return self.head(self.cells(x)[0][:, -1])

    return Last(), (8, 5, 64)


MODELS: dict[str, Callable[[Any], tuple[Any, tuple[int, ...]]]] = {
    "mlp": mlp, "cnn": cnn, "lstm": lstm,
}
OPTIMIZERS: dict[str, Callable[[Any, Any], Any]] = {
    "sgd": lambda t, p: t.optim.SGD(p, lr=0.05),
    "nesterov": lambda t, p: t.optim.SGD(
        p, lr=0.02, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda t, p: t.optim.Adam(p, lr=1e-3),
    "adamw": lambda t, p: t.optim.AdamW(p, lr=1e-3),
    "rmsprop": lambda t, p: t.optim.RMSprop(p, lr=1e-4, momentum=0.5),
}


def trained(t: Any, model: str, optimizer: str, clipped: bool) -> list[Any]:
    """The losses, then parameters and a moving average of them."""
    made, shape = MODELS[model](t)
    random = np.random.default_rng(5)
    made.load_state_dict({
        k: t.tensor((0.05 * random.standard_normal(tuple(v.shape))).astype(np.float32))
        if v.dim() and "running" not in k else v for k, v in made.state_dict().items()})
    steps = OPTIMIZERS[optimizer](t, made.parameters())
    average = [p.detach().clone() for p in made.parameters()]
    losses: list[Any] = []
    for _ in range(STEPS):
        x = t.tensor(random.standard_normal(shape).astype(np.float32))
        y = t.tensor(random.integers(0, 10, shape[0]))
        loss = t.nn.functional.cross_entropy(made(x), y)
        loss.backward()
        if clipped:
            t.nn.utils.clip_grad_norm_(made.parameters(), 0.5)
        steps.step()
        steps.zero_grad()
        losses.append(loss.item())
        with t.no_grad():
            for mean, p in zip(average, made.parameters(), strict=True):
                mean.mul_(0.9).add_(p, alpha=0.1)
    return [np.array(losses), *(p.detach().numpy() for p in made.parameters()),
            *(mean.numpy() for mean in average)]


@pytest.mark.parametrize("clipped", [False, True], ids=["free", "clipped"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("model", MODELS)
def test_first_steps_are_pytorch_s(model: str, optimizer: str, clipped: bool) -> None:
    mine, theirs = (trained(t, model, optimizer, clipped) for t in (lazyloom_torch, torch))
    np.testing.assert_allclose(mine[0], theirs[0], rtol=2e-4)
    for x, y in zip(mine, theirs, strict=True):
        assert x.shape == y.shape and x.dtype == y.dtype
        # a gradient near 0 has either sign, which is all that some optimizers look at
        assert np.mean(np.abs(x - y) > 2e-4) < 0.02
