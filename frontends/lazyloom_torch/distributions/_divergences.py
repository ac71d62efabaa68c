"""Divergences of two distributions of one family."""

from __future__ import annotations

import math
from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Tensor

from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .exp_family import ExponentialFamily, result_dims
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .kl import kl_divergence, register_kl
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal, mahalanobis
from .multivariate_normal import MultivariateNormal, batch_mahalanobis
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import euler_constant, sum_rightmost


def _times_log(x: Tensor, ratio: Tensor) -> Tensor:
    """``x * log(ratio)``, 0 where x is 0."""
    return torch.where(x == 0, 0.0, x * torch.where(x == 0, 1.0, ratio).log())


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Tensor:
    softplus = torch.nn.functional.softplus
    one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    one = torch.where(q.probs == 0, math.inf, one)
    one = torch.where(p.probs == 0, 0.0, one)
    zero = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    zero = torch.where(q.probs == 1, math.inf, zero)
    zero = torch.where(p.probs == 1, 0.0, zero)
    return one + zero


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Tensor:
    total_p = p.concentration1 + p.concentration0
    total_q = q.concentration1 + q.concentration0
    normal = (q.concentration1.lgamma() + q.concentration0.lgamma() + total_p.lgamma()
              - p.concentration1.lgamma() - p.concentration0.lgamma() - total_q.lgamma())
    return (normal + (p.concentration1 - q.concentration1) * torch.digamma(p.concentration1)
            + (p.concentration0 - q.concentration0) * torch.digamma(p.concentration0)
            + (total_q - total_p) * torch.digamma(total_p))


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Tensor:
    found = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p()
                             - (-q.probs).log1p())
    return torch.where(p.total_count > q.total_count, math.inf, found)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms = torch.where(q.probs == 0, math.inf, terms)
    terms = torch.where(p.probs == 0, 0.0, terms)
    return terms.sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Tensor:
    return (p.mean * (p.logits - q.logits) + p._cont_bern_log_norm() + torch.log1p(-p.probs)
            - q._cont_bern_log_norm() - torch.log1p(-q.probs))


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Tensor:
    total_p, total_q = p.concentration.sum(-1), q.concentration.sum(-1)
    normal = total_p.lgamma() - total_q.lgamma() - (
        p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    change = p.concentration.digamma() - total_p.digamma().unsqueeze(-1)
    return normal + ((p.concentration - q.concentration) * change).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Tensor:
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed "
            "using Bregman divergences")
    of_p = [t.detach().requires_grad_() for t in p._natural_params]
    of_q = q._natural_params
    with torch.enable_grad():
        normal = p._log_normalizer(*of_p)
        slopes = torch.autograd.grad(normal.sum(), of_p, create_graph=True)
    found = q._log_normalizer(*of_q) - normal
    for a, b, slope in zip(of_p, of_q, slopes):
        found = found - sum_rightmost((b - a) * slope, result_dims(a, normal))
    return found


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Tensor:
    return (q.concentration * (p.rate / q.rate).log() + torch.lgamma(q.concentration)
            - torch.lgamma(p.concentration)
            + (p.concentration - q.concentration) * torch.digamma(p.concentration)
            + (q.rate - p.rate) * (p.concentration / p.rate))


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Tensor:
    ratio = p.scale / q.scale
    of_p, of_q = p.loc / q.scale, q.loc / q.scale
    return (-ratio.log() - of_q + of_p + ratio * euler_constant
            + torch.exp(of_q + (1 + ratio).lgamma() - of_p) - (1 + euler_constant))


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Tensor:
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Tensor:
    ratio = p.scale / q.scale
    gap = (p.loc - q.loc).abs()
    return -ratio.log() + gap / q.scale + ratio * torch.exp(-gap / p.scale) - 1


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Tensor:
    scales, ratio = p.scale / q.scale, q.alpha / p.alpha
    found = q.alpha * scales.log() - ratio.log() + ratio - 1
    return torch.where(p.support.lower_bound < q.support.lower_bound, math.inf, found)


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Tensor:
    above = ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log()
    return above - (4 * p.scale * q.scale).log()


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Tensor:
    found = ((q.high - q.low) / (p.high - p.low)).log()
    return torch.where((q.low > p.low) | (q.high < p.high), math.inf, found)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("divergences of distributions with different transforms")
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("divergences of events of different numbers of dimensions")
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


# ------------------------------------------------------------- vectors of normal numbers


def _half_log_det(factor: Tensor) -> Tensor:
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _trace(factor: Tensor, matrix: Tensor) -> Tensor:
    """The trace of ``inv(L L^T) @ M M^T`` for a factor L and a matrix M."""
    batch = torch.broadcast_shapes(factor.shape[:-2], matrix.shape[:-2])
    found = torch.linalg.solve_triangular(
        factor.expand((*batch, *factor.shape[-2:])), matrix.expand((*batch, *matrix.shape[-2:])),
        upper=False)
    return found.pow(2).sum((-2, -1))


def _same_size(p: Any, q: Any) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two multivariate normals with different event shapes cannot be "
            "computed")


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate(p: Any, q: Any) -> Tensor:
    _same_size(p, q)
    of_p, of_q = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    trace = _trace(of_q, of_p)
    distance = batch_mahalanobis(of_q, q.loc - p.loc)
    return _half_log_det(of_q) - _half_log_det(of_p) + 0.5 * (
        trace + distance - p.event_shape[0])


def _root(p: Any) -> Tensor:
    """A matrix M with the covariance ``M @ M.T``."""
    if isinstance(p, MultivariateNormal):
        return p._unbroadcasted_scale_tril
    diagonal = torch.diag_embed(p._unbroadcasted_cov_diag.sqrt())
    factor = p._unbroadcasted_cov_factor
    batch = torch.broadcast_shapes(diagonal.shape[:-2], factor.shape[:-2])
    return torch.cat([m.expand((*batch, *m.shape[-2:])) for m in (factor, diagonal)], -1)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _to_low_rank(p: Any, q: Any) -> Tensor:
    _same_size(p, q)
    log_det_p = p._log_det() if isinstance(p, LowRankMultivariateNormal) else (
        2 * _half_log_det(p._unbroadcasted_scale_tril))
    factor, diag = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag
    distance = mahalanobis(factor, diag, q.loc - p.loc, q._capacitance_tril)
    root = _root(p)
    own = (root.pow(2) / diag.unsqueeze(-1)).sum((-2, -1))
    inner = torch.matmul(factor.mT / diag.unsqueeze(-2), root)
    trace = own - _trace(q._capacitance_tril, inner)
    return 0.5 * (q._log_det() - log_det_p + trace + distance - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _low_rank_to_full(p: Any, q: Any) -> Tensor:
    _same_size(p, q)
    factor = q._unbroadcasted_scale_tril
    distance = batch_mahalanobis(factor, q.loc - p.loc)
    trace = _trace(factor, _root(p))
    return 0.5 * (2 * _half_log_det(factor) - p._log_det() + trace + distance - p.event_shape[0])


