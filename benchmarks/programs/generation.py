"""Text from a GPT written naively: the whole sequence goes in again for every token."""

from __future__ import annotations

from typing import Any

from .models import gpt
from .progress import Progress

KIND = "torch"
SIZES: dict[str, dict[str, Any]] = {
    "small": {"length": 6, "layers": 1, "width": 16, "heads": 2, "runs": 2},
    "full": {"length": 128, "layers": 4, "width": 128, "heads": 4, "runs": 3},
}
TOKENS = 256


def run(torch: Any, progress: Progress, length: int, layers: int, width: int, heads: int,
        runs: int) -> None:  # fmt: skip
    """Grow a sequence from one token to ``length``; each token is read."""
    model = gpt.model_of(torch, layers, width, heads, TOKENS, length)
    model.eval()
    progress.begin()
    for r in range(runs):
        if r:
            progress.next_epoch()
        sequence = torch.tensor([[r]])
        with torch.no_grad():
            while sequence.shape[1] < length:
                token = torch.argmax(model(sequence)[:, -1], dim=-1, keepdim=True)
                sequence = torch.cat([sequence, token], dim=1)
                progress.sample(token.item())
