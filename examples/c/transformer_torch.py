"""The character transformer of transformer.c, written for the torch-like frontend.

The same model, first values, batches and steps; a step is the same program. ``Transformer`` and
``Text`` are also what the tests and the benchmark compare the C programs with.

    python transformer_torch.py [TEXT [STEPS [REPORT.json [recorded]]]]
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy

WINDOW, BATCH, FEATURES, HEADS, BLOCKS = 64, 16, 64, 4, 2
RATE = 2e-3
SEED = 2024
TEXT = Path(__file__).resolve().parents[1] / "data" / "text" / "coriolanus.txt"


class Text:
    """Batches of a text: windows at places that SplitMix64 chooses, and what follows each."""

    def __init__(self, path: Path = TEXT) -> None:
        data = numpy.frombuffer(path.read_bytes(), numpy.uint8)
        self.letters, numbers = numpy.unique(data, return_inverse=True)
        self.numbers = numbers.astype(numpy.int64)
        self._state = 2024

    def _next_random(self) -> int:
        mask = 2**64 - 1
        self._state = (self._state + 0x9E3779B97F4A7C15) & mask
        z = self._state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        return z ^ z >> 31

    def batch(self) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Inputs, int64 (BATCH, WINDOW), and targets, int64 (BATCH * WINDOW)."""
        places = [self._next_random() % (len(self.numbers) - WINDOW) for _ in range(BATCH)]
        windows = numpy.stack([self.numbers[p:p + WINDOW + 1] for p in places])
        return windows[:, :-1].copy(), windows[:, 1:].reshape(-1)


def transformer(torch: Any, characters: int) -> Any:
    """The model, of a module with PyTorch's interface, with the generator's next first values."""
    nn, F = torch.nn, torch.nn.functional

    class Attention(nn.Module):
        """torch.nn.MultiheadAttention of a sequence to itself, batch first and causal."""

        def __init__(self) -> None:
            super().__init__()
            self.in_proj_weight = nn.Parameter(torch.zeros(3 * FEATURES, FEATURES))
            self.in_proj_bias = nn.Parameter(torch.zeros(3 * FEATURES))
            self.out_proj = nn.Linear(FEATURES, FEATURES)
            nn.init.xavier_uniform_(self.in_proj_weight)
            nn.init.zeros_(self.out_proj.bias)

        def forward(self, x: Any) -> Any:
            parts = F.linear(x, self.in_proj_weight, self.in_proj_bias).chunk(3, dim=-1)
            q, k, v = (p.view(*x.shape[:2], HEADS, FEATURES // HEADS).transpose(1, 2)
                       for p in parts)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.out_proj(y.transpose(1, 2).reshape(x.shape))

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1 = nn.LayerNorm(FEATURES)
            self.attention = Attention()
            self.norm2 = nn.LayerNorm(FEATURES)
            self.up = nn.Linear(FEATURES, 4 * FEATURES)
            self.down = nn.Linear(4 * FEATURES, FEATURES)

        def forward(self, x: Any) -> Any:
            x = x + self.attention(self.norm1(x))
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    class Transformer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(characters, FEATURES)
            self.positions = nn.Parameter(torch.zeros(WINDOW, FEATURES))
            nn.init.normal_(self.positions, 0, 0.02)
            self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))
            self.norm = nn.LayerNorm(FEATURES)
            self.head = nn.Linear(FEATURES, characters)

        def forward(self, tokens: Any) -> Any:
            x = self.tokens(tokens) + self.positions
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    return Transformer()


def stepping(torch: Any, model: Any, optimizer: Any, captured: bool) -> Any:
    """A function of a batch that makes one step and gives the loss before it."""

    def step(inputs: Any, targets: Any) -> Any:
        scores = model(inputs)
        loss = torch.nn.functional.cross_entropy(
            scores.reshape(-1, scores.shape[-1]), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    return torch.compile(step) if captured else step


def main(path: str = str(TEXT), steps: str = "1000", report: str = "", how: str = "") -> None:
    import lazyloom
    import lazyloom_torch as torch

    text = Text(Path(path))
    torch.manual_seed(SEED)
    model = transformer(torch, len(text.letters))
    step = stepping(torch, model, torch.optim.AdamW(model.parameters(), lr=RATE),
                    how != "recorded")
    losses, seconds, key = [], [], ""
    for i in range(int(steps)):
        begin = time.perf_counter()
        inputs, targets = (torch.tensor(a) for a in text.batch())
        loss = step(inputs, targets)
        if how == "recorded" and i == int(steps) - 1:
            key = lazyloom.program_of(loss.value).key
        losses.append(loss.item())
        seconds.append(time.perf_counter() - begin)
        if i % 100 == 0 or i == int(steps) - 1:
            print(f"step {i:4}  loss {losses[-1]:.4f}", flush=True)
    if report:
        Path(report).write_text(json.dumps({
            "losses": losses, "step_key": key, "seconds_per_step": statistics.median(seconds)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
