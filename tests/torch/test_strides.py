"""The strides that results have, as PyTorch gives them, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyloom_torch as torch
from lazyloom_torch import nn


def matrix() -> Any:
    """A (4, 3) tensor whose columns lie in memory one after the other."""
    return torch.arange(12.0).reshape(3, 4).T


#: functions of each element, of a (4, 3) tensor
ELEMENTWISE: dict[str, Callable[[Any], Any]] = {
    "operator": lambda x: x * 2, "reflected": lambda x: 2 - x, "integer": lambda x: x + 1,
    "negative": lambda x: -x, "power": lambda x: x**2, "comparison": lambda x: x > 3,
    "equality": lambda x: x == 3, "two": lambda x: x + x, "function": lambda x: torch.sin(x),
    "method": lambda x: x.exp(), "abs": lambda x: x.abs(), "where": lambda x: x.where(x > 3, 0.0),
    "clamp": lambda x: x.clamp(1, 2), "relu": nn.functional.relu, "gelu": nn.functional.gelu,
    "elu": lambda x: nn.functional.elu(x, 0.5), "silu": nn.functional.silu,
    "dropout": nn.functional.dropout, "cast": lambda x: x.double(),
    "to": lambda x: x.to(torch.int8),
    "clone": lambda x: x.clone(), "like": torch.zeros_like, "random": torch.rand_like,
    "promoted": lambda x: x.int() + 0.5, "lerp": lambda x: x.lerp(x, 0.5),
    "addcmul": lambda x: x.addcmul(x, x), "nan_to_num": lambda x: x.nan_to_num(),
    "broadcast": lambda x: x + torch.ones(3), "division": lambda x: x.div(2, rounding_mode="trunc"),
    "flip": lambda x: x.flip(0), "sort": lambda x: x.sort(0).values, "special": torch.special.i1,
    "after a slice": lambda x: x[1:] * 2, "twice": lambda x: (x * 2).sin(),
}  # fmt: skip
#: functions whose results are row-major whatever the operands are
ROW_MAJOR: dict[str, Callable[[Any], Any]] = {
    "contiguous": lambda x: x.contiguous(), "sum": lambda x: x[None].sum(0),
    "softmax": lambda x: x.softmax(0), "cumsum": lambda x: x.cumsum(0),
    "cat": lambda x: torch.cat([x, x]),
    "product": lambda x: x @ x.T,
    "asked for": lambda x: x.clone(memory_format=torch.contiguous_format),
    "row-major first": lambda x: torch.ones(4, 3) + x,
    "out": lambda x: torch.add(x, x, out=torch.empty(4, 3)), "copy": torch.squeeze_copy,
    "mvlgamma": lambda x: torch.mvlgamma(x + 5, 2),
    "masked_fill": lambda x: x.masked_fill(x > 2, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_a_function_of_each_element_keeps_the_order_in_memory(name: str) -> None:
    made = ELEMENTWISE[name](matrix())
    rows = made.shape[0]
    assert made.stride() == (1, rows) and not made.is_contiguous()
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        made.view(-1)
    copy = made.reshape(-1)
    before = made.tolist()
    copy.zero_()
    assert made.tolist() == before
    view = made.T.view(-1)
    view.fill_(1)
    assert made.eq(1).all()


@pytest.mark.parametrize("name", ROW_MAJOR)
def test_other_functions_make_row_major_results(name: str) -> None:
    made = ROW_MAJOR[name](matrix())
    assert made.is_contiguous() and made.stride()[-1] == 1
    made.view(-1).zero_()
    assert not made.any()


def test_a_gap_in_memory_is_no_order_of_its_own() -> None:
    x = torch.arange(12.0).reshape(3, 4)
    assert (x[:, 1:] + 1).stride() == (3, 1)
    assert (x[:, :1].expand(3, 4) + 1).stride() == (4, 1)
    assert (x[::2].T + 1).stride() == (1, 4)
    assert (x.reshape(3, 2, 2).permute(2, 0, 1) * 2).stride() == (1, 4, 2)


def test_what_is_indexed_with_tensors_keeps_the_order_of_the_other_dimensions() -> None:
    x = torch.zeros(4, 3, 2).permute(2, 1, 0)
    rows = torch.tensor([[0, 1, 1]])
    assert x[rows[0]].stride() == (12, 1, 3)
    assert x[:, rows[0]].stride() == (1, 2, 6)
    assert x[0][[0, 1]].is_contiguous() and x[:, :, [0, 2]].stride() == (2, 4, 1)
    assert x[rows, :].stride() == (36, 12, 1, 3)


def test_as_strided_and_storages_go_by_the_order_in_memory() -> None:
    y = matrix() * 1
    assert y.as_strided((12,), (1,)).tolist() == list(range(12))
    assert y[1:, 1:].as_strided((2,), (1,)).tolist() == [5, 6]
    other = torch.empty(0)
    other.set_(y.untyped_storage(), 2, (3,), (4,))
    assert other.tolist() == [2, 6, 10]
    other.zero_()
    assert y[2].tolist() == [0, 0, 0] and y[1].tolist() == [1, 5, 9]
    y.resize_(2)
    assert y.tolist() == [0, 1]


def test_aliases_and_parameters_have_the_strides_of_their_memory() -> None:
    y = matrix() * 1
    assert y.detach().stride() == y.data.stride() == (1, 4)
    parameter = nn.Parameter(y)
    assert parameter.stride() == (1, 4) and (parameter * 2).stride() == (1, 4)
    (parameter * 2).sin().sum().backward()
    np.testing.assert_allclose(
        parameter.grad.tolist(), 2 * np.cos(2 * np.arange(12.0).reshape(3, 4).T), 1e-5)


def test_a_slope_that_broadcasts_along_the_channels() -> None:
    x = torch.nn.Parameter(torch.ones(3, 2)).t()
    assert torch.nn.functional.prelu(x, torch.ones(3)).stride() == (1, 2)
    # one slope for a tensor of no dimension, which is not the shape that the slope has
    leaf = torch.tensor(-2.0).detach().requires_grad_()
    weight = torch.nn.Parameter(torch.full((1,), 0.5))
    torch.nn.functional.prelu(leaf, weight).backward()
    assert leaf.grad.item() == 0.5 and weight.grad.tolist() == [-2.0]


#: functions of a (2, 3, 4) leaf, and the strides of its gradient
GRADIENTS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "permuted": (lambda x: x.permute(2, 0, 1) * 3, (3, 1, 6)),
    "function": (lambda x: x.permute(2, 0, 1).sin(), (3, 1, 6)),
    "two uses": (lambda x: x.transpose(0, 1).exp() * x.transpose(0, 1), (4, 8, 1)),
    "product": (lambda x: x.transpose(1, 2) @ torch.ones(3, 2), (12, 1, 3)),
    "cat": (lambda x: torch.cat([x.transpose(0, 1)] * 2), (4, 8, 1)),
    "flip": (lambda x: x.transpose(0, 2).flip(0), (1, 2, 6)),
    "reshape": (lambda x: x.transpose(0, 1).reshape(-1), (4, 8, 1)),
    "relu": (lambda x: x.transpose(0, 2).relu(), (12, 4, 1)),
    "row-major": (lambda x: x.sin(), (12, 4, 1)),
    "unsqueezed": (lambda x: x.unsqueeze(0).transpose(0, 1), (12, 4, 1)),
    "both": (lambda x: x.transpose(0, 1) + x.reshape(3, 2, 4), (12, 4, 1)),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_the_gradient_of_a_transposed_view_is_transposed(name: str) -> None:
    function, strides = GRADIENTS[name]
    x = torch.arange(24.0).reshape(2, 3, 4).requires_grad_()
    (found,) = torch.autograd.grad((function(x) * 1.5).sum(), x)
    assert found.stride() == strides
    before, flat = found.tolist(), found.reshape(-1)
    flat.zero_()
    assert (found.tolist() == before) == (strides != (12, 4, 1))


def test_the_gradient_of_a_product_lies_as_its_operand() -> None:
    x = torch.ones(3, 4).requires_grad_()
    for made in (torch.ones(2, 3) @ x, x.T @ torch.ones(3, 2),
                 nn.functional.linear(torch.ones(2, 3), x.T)):  # fmt: skip
        assert torch.autograd.grad((made * 2).sum(), x)[0].stride() == (4, 1)


def test_a_leafs_gradient_has_its_strides() -> None:
    x = matrix().clone().requires_grad_()
    for _ in range(2):
        (x * 2).sum().backward()
        assert x.grad.stride() == x.stride() == (1, 4)
    assert x.grad.tolist() == [[4.0] * 3] * 4
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        x.grad.view(-1)
    x.data = torch.ones(4, 3)
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad.stride() == (3, 1)
    gap = torch.ones(4, 6)[:, ::2].requires_grad_()
    gap.sum().backward()
    assert gap.grad.stride() == (3, 1)


def test_a_leaf_that_was_computed_has_strides_of_its_own() -> None:
    x = (torch.ones(3, 4).T * 2).contiguous().detach().requires_grad_()
    assert x.stride() == (3, 1)
    (found,) = torch.autograd.grad((x.exp() * x).sum(), x)
    assert found.stride() == (3, 1)
    y = (torch.ones(3, 4).T * 2).detach().requires_grad_()
    assert torch.autograd.grad((y * y).sum(), y)[0].stride() == y.stride() == (1, 4)


def test_a_gradient_through_contiguous_has_the_strides_of_what_was_made_contiguous() -> None:
    x = torch.arange(12.0).reshape(3, 4).requires_grad_()
    computed = (x * 2).t()
    rows = computed.contiguous()
    z = rows.exp() * 2
    found = torch.autograd.grad(z.sin().sum(), [z, rows, computed, x])
    assert [g.stride() for g in found] == [(3, 1), (3, 1), (3, 1), (1, 3)]
    found[1].reshape(-1)[0] = 7  # a view of it, as in PyTorch
    assert found[1][0, 0].item() == 7
