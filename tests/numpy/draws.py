"""Distributions with parameters to draw them with, and what SciPy knows of them.

Every draw has one row for each set of parameters, so that a distribution is one program for the
statistical tests and for the coverage cases together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as onp
from scipy import stats

ROWS, COLUMNS = 4, 20000
SHAPE = (ROWS, COLUMNS)


@dataclass(frozen=True)
class Draw:
    """A distribution that both NumPy's ``Generator`` and its legacy functions have.

    Args:
        name: the method's name.
        rows: a set of parameters for each row.
        law: SciPy's distribution of one set of parameters.
    """

    name: str
    rows: Sequence[tuple[float, ...]]
    law: Callable[..., Any]

    @property
    def parameters(self) -> list[Any]:
        """A column for each parameter, of float64; numbers of trials and the like are int64."""
        whole = {"binomial": 1, "hypergeometric": 3}.get(self.name, 0)
        return [onp.array(column, "i8" if i < whole else "f8")[:, None]
                for i, column in enumerate(zip(*self.rows))]

    def laws(self) -> list[Any]:
        return [self.law(*row) for row in self.rows]


def _triangular(left: float, mode: float, right: float) -> Any:
    return stats.triang((mode - left) / (right - left), left, right - left)


def _von_mises(mu: float, kappa: float) -> Any:
    if kappa < 1e-5:
        return stats.uniform(-onp.pi, 2 * onp.pi)
    return stats.norm(mu, kappa**-0.5) if kappa > 1e5 else stats.vonmises(kappa, mu)


def _hypergeometric(good: int, bad: int, drawn: int) -> Any:
    return stats.hypergeom(good + bad, good, drawn)


#: what is drawn without a parameter
STANDARD = [
    Draw("random", [()] * ROWS, lambda: stats.uniform()),
    Draw("standard_normal", [()] * ROWS, lambda: stats.norm()),
    Draw("standard_exponential", [()] * ROWS, lambda: stats.expon()),
    Draw("standard_cauchy", [()] * ROWS, lambda: stats.cauchy()),
]

CONTINUOUS = [
    Draw("uniform", [(0, 1), (-3, 5), (2.5, 2.75), (-1e9, 1e9)],
         lambda low, high: stats.uniform(low, high - low)),
    Draw("normal", [(0, 1), (2, 3), (-1e3, 1e-3), (5, 1e6)], stats.norm),
    Draw("lognormal", [(0, 1), (0.2, 0.7), (-3, 0.01), (1, 4)],
         lambda mean, sigma: stats.lognorm(sigma, scale=onp.exp(mean))),
    Draw("gumbel", [(0, 1), (1, 2), (-5, 0.1), (100, 30)], stats.gumbel_r),
    Draw("laplace", [(0, 1), (1, 2), (-5, 0.1), (100, 30)], stats.laplace),
    Draw("logistic", [(0, 1), (1, 2), (-5, 0.1), (100, 30)], stats.logistic),
    Draw("triangular", [(0, 1, 2), (0, 0, 2), (0, 2, 2), (-1, 0.9, 1)], _triangular),
    Draw("exponential", [(1,), (2.5,), (1e-6,), (1e6,)], lambda s: stats.expon(scale=s)),
    Draw("rayleigh", [(1,), (2.5,), (1e-6,), (1e6,)], lambda s: stats.rayleigh(scale=s)),
    Draw("weibull", [(1,), (0.3,), (5,), (100,)], stats.weibull_min),
    Draw("power", [(1,), (0.3,), (5,), (100,)], stats.powerlaw),
    Draw("pareto", [(1,), (0.5,), (5,), (100,)], stats.lomax),
    Draw("gamma", [(1, 1), (0.05, 2), (2.5, 0.5), (1e6, 1)],
         lambda a, scale: stats.gamma(a, scale=scale)),
    Draw("standard_gamma", [(1,), (0.3,), (7.5,), (1e9,)], stats.gamma),
    Draw("beta", [(2, 3), (0.2, 0.1), (50, 0.5), (1e4, 2e4)], stats.beta),
    Draw("chisquare", [(1,), (0.2,), (30,), (1e5,)], stats.chi2),
    Draw("f", [(1, 2), (5, 30), (0.5, 4), (200, 300)], stats.f),
    Draw("noncentral_chisquare", [(0.5, 1), (1, 2), (3, 7), (20, 100)], stats.ncx2),
    Draw("noncentral_f", [(0.7, 20, 2), (3, 20, 2), (2, 5, 9), (10, 100, 1)], stats.ncf),
    Draw("standard_t", [(1,), (0.5,), (4,), (1e4,)], stats.t),
    Draw("wald", [(1, 1), (3, 0.1), (1, 1000), (0.01, 2)],
         lambda mean, scale: stats.invgauss(mean / scale, scale=scale)),
    Draw("vonmises", [(0, 0), (0, 0.3), (-1, 40), (1, 2e6)], _von_mises),
]

COUNTS = [
    Draw("poisson", [(0.01,), (3,), (10.5,), (1e9,)], stats.poisson),
    Draw("geometric", [(0.5,), (1e-3,), (0.1,), (0.95,)], stats.geom),
    Draw("zipf", [(2,), (3,), (4.5,), (20,)], stats.zipf),
    Draw("logseries", [(0.3,), (1e-3,), (0.9,), (0.999,)], stats.logser),
    Draw("binomial", [(10, 0.5), (40, 0.52), (10**6, 1e-6), (10**12, 0.9)], stats.binom),
    Draw("negative_binomial", [(3, 0.5), (0.5, 0.3), (100, 0.1), (7, 0.9)], stats.nbinom),
    Draw("hypergeometric", [(10, 20, 15), (3, 100, 50), (2000, 1000, 2800),
                            (10**8, 2 * 10**8, 10**6)], _hypergeometric),
]  # fmt: skip


def quantiles(draw: Draw, share: float = 0.3) -> tuple[Any, Any]:
    """About that quantile of each row, and how many of a row are expected up to it (columns)."""
    at = onp.array([[law.ppf(share)] for law in draw.laws()], float)
    return at, onp.array([[law.cdf(x[0])] for law, x in zip(draw.laws(), at)], float)


def probability(law: Any, sample: Any) -> float:
    """How probable it is that a sample of the law is no better than this one."""
    if sample.dtype.kind == "f":
        return float(stats.kstest(sample, law.cdf).pvalue)
    edges = onp.unique(law.ppf(onp.linspace(0, 1, 41)[1:-1]).astype(onp.int64))
    shares = onp.diff(onp.concatenate([[0.0], law.cdf(edges), [1.0]]))
    seen = onp.bincount(onp.searchsorted(edges, sample), minlength=len(edges) + 1)
    expected = shares * len(sample)
    rare = expected < 5
    assert not seen[shares == 0].any()
    pairs = [(seen[~rare], expected[~rare])]
    if expected[rare].sum() > 5:
        pairs.append((seen[rare].sum()[None], expected[rare].sum()[None]))
    chi = sum(((s - e) ** 2 / e).sum() for s, e in pairs)
    bins = sum(len(s) for s, _ in pairs)
    return float(stats.chi2.sf(chi, max(bins - 1, 1)))


#: parameters of draws of vectors: the tests and the coverage cases share their programs too
MULTINOMIAL = (50, onp.array([0.1, 0.0, 0.6, 0.3]), COLUMNS)
URN = (onp.array([30, 0, 100, 20]), 60, COLUMNS)
ALPHA = (onp.array([0.5, 2.0, 7.5]), COLUMNS)
NORMAL = (onp.array([1.0, -2.0, 30.0]), onp.array([[4.0, 1, 0], [1, 2, -0.5], [0, -0.5, 9]]),
          COLUMNS)  # fmt: skip
