"""What is given wrongly to code generators' functions, and to quantisation, is told at the call."""

from __future__ import annotations

from typing import Any

import pytest

import lazyloom
import lazyloom_torch as torch
from lazyloom import codegen
from lazyloom.errors import ArgumentError
from lazyloom.quantization import quantize


@pytest.mark.parametrize("given", [None, 5, "program"])
def test_explain_wants_a_program(given: Any) -> None:
    with pytest.raises(ArgumentError, match="expected a program"):
        codegen.explain(given)
    with pytest.raises(ArgumentError, match="Tensor was given"):
        codegen.explain(torch.ones(2))  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [["c"], 1, None])
def test_use_wants_names(given: Any) -> None:
    before = codegen.in_use()
    with pytest.raises(ArgumentError, match="expected names of code generators"):
        codegen.use(given)
    assert codegen.in_use() == before


@pytest.mark.parametrize("number", [-1, 1, 999])
def test_generator_wants_an_instruction(number: int) -> None:
    report = codegen.explain(lazyloom.program_of(torch.ones(3) + torch.rand(3)))
    count = len(report.partition.owner)
    with pytest.raises(ArgumentError, match=f"expected 0 to {count - 1}"):
        report.generator(number if number < 0 else count + number - 1)


def three() -> Any:
    nn = torch.nn
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4), nn.Linear(4, 4)).eval()


@pytest.mark.parametrize("skip, text", [
    ((3,), "numbers from -3 to 2"), ((0, -4, 7), "skip has -4, 7"), ((0, 1, -1), "names all 3"),
    ((1.5,), "expected a sequence of int"), (0, "expected a sequence of int"),
])  # fmt: skip
def test_skip_wants_numbers_that_there_are(skip: Any, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        quantize(three(), [torch.ones(2, 4)], skip=skip)


def test_skip_counts_from_either_end() -> None:
    batches = [torch.rand(2, 4)]
    from_the_end = quantize(three(), batches, skip=(-3, -1))
    assert len(from_the_end.values) == len(quantize(three(), batches, skip=(0, 2)).values) == 1


def test_batches_are_there_and_not_empty() -> None:
    with pytest.raises(ArgumentError, match="batches is a int"):
        quantize(three(), 5)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="one that is not empty"):
        quantize(three(), [torch.ones(0, 4)])
    with pytest.raises(ArgumentError, match="percentile is 'a'"):
        quantize(three(), [torch.ones(2, 4)], percentile="a")  # type: ignore[arg-type]
