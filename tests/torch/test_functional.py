"""nn.functional against PyTorch in its corners, and what is random by its properties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazyloom
import lazyloom_torch as torch
from tests.torch import cases_functional

pytestmark = pytest.mark.usefixtures("quick_compiler")

F = torch.nn.functional


@pytest.mark.parametrize(
    ("topic", "name"),
    [(topic, name) for topic, found in cases_functional.TOPICS.items() for name in found])
def test_it_does_what_pytorch_does(topic: str, name: str) -> None:
    theirs = pytest.importorskip("torch")
    from tests.torch.oracle import same

    same(cases_functional.TOPICS[topic][name], theirs, rtol=5e-5, atol=1e-5)


def test_dropout_of_channels_keeps_them_whole() -> None:
    torch.manual_seed(0)
    x = torch.ones(8, 16, 3, 3)
    whole = F.dropout2d(x, 0.25).read()
    assert set(np.unique(whole)) == {0.0, np.float32(1 / 0.75)}
    assert np.ptp(whole.reshape(128, 9), 1).max() == 0
    assert 0.6 < (whole[:, :, 0, 0] != 0).mean() < 0.9
    alone = F.dropout1d(torch.ones(64, 5), 0.5).read()
    assert np.ptp(alone, 1).max() == 0
    assert 0 < alone[:, 0].sum() < 128


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    torch.manual_seed(1)
    x = torch.randn(400, 100)
    for found in (F.alpha_dropout(x, 0.3, True), F.feature_alpha_dropout(x, 0.3, True)):
        data = found.read()
        assert abs(data.mean()) < 0.02
        assert abs(data.var() - 1) < 0.03
    assert (F.alpha_dropout(x, 1.0, True).read() == 0).all()


def test_random_slopes_lie_between_their_bounds_and_pass_to_the_gradient() -> None:
    torch.manual_seed(2)
    x = torch.full((1000,), -2.0, requires_grad=True)
    y = F.rrelu(x, 0.2, 0.6, training=True)
    y.sum().backward()
    slopes = y.detach().read() / -2
    assert 0.2 <= slopes.min() < 0.25
    assert 0.55 < slopes.max() <= 0.6
    np.testing.assert_allclose(x.grad.read(), slopes, rtol=1e-6)


def test_hard_gumbel_samples_are_one_hot_with_the_soft_gradient() -> None:
    torch.manual_seed(3)
    logits = torch.tensor([[0.0, 1.0, 2.0]]).expand(4000, 3).clone().requires_grad_()
    hard = F.gumbel_softmax(logits, tau=0.5, hard=True)
    (hard * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    data = hard.detach().read()
    assert (data.sum(1) == 1).all()
    assert set(np.unique(data)) == {0.0, 1.0}
    expected = np.exp([0, 1, 2]) / np.exp([0, 1, 2]).sum()
    np.testing.assert_allclose(data.mean(0), expected, atol=0.03)
    assert np.abs(logits.grad.read()).sum() > 0
    np.testing.assert_allclose(logits.grad.read().sum(1), 0, atol=1e-5)


def test_fractional_pooling_of_drawn_places_sees_windows_only() -> None:
    torch.manual_seed(4)
    x = torch.arange(81.0).reshape(1, 1, 9, 9)
    found, places = F.fractional_max_pool2d(x, 2, output_size=(4, 4), return_indices=True)
    np.testing.assert_array_equal(found.read().astype(np.int64), places.read())
    assert (np.diff(found.read()[0, 0], axis=0) > 0).all()


def test_attention_drops_weights() -> None:
    torch.manual_seed(5)
    q = torch.zeros(1, 64, 8)
    v = torch.ones(1, 64, 8)
    found = F.scaled_dot_product_attention(q, q, v, dropout_p=0.5).read()
    assert 0.5 < found.std() / 0.125 < 1.5
    assert abs(found.mean() - 1) < 0.1


def test_labels_of_the_host_cost_no_check() -> None:
    x = torch.zeros(4, 3)
    given = F.cross_entropy(x, torch.tensor([0, 1, 2, 0]))
    computed = F.cross_entropy(x, torch.tensor([0, 1, 2, 0]) * 1)
    assert not any("checked" in str(op) for op in lazyloom.program_of(given).ops)
    assert any("checked" in str(op) for op in lazyloom.program_of(computed).ops)
    np.testing.assert_allclose([given.item(), computed.item()], np.log(3), rtol=1e-6)


def test_what_depends_on_an_index_out_of_range_raises_where_it_is_read() -> None:
    index = torch.tensor([0, 1]) * 9
    found: list[Any] = [F.embedding(index, torch.ones(4, 2)),
                        F.cross_entropy(torch.ones(2, 3), index), F.one_hot(index, 4)]
    for value in found:
        with pytest.raises(IndexError, match="index 9 is out of bounds"):
            value.read()
