"""Training steps of the examples, whose import line alone differs, beside PyTorch eager."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from suite import Case, Contender, Limit, Turn, Workload
from suite.common import set_torch_threads

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
#: the language model's step, as its script has it by default
LENGTH, COLUMNS, VOCABULARY = 32, 16, 2000

Step = Callable[[], Any]


def _either() -> Any:
    spec = importlib.util.spec_from_file_location("either", EXAMPLES / "either.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _batches(loader: Any) -> Iterator[Any]:
    """Batches of one epoch after the other."""
    return itertools.chain.from_iterable(loader for _ in itertools.count())


def classifier(load: Callable[[str], Any], torch: Any, compiled: bool) -> Step:
    """Two convolutions and two linear layers, SGD with momentum and weight decay; 32 digits."""
    script, digits = load("torch_scripts/classifier"), load("torch_scripts/digits")
    data = torch.utils.data
    model = script.Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    loader = data.DataLoader(data.TensorDataset(*digits.load("train")), batch_size=32,
                             shuffle=True, drop_last=True)  # fmt: skip
    batches = _batches(loader)

    def update(images: Any, labels: Any) -> Any:
        optimizer.zero_grad()
        loss = torch.nn.functional.nll_loss(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    run = torch.compile(update) if compiled else update
    return lambda: run(*next(batches))


def vae(load: Callable[[str], Any], torch: Any, compiled: bool) -> Step:
    """The variational autoencoder, Adam; 64 digits."""
    script, data = load("torch_models/vae"), load("torch_models/data")
    images, _ = data.digits("train")
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(images.flatten(1)), 64, shuffle=True, drop_last=True)
    model = script.VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    batches = _batches(loader)

    def update(*batch: Any) -> Any:
        loss = script.loss_of(model, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    run = torch.compile(update) if compiled else update
    return lambda: run(*next(batches))


def language_model(load: Callable[[str], Any], torch: Any, compiled: bool) -> Step:
    """Two LSTM layers of 128 with dropout, Adam with clipped gradients; 32 by 16 words."""
    script, data = load("torch_models/lstm_lm"), load("torch_models/data")
    tokens = data.words(data.prose())
    vocabulary = data.Vocabulary(tokens, size=VOCABULARY)
    batches = _batches(script.Stretches(vocabulary.encode(tokens), COLUMNS, LENGTH))
    model = script.LanguageModel(len(vocabulary))
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    state = model.initial_state(COLUMNS)

    def update(inputs: Any, targets: Any, before: Any) -> Any:
        logits, after = model(inputs, before)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        return loss.detach(), tuple(s.detach() for s in after)

    run = torch.compile(update) if compiled else update

    def step() -> Any:
        nonlocal state
        loss, state = run(*next(batches), state)
        return loss

    return step


STEPS = {"digits": classifier, "VAE": vae, "LSTM language model": language_model}


def training(library: str, compiled: bool = False) -> Callable[..., Turn]:
    def make(program: str) -> Turn:
        torch = __import__(library)
        if library == "torch":
            set_torch_threads(torch)
        torch.manual_seed(0)
        either = _either()
        step = STEPS[program](
            lambda name: either.load(EXAMPLES / f"{name}.py", library), torch, compiled)

        def turn(units: int) -> None:
            for _ in range(units):
                step().item()

        return turn

    return make


OURS = "lazyloom, torch-like"
CAPTURED = "lazyloom, torch-like, captured"

WORKLOAD = Workload(
    name="example_steps",
    title="Training steps of the examples",
    about=(
        "Training loops of `examples/torch_scripts` and `examples/torch_models`, batches from a "
        "`DataLoader` included, the loss read at every step. Captured, `torch.compile` has the "
        "step, without the loader."
    ),
    cases=[
        Case("digits", {"program": "digits"}, warm=150, rounds=25, budget=20, seconds=0.1),
        Case("VAE", {"program": "VAE"}, warm=150, rounds=25, budget=20, seconds=0.1),
        Case("LSTM language model", {"program": "LSTM language model"}, warm=60, rounds=15,
             budget=40, seconds=0.3),
    ],
    contenders=[
        Contender(OURS, "lazyloom", training("lazyloom_torch")),
        Contender(CAPTURED, "lazyloom", training("lazyloom_torch", compiled=True)),
        Contender("PyTorch eager", "torch", training("torch")),
    ],
    base=OURS,
    try_threads=True,
    limits=[
        Limit("Steps of the examples beside PyTorch eager", ["digits", "VAE", "LSTM"],
              [OURS, CAPTURED], 1.0, ["PyTorch eager"]),
    ],
)  # fmt: skip
