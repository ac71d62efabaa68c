"""The first training steps of known models: how long is the wait for the first loss?

``model`` is "gpt" (4 layers of width 256), "resnet50" (4 images of 224 x 224), "roberta" (the base
model's encoder with its language head), "swin" (the tiny one) or "mobilenet" (version 2).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy

from .models import gpt, mobilenet, swin
from .progress import Progress
from .weights import initialise

KIND = "torch"
SIZES: dict[str, dict[str, Any]] = {
    "small": {"model": "gpt", "scale": "tiny", "steps": 1, "later": 2},
    "full": {"model": "gpt", "scale": "own", "steps": 1, "later": 10},
}
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def example(name: str, torch: Any) -> Any:
    """A file of ``examples/torch_models``, made with that library."""
    spec = importlib.util.spec_from_file_location("either", EXAMPLES / "either.py")
    assert spec is not None and spec.loader is not None
    either = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(either)
    return either.load(EXAMPLES / "torch_models" / f"{name}.py", torch.__name__)


def texts(random: Any, batch: int, length: int, tokens: int) -> tuple[Any, Any]:
    found = random.integers(5, tokens, (batch, length + 1))
    return found[:, :-1].copy(), found[:, 1:].copy()


def images(random: Any, batch: int, side: int, classes: int) -> tuple[Any, Any]:
    drawn = random.standard_normal((batch, 3, side, side)).astype(numpy.float32)
    return drawn, random.integers(0, classes, batch)


def of_gpt(torch: Any, random: Any, tiny: bool) -> tuple[Any, Any]:
    layers, width, length, tokens = (1, 16, 8, 20) if tiny else (4, 256, 128, 4096)
    model = gpt.model_of(torch, layers, width, width // 8 if tiny else 8, tokens, length)
    return model, texts(random, 2 if tiny else 4, length, tokens)


def of_roberta(torch: Any, random: Any, tiny: bool) -> tuple[Any, Any]:
    module = example("roberta", torch)
    # without dropout, for which the libraries draw their own numbers
    config = module.Config(dropout=0.0)
    if tiny:
        config = module.Config(
            vocab_size=30, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=32, max_position_embeddings=16, dropout=0.0)
    model = initialise(torch, module.RobertaForMaskedLM(config), 24)
    return model, texts(random, 2, 8 if tiny else 64, config.vocab_size)


def of_resnet(torch: Any, random: Any, tiny: bool) -> tuple[Any, Any]:
    module = example("resnet", torch)
    if tiny:
        model = module.ResNet(module.Bottleneck, [1, 1, 1, 1], num_classes=10, width=8)
    else:
        model = module.resnet50()
    initialise(torch, model, 25)
    # at 32 x 32 the last batch norm would see two values a channel: rounding, much enlarged
    return model, images(random, 2 if tiny else 4, 64 if tiny else 224, 10 if tiny else 1000)


def of_swin(torch: Any, random: Any, tiny: bool) -> tuple[Any, Any]:
    if tiny:
        model = swin.model_of(torch, 32, (2, 2), (2, 2), 8, 4, classes=10)
        return model, images(random, 2, 32, 10)
    return swin.model_of(torch), images(random, 4, 224, 1000)


def of_mobilenet(torch: Any, random: Any, tiny: bool) -> tuple[Any, Any]:
    model = mobilenet.model_of(torch, 10 if tiny else 1000)
    return model, images(random, 2 if tiny else 4, 64 if tiny else 224, 10 if tiny else 1000)


MODELS: dict[str, Callable[[Any, Any, bool], tuple[Any, Any]]] = {
    "gpt": of_gpt, "resnet50": of_resnet, "roberta": of_roberta, "swin": of_swin,
    "mobilenet": of_mobilenet,
}  # fmt: skip


def run(torch: Any, progress: Progress, model: str, scale: str, steps: int, later: int) -> None:
    """Train on one batch with AdamW, the loss read each step: ``steps`` first, then ``later``."""
    if model not in MODELS:
        raise ValueError(f"model is {model!r}, expected one of {', '.join(MODELS)}")
    random = numpy.random.default_rng(22)
    network, (inputs, targets) = MODELS[model](torch, random, scale == "tiny")
    network.train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4)
    x, y = torch.from_numpy(inputs), torch.from_numpy(targets)
    progress.begin()
    for epoch, count in enumerate((steps, later)):
        if epoch:
            progress.next_epoch()
        for _ in range(count):
            logits = network(x)
            loss = torch.nn.functional.cross_entropy(
                logits.reshape(-1, logits.shape[-1]), y.reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            progress.sample(loss.item())
