"""A step of training on eight devices: data-parallel, sharded parameters, tensor-parallel."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyloom
import lazyloom_torch as torch

from .training import Block, by_columns_then_rows, by_rows, data, train, whole

MESH = lazyloom.make_mesh({"data": 4, "model": 2})


@pytest.mark.parametrize(("model", "adam"), [("block", True), ("convolutions", False)])
def test_losses_are_those_of_one_device(model: str, adam: bool) -> None:
    expected = train(model, None, adam, MESH)
    assert expected[-1] < expected[0] * 0.9
    for division in (whole, by_rows, by_columns_then_rows):
        losses = train(model, division, adam, MESH)
        numpy.testing.assert_allclose(losses, expected, rtol=1e-5, err_msg=division.__name__)


def test_checkpoints_hooks_and_functions_with_rules() -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return torch.full(g.shape, 2.0)

    values = numpy.random.default_rng(0).standard_normal((8, 8)).astype("float32")
    x = lazyloom.shard(torch.tensor(values), MESH, ("data",)).requires_grad_()
    torch.utils.checkpoint.checkpoint(
        lambda a: torch.tanh(a).sum(), x, use_reentrant=False).backward()
    expected = 1 - numpy.tanh(values) ** 2
    numpy.testing.assert_allclose(x.grad.numpy(), expected, atol=1e-6)
    y = x * 1
    y.register_hook(lambda g: g * 3)
    (grad,) = torch.autograd.grad(Double.apply(y).sum(), x)
    assert (grad.numpy() == 6).all()


def test_a_parameter_that_was_not_placed_learns_where_it_is() -> None:
    learned = []
    for partition in (None, ("data",)):
        w = torch.nn.Parameter(torch.ones(8, 8))
        x = torch.ones(8, 8)
        if partition is not None:
            x = lazyloom.shard(x, MESH, partition)
        optimizer = torch.optim.Adam([w], 0.1)
        for _ in range(3):
            optimizer.zero_grad()
            ((x @ w) ** 2).mean().backward()
            optimizer.step()
        assert str(w.device) == "cpu" and lazyloom.placement_of(w).is_default
        learned.append(w.detach().numpy())
    assert learned[0][0, 0] < 0.75
    numpy.testing.assert_allclose(learned[1], learned[0], rtol=1e-6)


def test_a_state_dict_is_loaded_on_another_division() -> None:
    torch.manual_seed(0)
    a, b = Block(), Block()
    for name, p in a.named_parameters():
        p.data = lazyloom.shard(p.data, MESH, by_rows(name, p))
    for name, p in b.named_parameters():
        p.data = lazyloom.shard(p.data, MESH, by_columns_then_rows(name, p))
    b.load_state_dict(a.state_dict())
    tokens, _ = data("block")
    a.eval(), b.eval()
    numpy.testing.assert_allclose(
        a(tokens).detach().numpy(), b(tokens).detach().numpy(), rtol=1e-4, atol=1e-6)
    for name, p in b.named_parameters():
        assert lazyloom.placement_of(p.data).spec == lazyloom.placement_of(
            lazyloom.shard(p.data, MESH, by_columns_then_rows(name, p))).spec
