"""A recurrence by hand: ``nn.LSTMCell`` over a fixed number of steps, beside ``nn.LSTM``."""

from __future__ import annotations

from typing import Any

import numpy

from .fitting import fit
from .progress import Progress
from .weights import initialise

KIND = "torch"
SIZES: dict[str, dict[str, Any]] = {
    "small": {"length": 4, "layer": "cell", "batch": 2, "hidden": 8, "steps": 3, "later": 2},
    "full": {"length": 64, "layer": "cell", "batch": 16, "hidden": 64, "steps": 1, "later": 60},
}


def model_of(torch: Any, layer: str, hidden: int) -> Any:
    nn = torch.nn

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            if layer == "cell":
                self.recurrent = nn.LSTMCell(hidden, hidden)
            else:
                self.recurrent = nn.LSTM(hidden, hidden)
            self.output = nn.Linear(hidden, 1)

        def forward(self, x: Any) -> Any:
            """Inputs [length, batch, hidden] to one number each, [batch, 1]."""
            if layer != "cell":
                return self.output(self.recurrent(x)[0][-1])
            h = c = torch.zeros(x.shape[1], hidden)
            for step in x:
                h, c = self.recurrent(step, (h, c))
            return self.output(h)

    return initialise(torch, Network(), 5)


def run(torch: Any, progress: Progress, length: int, layer: str, batch: int, hidden: int,
        steps: int, later: int) -> None:  # fmt: skip
    """Train on one batch with Adam, the loss read each step: ``steps`` first, then ``later``."""
    if layer not in ("cell", "module"):
        raise ValueError(f"layer is {layer!r}, expected 'cell' (nn.LSTMCell) or 'module' (nn.LSTM)")
    model = model_of(torch, layer, hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    random = numpy.random.default_rng(19)
    inputs = random.standard_normal((length, batch, hidden)).astype(numpy.float32)
    x, y = torch.from_numpy(inputs), torch.from_numpy(inputs.sum(axis=0)[:, :1] / length**0.5)
    fit(torch, progress, model, optimizer, x, y, (steps, later))
