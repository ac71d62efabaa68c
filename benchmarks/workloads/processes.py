"""Two processes beside PyTorch's: all-reduces by gloo, and steps of data-parallel training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suite import Case, Contender, Limit, Turn, Workload

OURS, PYTORCH = "lazyloom, torch-like", "PyTorch eager, gloo"
#: of this process, once there is one: a process joins others once
_pair: list[Any] = []


def of(library: str) -> Callable[..., Turn]:
    def make(program: str) -> Turn:
        from programs.process_group import Group

        if not _pair:
            _pair.append(Group(library, "programs.two_processes", 2))
        turn: Turn = _pair[0].turn_of(program)
        return turn

    return make


WORKLOAD = Workload(
    name="processes",
    title="Two processes",
    about=(
        "Two processes with half of the cores each, joined by `torch.distributed`: sums of float32 "
        "numbers (a copy, `all_reduce`, one element read), and steps of "
        "`DistributedDataParallel` with AdamW, the loss read at every step."
    ),
    cases=[
        *[Case(f"all_reduce, {size}", {"program": size}, warm=50, rounds=15, seconds=0.2,
               per="all-reduce", quick=size == "1 kB") for size in ("1 kB", "1 MB", "16 MB")],
        Case("MLP 64-256-256-10, batch 2 x 64", {"program": "mlp"}, warm=50, rounds=15,
             seconds=0.3),
        Case("GPT 4 x 256, 2 x 8 x 128 tokens", {"program": "gpt"}, warm=8, rounds=9,
             seconds=1.0, budget=40, quick=False),
        Case("ResNet-18, 2 x 16 images of 32 x 32", {"program": "resnet18"}, warm=5, rounds=9,
             seconds=1.5, budget=60, quick=False),
    ],
    contenders=[
        Contender(OURS, "lazyloom", of("lazyloom_torch"), threads=1),
        Contender(PYTORCH, "torch", of("torch"), threads=1),
    ],
    base=OURS,
    limits=[
        Limit("Steps of DistributedDataParallel beside PyTorch's", ["GPT", "ResNet-18"], [OURS],
              1.0, [PYTORCH]),
    ],
)
