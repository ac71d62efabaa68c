"""Random numbers: shapes, dtypes, distributions, seeds, and state as an ordinary array."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as onp
import pytest

import lazyloom
import lazyloom_numpy as np

N = 20000

#: draw, mean, standard deviation
DRAWS: list[tuple[str, Any, float, float]] = [
    ("random", lambda r: r.random(N), 0.5, 12**-0.5),
    ("uniform", lambda r: r.uniform(-1, 3, N), 1.0, 4 * 12**-0.5),
    ("normal", lambda r: r.normal(2.0, 3.0, N), 2.0, 3.0),
    ("standard_normal", lambda r: r.standard_normal(N, "f4"), 0.0, 1.0),
    ("exponential", lambda r: r.exponential(2.0, N), 2.0, 2.0),
    ("gamma", lambda r: r.gamma(4.0, 0.5, N), 2.0, 1.0),
    ("beta", lambda r: r.beta(2.0, 2.0, N), 0.5, 0.05**0.5),
    ("poisson", lambda r: r.poisson(3.0, N), 3.0, 3.0**0.5),
    ("geometric", lambda r: r.geometric(0.5, N), 2.0, 2.0**0.5),
    ("binomial", lambda r: r.binomial(10, 0.3, N), 3.0, 2.1**0.5),
    ("laplace", lambda r: r.laplace(1.0, 1.0, N), 1.0, 2.0**0.5),
    ("gumbel", lambda r: r.gumbel(0.0, 1.0, N), 0.5772, onp.pi / 6**0.5),
    ("logistic", lambda r: r.logistic(0.0, 1.0, N), 0.0, onp.pi / 3**0.5),
    ("chisquare", lambda r: r.chisquare(4.0, N), 4.0, 8.0**0.5),
    ("integers", lambda r: r.integers(0, 10, N), 4.5, 8.25**0.5),
    ("choice", lambda r: r.choice([1.0, 3.0], N, p=[0.25, 0.75]), 2.5, 0.75**0.5),
]


@pytest.mark.parametrize(("draw", "mean", "spread"), [d[1:] for d in DRAWS],
                         ids=[d[0] for d in DRAWS])  # fmt: skip
def test_moments(draw: Any, mean: float, spread: float) -> None:
    x = onp.asarray(draw(np.random.default_rng(7))).astype(float)
    assert x.shape == (N,)
    assert abs(x.mean() - mean) < 5 * spread / N**0.5
    assert abs(x.std() - spread) < 0.05 * spread


def test_seeds() -> None:
    a, b = np.random.default_rng(3), np.random.default_rng(3)
    x, y = onp.asarray(a.random(5)), onp.asarray(b.random(5))
    onp.testing.assert_array_equal(x, y)
    assert not onp.array_equal(x, onp.asarray(a.random(5)))
    assert not onp.array_equal(x, onp.asarray(np.random.default_rng(4).random(5)))
    onp.asarray(b.random(5))
    c = pickle.loads(pickle.dumps(a))
    onp.testing.assert_array_equal(onp.asarray(a.random(3)), onp.asarray(c.random(3)))
    np.random.seed(1)
    first = onp.asarray(np.random.rand(2, 3))
    np.random.seed(1)
    onp.testing.assert_array_equal(first, onp.asarray(np.random.rand(2, 3)))
    assert np.random.default_rng(a) is a
    one, two = a.spawn(2)
    assert not onp.array_equal(onp.asarray(one.random(3)), onp.asarray(two.random(3)))
    b.bit_generator.state = a.bit_generator.state
    onp.testing.assert_array_equal(onp.asarray(a.random(3)), onp.asarray(b.random(3)))


def test_a_draw_in_a_loop_compiles_once() -> None:
    rng = np.random.default_rng(0)
    for _ in range(2):
        float(rng.random(4).sum())
    before = lazyloom.stats()["programs_compiled"]
    values = [float(rng.random(4).sum()) for _ in range(5)]
    assert lazyloom.stats()["programs_compiled"] == before
    assert len(set(values)) == 5


def test_shapes_and_dtypes() -> None:
    rng = np.random.default_rng(0)
    assert rng.random().shape == () and rng.random((2, 3), "f4").dtype == onp.float32
    assert rng.normal(np.zeros(3), [[1.0], [2.0]]).shape == (2, 3)
    assert rng.integers(5, size=(2,), dtype="u1").dtype == onp.uint8
    assert rng.integers(1, 6, 100, endpoint=True).max() <= 6
    assert sorted(rng.permutation(6).tolist()) == list(range(6))
    x = np.arange(6.0).reshape(3, 2)
    assert sorted(rng.permutation(x)[:, 0].tolist()) == [0, 2, 4]
    rng.shuffle(x)
    assert sorted(x[:, 1].tolist()) == [1, 3, 5]
    assert sorted(rng.permuted(x, axis=1)[0].tolist()) == sorted(x[0].tolist())
    assert len(set(rng.choice(10, 6, replace=False).tolist())) == 6
    assert len(set(rng.choice(4, 3, replace=False, p=[0.4, 0.3, 0.2, 0.1]).tolist())) == 3
    assert np.random.randn(2, 3).shape == (2, 3) and np.random.randint(3, size=4).shape == (4,)
    assert rng.multivariate_normal([0.0, 1.0], onp.eye(2), 5).shape == (5, 2)
    assert len(rng.bytes(5)) == 5
    out = np.zeros(3)
    assert rng.random(out=out) is out and float(out.sum()) > 0


def test_errors() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="low >= high"):
        rng.integers(3, 3)
    with pytest.raises(ValueError, match="larger sample"):
        rng.choice(3, 5, replace=False)
    with pytest.raises(ValueError, match="scale"):
        rng.normal(0, -1)
    with pytest.raises(ValueError, match="non-negative"):
        np.random.default_rng(-1)
