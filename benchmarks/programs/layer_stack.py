"""A stack of equal transformer layers, as many as are asked for."""

from __future__ import annotations

from typing import Any

import numpy

from .fitting import fit
from .progress import Progress
from .weights import initialise

KIND = "torch"
SIZES: dict[str, dict[str, Any]] = {
    "small": {"layers": 2, "width": 16, "heads": 2, "batch": 2, "length": 4, "steps": 2,
              "later": 2},
    "full": {"layers": 24, "width": 64, "heads": 4, "batch": 4, "length": 32, "steps": 1,
             "later": 20},
}  # fmt: skip


def model_of(torch: Any, layers: int, width: int, heads: int) -> Any:
    nn, F = torch.nn, torch.nn.functional

    class Layer(nn.Module):
        """Attention and two dense layers, each after a norm and added to what went in."""

        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.projected = nn.Linear(width, 3 * width)
            self.joined = nn.Linear(width, width)
            self.wide = nn.Linear(width, 4 * width)
            self.narrow = nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            n, length, _ = x.shape
            parts = self.projected(self.norm1(x)).view(n, length, 3, heads, width // heads)
            q, k, v = parts.permute(2, 0, 3, 1, 4)
            weights = torch.softmax(q @ k.transpose(-1, -2) / (width // heads) ** 0.5, dim=-1)
            x = x + self.joined((weights @ v).transpose(1, 2).reshape(n, length, width))
            return x + self.narrow(F.gelu(self.wide(self.norm2(x))))

    model = nn.Sequential(*(Layer() for _ in range(layers)), nn.LayerNorm(width))
    return initialise(torch, model, 6)


def run(torch: Any, progress: Progress, layers: int, width: int, heads: int, batch: int,
        length: int, steps: int, later: int) -> None:  # fmt: skip
    """Train on one batch with Adam, the loss read each step: ``steps`` first, then ``later``."""
    model = model_of(torch, layers, width, heads)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    random = numpy.random.default_rng(20)
    shape = (2, batch, length, width)
    x, y = (torch.from_numpy(a) for a in random.standard_normal(shape).astype(numpy.float32))
    fit(torch, progress, model, optimizer, x, y, (steps, later))
