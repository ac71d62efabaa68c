"""Models that are exported, at small widths."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import lazyloom
import lazyloom_torch as torch
from lazyloom import codegen
from tests.conformance.torch_models import EXAMPLES, either

FOLDER = EXAMPLES / "torch_models"


class Exported(NamedTuple):
    """A file, an input as a NumPy array, and what the model gives in calls one after the other."""

    path: Path
    x: Any
    expected: list[Any]


def resnet(folder: Path) -> Exported:
    """A ResNet-18 of width 4 for images of 32 by 32."""
    models = either.load(FOLDER / "resnet.py", "lazyloom_torch")
    torch.manual_seed(0)
    model = models.ResNet(models.BasicBlock, [2, 2, 2, 2], 10, 4).eval()
    x = torch.randn(2, 3, 32, 32)
    path = folder / "resnet18.loom"
    torch.export.save(torch.export.export(model, (x,)), path)
    with torch.no_grad(), lazyloom.options(reproducible=True), codegen.use("xla"):
        return Exported(path, x.numpy(), [model(x).numpy()])


def gpt2(folder: Path) -> Exported:
    """A GPT-2 of width 16 that draws two more tokens."""
    models = either.load(FOLDER / "gpt2.py", "lazyloom_torch")
    torch.manual_seed(7)
    config = models.Config(vocab_size=50, n_positions=8, n_embd=16, n_layer=1, n_head=2)
    model = models.GPT2LMHeadModel(config).eval()

    class Sampler(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, tokens: Any) -> Any:
            for _ in range(2):
                logits = self.model(tokens)[:, -1]
                tokens = torch.cat([tokens, models.choose(logits, 0.8, 20, None)], dim=1)
            return tokens

    tokens = torch.tensor([[1, 2, 3]])
    sampler = Sampler()
    path = folder / "gpt2.loom"
    torch.export.save(torch.export.export(sampler, (tokens,)), path)
    with torch.no_grad(), lazyloom.options(reproducible=True), codegen.use("xla"):
        return Exported(path, tokens.numpy(), [sampler(tokens).numpy() for _ in range(2)])
