"""Families of what maps make of the numbers of others."""

from __future__ import annotations

import math
from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Size, Tensor

from .._samples import draw
from . import constraints
from ._counts import OfCategories
from ._positive import Exponential, Gamma
from ._real import Cauchy, Normal, Uniform
from .distribution import ByProbabilityOrLogit
from .transformed_distribution import TransformedDistribution
from .transforms import (
    AbsTransform,
    AffineTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    StickBreakingTransform,
)
from .utils import (
    broadcast_all,
    clamp_probs,
    delegated,
    derived,
    euler_constant,
    formula,
    uniform,
)


class Mapped(TransformedDistribution):
    """A family of what maps make of the numbers of another."""

    has_rsample = True


class LogNormal(Mapped):
    """Exponentials of normal numbers."""

    arg_constraints = Normal.arg_constraints
    support = constraints.positive
    loc, scale = delegated("base_dist.loc"), delegated("base_dist.scale")
    mean = derived(lambda d: (d.loc + d._square / 2).exp())
    mode = derived(lambda d: (d.loc - d._square).exp())
    variance = derived(lambda d: d._square.expm1() * (2 * d.loc + d._square).exp())
    _square = derived(lambda d: d.scale.square())

    def __init__(self, loc: Any, scale: Any, validate_args: Any = None) -> None:
        base = Normal(loc, scale, validate_args=False)
        super().__init__(base, ExpTransform(), validate_args)

    _entropy = formula(lambda d: d.loc + d.base_dist.entropy())


class LogisticNormal(Mapped):
    """Points of a simplex from vectors of normal numbers, one shorter, by stick breaking."""

    arg_constraints = Normal.arg_constraints
    support = constraints.simplex
    loc, scale = delegated("base_dist.base_dist.loc"), delegated("base_dist.base_dist.scale")

    def __init__(self, loc: Any, scale: Any, validate_args: Any = None) -> None:
        base = Normal(loc, scale, validate_args=False)
        super().__init__(base if base.batch_shape else base.expand((1,)),
                         StickBreakingTransform(), validate_args)


class _Half(Mapped):
    """Absolute values of the numbers of a family around 0."""

    arg_constraints: Any = {"scale": constraints.positive}
    support: Any = constraints.nonnegative
    scale: Any = delegated("base_dist.scale")
    mode: Any = derived(lambda d: torch.zeros_like(d.scale))
    _whole: Any

    def __init__(self, scale: Any, validate_args: Any = None) -> None:
        base = self._whole(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args)

    _log_prob = formula(lambda d, value: (
        torch.where(value < 0, -math.inf, d.base_dist.log_prob(value) + math.log(2))))
    _cdf = formula(lambda d, value: 2 * d.base_dist.cdf(value) - 1)
    _icdf = formula(lambda d, value: d.base_dist.icdf(0.5 + value / 2))
    _entropy = formula(lambda d: d.base_dist.entropy() - math.log(2))


class HalfNormal(_Half):
    """Absolute values of normal numbers around 0."""

    mean = derived(lambda d: math.sqrt(2 / math.pi) * d.scale)
    variance = derived(lambda d: (1 - 2 / math.pi) * d.scale.square())
    _whole = Normal


class HalfCauchy(_Half):
    """Absolute values of Cauchy numbers around 0."""

    mean = variance = derived(lambda d: torch.full_like(d.scale, math.inf))
    _whole = Cauchy

    def log_prob(self, value: Any) -> Tensor:
        return super().log_prob(torch.as_tensor(value, dtype=self.scale.dtype))


class InverseGamma(Mapped):
    """Reciprocals of gamma numbers."""

    arg_constraints = Gamma.arg_constraints
    support = constraints.positive
    concentration, rate = delegated("base_dist.concentration"), delegated("base_dist.rate")
    mean = derived(lambda d: torch.where(
        d.concentration > 1, d.rate / (d.concentration - 1), math.inf))
    mode = derived(lambda d: d.rate / (d.concentration + 1))
    variance = derived(lambda d: torch.where(d.concentration > 2, (
        d.rate / (d.concentration - 1)).square() / (d.concentration - 2), math.inf))

    def __init__(self, concentration: Any, rate: Any, validate_args: Any = None) -> None:
        base = Gamma(concentration, rate, validate_args=False)
        super().__init__(base, PowerTransform(base.rate.new_full((), -1)), validate_args)

    _entropy = formula(lambda d: (
        d.concentration - (d.concentration + 1) * d.concentration.digamma()
        + d.concentration.lgamma() + d.rate.log()))


class Pareto(Mapped):
    """Numbers above ``scale`` with density ~ ``x**-(alpha + 1)``."""

    alpha: Any
    scale: Any
    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    mode = derived(lambda d: d.scale)

    def __init__(self, scale: Any, alpha: Any, validate_args: Any = None) -> None:
        self._parametrise(validate_args, scale=scale, alpha=alpha)
        self._map(Exponential(self.alpha, validate_args=False),
                  [ExpTransform(), AffineTransform(0, self.scale)])

    support = constraints.dependent_property(
        lambda d: constraints.greater_than_eq(d.scale), is_discrete=False, event_dim=0)
    mean = derived(lambda d: d.scale * (1 + 1 / (d.alpha - 1).clamp(min=0)))

    @property
    def variance(self) -> Tensor:
        a = self.alpha.clamp(min=2)
        return (self.scale / (a - 1)).square() * (a / (a - 2))

    _entropy = formula(lambda d: 1 + 1 / d.alpha + d.scale.log() - d.alpha.log())


