"""Modules, data and files, without PyTorch."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import lazyloom_torch as torch
from lazyloom_torch import nn
from lazyloom_torch.utils.data import (
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    WeightedRandomSampler,
    random_split,
)


def net() -> Any:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(16, 3))


def test_names_state_and_modes() -> None:
    m = net()
    assert [n for n, _ in m.named_parameters()] == [
        "0.weight", "0.bias", "1.weight", "1.bias", "5.weight", "5.bias"]
    assert set(m.state_dict()) - {n for n, _ in m.named_parameters()} == {
        "1.running_mean", "1.running_var", "1.num_batches_tracked"}
    assert not any(x.training for x in m.eval().modules())
    other = net()
    assert str(other.load_state_dict(m.state_dict())) == "<All keys matched successfully>"
    x = torch.rand(2, 1, 4, 4)
    assert torch.equal(m(x), other.eval()(x))


def test_state_shares_storage_and_copies_do_not() -> None:
    m = nn.Linear(2, 2)
    state = m.state_dict()
    twin = copy.deepcopy(m)
    with torch.no_grad():
        m.weight.zero_()
    assert not state["weight"].any() and twin.weight.any()
    assert twin.weight.is_leaf and twin.weight.requires_grad


def test_batch_norm_keeps_running_moments() -> None:
    norm = nn.BatchNorm1d(2, momentum=0.5)
    x = np.array([[1.0, 2.0], [3.0, 6.0], [5.0, 1.0]], np.float32)
    norm(torch.tensor(x))
    np.testing.assert_allclose(norm.running_mean.numpy(), 0.5 * x.mean(0), rtol=1e-6)
    np.testing.assert_allclose(
        norm.running_var.numpy(), 0.5 + 0.5 * x.var(0, ddof=1), rtol=1e-6)
    assert norm.num_batches_tracked.item() == 1


def test_hooks_of_modules() -> None:
    m = nn.Linear(2, 2)
    seen: list[Any] = []
    handles = [
        m.register_forward_pre_hook(lambda mod, args: (args[0] * 0,)),
        m.register_forward_hook(lambda mod, args, out: out + 1),
        m.register_full_backward_hook(lambda mod, gi, go: seen.append(go[0].shape)),
    ]
    y = m(torch.ones(3, 2))
    np.testing.assert_allclose(
        y.detach().numpy(), np.broadcast_to(m.bias.detach().numpy() + 1, (3, 2)), rtol=1e-6)
    y.sum().backward()
    assert seen == [(3, 2)]
    for h in handles:
        h.remove()
    m(torch.ones(3, 2)).sum().backward()
    assert len(seen) == 1


@pytest.mark.parametrize(("make", "low", "high"), [
    (lambda w: nn.init.xavier_uniform_(w), -(6 / 300) ** 0.5, (6 / 300) ** 0.5),
    (lambda w: nn.init.kaiming_uniform_(w, nonlinearity="relu"), -(6 / 200) ** 0.5,
     (6 / 200) ** 0.5),
    (lambda w: nn.init.uniform_(w, 1, 2), 1, 2),
    (lambda w: nn.init.trunc_normal_(w, std=2.0, a=-1, b=1), -1, 1),
    (lambda w: nn.init.constant_(w, 4.0), 4, 4),
])
def test_initial_values_stay_in_their_bounds(make: Any, low: float, high: float) -> None:
    found = make(nn.Parameter(torch.empty(100, 200)))
    assert found.requires_grad and found.is_leaf
    data = found.detach().numpy()
    assert low - 1e-5 <= data.min() and data.max() <= high + 1e-5
    assert data.max() - data.min() >= 0.9 * (high - low)


def test_orthogonal_rows() -> None:
    w = nn.init.orthogonal_(torch.empty(3, 5)).numpy()
    np.testing.assert_allclose(w @ w.T, np.eye(3), atol=1e-5)


def test_attention_equals_its_definition() -> None:
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(2, 3, 4)).astype(np.float32) for _ in range(3))
    scores = q @ k.swapaxes(-1, -2) / 2
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    found = nn.functional.scaled_dot_product_attention(*map(torch.tensor, (q, k, v)))
    np.testing.assert_allclose(found.numpy(), weights @ v, rtol=1e-5, atol=1e-6)


class Squares(Dataset):
    def __getitem__(self, i: int) -> Any:
        return {"x": torch.tensor(float(i)), "y": i * i, "name": str(i)}

    def __len__(self) -> int:
        return 5


class Counting(IterableDataset):
    def __iter__(self) -> Any:
        return iter(range(7))


def test_loaders_batch_samples() -> None:
    batches = list(DataLoader(Squares(), batch_size=2))
    assert [b["y"].tolist() for b in batches] == [[0, 1], [4, 9], [16]]
    assert batches[0]["name"] == ["0", "1"] and batches[0]["x"].tolist() == [0.0, 1.0]
    assert len(list(DataLoader(Squares(), batch_size=2, drop_last=True))) == 2
    assert [b.tolist() for b in DataLoader(Counting(), batch_size=3)] == [[0, 1, 2], [3, 4, 5], [6]]
    pairs = DataLoader(Squares(), batch_size=2, collate_fn=lambda s: [d["y"] for d in s])
    assert list(pairs)[1] == [4, 9]
    assert len(DataLoader(Squares(), batch_size=None)) == 5
    own = DataLoader(TensorDataset(torch.arange(5)), batch_sampler=[[4, 0], [1]])
    assert [b[0].tolist() for b in own] == [[4, 0], [1]]


def test_shuffling_visits_all_and_repeats_by_seed() -> None:
    data = TensorDataset(torch.arange(20), torch.arange(20) * 2)

    def epoch(seed: int) -> list[int]:
        loader = DataLoader(data, batch_size=6, shuffle=True,
                            generator=torch.Generator().manual_seed(seed))
        return [i for x, y in loader for i in x.tolist()]

    assert epoch(1) == epoch(1) != epoch(2)
    assert sorted(epoch(2)) == list(range(20))


def test_splits_and_other_samplers() -> None:
    data = TensorDataset(torch.arange(10))
    parts = random_split(data, [0.7, 0.3])
    assert [len(p) for p in parts] == [7, 3]
    assert sorted(int(p[i][0]) for p in parts for i in range(len(p))) == list(range(10))
    both = ConcatDataset([data, Subset(data, [3])])
    assert len(both) == 11 and int(both[-1][0]) == 3
    picks = list(WeightedRandomSampler([0.0, 1.0], 10))
    assert picks == [1] * 10


@pytest.mark.parametrize("options", [
    {"num_workers": -1}, {"shuffle": True, "sampler": [0]}, {"batch_size": 0},
    {"batch_sampler": [[0]], "batch_size": 2}, {"batch_size": None, "drop_last": True},
])
def test_loaders_refuse_what_does_not_fit(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        DataLoader(Squares(), **options)


def test_a_position_outside_the_dataset_is_an_error() -> None:
    with pytest.raises(IndexError):
        list(DataLoader(TensorDataset(torch.arange(3)), sampler=[5]))
