"""The steps that programs about a model on the same data all take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .progress import Progress


def fit(
    torch: Any, progress: Progress, model: Any, optimizer: Any, x: Any, y: Any,
    epochs: Sequence[int],
) -> None:  # fmt: skip
    """So many steps an epoch on one batch, the squared error read at each."""
    progress.begin()
    for epoch, count in enumerate(epochs):
        if epoch:
            progress.next_epoch()
        for _ in range(count):
            loss = torch.nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            progress.sample(loss.item())