class Weibull(Mapped):
    """Positive numbers with the cdf ``1 - exp(-(x / scale)**concentration)``."""

    scale: Any
    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    concentration_reciprocal = derived(lambda d: 1 / d.concentration)
    mean = derived(lambda d: d.scale * d._gamma(1))
    mode = derived(
        lambda d: d.scale * (1 - d.concentration_reciprocal) ** d.concentration_reciprocal)
    variance = derived(lambda d: d.scale.square() * (d._gamma(2) - d._gamma(1).square()))

    def __init__(self, scale: Any, concentration: Any, validate_args: Any = None) -> None:
        self._parametrise(validate_args, scale=scale, concentration=concentration)
        self._map(Exponential(torch.ones_like(self.scale), validate_args=False), [
            PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)])

    def _gamma(self, n: int) -> Tensor:
        """The mean of ``(x / scale)**n``."""
        return (1 + n * self.concentration_reciprocal).lgamma().exp()

    _entropy = formula(lambda d: (
        1 + (1 - d.concentration_reciprocal) * euler_constant
        + (d.scale * d.concentration_reciprocal).log()))


class Kumaraswamy(Mapped):
    """Numbers between 0 and 1 with the cdf ``1 - (1 - x**a)**b``."""

    concentration0: Any
    concentration1: Any
    arg_constraints = {"concentration1": constraints.positive,
                       "concentration0": constraints.positive}
    support = constraints.unit_interval
    mean = derived(lambda d: d._moment(1))
    variance = derived(lambda d: d._moment(2) - d._moment(1).square())

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: Any = None
                 ) -> None:
        self._parametrise(
            validate_args, concentration1=concentration1, concentration0=concentration0)
        a, b = self.concentration1, self.concentration0
        base = Uniform(torch.zeros_like(a), torch.ones_like(a), validate_args=False)
        self._map(base, [
            PowerTransform(1 / b), AffineTransform(1.0, -1.0), PowerTransform(1 / a)])

    def _moment(self, n: int) -> Tensor:
        """The mean of ``x**n``."""
        b, c = self.concentration0, 1 + n / self.concentration1
        return b * (b.lgamma() + c.lgamma() - (b + c).lgamma()).exp()

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        exists = (a >= 1) & (b >= 1) & (a * b > 1)
        return torch.where(exists, ((a - 1).log() - (a * b - 1).log()).div(a).exp(), math.nan)

    _entropy = formula(lambda d: (
        1 - 1 / d.concentration0
        + (1 - 1 / d.concentration1) * ((d.concentration0 + 1).digamma() + euler_constant)
        - (d.concentration1 * d.concentration0).log()))


class LogitRelaxedBernoulli(ByProbabilityOrLogit):
    """Log odds of relaxed Bernoulli numbers. Maddison, Mnih and Teh, The Concrete distribution
    (2017)."""

    support = constraints.real
    has_rsample = True

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
                 validate_args: Any = None) -> None:
        self.temperature = temperature
        self._parametrise(validate_args, **self._choose(probs, logits))

    def _draw(self, shape: Size) -> Tensor:
        u, p = clamp_probs(uniform(shape, self.probs.dtype)), clamp_probs(self.probs)
        return (torch.logit(u) + torch.logit(p)) / self.temperature

    def _log_prob(self, value: Tensor) -> Tensor:
        gap = self.logits - value * self.temperature
        return torch.as_tensor(self.temperature).log() + gap - 2 * gap.exp().log1p()


class _Relaxed(Mapped):
    temperature: Any = delegated("base_dist.temperature")
    probs: Any = derived(lambda d: d.base_dist.probs)
    logits: Any = derived(lambda d: d.base_dist.logits)
    _relaxed: Any

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
                 validate_args: Any = None) -> None:
        kind, transform = self._relaxed
        base = kind(temperature, probs, logits, validate_args)
        super().__init__(base, transform(), validate_args)


class RelaxedBernoulli(_Relaxed):
    """Numbers between 0 and 1 that are Bernoulli ones as the temperature goes to 0."""

    arg_constraints = LogitRelaxedBernoulli.arg_constraints
    support = constraints.unit_interval
    _relaxed = (LogitRelaxedBernoulli, SigmoidTransform)


class ExpRelaxedCategorical(OfCategories):
    """Logarithms of relaxed one-hot vectors. Maddison, Mnih and Teh (2017); Jang, Gu and Poole
    (2017)."""

    support = constraints.real_vector
    has_rsample = True

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
                 validate_args: Any = None) -> None:
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)

    def _draw(self, shape: Size) -> Tensor:
        noise = draw("random_gumbel", [], shape, self.logits.dtype)
        return ((noise + self.logits) / self.temperature).log_softmax(-1)

    def _log_prob(self, value: Tensor) -> Tensor:
        n = self._event_shape[0]
        logits, value = broadcast_all(self.logits, value)
        temperature = torch.as_tensor(self.temperature, dtype=logits.dtype)
        scores = (logits - value * temperature).log_softmax(-1)
        return scores.sum(-1) + (n - 1) * temperature.log() + math.lgamma(n)


class RelaxedOneHotCategorical(_Relaxed):
    """Points of a simplex that are one-hot vectors as the temperature goes to 0."""

    arg_constraints = OfCategories.arg_constraints
    support = constraints.simplex
    _relaxed = (ExpRelaxedCategorical, ExpTransform)


__all__ = [
    "ExpRelaxedCategorical", "HalfCauchy", "HalfNormal", "InverseGamma", "Kumaraswamy", "LogNormal",
    "LogisticNormal", "LogitRelaxedBernoulli", "Pareto", "RelaxedBernoulli",
    "RelaxedOneHotCategorical", "Weibull",
]  # fmt: skip
