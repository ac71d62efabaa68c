"""The formulas of divergences, as tables.

Between families, ``KL(p || q) = -entropy(p) - E_p[log q]``, and the last term takes a few
expectations of p, whatever family it is of. Within a family there are formulas that cancel less.
"""

from __future__ import annotations

import itertools
import math
import operator
import sys
from collections.abc import Callable
from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor
from lazyloom_torch.nn.functional import softplus

from ._counts import Bernoulli, Binomial, Categorical, Geometric, OneHotCategorical, Poisson
from ._mapped import HalfNormal, Pareto
from ._matrices import LowRankMultivariateNormal, MultivariateNormal
from ._positive import Beta, ContinuousBernoulli, Dirichlet, Exponential, Gamma
from ._real import Cauchy, Gumbel, Laplace, Normal, Uniform
from .distribution import Distribution
from .exp_family import ExponentialFamily, inner_product
from .independent import Independent
from .kl import Formula, kl_divergence, register_kl
from .transformed_distribution import TransformedDistribution
from .utils import euler_constant, sum_rightmost


def _excess(ratio: Tensor) -> Tensor:
    """``ratio - 1 - log(ratio)``: what it costs to take a rate to be so many times what it is."""
    return ratio - 1 - ratio.log()


def _possible(p: Tensor, q: Tensor, term: Tensor) -> Tensor:
    """A term of a value of these probabilities: 0 if p has none, infinite if only q has none."""
    return torch.where(p == 0, 0.0, torch.where(q == 0, math.inf, term))


def _of_bernoulli(p: Any, q: Any) -> Tensor:
    one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    zero = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return _possible(p.probs, q.probs, one) + _possible(1 - p.probs, 1 - q.probs, zero)


def _of_binomial(p: Any, q: Any) -> Tensor:
    one_trial = p.probs * (p.logits - q.logits) + torch.log1p(-p.probs) - torch.log1p(-q.probs)
    return torch.where(p.total_count > q.total_count, math.inf, p.total_count * one_trial)


def _of_categorical(p: Any, q: Any) -> Tensor:
    return _possible(p.probs, q.probs, p.probs * (p.logits - q.logits)).sum(-1)


