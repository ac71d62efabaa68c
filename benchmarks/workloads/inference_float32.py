"""Networks that are only used, by each code generator and by XLA alone."""

from __future__ import annotations

from typing import Any

import numpy
from suite import Case, Contender, Turn, Workload
from suite.common import set_torch_threads

from . import resnet
from .codegen import resnet18


def resnet50(torch: Any) -> Any:
    return resnet.network(torch, resnet.start(1, 224)[0])


def encoder(torch: Any) -> Any:
    """An encoder of four layers of width 256."""
    layer = torch.nn.TransformerEncoderLayer(
        256, 4, 1024, dropout=0.0, activation="gelu", batch_first=True)
    return torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)


#: what makes the network, and the shape of a batch
CASES: dict[str, tuple[Any, tuple[int, ...]]] = {
    "ResNet-50, batch 4, 224 x 224": (resnet50, (4, 3, 224, 224)),
    "ResNet-18, batch 1, 224 x 224": (resnet18, (1, 3, 224, 224)),
    "encoder, width 256, 4 x 128 tokens": (encoder, (4, 128, 256)),
}


def with_torch(torch: Any, case: str) -> Turn:
    """The program for PyTorch, and word for word for Lazyloom's torch-like frontend."""
    make, shape = CASES[case]
    torch.manual_seed(0)
    network = make(torch).eval()
    given = torch.tensor(numpy.random.default_rng(0).standard_normal(shape).astype(numpy.float32))

    def turn(steps: int) -> None:
        with torch.no_grad():
            for _ in range(steps):
                network(given).numpy()

    return turn


def ours(**given: Any) -> Turn:
    import lazyloom_torch as torch

    return with_torch(torch, **given)


def eager(**given: Any) -> Turn:
    import torch

    set_torch_threads(torch)
    return with_torch(torch, **given)


XLA = "lazyloom, XLA alone"


def needs() -> str:
    from lazyloom import codegen

    return "" if codegen.available() else (
        "no code generator is installed; pip install lazyloom[onednn,onnxruntime]")


def generator(name: str) -> Contender:
    """Ours with one code generator, where that is installed."""

    def absent() -> str:
        from lazyloom import codegen

        return "" if name in codegen.available() else f"no code generator {name!r} is installed"

    return Contender(f"lazyloom, {name}", "lazyloom", ours,
                     environment={"LAZYLOOM_CODEGEN": name}, needs=absent)


WORKLOAD = Workload(
    name="inference_float32",
    title="Inference in float32 by each code generator",
    about=(
        "Networks in float32 without gradients, a new result read every time: with one code "
        "generator in use (LAZYLOOM_CODEGEN), and with XLA alone. The torch-like frontend and "
        "PyTorch run the same text."
    ),
    cases=[
        Case(name, {"case": name}, warm=4, rounds=11, budget=60 if "ResNet-50" in name else 20,
             seconds=0.1, quick="encoder" in name)
        for name in CASES
    ],
    contenders=[
        Contender(XLA, "lazyloom", ours, environment={"LAZYLOOM_CODEGEN": "xla"}),
        *map(generator, ("onednn", "onnxruntime")),
        Contender("PyTorch eager", "torch", eager),
    ],
    base=XLA,
    needs=needs,
)  # fmt: skip
