"""The example models beside PyTorch and transformers: logits, gradients, five steps of AdamW.

Weights are made by PyTorch (the models of transformers where it has them, otherwise the same
file under ``import torch``), travel through a safetensors file, and everything is compared.

    python -m tests.conformance.torch_models                      ResNet-50 and RoBERTa-base
    python -m tests.conformance.torch_models small_resnet gpt2    by name
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import lazyloom
import lazyloom_torch
from lazyloom_torch import safetensors

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))
import either  # noqa: E402

sys.path.remove(str(EXAMPLES))

#: a gradient is compared with its largest element, at least this part of the model's largest: some,
#: as those of the biases of attention's keys, are zero but for rounding
FLOOR = 1e-3


def module(name: str, library: str) -> Any:
    """The file of an example model for a library."""
    return either.load(EXAMPLES / "torch_models" / f"{name}.py", library)


@dataclass
class Case:
    """One comparison: how both models are made, what they are given, and the loss."""

    theirs: Callable[[], Any]
    ours: Callable[[], Any]
    batch: Callable[[], tuple[np.ndarray, ...]]
    logits: Callable[[Any, Any], Any]
    loss: Callable[[Any, Any, tuple[Any, ...]], Any]
    lr: float = 1e-4


def _both(name: str, make: Callable[[Any], Any]) -> dict[str, Callable[[], Any]]:
    return {"theirs": lambda: make(module(name, "torch")),
            "ours": lambda: make(module(name, "lazyloom_torch"))}


def _images(n: int, channels: int, size: int, classes: int, dtype: Any = np.float32
            ) -> tuple[np.ndarray, ...]:  # fmt: skip
    random = np.random.default_rng(0)
    return (random.normal(size=(n, channels, size, size)).astype(dtype),
            random.integers(0, classes, n))


def _tokens(n: int, length: int, vocabulary: int) -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(0)
    tokens = random.integers(5, vocabulary, (n, length))
    labels = np.where(random.random((n, length)) < 0.4, tokens, -100)
    return tokens, labels


def _classified(make: Callable[[Any], Any], name: str, images: tuple[Any, ...], **options: Any
                ) -> Case:  # fmt: skip
    return Case(**_both(name, make), batch=lambda: _images(*images),
                logits=lambda model, x: model(x),
                loss=lambda torch, model, batch: torch.nn.functional.cross_entropy(
                    model(batch[0]), batch[1]), **options)


def _logits_of(model: Any, tokens: Any) -> Any:
    found = model(tokens)
    return getattr(found, "logits", found)


def _tokens_loss(torch: Any, model: Any, batch: tuple[Any, ...]) -> Any:
    return torch.nn.functional.cross_entropy(
        _logits_of(model, batch[0]).flatten(0, 1), batch[1].flatten(), ignore_index=-100)


def _roberta(n: int, length: int, **sizes: Any) -> Case:
    def theirs() -> Any:
        import transformers

        config = {"vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1,
                  "layer_norm_eps": 1e-5, "hidden_dropout_prob": 0.0, "pad_token_id": 1,
                  "attention_probs_dropout_prob": 0.0, **sizes}
        return transformers.RobertaForMaskedLM(transformers.RobertaConfig(**config))

    def ours() -> Any:
        file = module("roberta", "lazyloom_torch")
        return file.RobertaForMaskedLM(file.Config(dropout=0.0, **sizes))

    return Case(theirs, ours, lambda: _tokens(n, length, sizes.get("vocab_size", 50265)),
                _logits_of, _tokens_loss)


def _gpt2(n: int, length: int, **sizes: Any) -> Case:
    def theirs() -> Any:
        import transformers

        return transformers.GPT2LMHeadModel(transformers.GPT2Config(
            resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, **sizes))

    def ours() -> Any:
        file = module("gpt2", "lazyloom_torch")
        return file.GPT2LMHeadModel(file.Config(dropout=0.0, **sizes))

    return Case(theirs, ours, lambda: _tokens(n, length, sizes.get("vocab_size", 50257)),
                _logits_of, _tokens_loss)


CASES: dict[str, Case] = {
    # A ReLU whose input is zero but for rounding passes a gradient in one library and none in the
    # other. The batch's statistics spread that over all channels: with random weights PyTorch's own
    # gradients in float32 are 10 % off its float64's, and two of its memory layouts 15 % apart. So
    # float32 is compared with running statistics and few pixels, those of the batch in float64.
    "resnet50": _classified(
        lambda m: m.resnet50().eval(), "resnet", (2, 3, 64, 1000), lr=1e-5),
    "resnet50_batch_statistics": _classified(
        lambda m: m.resnet50().double(), "resnet", (4, 3, 64, 1000, np.float64)),
    "roberta_base": _roberta(2, 32),
    "small_resnet": _classified(
        lambda m: m.ResNet(m.Bottleneck, [1, 2, 1, 1], 10, width=4), "resnet", (8, 3, 32, 10)),
    "small_roberta": _roberta(
        2, 12, vocab_size=60, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=20),
    "small_gpt2": _gpt2(2, 12, vocab_size=60, n_embd=16, n_layer=1, n_head=2, n_positions=20),
    "gpt2": _gpt2(1, 32),
    "vit_b_16": _classified(lambda m: m.vit_b_16(), "vit", (2, 3, 224, 1000)),
    "small_vit": _classified(
        lambda m: m.vit_digits(size=16, layers=1).eval(), "vit", (8, 1, 8, 10)),
    "resnet18": _classified(
        lambda m: m.resnet18().double(), "resnet", (4, 3, 64, 1000, np.float64)),
    "resnet56": _classified(
        lambda m: m.resnet56().double(), "resnet", (8, 3, 32, 10, np.float64)),
}
FULL = ("resnet50", "resnet50_batch_statistics", "roberta_base")


@dataclass
class Report:
    """What differs, as parts of the largest number of PyTorch's."""

    parameters: int
    logits: float
    gradients: float
    worst: str
    losses: list[float]
    expected: list[float]

    @property
    def training(self) -> float:
        return max(abs(a - b) / abs(b) for a, b in zip(self.losses, self.expected))


