"""Gradients, ``torch.func`` and ``vmap`` against PyTorch; skipped where it is not installed."""

from __future__ import annotations

import warnings

import pytest

import lazyloom
import lazyloom_torch
from tests.torch import cases_autograd, cases_func, random_programs
from tests.torch.oracle import same

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.usefixtures("quick_compiler")


@pytest.mark.parametrize("name", cases_autograd.CASES)
def test_gradients_are_pytorch_s(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(cases_autograd.CASES[name], torch)


@pytest.mark.parametrize("name", cases_func.CASES)
def test_functions_of_functions_are_pytorch_s(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(cases_func.CASES[name], torch)


def test_a_read_before_backward_repeats_no_heavy_work() -> None:
    t = lazyloom_torch
    t.manual_seed(0)
    model = t.nn.Sequential(t.nn.Linear(4, 8), t.nn.Tanh(), t.nn.Linear(8, 2))
    x = t.randn(3, 4)
    grads = []
    for read in (False, True):
        loss = model(x).pow(2).sum()
        if read:
            loss.item()
        found = t.autograd.grad(loss, list(model.parameters()))
        text = lazyloom.program_of(*[g.value for g in found]).text()
        assert ("matmul(" in text or "dot_general(" in text) is not read, text
        grads.append(t.cat([g.flatten() for g in found]).tolist())
    assert grads[0] == pytest.approx(grads[1], rel=1e-5)


@pytest.mark.parametrize("seed", range(24))
def test_random_programs_of_views_writes_and_gradients(seed: int) -> None:
    steps = random_programs.generate(torch, seed)
    text = random_programs.difference(torch, lazyloom_torch, steps)
    assert text is None, (text, random_programs.shortest(torch, lazyloom_torch, steps))
