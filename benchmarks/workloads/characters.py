"""A training step of the character transformer of ``examples/c``, in C and torch-like."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path
from typing import Any

from suite import Case, Contender, Limit, Turn, Workload
from suite.c_programs import settle
from suite.c_programs import start as start_c
from suite.common import set_torch_threads

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "c"
BATCHES = 16


def _example() -> Any:
    spec = importlib.util.spec_from_file_location("transformer", FOLDER / "transformer_torch.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def with_torch(torch: Any, captured: bool) -> Turn:
    """The program for PyTorch, and word for word for Lazyloom's torch-like frontend."""
    example = _example()
    text = example.Text()
    torch.manual_seed(example.SEED)
    model = example.transformer(torch, len(text.letters))
    optimizer = torch.optim.AdamW(model.parameters(), lr=example.RATE)
    step = example.stepping(torch, model, optimizer, captured)
    batches = [[torch.tensor(a) for a in text.batch()] for _ in range(BATCHES)]
    following = itertools.cycle(batches)
    losses: list[float] = []

    def turn(steps: int) -> None:
        for _ in range(steps):
            losses.append(step(*next(following)).item())

    turn.losses = losses  # type: ignore[attr-defined]
    return turn


def lazyloom_torch(captured: bool = False) -> Turn:
    import lazyloom_torch as torch

    return with_torch(torch, captured)


def lazyloom_torch_captured() -> Turn:
    return lazyloom_torch(True)


def torch_eager() -> Turn:
    import torch

    set_torch_threads(torch)
    return with_torch(torch, False)


def lazyloom_c(how: str = "recorded") -> Turn:
    """The C program, compiled here, in a process of its own; see c/characters.c."""
    ask = start_c("characters", str(_example().TEXT), how)
    losses: list[float] = []

    def turn(steps: int) -> None:
        losses.append(float(ask(str(steps))))

    settle(turn, 20)
    turn.losses = losses  # type: ignore[attr-defined]
    return turn


def lazyloom_c_captured() -> Turn:
    return lazyloom_c("captured")


TORCH = "lazyloom, torch-like"
C = "lazyloom, C"
CAPTURED = ", captured"

WORKLOAD = Workload(
    name="characters",
    title="A character transformer in C",
    about=(
        "The step of `examples/c/transformer.c`, written with `lazyloom_nn.h`, beside the same "
        "model in the torch-like frontend: 2 blocks of 64 features and 4 heads, 16 windows of 64 "
        "characters, AdamW, float32, on 16 batches that are on the device beforehand, the loss "
        "read at every step. All of ours run one program, of the same key."
    ),
    cases=[Case("loss read every step", warm=400, rounds=31, budget=40, seconds=0.25)],
    contenders=[
        Contender(TORCH, "lazyloom", lazyloom_torch),
        Contender(TORCH + CAPTURED, "lazyloom", lazyloom_torch_captured),
        Contender(C, "lazyloom", lazyloom_c),
        Contender(C + CAPTURED, "lazyloom", lazyloom_c_captured),
        Contender("PyTorch eager", "torch", torch_eager),
    ],
    base=TORCH,
    limits=[
        Limit("Transformer step in C beside torch-like", ["loss"], [C], 1.02, [TORCH]),
        Limit("Transformer step captured in C beside torch-like, captured", ["loss"],
              [C + CAPTURED], 1.02, [TORCH + CAPTURED]),
    ],
)  # fmt: skip
