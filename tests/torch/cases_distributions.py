"""Distributions that both libraries make from the same parameters; values in their supports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Make = Callable[[Any, Any], Any]

_rng = np.random.default_rng(11)


def _positive(*shape: int) -> np.ndarray:
    return _rng.uniform(0.5, 3.0, shape)


def _real(*shape: int) -> np.ndarray:
    return _rng.normal(size=shape)


def _unit(*shape: int) -> np.ndarray:
    return _rng.uniform(0.15, 0.85, shape)


def _simplex(*shape: int) -> np.ndarray:
    found = _positive(*shape)
    return found / found.sum(-1, keepdims=True)


def _counts(high: int, *shape: int) -> np.ndarray:
    return _rng.integers(0, high, shape).astype(np.float64)


def _spd(*shape: int) -> np.ndarray:
    a = _real(*shape)
    return a @ np.swapaxes(a, -1, -2) + 2 * np.eye(shape[-1])


def _tril(*shape: int) -> np.ndarray:
    return np.linalg.cholesky(_spd(*shape))


def _one_hot(n: int, *shape: int) -> np.ndarray:
    return np.eye(n)[_rng.integers(0, n, shape)]


def _corr_cholesky(n: int) -> np.ndarray:
    c = _spd(n, n)
    d = np.sqrt(np.diag(c))
    return np.linalg.cholesky(c / d[:, None] / d)


def _distribution(name: str, *parameters: Any, **named: Any) -> Make:
    """From arrays, made tensors of the library in float64."""

    def make(t: Any, dtype: Any) -> Any:
        def given(x: Any) -> Any:
            return t.tensor(x, dtype=dtype) if isinstance(x, np.ndarray) else x

        return getattr(t.distributions, name)(
            *map(given, parameters), **{k: given(v) for k, v in named.items()})

    return make


#: name -> (how to make it, a value of its support)
DISTRIBUTIONS: dict[str, tuple[Make, np.ndarray]] = {
    "Bernoulli": (_distribution("Bernoulli", _unit(3)), _counts(2, 4, 3)),
    "Bernoulli logits": (_distribution("Bernoulli", logits=_real(3)), _counts(2, 4, 3)),
    "Beta": (_distribution("Beta", _positive(3), _positive(3)), _unit(4, 3)),
    "Binomial": (_distribution("Binomial", 5, _unit(3)), _counts(6, 4, 3)),
    "Binomial logits": (_distribution("Binomial", 5, logits=_real(3)), _counts(6, 4, 3)),
    "Categorical": (_distribution("Categorical", _simplex(2, 4)), _counts(4, 3, 2)),
    "Categorical logits": (_distribution("Categorical", logits=_real(2, 4)), _counts(4, 3, 2)),
    "Cauchy": (_distribution("Cauchy", _real(3), _positive(3)), _real(4, 3)),
    "Chi2": (_distribution("Chi2", _positive(3)), _positive(4, 3)),
    "ContinuousBernoulli": (_distribution(
        "ContinuousBernoulli", np.array([0.2, 0.5, 0.9])), _unit(4, 3)),
    "Dirichlet": (_distribution("Dirichlet", _positive(2, 3) + 1), _simplex(4, 2, 3)),
    "Exponential": (_distribution("Exponential", _positive(3)), _positive(4, 3)),
    "FisherSnedecor": (_distribution(
        "FisherSnedecor", _positive(3) + 3, _positive(3) + 4), _positive(4, 3)),
    "Gamma": (_distribution("Gamma", _positive(3), _positive(3)), _positive(4, 3)),
    "GeneralizedPareto": (_distribution(
        "GeneralizedPareto", _real(3), _positive(3), np.array([0.3, -0.2, 0.0])),
        3 + _unit(4, 3)),
    "Geometric": (_distribution("Geometric", _unit(3)), _counts(5, 4, 3)),
    "Gumbel": (_distribution("Gumbel", _real(3), _positive(3)), _real(4, 3)),
    "HalfCauchy": (_distribution("HalfCauchy", _positive(3)), _positive(4, 3)),
    "HalfNormal": (_distribution("HalfNormal", _positive(3)), _positive(4, 3)),
    "InverseGamma": (_distribution("InverseGamma", _positive(3) + 2, _positive(3)),
                     _positive(4, 3)),
    "Kumaraswamy": (_distribution("Kumaraswamy", _positive(3), _positive(3)), _unit(4, 3)),
    "Laplace": (_distribution("Laplace", _real(3), _positive(3)), _real(4, 3)),
    "LKJCholesky": (_distribution("LKJCholesky", 3, np.array(1.5)), _corr_cholesky(3)),
    "LogNormal": (_distribution("LogNormal", _real(3), _positive(3)), _positive(4, 3)),
    "LogisticNormal": (_distribution("LogisticNormal", _real(3), _positive(3)), _simplex(2, 4)),
    "LowRankMultivariateNormal": (_distribution(
        "LowRankMultivariateNormal", _real(2, 4), _real(4, 2), _positive(4)), _real(3, 2, 4)),
    "Multinomial": (_distribution("Multinomial", 4, _simplex(2, 3)),
                    np.array([[1.0, 0, 3], [2, 2, 0]])),
    "MultivariateNormal covariance": (_distribution(
        "MultivariateNormal", _real(2, 3), _spd(3, 3)), _real(4, 2, 3)),
    "MultivariateNormal precision": (_distribution(
        "MultivariateNormal", _real(3), precision_matrix=_spd(3, 3)), _real(4, 3)),
    "MultivariateNormal factor": (_distribution(
        "MultivariateNormal", _real(3), scale_tril=_tril(2, 3, 3)), _real(4, 2, 3)),
    "NegativeBinomial": (_distribution("NegativeBinomial", 4, _unit(3)), _counts(7, 4, 3)),
    "Normal": (_distribution("Normal", _real(3), _positive(3)), _real(4, 3)),
    "OneHotCategorical": (_distribution("OneHotCategorical", _simplex(2, 4)),
                          _one_hot(4, 3, 2)),
    "OneHotCategoricalStraightThrough": (_distribution(
        "OneHotCategoricalStraightThrough", _simplex(4)), _one_hot(4, 3)),
    "Pareto": (_distribution("Pareto", _unit(3), _positive(3)), 1 + _positive(4, 3)),
    "Poisson": (_distribution("Poisson", _positive(3)), _counts(6, 4, 3)),
    "RelaxedBernoulli": (_distribution(
        "RelaxedBernoulli", np.array(0.7), _unit(3)), _unit(4, 3)),
    "RelaxedOneHotCategorical": (_distribution(
        "RelaxedOneHotCategorical", np.array(0.7), _simplex(2, 3)), _simplex(4, 2, 3)),
    "StudentT": (_distribution("StudentT", _positive(3) + 2, _real(3), _positive(3)),
                 _real(4, 3)),
    "Uniform": (_distribution("Uniform", -_positive(3), _positive(3)), _unit(4, 3) - 0.3),
    "VonMises": (_distribution("VonMises", _real(3), _positive(3)), _real(4, 3)),
    "Weibull": (_distribution("Weibull", _positive(3), _positive(3)), _positive(4, 3)),
    "Wishart": (_distribution("Wishart", np.array(5.0), _spd(3, 3)), _spd(2, 3, 3)),
    "Independent": (lambda t, d: t.distributions.Independent(
        DISTRIBUTIONS["Normal"][0](t, d), 1), _real(4, 3)),
    "TransformedDistribution": (lambda t, d: t.distributions.TransformedDistribution(
        DISTRIBUTIONS["Normal"][0](t, d), [
            t.distributions.AffineTransform(0.5, -2.0), t.distributions.SigmoidTransform()]),
        _unit(4, 3)),
    "MixtureSameFamily": (lambda t, d: t.distributions.MixtureSameFamily(
        t.distributions.Categorical(t.tensor([0.2, 0.3, 0.5], dtype=d)),
        DISTRIBUTIONS["Normal"][0](t, d)), _real(5)),
}

_PARTS = (_real(2, 3), _positive(2, 3), _unit(2, 3), _simplex(2, 3), _spd(2, 3, 3), _tril(2, 3, 3))

#: map -> (how to make it, a value to go in)
TRANSFORMS: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    **{n: ((lambda n: lambda D: getattr(D, n)())(n), _real(2, 3)) for n in (
        "ExpTransform", "SigmoidTransform", "SoftplusTransform", "TanhTransform",
        "StickBreakingTransform", "CorrCholeskyTransform")},
    "AffineTransform": (lambda D: D.AffineTransform(1.0, -2.0, 1), _real(2, 3)),
    "PowerTransform": (lambda D: D.PowerTransform(1.5), _positive(2, 3)),
    "ReshapeTransform": (lambda D: D.ReshapeTransform((2, 3), (6,)), _real(4, 2, 3)),
    "ComposeTransform": (lambda D: D.ComposeTransform([
        D.AffineTransform(0.1, 2.0), D.ExpTransform(), D.PowerTransform(0.5)]), _real(2, 3)),
    "IndependentTransform": (lambda D: D.IndependentTransform(D.ExpTransform(), 1), _real(2, 3)),
    "CatTransform": (lambda D: D.CatTransform(
        [D.ExpTransform(), D.identity_transform], -1, [2, 1]), _real(2, 3)),
    "StackTransform": (lambda D: D.StackTransform(
        [D.ExpTransform(), D.TanhTransform()], 0), _real(2, 3)),
    "CumulativeDistributionTransform": (lambda D: D.CumulativeDistributionTransform(
        D.Normal(0.0, 1.0)), _real(2, 3)),
    "Inverse": (lambda D: D.ExpTransform().inv, _positive(2, 3)),
}

#: constraints by expression, and values some of which they hold for
CONSTRAINTS: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "real": (lambda c: c.real, np.array([1.0, np.nan, np.inf])),
    "boolean": (lambda c: c.boolean, np.array([0.0, 1.0, 0.5])),
    "positive": (lambda c: c.positive, np.array([0.0, 1.0, -0.5])),
    "nonnegative_integer": (lambda c: c.nonnegative_integer, np.array([0.0, 1.5, -1.0])),
    "integer_interval": (lambda c: c.integer_interval(1, 3), np.array([0.0, 1.0, 2.5])),
    "half_open_interval": (lambda c: c.half_open_interval(0.0, 1.0), np.array([0.0, 1.0, 0.5])),
    "unit_interval": (lambda c: c.unit_interval, np.array([0.0, 1.0, 1.5])),
    "simplex": (lambda c: c.simplex, np.array([[0.5, 0.5], [0.5, 0.6], [-0.5, 1.5]])),
    "one_hot": (lambda c: c.one_hot, np.array([[0.0, 1.0], [1.0, 1.0], [0.5, 0.5]])),
    "lower_cholesky": (lambda c: c.lower_cholesky, np.stack([_tril(2, 2), _spd(2, 2)])),
    "corr_cholesky": (lambda c: c.corr_cholesky, np.stack([_corr_cholesky(2), _tril(2, 2)])),
    "positive_definite": (lambda c: c.positive_definite, np.stack([_spd(2, 2), -_spd(2, 2)])),
    "independent": (lambda c: c.independent(c.positive, 1), np.array([[1.0, 2.0], [1.0, -2.0]])),
    "stack": (lambda c: c.stack([c.positive, c.real], 0), np.array([[1.0, -2.0], [1.0, np.nan]])),
    "cat": (lambda c: c.cat([c.positive, c.real], 0, [1, 2]), np.array([-1.0, -2.0, 3.0])),
}
