"""Divergences of distributions of different families."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor

from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .continuous_bernoulli import ContinuousBernoulli
from .exponential import Exponential
from .gamma import Gamma
from .gumbel import Gumbel
from .kl import infinite_like, register_kl
from .laplace import Laplace
from .normal import Normal
from .pareto import Pareto
from .poisson import Poisson
from .uniform import Uniform
from .utils import euler_constant

_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def _infinite(parameter: str) -> Callable[[Any, Any], Tensor]:
    """For a p that has values where q has none."""
    return lambda p, q: infinite_like(getattr(p, parameter))


_BEYOND = {
    (Beta, Pareto): "concentration1", (ContinuousBernoulli, Pareto): "probs",
    (Exponential, Beta): "rate", (Exponential, ContinuousBernoulli): "rate",
    (Exponential, Pareto): "rate", (Exponential, Uniform): "rate",
    (Gamma, Beta): "concentration", (Gamma, ContinuousBernoulli): "concentration",
    (Gamma, Pareto): "concentration", (Gamma, Uniform): "concentration",
    (Gumbel, Beta): "loc", (Gumbel, ContinuousBernoulli): "loc", (Gumbel, Exponential): "loc",
    (Gumbel, Gamma): "loc", (Gumbel, Pareto): "loc", (Gumbel, Uniform): "loc",
    (Laplace, Beta): "loc", (Laplace, ContinuousBernoulli): "loc", (Laplace, Exponential): "loc",
    (Laplace, Gamma): "loc", (Laplace, Pareto): "loc", (Laplace, Uniform): "loc",
    (Normal, Beta): "loc", (Normal, ContinuousBernoulli): "loc", (Normal, Exponential): "loc",
    (Normal, Gamma): "loc", (Normal, Pareto): "loc", (Normal, Uniform): "loc",
    (Pareto, Beta): "scale", (Pareto, ContinuousBernoulli): "scale", (Pareto, Uniform): "scale",
    (Poisson, Bernoulli): "rate", (Poisson, Binomial): "rate",
}
for (_p, _q), _name in _BEYOND.items():

    register_kl(_p, _q)(_infinite(_name))


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, ContinuousBernoulli)
def _beta_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return (-p.entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q._cont_bern_log_norm())


@register_kl(Beta, Exponential)
def _beta_exponential(p: Any, q: Any) -> Tensor:
    mean = p.concentration1 / (p.concentration1 + p.concentration0)
    return -p.entropy() - q.rate.log() + q.rate * mean


@register_kl(Beta, Gamma)
def _beta_gamma(p: Any, q: Any) -> Tensor:
    total = p.concentration1 + p.concentration0
    mean_log = p.concentration1.digamma() - total.digamma()
    return (-p.entropy() + q.concentration.lgamma() - q.concentration * q.rate.log()
            - (q.concentration - 1) * mean_log + q.rate * p.concentration1 / total)


@register_kl(Beta, Normal)
def _beta_normal(p: Any, q: Any) -> Tensor:
    return -p.entropy() + _normal_cross(p.mean, p.variance + p.mean.pow(2), q)


def _normal_cross(mean: Tensor, mean_square: Tensor, q: Any) -> Tensor:
    """``-E log q`` of a normal q, from the first two moments of p."""
    return (q.scale.log() + _HALF_LOG_2PI
            + 0.5 * (mean_square - 2 * mean * q.loc + q.loc.pow(2)) / q.scale.pow(2))


@register_kl(Beta, Uniform)
def _beta_uniform(p: Any, q: Any) -> Tensor:
    found = -p.entropy() + (q.high - q.low).log()
    return torch.where((q.low > 0) | (q.high < 1), math.inf, found)


@register_kl(ContinuousBernoulli, Exponential)
def _continuous_bernoulli_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - torch.log(q.rate) + q.rate * p.mean


@register_kl(ContinuousBernoulli, Normal)
def _continuous_bernoulli_normal(p: Any, q: Any) -> Tensor:
    return -p.entropy() + _normal_cross(p.mean, p.variance + p.mean.square(), q)


@register_kl(ContinuousBernoulli, Uniform)
def _continuous_bernoulli_uniform(p: Any, q: Any) -> Tensor:
    found = -p.entropy() + (q.high - q.low).log()
    return torch.where((q.low > 0) | (q.high < 1), math.inf, found)


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return (-q.concentration * torch.log(ratio) + ratio + q.concentration.lgamma()
            + q.concentration * euler_constant - (1 + euler_constant))


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p: Any, q: Any) -> Tensor:
    product = p.rate * q.scale
    place = q.loc / q.scale
    return product.log() - 1 + product.reciprocal() - place + torch.exp(place) * (
        product / (product + 1))


@register_kl(Exponential, Normal)
def _exponential_normal(p: Any, q: Any) -> Tensor:
    return p.rate.log() - 1 + _normal_cross(p.rate.reciprocal(), 2 * p.rate.pow(-2), q)


@register_kl(Gamma, Exponential)
def _gamma_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Gamma, Gumbel)
def _gamma_gumbel(p: Any, q: Any) -> Tensor:
    product = p.rate * q.scale
    place = q.loc / q.scale
    return ((p.concentration - 1) * p.concentration.digamma() - p.concentration.lgamma()
            - p.concentration + product.log() + p.concentration / product - place
            + torch.exp(place) * (1 + product.reciprocal()).pow(-p.concentration))


@register_kl(Gamma, Normal)
def _gamma_normal(p: Any, q: Any) -> Tensor:
    mean = p.concentration / p.rate
    return -p.entropy() + _normal_cross(mean, p.concentration / p.rate.pow(2) + mean.pow(2), q)


@register_kl(Gumbel, Normal)
def _gumbel_normal(p: Any, q: Any) -> Tensor:
    return -p.entropy() + _normal_cross(p.mean, p.variance + p.mean.pow(2), q)


@register_kl(Laplace, Normal)
def _laplace_normal(p: Any, q: Any) -> Tensor:
    return -p.entropy() + _normal_cross(p.loc, p.variance + p.loc.pow(2), q)


@register_kl(Normal, Gumbel)
def _normal_gumbel(p: Any, q: Any) -> Tensor:
    mean, square = p.loc / q.scale, (p.scale / q.scale).pow(2)
    place = q.loc / q.scale
    return (-p.scale.log() - _HALF_LOG_2PI - 0.5 + q.scale.log() + mean - place
            + torch.exp(place - mean + 0.5 * square))


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Tensor:
    gap = p.loc - q.loc
    ratio = gap / p.scale
    distance = (math.sqrt(2 / math.pi) * p.scale * torch.exp(-0.5 * ratio.pow(2))
                + gap * torch.erf(math.sqrt(0.5) * ratio))
    return -p.entropy() + torch.log(2 * q.scale) + distance / q.scale


@register_kl(Pareto, Exponential)
def _pareto_exponential(p: Any, q: Any) -> Tensor:
    product = p.scale * q.rate
    found = ((p.alpha / product).log() - p.alpha.reciprocal()
             + p.alpha * product / (p.alpha - 1) - 1)
    return torch.where(p.alpha <= 1, math.inf, found)


@register_kl(Pareto, Gamma)
def _pareto_gamma(p: Any, q: Any) -> Tensor:
    mean_log = p.scale.log() + p.alpha.reciprocal()
    found = (p.alpha.log() - mean_log + q.concentration.lgamma()
             - q.concentration * q.rate.log() + (1 - q.concentration) * mean_log
             + q.rate * p.alpha * p.scale / (p.alpha - 1) - 1)
    return torch.where(p.alpha <= 1, math.inf, found)


@register_kl(Pareto, Normal)
def _pareto_normal(p: Any, q: Any) -> Tensor:
    mean = p.alpha * p.scale / (p.alpha - 1)
    variance = p.scale.pow(2) * p.alpha / ((p.alpha - 1).pow(2) * (p.alpha - 2))
    found = -p.entropy() + _normal_cross(mean, variance + mean.pow(2), q)
    return torch.where(p.alpha <= 2, math.inf, found)


@register_kl(Uniform, Beta)
def _uniform_beta(p: Any, q: Any) -> Tensor:
    width = p.high - p.low

    def mean_log(high: Tensor, low: Tensor) -> Tensor:
        return (torch.xlogy(high, high) - torch.xlogy(low, low) - width) / width

    found = (-torch.log(width) - (q.concentration1 - 1) * mean_log(p.high, p.low)
             - (q.concentration0 - 1) * mean_log(1 - p.low, 1 - p.high)
             + q.concentration1.lgamma() + q.concentration0.lgamma()
             - (q.concentration1 + q.concentration0).lgamma())
    return torch.where((p.high > 1) | (p.low < 0), math.inf, found)


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    found = (-p.entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q._cont_bern_log_norm())
    return torch.where((p.high > 1) | (p.low < 0), math.inf, found)


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Any, q: Any) -> Tensor:
    found = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    return torch.where(p.low < 0, math.inf, found)


@register_kl(Uniform, Gamma)
def _uniform_gamma(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    mean_log = (torch.xlogy(p.high, p.high) - torch.xlogy(p.low, p.low) - width) / width
    found = (-width.log() + q.concentration.lgamma() - q.concentration * q.rate.log()
             - (q.concentration - 1) * mean_log + q.rate * (p.high + p.low) / 2)
    return torch.where(p.low < 0, math.inf, found)


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    middle = (0.5 * (p.high + p.low) - q.loc) / q.scale
    ends = torch.exp((q.loc - p.low) / q.scale) - torch.exp((q.loc - p.high) / q.scale)
    return (q.scale / width).log() + middle + q.scale / width * ends


@register_kl(Uniform, Normal)
def _uniform_normal(p: Any, q: Any) -> Tensor:
    return -(p.high - p.low).log() + _normal_cross(
        (p.high + p.low) / 2, p.variance + ((p.high + p.low) / 2).pow(2), q)


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Any, q: Any) -> Tensor:
    width = p.high - p.low
    mean_log = (torch.xlogy(p.high, p.high) - torch.xlogy(p.low, p.low) - width) / width
    found = (-q.alpha.log() - q.alpha * q.scale.log() - width.log()
             + (q.alpha + 1) * mean_log)
    return torch.where(p.low < q.support.lower_bound, math.inf, found)
