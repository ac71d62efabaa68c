"""Trains the transformer of transformer_torch.py, saves a checkpoint and goes on; so does resume.c.

    python resume_torch.py CHECKPOINT.safetensors REPORT.json [STEPS]

The report has the losses of the STEPS (20) steps after the checkpoint, which come after as many
before it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from transformer_torch import RATE, SEED, Text, stepping, transformer

import lazyloom_torch as torch
from lazyloom_torch.safetensors import save_file


def checkpoint(model: Any, optimizer: Any) -> dict[str, Any]:
    """Parameters and AdamW's state, by the names that lazyloom_nn.h gives them."""
    found = dict(model.state_dict())
    for name, parameter in model.named_parameters():
        state = optimizer.state[parameter]
        for kind in ("exp_avg", "exp_avg_sq"):
            found[f"optimizer.{name}.{kind}"] = state[kind]
        found["optimizer.step"] = state["step"]
    return found


def main(path: str, report: str, steps: str = "20") -> None:
    text = Text()
    torch.manual_seed(SEED)
    model = transformer(torch, len(text.letters))
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    step = stepping(torch, model, optimizer, False)

    def train() -> list[float]:
        return [step(*(torch.tensor(a) for a in text.batch())).item() for _ in range(int(steps))]

    train()
    save_file(checkpoint(model, optimizer), path, {"batches": steps})
    Path(report).write_text(json.dumps(train()))


if __name__ == "__main__":
    main(*sys.argv[1:])
