"""Training steps with other code generators in use, and with XLA alone."""

from __future__ import annotations

from typing import Any

import numpy
from suite import Case, Contender, Limit, Turn, Workload
from suite.common import set_torch_threads, torch_training

from . import resnet, transformer

RATE, MOMENTUM = 0.01, 0.9


def _layers(nn: Any, inputs: int, outputs: int, side: int, stride: int = 1, groups: int = 1) -> Any:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, side, stride, side // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs))


def resnet18(torch: Any) -> Any:
    """ResNet-18 (He et al., 2015)."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.a = _layers(nn, inputs, outputs, 3, stride)
            self.b = _layers(nn, outputs, outputs, 3)
            same = stride == 1 and inputs == outputs
            self.short = nn.Identity() if same else _layers(nn, inputs, outputs, 1, stride)

        def forward(self, x: Any) -> Any:
            return torch.relu(self.b(torch.relu(self.a(x))) + self.short(x))

    layers = [_layers(nn, 3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    before = 64
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Block(before, outputs, stride), Block(outputs, outputs, 1)]
        before = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


def mobilenet(torch: Any) -> Any:
    """MobileNetV2 (Sandler et al., 2018), 1,000 classes."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int, factor: int) -> None:
            super().__init__()
            width = inputs * factor
            self.adds = stride == 1 and inputs == outputs
            wider = [] if factor == 1 else [_layers(nn, inputs, width, 1), nn.ReLU6()]
            self.layers = nn.Sequential(
                *wider, _layers(nn, width, width, 3, stride, width), nn.ReLU6(),
                _layers(nn, width, outputs, 1))

        def forward(self, x: Any) -> Any:
            y = self.layers(x)
            return x + y if self.adds else y

    layers = [_layers(nn, 3, 32, 3, 2), nn.ReLU6()]
    before = 32
    for factor, outputs, count, stride in (
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
        (6, 320, 1, 1),
    ):
        for n in range(count):
            layers.append(Block(before, outputs, stride if n == 0 else 1, factor))
            before = outputs
    layers += [_layers(nn, 320, 1280, 1), nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(1280, 1000))


def digits(torch: Any) -> Any:
    """The convolutional network of the digits example, with dropout."""
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Dropout(0.25), nn.Flatten(), nn.Linear(64 * 4 * 4, 128), nn.ReLU(),
        nn.Dropout(0.5), nn.Linear(128, 10))


def recurrent(torch: Any) -> Any:
    """An LSTM layer of width 128 over 64 steps, and a classifier."""
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.LSTM(128, 128, batch_first=True)
            self.out = nn.Linear(128, 10)

        def forward(self, x: Any) -> Any:
            return self.out(self.layer(x)[0][:, -1])

    return Model()


#: what makes the model, the shape of a batch and the number of classes, by name
MODELS: dict[str, tuple[Any, tuple[int, ...], int]] = {
    "resnet18": (resnet18, (2, 3, 64, 64), 1000), "mobilenet": (mobilenet, (4, 3, 96, 96), 1000),
    "digits": (digits, (64, 1, 8, 8), 10), "recurrent": (recurrent, (16, 64, 128), 10),
}


def with_torch(torch: Any, model: str, dtype: str = "", channels_last: bool = False,
               **size: Any) -> Turn:  # fmt: skip
    """The program for PyTorch, and word for word for Lazyloom's torch-like frontend."""
    if model == "resnet50" and not dtype:
        return resnet.with_torch(torch, channels_last=channels_last, **size)
    if model == "gpt":
        return transformer.with_torch(torch, **size)
    make, shape, classes = MODELS[model]
    torch.manual_seed(0)
    network = make(torch)
    random = numpy.random.default_rng(0)
    images = torch.tensor(random.standard_normal(shape).astype(numpy.float32))
    labels = torch.tensor(random.integers(0, classes, shape[0]))
    if channels_last:
        network = network.to(memory_format=torch.channels_last)
        images = images.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(network.parameters(), lr=RATE, momentum=MOMENTUM)

    def loss() -> Any:
        found = torch.nn.functional.cross_entropy(network(images), labels)
        return found

    return torch_training(loss, optimizer)


def ours(**given: Any) -> Turn:
    import lazyloom_torch as torch

    return with_torch(torch, **given)


def eager(**given: Any) -> Turn:
    import torch

    set_torch_threads(torch)
    return with_torch(torch, **given)


def channels_last(**given: Any) -> Turn:
    import torch

    set_torch_threads(torch)
    return with_torch(torch, channels_last=True, **given)


OURS, XLA = "lazyloom, torch-like", "lazyloom, XLA alone"
EAGER, LAST = "PyTorch eager", "PyTorch eager, channels last"
#: what each is given, how much of PyTorch's time it may take, and how much of XLA's alone
CASES: dict[str, tuple[dict[str, Any], float | None, float]] = {
    "ResNet-50, batch 4, 224 x 224": ({"model": "resnet50", "batch": 4, "size": 224}, 1.05, 1.05),
    "ResNet-18, batch 2, 64 x 64": ({"model": "resnet18"}, 1.1, 1.05),
    "MobileNetV2, batch 4, 96 x 96": ({"model": "mobilenet"}, 1.1, 1.05),
    "CNN of the digits, batch 64": ({"model": "digits"}, 1.1, 1.05),
    "GPT, width 256, 4 x 128 tokens": ({"model": "gpt", **transformer.SMALL}, 0.9, 1.05),
    "GPT, width 768, 4 x 64 tokens": ({"model": "gpt", **transformer.LARGE}, 0.9, 1.05),
    "GPT in bfloat16, width 768, 4 x 64 tokens": (
        {"model": "gpt", "autocast": True, **transformer.LARGE}, None, 1 / 1.8),
    "ResNet-50 in bfloat16, batch 4, 224 x 224": (
        {"model": "resnet50", "autocast": True, "batch": 4, "size": 224}, 1.2, 1.05),
    "LSTM, 16 x 64 steps of width 128": ({"model": "recurrent"}, 1.1, 1.05),
}


def needs() -> str:
    from lazyloom import codegen

    return "" if codegen.available() else (
        "no code generator is installed; pip install lazyloom[onednn]")


WORKLOAD = Workload(
    name="codegen",
    title="Other code generators",
    about=(
        "Training steps in float32, or under autocast in bfloat16, the loss read every step: with "
        "the code generators that are installed in use, and with LAZYLOOM_CODEGEN=xla. The "
        "torch-like frontend and PyTorch run the same text. All but GPT (Adam) by SGD with "
        "momentum."
    ),
    cases=[
        Case(name, given, warm=3, rounds=11, budget=60 if "ResNet-50" in name else 20,
             seconds=0.1, quick=False)
        for name, (given, _, _) in CASES.items()
    ] + [Case("CNN of the digits", {"model": "digits"}, warm=2, full=False)],
    contenders=[
        Contender(OURS, "lazyloom", ours),
        Contender(XLA, "lazyloom", ours, environment={"LAZYLOOM_CODEGEN": "xla"}),
        Contender(EAGER, "torch", eager),
        Contender(LAST, "torch", channels_last,
                  only=[name for name in CASES if "GPT" not in name and "LSTM" not in name]),
    ],
    base=OURS,
    needs=needs,
    limits=[
        Limit("step beside PyTorch eager at its best", [name], [OURS], most, [EAGER, LAST])
        for name, (_, most, _) in CASES.items() if most is not None
    ] + [
        Limit("step beside XLA alone", [name], [OURS], most, [XLA])
        for name, (_, _, most) in CASES.items()
    ],
)  # fmt: skip
