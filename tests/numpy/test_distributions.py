"""Each distribution against SciPy's, for usual and extreme parameters.

The seeds are fixed, so a test that passes once passes always; a correct generator of other bits
would fail one test in a thousand runs of this file.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as onp
import pytest
from scipy import stats

import lazyloom_numpy as np
from tests.numpy.draws import (
    ALPHA,
    COLUMNS,
    CONTINUOUS,
    COUNTS,
    MULTINOMIAL,
    NORMAL,
    SHAPE,
    STANDARD,
    URN,
    Draw,
    probability,
)

UNLIKELY = 1e-5


@pytest.mark.parametrize("draw", [*STANDARD, *CONTINUOUS, *COUNTS], ids=lambda d: d.name)
def test_law(draw: Draw) -> None:
    rng = np.random.default_rng(20)
    x = onp.asarray(getattr(rng, draw.name)(*draw.parameters, size=SHAPE))
    for row, sample in zip(draw.laws(), x):
        found = probability(row, sample)
        assert found > UNLIKELY, (row.args, found)
        if draw.name == "vonmises":  # SciPy integrates
            continue
        mean, spread = row.mean(), row.std()
        if onp.isfinite(spread) and row.stats("k") < 100:
            assert abs(sample.mean() - mean) < 5 * spread / math.sqrt(COLUMNS), row.args


def test_integers() -> None:
    rng = np.random.default_rng(21)
    for low, high, dtype in ((-5, 17, "i8"), (3, 250, "u1"), (0, 2, "?"), (-128, 128, "i1")):
        x = onp.asarray(rng.integers(low, high, COLUMNS, dtype)).astype(int)
        assert probability(stats.randint(low, high), x) > UNLIKELY
        assert x.min() == low and x.max() == high - 1
    # of a range that is no power of two, and of all there are
    x = onp.asarray(rng.integers(0, 3 * 2**62, COLUMNS, "u8")) / (3.0 * 2**62)
    assert stats.kstest(x, "uniform").pvalue > UNLIKELY
    x = onp.asarray(rng.integers([-(2**63)], 2**63, COLUMNS)) / 2.0**64 + 0.5
    assert stats.kstest(x, "uniform").pvalue > UNLIKELY
    x = onp.asarray(rng.integers(np.array([[0], [10]]), np.array([[4], [15]]), (2, COLUMNS)))
    for row, (low, high) in zip(x, ((0, 4), (10, 15))):
        assert probability(stats.randint(low, high), row) > UNLIKELY


def test_float32() -> None:
    rng = np.random.default_rng(22)
    for draw, law in ((rng.random, stats.uniform()), (rng.standard_normal, stats.norm()),
                      (rng.standard_exponential, stats.expon())):  # fmt: skip
        x = onp.asarray(draw(COLUMNS, dtype="f4"))
        assert x.dtype == onp.float32
        assert probability(law, x.astype(float)) > UNLIKELY
    x = onp.asarray(rng.standard_gamma([[0.5], [7.0]], (2, COLUMNS), dtype="f4"))
    for row, a in zip(x, (0.5, 7.0)):
        assert probability(stats.gamma(a), row.astype(float)) > UNLIKELY


def test_dirichlet() -> None:
    rng = np.random.default_rng(23)
    for alpha in (ALPHA[0].tolist(), [1e-3, 2e-3, 1e-3], [300.0, 1.0, 0.0]):
        x = onp.asarray(rng.dirichlet(alpha, COLUMNS))
        assert x.shape == (COLUMNS, 3)
        onp.testing.assert_allclose(x.sum(1), 1.0)
        law = stats.beta(alpha[1], sum(alpha) - alpha[1])
        assert abs((x[:, 1] > 0.5).mean() - law.sf(0.5)) < 5 * 0.5 / math.sqrt(COLUMNS)
        assert min(alpha) > 0 or (x[:, 2] == 0).all()
        if alpha[1] > 0.1:
            assert probability(law, x[:, 1]) > UNLIKELY


def test_multinomial() -> None:
    rng = np.random.default_rng(24)
    n, p, _ = MULTINOMIAL
    x = onp.asarray(rng.multinomial(*MULTINOMIAL))
    assert (x.sum(1) == n).all() and (x[:, 1] == 0).all() and (x >= 0).all()
    for i in (0, 2, 3):
        assert probability(stats.binom(n, p[i]), x[:, i]) > UNLIKELY
    expected = n * (onp.diag(p) - onp.outer(p, p))
    assert abs(onp.cov(x.T) - expected).max() < 0.05 * expected.max() + 0.1


def test_multivariate_hypergeometric() -> None:
    rng = np.random.default_rng(25)
    colors, n, _ = URN
    x = onp.asarray(rng.multivariate_hypergeometric(*URN))
    assert (x.sum(1) == n).all() and (x <= colors).all() and (x >= 0).all()
    for i in (0, 2, 3):
        assert probability(stats.hypergeom(150, colors[i], n), x[:, i]) > UNLIKELY


@pytest.mark.parametrize("method", ["svd", "eigh", "cholesky"])
def test_multivariate_normal(method: str) -> None:
    rng = np.random.default_rng(26)
    mean, cov, _ = NORMAL
    x = onp.asarray(rng.multivariate_normal(*NORMAL, method=method))
    spread = onp.sqrt(onp.diag(cov))
    assert (abs(x.mean(0) - mean) < 5 * spread / math.sqrt(COLUMNS)).all()
    limit = 7 * onp.outer(spread, spread) / math.sqrt(COLUMNS)
    assert (abs(onp.cov(x.T) - cov) < limit).all()
    direction = onp.array([1.0, 2.0, -1.0])
    law = stats.norm(mean @ direction, math.sqrt(direction @ cov @ direction))
    assert probability(law, x @ direction) > UNLIKELY


def _orders(rows: Any) -> Any:
    """How often each order of 0, 1, 2 occurs."""
    return onp.bincount(rows @ [9, 3, 1], minlength=27)[[5, 7, 11, 15, 19, 21]]


def test_orders_are_equally_frequent() -> None:
    rng = np.random.default_rng(27)
    rows = onp.asarray(rng.permuted(np.tile(np.arange(3), (6000, 1)), axis=1))
    counts = _orders(rows)
    assert counts.sum() == 6000 and stats.chisquare(counts).pvalue > UNLIKELY
    counts = _orders(onp.array([onp.asarray(rng.permutation(3)) for _ in range(600)]))
    assert counts.sum() == 600 and stats.chisquare(counts).pvalue > UNLIKELY


def test_choice() -> None:
    rng = np.random.default_rng(28)
    p = [0.1, 0.0, 0.6, 0.3]
    x = onp.asarray(rng.choice(4, COLUMNS, p=p))
    assert probability(stats.rv_discrete(values=(range(4), p)), x) > UNLIKELY
    # the first of a sample without replacement has the probabilities, the second what is left
    drawn = [tuple(rng.choice(4, 2, replace=False, p=p).tolist()) for _ in range(800)]
    pairs = [(a, b) for a in (0, 2, 3) for b in (0, 2, 3) if a != b]
    expected = [800 * p[a] * p[b] / (1 - p[a]) for a, b in pairs]
    assert stats.chisquare([drawn.count(x) for x in pairs], expected).pvalue > UNLIKELY
    drawn = [tuple(sorted(rng.choice(4, 2, replace=False).tolist())) for _ in range(600)]
    counts = [drawn.count((a, b)) for a in range(4) for b in range(a + 1, 4)]
    assert sum(counts) == 600 and stats.chisquare(counts).pvalue > UNLIKELY
