"""Parts along a dimension are read by one op where they have gradients, and stay views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lazyloom
import lazyloom_torch as torch

pytestmark = pytest.mark.usefixtures("quick_compiler")

Cut = Callable[[Any], tuple[Any, ...]]

CUTS: dict[str, Cut] = {
    "chunk": lambda h: h.chunk(3, dim=-1),
    "split": lambda h: h.split(2, 1),
    "sizes": lambda h: torch.split(h, [1, 3, 2], dim=1),
    "split_with_sizes": lambda h: h.split_with_sizes((1, 3, 2), 1),
    "tensor_split": lambda h: h.tensor_split(3, dim=1),
    "hsplit": lambda h: torch.hsplit(h, 3),
    "unbind": lambda h: h.reshape(4, 3, 2).unbind(1),
    "of a view": lambda h: h.t().chunk(3),
}


def _names(*tensors: Any) -> list[str]:
    """The ops behind tensors."""
    program = lazyloom.program_of(*tensors)
    return [i.spec.op.name for i in program.structure.instructions]


def _weighted(parts: tuple[Any, ...]) -> Any:
    total: Any = 0.0
    for k, part in enumerate(parts):
        total = total + (part * part * (k + 1.0)).sum()
    return total


def _by_slices(cut: Cut, h: Any) -> tuple[Any, ...]:
    """The parts of numbers that have no gradient say which elements they are."""
    places = cut(torch.arange(h.numel()).reshape(h.shape))
    return tuple(h.reshape(-1)[p] for p in places)


@pytest.mark.parametrize("name", CUTS)
def test_one_op_reads_all_parts(name: str) -> None:
    cut = CUTS[name]
    x = torch.arange(24.0).reshape(4, 6).requires_grad_()
    parts = cut(x * 2)
    (gradient,) = torch.autograd.grad(_weighted(parts), x)
    found = _names(gradient)
    assert "dynamic_slice" not in found and "dynamic_slice.vjp" not in found
    assert found.count("split") == found.count("split.vjp") == 1
    (expected,) = torch.autograd.grad(_weighted(_by_slices(cut, x * 2)), x)
    assert gradient.tolist() == expected.tolist()


@pytest.mark.parametrize("used", [0, 1, 2])
def test_the_gradient_of_one_part(used: int) -> None:
    x = torch.arange(6.0).requires_grad_()
    parts = (x * 1).chunk(3)
    (parts[used] * torch.tensor([1.0, 2.0])).sum().backward()
    expected = [0.0] * 6
    expected[2 * used: 2 * used + 2] = [1.0, 2.0]
    assert x.grad.tolist() == expected


def test_parts_are_views() -> None:
    h = torch.arange(6.0)
    a, b = h.chunk(2)
    a.mul_(10)
    assert h.tolist() == [0, 10, 20, 3, 4, 5] and a.tolist() == [0, 10, 20]
    h.add_(1)
    assert a.tolist() == [1, 11, 21] and b.tolist() == [4, 5, 6]
    x = torch.arange(6.0).requires_grad_()
    h = x * 1
    a, b = h.chunk(2)
    with pytest.raises(RuntimeError, match="modified inplace"):
        a.mul_(10)
    h.add_(1)
    (a * b).sum().backward()
    assert x.grad.tolist() == [4, 5, 6, 1, 2, 3]


def test_a_parameter_that_is_written() -> None:
    x = torch.arange(4.0).requires_grad_()
    a, b = x.chunk(2)
    with torch.no_grad():
        x += 1
    assert a.tolist() == [1, 2] and b.tolist() == [3, 4]
    (a * b).sum().backward()
    assert x.grad.tolist() == [3, 4, 1, 2]


def test_a_second_gradient_after_the_first_freed_its_tape() -> None:
    x = torch.arange(4.0).requires_grad_()
    h = x * 1
    a, b = h.chunk(2)
    (a * b).sum().backward(retain_graph=True)
    (a * b).sum().backward()
    assert x.grad.tolist() == [4, 6, 0, 2]


@pytest.mark.parametrize("parts", [1, 5, 9])
def test_one_part_and_many_are_read_one_by_one(parts: int) -> None:
    x = torch.arange(float(parts) * (1 + (parts == 9))).requires_grad_()
    found = _names(*(part * 2 for part in (x * 1).chunk(parts)))
    assert "split" not in found


def test_without_gradients_only_what_is_used_is_read() -> None:
    x = torch.arange(6.0)
    assert "split" not in _names((x * 2).chunk(3)[0] * 1)
    y = torch.arange(6.0).requires_grad_()
    with torch.no_grad():
        assert "split" not in _names((y * 2).chunk(3)[0] * 1)


def test_parts_without_elements() -> None:
    x = torch.arange(4.0).requires_grad_()
    a, b, c = (x * 2).split([2, 0, 2])
    (a * c).sum().backward()
    assert b.tolist() == [] and x.grad.tolist() == [8, 12, 0, 4]
