"""Writes to views of which several elements are one place, or none, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyloom
import lazyloom_numpy
import lazyloom_torch as torch

pytestmark = pytest.mark.usefixtures("quick_compiler")

MASK = [[True, False, True, True]] * 3


def _masked(x: Any) -> None:
    x[torch.tensor(MASK)] *= 2


@pytest.mark.parametrize(("write", "expected"), [
    (_masked, [0, 1, 4, 6]),
    (lambda x: x.fill_(7), [7, 7, 7, 7]),
    (lambda x: x.zero_(), [0, 0, 0, 0]),
    (lambda x: x.masked_fill_(torch.tensor([True, False, True, False]), 9.0), [9, 1, 9, 3]),
    (lambda x: x.index_put_((torch.tensor([0]),), torch.tensor(8.0)), [8, 8, 8, 8]),
    (lambda x: x.index_fill_(1, torch.tensor([1]), 2.0), [0, 2, 2, 3]),
    (lambda x: x.__setitem__(0, 3.0), [3, 3, 3, 3]),
    (lambda x: x[1].mul_(2), [0, 2, 4, 6]),
    (lambda x: x.fill_diagonal_(4.0), [4, 4, 4, 3]),
    (lambda x: x.t().fill_(2.0), [2, 2, 2, 2]),
])
def test_what_may_be_written_to_an_expanded_tensor(
    write: Callable[[Any], Any], expected: list[float]
) -> None:
    base = torch.arange(4.0).reshape(1, 4)
    x = base.expand(3, 4)
    write(x)
    assert base.tolist() == [expected] and x.tolist() == [expected] * 3


def test_what_depends_on_the_order_of_its_elements_is_refused() -> None:
    x = torch.ones(1, 4).expand(3, 4)
    for write in (lambda: x.add_(1), lambda: x.copy_(torch.ones(4)), lambda: x.exp_(),
                  lambda: x.__iadd__(1), lambda: x.__setitem__(slice(0, 2), 3.0)):
        with pytest.raises(RuntimeError, match="copy it first"):
            write()
    assert x.tolist() == [[1.0] * 4] * 3


def test_nothing_can_be_written_anywhere() -> None:
    x = torch.zeros(1, 0).expand(3, 0)
    x[...] = 1
    x[0] = 2
    x += 1
    assert x.add_(1).exp_().shape == (3, 0)


def test_the_last_element_of_a_place_is_what_is_read() -> None:
    base = torch.arange(5.0)
    x = base.as_strided((3, 3), (1, 1))
    x[...] = torch.arange(9.0).reshape(3, 3) + 10
    assert base.tolist() == [10, 13, 16, 17, 18]
    assert x.tolist() == [[10, 13, 16], [13, 16, 17], [16, 17, 18]]
    base = torch.tensor([float("nan"), 1.0])
    base.as_strided((2,), (0,))[0] = 5
    base.as_strided((2,), (0,))[torch.tensor([True, False])] = 6
    assert base.tolist() == [6, 1]


def test_what_is_written_by_strides_has_its_gradient_whatever_was_there() -> None:
    # the source equals what it overwrites in one element of two
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    source = torch.tensor([1.0, 5.0], requires_grad=True)
    y = torch.as_strided_scatter(x, source, (2,), (2,))
    (y * torch.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert x.grad.tolist() == [0, 2, 0, 4] and source.grad.tolist() == [1, 3]
    # of overlapping elements the last is what stays
    source = torch.tensor([[1.0, 2.0], [2.0, 3.0]], requires_grad=True)
    y = torch.as_strided_scatter(torch.tensor([1.0, 2.0, 3.0, 4.0]), source, (2, 2), (1, 1))
    (y * torch.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert source.grad.tolist() == [[1, 0], [2, 3]]
    # zero times two is zero
    base = torch.zeros(1, 2, requires_grad=True)
    copy = base * 1
    copy.expand(3, 2)[1].mul_(2)
    copy.sum().backward()
    assert base.grad.tolist() == [[2, 2]]


def test_what_was_written_nowhere_makes_a_tensor_require_a_gradient() -> None:
    def ways() -> dict[str, Callable[[Any, Any], Any]]:
        return {
            "setitem": lambda x, w: x.__setitem__(slice(0, 0), w),
            "view": lambda x, w: x[0:0].copy_(w), "add": lambda x, w: x[0:0].add_(w),
            "scatter": lambda x, w: x.scatter_(0, torch.zeros(0, dtype=torch.int64), w)}

    for name, way in ways().items():
        x, w = torch.arange(3.0), torch.ones(0, requires_grad=True)
        way(x, w)
        assert x.requires_grad, name
        (grad,) = torch.autograd.grad((x * 2).sum(), w)
        assert grad.shape == (0,) and x.tolist() == [0, 1, 2]
    w = torch.ones(0, requires_grad=True)
    assert torch.cat([torch.ones(2), w]).requires_grad
    integers = torch.zeros(3, dtype=torch.int64)
    integers[0:0] = w
    assert not integers.requires_grad


def test_a_gradient_that_depends_on_no_data_requires_none() -> None:
    a, b = (torch.tensor(v, requires_grad=True) for v in ([1.5, -2.5], [0.7, 0.8]))
    flat = {"floor": lambda: a.floor(), "ceil": lambda: a.ceil(), "round": lambda: a.round(),
            "trunc": lambda: a.trunc(), "divide": lambda: torch.div(a, b, rounding_mode="floor")}
    for name, f in flat.items():
        y = f()
        assert y.requires_grad
        (grad,) = torch.autograd.grad(y.sum(), a, create_graph=True)
        assert not grad.requires_grad and grad.tolist() == [0, 0], name
    (grad,) = torch.autograd.grad((a * b).sum(), a, create_graph=True)
    (second,) = torch.autograd.grad(grad.sum(), b, create_graph=True)
    assert grad.requires_grad and not second.requires_grad and second.tolist() == [1, 1]
    product = torch.ones(1, 2) @ (a * b)[:, None]
    (grad,) = torch.autograd.grad((product**2).sum(), a, create_graph=True)
    (second,) = torch.autograd.grad(grad.sum(), b)
    p, total = 1.5 * 0.7 - 2.5 * 0.8, 0.7 + 0.8
    np.testing.assert_allclose(
        second.tolist(), [2 * p + 2 * 1.5 * total, 2 * p - 2 * 2.5 * total], rtol=1e-5)


def test_draws_keep_the_graph_of_their_rates() -> None:
    p = torch.tensor([0.0, 1.0], requires_grad=True)
    for draw in (torch.bernoulli(p), p.bernoulli(), torch.poisson(p)):
        assert draw.grad_fn is not None
        (grad,) = torch.autograd.grad(draw.sum(), p)
        assert grad.tolist() == [0, 0]
    assert torch.bernoulli(p.detach()).grad_fn is None


@pytest.mark.compiled
def test_a_vector_transposed_is_the_same_program_everywhere() -> None:
    def ops(read: Callable[[], Any]) -> int:
        read()
        return lazyloom.last_evaluation().ops

    x, y = torch.arange(3.0), lazyloom_numpy.arange(3.0)
    assert ops(lambda: (x.t() * 2).tolist()) == ops(lambda: (y.T * 2).tolist())
