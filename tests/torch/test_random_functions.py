"""Random functions: what they draw has the right moments, range, dtype and shape."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import lazyloom_torch as torch

N = 20000


def _filled(name: str, *args: Any, **options: Any) -> Any:
    return getattr(torch.empty(N, dtype=options.pop("dtype", torch.float64)), name)(
        *args, **options)


#: draws and the mean and standard deviation of their distribution
MOMENTS: dict[str, tuple[Any, float, float]] = {
    "uniform_": (lambda: _filled("uniform_", -1.0, 3.0), 1.0, 4 / math.sqrt(12)),
    "uniform_ by name": (lambda: _filled("uniform_", **{"from": 2, "to": 4}), 3, 2 / math.sqrt(12)),
    "normal_": (lambda: _filled("normal_", 1.0, 2.0), 1.0, 2.0),
    "exponential_": (lambda: _filled("exponential_", 2.0), 0.5, 0.5),
    "log_normal_": (lambda: _filled("log_normal_", 0.0, 0.5), math.exp(0.125),
                    math.sqrt((math.exp(0.25) - 1) * math.exp(0.25))),
    "geometric_": (lambda: _filled("geometric_", 0.4), 2.5, math.sqrt(0.6) / 0.4),
    "bernoulli_": (lambda: _filled("bernoulli_", 0.3), 0.3, math.sqrt(0.21)),
    "arctan of cauchy_": (lambda: torch.atan(_filled("cauchy_", 0.0, 1.0)), 0.0,
                          math.pi / math.sqrt(12)),
    "bernoulli of a tensor": (lambda: torch.bernoulli(torch.full((N,), 0.2)), 0.2, 0.4),
    "binomial": (lambda: torch.binomial(torch.full((N,), 10.0), torch.tensor(0.3)), 3.0,
                 math.sqrt(2.1)),
    "poisson": (lambda: torch.poisson(torch.full((N,), 4.0)), 4.0, 2.0),
    "normal of tensors": (lambda: torch.normal(torch.full((N,), 2.0), torch.tensor(3.0)), 2, 3),
    "randint": (lambda: torch.randint(-2, 3, (N,)).double(), 0.0, math.sqrt(2)),
    "random_": (lambda: _filled("random_", 2, 5), 3.0, math.sqrt(2 / 3)),
    "multinomial": (lambda: torch.multinomial(torch.tensor([1.0, 0, 3]), N, True).double(), 1.5,
                    math.sqrt(0.75)),
    "uniform_ of complex numbers": (
        lambda: torch.view_as_real(_filled("uniform_", dtype=torch.complex64)), 0.5,
        1 / math.sqrt(12)),
}


@pytest.fixture(scope="module")
def drawn() -> dict[str, np.ndarray]:
    torch.manual_seed(11)
    found = {name: make().double().reshape(-1)[:N] for name, (make, _, _) in MOMENTS.items()}
    together = torch.stack(list(found.values())).numpy()
    return dict(zip(found, together, strict=True))


@pytest.mark.parametrize("name", MOMENTS)
def test_mean_and_deviation(drawn: dict[str, np.ndarray], name: str) -> None:
    _, mean, deviation = MOMENTS[name]
    x = drawn[name]
    assert abs(x.mean() - mean) < 5 * deviation / math.sqrt(N)
    assert abs(x.std() / deviation - 1) < 0.06


def test_dtypes_and_shapes() -> None:
    assert torch.rand(2, 3, dtype=torch.complex64).dtype is torch.complex64
    assert torch.randint_like(torch.ones(2), 5).dtype is torch.float32
    assert list(torch.normal(0.0, 1.0, (2, 4), dtype=torch.float64).shape) == [2, 4]
    assert list(torch.multinomial(torch.ones(2, 5), 3).shape) == [2, 3]
    assert torch.ones(3, dtype=torch.int8).random_().dtype is torch.int8


def test_rows_without_replacement_have_no_repetition() -> None:
    rows = torch.multinomial(torch.rand(50, 6) + 0.1, 6).numpy()
    assert (np.sort(rows, 1) == np.arange(6)).all()


def test_a_class_of_weight_zero_is_never_drawn() -> None:
    rows = torch.multinomial(torch.tensor([[0.0, 1, 2, 0]]).expand(40, 4), 2).numpy()
    assert set(rows.ravel()) == {1, 2}


def test_many_draws_with_replacement_are_made_as_they_are_needed() -> None:
    data = torch.utils.data
    sampler = data.RandomSampler(range(5), replacement=True, num_samples=10**10)
    assert len(sampler) == 10**10
    first = list(itertools.islice(iter(sampler), 70_000))
    assert set(first) == set(range(5))
    assert first[:100] != first[65_536:65_636]
    weighted = data.WeightedRandomSampler([0.0, 1.0, 3.0], 10**10)
    drawn = list(itertools.islice(iter(weighted), 1000))
    assert set(drawn) == {1, 2} and drawn.count(2) > drawn.count(1)
    loader = data.DataLoader(data.TensorDataset(torch.arange(5)), batch_size=4, sampler=sampler)
    assert next(iter(loader))[0].shape == (4,)
    torch.manual_seed(3)
    one = list(itertools.islice(iter(sampler), 10))
    torch.manual_seed(3)
    assert one == list(itertools.islice(iter(sampler), 10))
    exact = data.RandomSampler(range(5), replacement=True, num_samples=70_000)
    assert sum(1 for _ in exact) == 70_000
