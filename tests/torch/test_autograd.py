"""Gradients, ``torch.func`` and ``vmap`` against PyTorch; skipped where it is not installed."""

from __future__ import annotations

import warnings

import pytest

import lazyloom_torch
from tests.torch import cases_autograd, cases_func, random_programs
from tests.torch.oracle import same

torch = pytest.importorskip("torch")


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


@pytest.mark.parametrize("seed", range(24))
def test_random_programs_of_views_writes_and_gradients(seed: int) -> None:
    steps = random_programs.generate(torch, seed)
    text = random_programs.difference(torch, lazyloom_torch, steps)
    assert text is None, (text, random_programs.shortest(torch, lazyloom_torch, steps))