def _apart(ours: np.ndarray, theirs: np.ndarray, floor: float = 0.0) -> float:
    assert ours.shape == theirs.shape and np.isfinite(ours).all()
    return float(np.abs(ours - theirs).max() / max(np.abs(theirs).max(), floor, 1e-30))


def _run(torch: Any, model: Any, case: Case, steps: int) -> tuple[Any, dict[str, Any], list[float]]:
    """Logits in evaluation mode, gradients, and the losses of AdamW."""
    batch = tuple(torch.from_numpy(part) for part in case.batch())
    training = model.training
    model.eval()
    with torch.no_grad():
        logits = case.logits(model, batch[0]).numpy()
    model.train(training)
    optimizer = torch.optim.AdamW(model.parameters(), lr=case.lr, weight_decay=0.01)
    gradients: dict[str, Any] = {}
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        loss = case.loss(torch, model, batch)
        loss.backward()
        if step == 0:
            gradients = {n: p.grad.detach().numpy().copy()
                         for n, p in model.named_parameters() if p.grad is not None}
        optimizer.step()
        losses.append(loss.item())
    return logits, gradients, losses


def compare(case: Case, steps: int = 5) -> Report:
    """Both models of a case, from the same weights. Raises for names that do not fit."""
    import safetensors.torch as library
    import torch

    torch.manual_seed(0)
    with contextlib.redirect_stdout(io.StringIO()):
        theirs = case.theirs()
    with torch.no_grad():
        for parameter in theirs.parameters():
            if not parameter.any():  # a layer that begins at zero would hide those below it
                parameter.normal_(0.0, 0.02)
    training = theirs.training
    ours = case.ours().train(training)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "weights.safetensors"
        library.save_model(theirs, str(path))
        # a name may be missing only if it shares its data with one that is there
        missing, unexpected = safetensors.load_model(ours, path)
    assert not missing and not unexpected, (missing, unexpected)
    theirs.train(training)
    expected = _run(torch, theirs, case, steps)
    found = _run(lazyloom_torch, ours, case, steps)
    assert found[1].keys() == expected[1].keys(), found[1].keys() ^ expected[1].keys()
    largest = max(float(np.abs(g).max()) for g in expected[1].values())
    apart = {n: _apart(found[1][n], g, FLOOR * largest) for n, g in expected[1].items()}
    worst = max(apart, key=lambda n: apart[n])
    return Report(sum(p.numel() for p in theirs.parameters()), _apart(found[0], expected[0]),
                  apart[worst], worst, found[2], expected[2])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=FULL, metavar="NAME", help=", ".join(CASES))
    failed = False
    for name in parser.parse_args().names:
        started = time.perf_counter()
        report = compare(CASES[name])
        agrees = report.logits < 1e-4 and report.gradients < 1e-3 and report.training < 1e-3
        failed = failed or not agrees
        print(f"{name}: {report.parameters:,} parameters; logits differ by {report.logits:.1e}, "
              f"gradients by {report.gradients:.1e} ({report.worst}), losses of five steps by "
              f"{report.training:.1e}\n  {report.losses}\n  {report.expected}\n  "
              f"{'agrees' if agrees else 'DOES NOT AGREE'}; {time.perf_counter() - started:.0f} s, "
              f"{lazyloom.stats()['programs_compiled']} programs compiled", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
