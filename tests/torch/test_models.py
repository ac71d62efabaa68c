"""The example models: their training settles and resumes, and they agree with PyTorch's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lazyloom
import lazyloom_torch as torch
from tests.conformance import torch_models
from tests.conformance.torch_models import EXAMPLES, either

pytestmark = pytest.mark.usefixtures("quick_compiler")

FOLDER = EXAMPLES / "torch_models"

#: sizes at which a step compiles in a second or so
SMALL = {
    "resnet": ["--arch", "resnet20", "--batch-size", "4"],
    "roberta": ["--size", "16", "--layers", "1", "--vocabulary", "100", "--length", "8"],
    "gpt2": ["--size", "16", "--layers", "1", "--length", "12", "--batch-size", "4"],
    "vit": ["--size", "16", "--layers", "1", "--batch-size", "4"],
    "unet": ["--width", "2", "--batch-size", "2"],
    "lstm_lm": ["--size", "16", "--length", "6", "--vocabulary", "100", "--layers", "1"],
    "vae": ["--code", "2"],
}


def train(name: str, *arguments: str, monkeypatch: Any = None) -> tuple[list[float], list[int]]:
    """The losses of a training script, and how many programs were compiled at each step."""
    compiled: list[int] = []
    training = either.load(FOLDER / "training.py", "lazyloom_torch")

    class Counting(training.Progress):  # type: ignore[misc]
        def step(self, **shown: float) -> None:
            compiled.append(lazyloom.stats()["programs_compiled"]
                            + lazyloom.stats()["programs_from_disk"])

    monkeypatch.setattr(training, "Progress", Counting)
    model = either.load(FOLDER / f"{name}.py", "lazyloom_torch")
    losses = model.main([*SMALL[name], "--quiet", *arguments])
    return losses, compiled


@pytest.mark.parametrize("name", SMALL)
def test_training_settles_and_resumes(name: str, tmp_path: Path, monkeypatch: Any) -> None:
    """The loss is read at every step; nothing is compiled after the second of an epoch."""
    path = str(tmp_path / "checkpoint.pt")
    limit = ("--limit", "4", "--checkpoint", path)
    first, compiled = train(name, *limit, "--epochs", "1", monkeypatch=monkeypatch)
    assert len(first) == 4 and np.isfinite(first).all()
    assert compiled[3] == compiled[2] == compiled[1]
    if name != "gpt2":
        return  # how a script resumes is all scripts' own module; the next test has another model
    resumed, compiled = train(
        name, *limit, "--epochs", "2", "--resume", monkeypatch=monkeypatch)
    assert len(resumed) == 4 and compiled[3] == compiled[1]
    assert torch.load(path)["epoch"] == 2


def test_resuming_gives_what_training_on_gives(tmp_path: Path, monkeypatch: Any) -> None:
    path = str(tmp_path / "checkpoint.pt")
    whole, _ = train("vae", "--limit", "3", "--epochs", "3", monkeypatch=monkeypatch)
    train("vae", "--limit", "3", "--epochs", "1", "--checkpoint", path, monkeypatch=monkeypatch)
    rest, _ = train("vae", "--limit", "3", "--epochs", "3", "--checkpoint", path, "--resume",
                    monkeypatch=monkeypatch)
    assert rest == whole[3:]


@pytest.mark.slow
@pytest.mark.compiled
def test_gpt2_samples_with_one_program_a_token() -> None:
    gpt2 = either.load(FOLDER / "gpt2.py", "lazyloom_torch")
    torch.manual_seed(0)
    model = gpt2.GPT2LMHeadModel(gpt2.Config(20, 24, 16, 1, 2))
    prompt = torch.tensor([[1, 2, 3]])
    greedy = model.generate(prompt, 5, temperature=0)
    assert greedy.shape == (1, 8) and greedy[0, :3].tolist() == [1, 2, 3]
    # what is cached is what the whole text gives
    with torch.no_grad():
        logits = model.eval()(greedy)
    assert logits[0, 2:-1].argmax(dim=-1).tolist() == greedy[0, 3:].tolist()
    drawn = [model.generate(prompt, 5, temperature=1.5, top_k=3, top_p=0.9).read()
             for _ in range(2)]
    lazyloom.sync(wait=True)  # whatever else is pending in this process
    before = lazyloom.stats()["programs_compiled"]
    assert model.generate(prompt, 5, temperature=1.5, top_k=3, top_p=0.9).shape == (1, 8)
    lazyloom.sync(wait=True)
    assert lazyloom.stats()["programs_compiled"] == before
    assert all((0 <= d).all() and (d < 20).all() for d in drawn)
    with pytest.raises(ValueError, match="positions"):
        model.generate(prompt, 24)


@pytest.mark.parametrize(("file", "make", "first", "last", "tensors"), [
    ("resnet", lambda m: m.resnet50(), "conv1.weight", "fc.bias", 320),
    ("resnet", lambda m: m.resnet18(), "conv1.weight", "fc.bias", 122),
    ("vit", lambda m: m.vit_b_16(), "class_token", "heads.head.bias", 152),
])
def test_names_are_those_of_public_checkpoints(
    file: str, make: Any, first: str, last: str, tensors: int
) -> None:
    state = make(either.load(FOLDER / f"{file}.py", "lazyloom_torch")).state_dict()
    assert list(state)[0] == first and list(state)[-1] == last and len(state) == tensors
    expected = {
        320: ["layer1.0.downsample.1.running_var", "layer3.5.bn3.num_batches_tracked"],
        122: ["layer4.1.bn2.running_mean", "layer2.0.downsample.0.weight"],
        152: ["encoder.pos_embedding", "conv_proj.weight", "encoder.ln.bias",
              "encoder.layers.encoder_layer_11.self_attention.out_proj.weight",
              "encoder.layers.encoder_layer_0.mlp.3.weight"],
    }[tensors]
    assert set(expected) <= set(state)


@pytest.mark.parametrize("name", ["small_resnet", "small_roberta", "small_gpt2", "small_vit"])
def test_agrees_with_pytorch(name: str) -> None:
    """Weights go through safetensors; logits, all gradients and five steps of AdamW agree."""
    pytest.importorskip("torch", reason="PyTorch is the reference")
    if name in ("small_roberta", "small_gpt2"):
        pytest.importorskip("transformers", reason="transformers is the reference")
    report = torch_models.compare(torch_models.CASES[name])
    assert report.logits < 1e-4
    assert report.gradients < 1e-3, report.worst
    assert report.training < 1e-3


@pytest.mark.slow
def test_a_script_is_a_program(tmp_path: Path) -> None:
    """From the command line, with its progress and its checkpoint."""
    path = tmp_path / "vae.pt"
    done = subprocess.run(
        [sys.executable, str(FOLDER / "vae.py"), "--epochs", "1", "--limit", "5", "--sample", "1",
         "--checkpoint", str(path)],
        capture_output=True, text=True, timeout=300, env=os.environ)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "epoch 1/1 [########################] 5/5  loss " in done.stderr
    assert "nats a test image" in done.stdout and path.exists()


@pytest.mark.parametrize("path", sorted([*FOLDER.glob("*.py"),
                                         *(EXAMPLES / "torch_scripts").glob("*.py")]),
                         ids=lambda p: p.stem)
def test_only_the_import_line_names_the_library(path: Path) -> None:
    text = path.read_text()
    if path.stem != "both":
        assert text.count(either.LINE) == 1 and text.count("lazyloom") == 1
