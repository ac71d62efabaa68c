"""Inference of ResNet-50 in int8 and in float32."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from suite import Case, Contender, Limit, Turn, Workload
from suite.common import set_torch_threads

from . import resnet

#: images of a batch
BATCHES = (1, 4, 16)
SIZE = 224


def _inference(function: Callable[[], Any]) -> Turn:
    def turn(batches: int) -> None:
        for _ in range(batches):
            function().numpy()

    return turn


def with_torch(torch: Any, batch: int, size: int, channels_last: bool = False,
               quantize: Any = None) -> Turn:  # fmt: skip
    """The program for PyTorch, and word for word for Lazyloom's torch-like frontend."""
    initial, images, _ = resnet.start(batch, size)
    x = torch.tensor(images)
    model = resnet.network(torch, initial)
    with torch.no_grad():
        # moments of the layers' values, which grow without end otherwise
        for layer in model.modules():
            if isinstance(layer, torch.nn.BatchNorm2d):
                layer.momentum = 1.0
        model(x)
    model.eval()
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
        x = x.to(memory_format=torch.channels_last)
    if quantize is not None:
        return _inference(functools.partial(quantize(model, [x]), x))

    def function() -> Any:
        with torch.no_grad():
            return model(x)

    return _inference(function)


def ours(**given: Any) -> Turn:
    import lazyloom_torch as torch

    return with_torch(torch, **given)


def int8(**given: Any) -> Turn:
    import lazyloom_torch as torch
    from lazyloom.quantization import quantize

    return with_torch(torch, quantize=quantize, **given)


def eager(**given: Any) -> Turn:
    import torch

    set_torch_threads(torch)
    return with_torch(torch, **given)


def channels_last(**given: Any) -> Turn:
    import torch

    set_torch_threads(torch)
    return with_torch(torch, channels_last=True, **given)


def needs() -> str:
    from lazyloom import codegen

    return "" if codegen.available() else (
        "no code generator is installed; pip install lazyloom[onednn]")


INT8, FLOAT, XLA = "lazyloom, int8", "lazyloom, float32", "lazyloom, float32, XLA alone"
EAGER, LAST = "PyTorch eager, float32", "PyTorch eager, float32, channels last"
NAMES = {batch: f"ResNet-50, batch {batch}, {SIZE} x {SIZE}" for batch in BATCHES}

WORKLOAD = Workload(
    name="inference",
    title="Inference in int8",
    about=(
        "ResNet-50 in evaluation mode, the result read for every batch: quantised by "
        "`lazyloom.quantization`, and in float32, with the code generators that are installed. "
        "Quantising is part of the warm-up. Weights are random, so that this is about time alone."
    ),
    cases=[
        Case(name, {"batch": batch, "size": SIZE}, warm=3, rounds=11, budget=30, seconds=0.1,
             per="batch", quick=False)
        for batch, name in NAMES.items()
    ] + [Case("ResNet-50, batch 2, 64 x 64", {"batch": 2, "size": 64}, warm=2, per="batch",
              full=False)],
    contenders=[
        Contender(INT8, "lazyloom", int8),
        Contender(FLOAT, "lazyloom", ours),
        Contender(XLA, "lazyloom", ours, environment={"LAZYLOOM_CODEGEN": "xla"}),
        Contender(EAGER, "torch", eager),
        Contender(LAST, "torch", channels_last),
    ],
    base=INT8,
    needs=needs,
    limits=[Limit("batch beside float32 with the best generator", list(NAMES.values()), [INT8],
                  1 / 1.5, [FLOAT, XLA])],
)  # fmt: skip