def _of_dirichlet(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    mean_log = a.digamma() - p._total.digamma()
    return q._log_normalizer(b) - p._log_normalizer(a) + ((a - b) * mean_log).sum(-1)


def _of_gamma(p: Any, q: Any) -> Tensor:
    a, b, ratio = p.concentration, q.concentration, q.rate / p.rate
    return a * _excess(ratio) + (a - b) * (ratio.log() + a.digamma()) + b.lgamma() - a.lgamma()


def _of_gumbel(p: Any, q: Any) -> Tensor:
    ratio, gap = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return (gap - ratio.log() + euler_constant * (ratio - 1) - 1
            + torch.exp((ratio + 1).lgamma() - gap))


def _of_laplace(p: Any, q: Any) -> Tensor:
    ratio, gap = p.scale / q.scale, (p.loc - q.loc).abs()
    return gap / q.scale + ratio * torch.exp(-gap / p.scale) - 1 - ratio.log()


def _of_exponential_family(p: Any, q: Any) -> Tensor:
    """The Bregman divergence of the log normalizer."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed "
            "using Bregman divergences")
    normalizer, theta, means = p._means()
    steps = [b - a for a, b in zip(theta, q._natural_params)]
    return q._log_normalizer(*q._natural_params) - normalizer - (
        inner_product(steps, means, normalizer.ndim))


def _of_inner(p: Any, q: Any) -> Tensor:
    """What the inner distributions have, of two with the same maps or the same event dimensions."""
    dims = vars(p).get("reinterpreted_batch_ndims", 0)
    if dims != vars(q).get("reinterpreted_batch_ndims", 0):
        raise NotImplementedError("divergences of events of different numbers of dimensions")
    if "transforms" in vars(p) and (
            p.transforms != q.transforms or p.event_shape != q.event_shape):
        raise NotImplementedError("divergences of distributions with different transforms")
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), dims)


def _of_normal_vectors(p: Any, q: Any) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two multivariate normals with different event shapes cannot be "
            "computed")
    apart = q._quadratic((q.loc - p.loc).unsqueeze(-1))
    return (q._quadratic(p._root) + apart - p.event_shape[0]) / 2 + (
        q._half_log_det - p._half_log_det)


_WITHIN: dict[type[Distribution], Formula] = {
    Bernoulli: _of_bernoulli, Binomial: _of_binomial, Categorical: _of_categorical,
    Dirichlet: _of_dirichlet, ExponentialFamily: _of_exponential_family, Gamma: _of_gamma,
    Gumbel: _of_gumbel, HalfNormal: _of_inner, Independent: _of_inner, Laplace: _of_laplace,
    TransformedDistribution: _of_inner,
    Beta: lambda p, q: _of_dirichlet(p._dirichlet, q._dirichlet),
    Cauchy: lambda p, q: ((p.scale + q.scale).square() + (p.loc - q.loc).square()).log() - (
        4 * p.scale * q.scale).log(),
    ContinuousBernoulli: lambda p, q: p.mean * (p.logits - q.logits) + (
        p._log_weight - q._log_weight),
    Exponential: lambda p, q: _excess(q.rate / p.rate),
    Geometric: lambda p, q: -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits,
    Normal: lambda p, q: (_excess((p.scale / q.scale).square()) + (
        (p.loc - q.loc) / q.scale).square()) / 2,
    OneHotCategorical: lambda p, q: _of_categorical(p._categorical, q._categorical),
    Pareto: lambda p, q: torch.where(p.scale < q.scale, math.inf, _excess(q.alpha / p.alpha) + (
        q.alpha * (p.scale / q.scale).log())),
    Poisson: lambda p, q: p.rate * (p.rate / q.rate).log() + q.rate - p.rate,
    Uniform: lambda p, q: torch.where(
        (q.low <= p.low) & (p.high <= q.high), q.entropy() - p.entropy(), math.inf),
}
for _family, _within in _WITHIN.items():
    register_kl(_family, _family)(_within)
for _p, _q in itertools.product((MultivariateNormal, LowRankMultivariateNormal), repeat=2):
    register_kl(_p, _q)(_of_normal_vectors)


def _mean_log_uniform(low: Tensor, high: Tensor) -> Tensor:
    """The mean of ``log(x)`` of uniform numbers."""
    return (torch.xlogy(high, high) - torch.xlogy(low, low)) / (high - low) - 1


#: ``E[log(x)]``, ``E[log(1 - x)]`` and ``E[exp(-t x)]``, where they are known
_MEAN_LOG: dict[type, Any] = {
    Beta: lambda p: p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma(),
    Exponential: lambda p: -euler_constant - p.rate.log(),
    Gamma: lambda p: p.concentration.digamma() - p.rate.log(),
    Pareto: lambda p: p.scale.log() + 1 / p.alpha,
    Uniform: lambda p: _mean_log_uniform(p.low, p.high),
}
_MEAN_LOG_REST: dict[type, Any] = {Uniform: lambda p: _mean_log_uniform(1 - p.high, 1 - p.low)}
_MEAN_EXP: dict[type, Any] = {
    Exponential: lambda p, t: p.rate / (p.rate + t),
    Gamma: lambda p, t: (1 + t / p.rate) ** -p.concentration,
    Normal: lambda p, t: torch.exp(t * (t * p.variance / 2 - p.loc)),
    Uniform: lambda p, t: (torch.exp(-t * p.low) - torch.exp(-t * p.high)) / (t * p._width),
}
#: ``E|x - a|``
_MEAN_DISTANCE: dict[type, Any] = {
    Normal: lambda p, a: p.scale * math.sqrt(2 / math.pi) * torch.exp(
        -((p.loc - a) / p.scale).square() / 2) + (p.loc - a) * torch.erf(
            (p.loc - a) / (p.scale * math.sqrt(2))),
}


def _to_normal(p: Any, q: Any) -> Tensor:
    spread = (p.variance + (p.mean - q.loc).square()) / q.scale.square()
    return (spread + math.log(2 * math.pi)) / 2 + q.scale.log()


def _to_gamma(p: Any, q: Any, mean_log: Any) -> Tensor:
    return (q._log_normalizer(*q._natural_params) + q.rate * p.mean
            - (q.concentration - 1) * mean_log(p))


def _to_gumbel(p: Any, q: Any, mean_exp: Any) -> Tensor:
    return ((p.mean - q.loc) / q.scale + q.scale.log()
            + torch.exp(q.loc / q.scale) * mean_exp(p, 1 / q.scale))


def _to_beta(p: Any, q: Any, mean_log: Any, mean_log_rest: Any) -> Tensor:
    a, b = q.concentration1, q.concentration0
    return q._log_normalizer(a, b) - (a - 1) * mean_log(p) - (b - 1) * mean_log_rest(p)


#: q -> ``-E_p[log q]``, and the expectations that it takes
_CROSS: dict[type, tuple[Callable[..., Tensor], tuple[dict[type, Any], ...]]] = {
    Beta: (_to_beta, (_MEAN_LOG, _MEAN_LOG_REST)),
    ContinuousBernoulli: (lambda p, q: -p.mean * q.logits - q._log_weight, ()),
    Exponential: (lambda p, q: q.rate * p.mean - q.rate.log(), ()),
    Gamma: (_to_gamma, (_MEAN_LOG,)),
    Gumbel: (_to_gumbel, (_MEAN_EXP,)),
    Laplace: (lambda p, q, mean_distance: mean_distance(p, q.loc) / q.scale + (
        2 * q.scale).log(), (_MEAN_DISTANCE,)),
    Normal: (_to_normal, ()),
    Pareto: (lambda p, q, mean_log: (q.alpha + 1) * mean_log(p) - q.alpha.log() - (
        q.alpha * q.scale.log()), (_MEAN_LOG,)),
    Uniform: (lambda p, q: q._width.log(), ()),
}
#: where the values of a family lie: numbers, or the parameters that tell it
_RANGES: dict[type, tuple[Any, Any]] = {
    Beta: (0, 1), ContinuousBernoulli: (0, 1), Exponential: (0, math.inf), Gamma: (0, math.inf),
    Gumbel: (-math.inf, math.inf), Laplace: (-math.inf, math.inf), Normal: (-math.inf, math.inf),
    Pareto: ("scale", math.inf), Uniform: ("low", "high"),
}
#: what is known of such a parameter: one of them is above 0, and all are finite
_LIMITS = {"scale": sys.float_info.min, "low": -math.inf, "high": sys.float_info.max}


def _infinite(p: Any, q: Any) -> Tensor:
    shape = torch.broadcast_shapes(p.batch_shape, q.batch_shape)
    return torch.full(shape, math.inf, dtype=p.mean.dtype)


def _between(kind_p: type, kind_q: type) -> Formula | None:
    """The divergence of a pair of families: infinite where p has values that q has not."""
    (low_p, high_p), (low_q, high_q) = _RANGES[kind_p], _RANGES[kind_q]
    if (low_p in (0, -math.inf) and low_p < _LIMITS.get(low_q, low_q)) or (
            high_p in (1, math.inf) and high_p > _LIMITS.get(high_q, high_q)):
        return _infinite
    cross, tables = _CROSS[kind_q]
    if not all(kind_p in table for table in tables):
        return None
    expectations = [table[kind_p] for table in tables]

    def divergence(p: Any, q: Any) -> Tensor:
        found = cross(p, q, *expectations) - p.entropy()
        for a, b, outside in ((low_p, low_q, operator.lt), (high_p, high_q, operator.gt)):
            if isinstance(a, str) or isinstance(b, str):
                ends = (getattr(d, e) if isinstance(e, str) else e for d, e in ((p, a), (q, b)))
                found = torch.where(outside(*ends), math.inf, found)
        return found

    return divergence


for _p, _q in itertools.permutations(_RANGES, 2):
    if _formula := _between(_p, _q):
        register_kl(_p, _q)(_formula)
register_kl(Bernoulli, Poisson)(lambda p, q: q.rate - p.probs * q.rate.log() - p.entropy())
register_kl(Poisson, Bernoulli)(_infinite)
register_kl(Poisson, Binomial)(_infinite)
