"""Families of positive numbers, of numbers between 0 and 1, and of points of a simplex."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Size, Tensor
from lazyloom_torch.nn.functional import binary_cross_entropy_with_logits

from .._samples import dirichlet, draw, gamma
from . import constraints
from .distribution import ByProbabilityOrLogit, Distribution
from .exp_family import ExponentialFamily
from .utils import (
    broadcast_all,
    clamp_probs,
    derived,
    formula,
    is_number,
    lazy_property,
    logits_to_probs,
    uniform,
)


class Exponential(ExponentialFamily):
    """Waiting times of events that come at ``rate``."""

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    mean = stddev = derived(lambda d: 1 / d.rate)
    mode = derived(lambda d: torch.zeros_like(d.rate))
    variance = derived(lambda d: d.rate**-2)
    _mean_carrier_measure = 0
    _natural_params = derived(lambda d: (-d.rate,))

    def __init__(self, rate: Any, validate_args: Any = None) -> None:
        self._parametrise(validate_args, rate=rate)

    _draw = formula(lambda d, shape: draw("random_exponential", [], shape, d.rate.dtype) / d.rate)
    _log_prob = formula(lambda d, value: d.rate.log() - value * d.rate)
    _cdf = formula(lambda d, value: -torch.expm1(-value * d.rate))
    _icdf = formula(lambda d, value: -torch.log1p(-value) / d.rate)
    _entropy = formula(lambda d: 1 - d.rate.log())
    _log_normalizer = formula(lambda d, x: -torch.log(-x))


class Gamma(ExponentialFamily):
    """Positive numbers of density ~ ``x**(concentration - 1) * exp(-rate * x)``."""

    concentration: Any
    rate: Any
    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    mean = derived(lambda d: d.concentration / d.rate)
    mode = derived(lambda d: (d.concentration - 1).clamp(min=0) / d.rate)
    variance = derived(lambda d: d.concentration / d.rate.square())
    _mean_carrier_measure = 0
    _natural_params = derived(lambda d: (d.concentration - 1, -d.rate))

    def __init__(self, concentration: Any, rate: Any, validate_args: Any = None) -> None:
        self._parametrise(validate_args, concentration=concentration, rate=rate)

    def _draw(self, shape: Size) -> Tensor:
        found = gamma(self.concentration.expand(shape)) / self.rate
        return found.clamp(min=torch.finfo(found.dtype).tiny)

    def log_prob(self, value: Any) -> Tensor:
        return super().log_prob(torch.as_tensor(value, dtype=self.rate.dtype))

    _log_prob = formula(lambda d, value: (
        torch.xlogy(d.concentration, d.rate) + torch.xlogy(d.concentration - 1, value)
        - d.concentration.lgamma() - value * d.rate))
    _cdf = formula(lambda d, value: torch.special.gammainc(d.concentration, value * d.rate))
    _entropy = formula(lambda d: (
        d.concentration + (1 - d.concentration) * d.concentration.digamma()
        + d.concentration.lgamma() - d.rate.log()))
    _log_normalizer = formula(lambda d, x, y: (x + 1).lgamma() - (x + 1) * torch.log(-y))


class Chi2(Gamma):
    """The sum of ``df`` squares of standard normal numbers."""

    arg_constraints = {"df": constraints.positive}
    df = property(lambda d: 2 * d.concentration,
                  lambda d, value: setattr(d, "concentration", value / 2),
                  doc="Degrees of freedom.")

    def __init__(self, df: Any, validate_args: Any = None) -> None:
        if is_number(df):
            df = torch.tensor(float(df))
        super().__init__(df / 2, 0.5, validate_args)

    def _expand_into(self, new: Any, batch_shape: Size) -> None:
        new.concentration = self.concentration.expand(batch_shape)
        new.rate = self.rate.expand(batch_shape)


class FisherSnedecor(Distribution):
    """The ratio of two mean squares of ``df1`` and ``df2`` standard normal numbers."""

    df1: Any
    df2: Any
    arg_constraints = dict.fromkeys(("df1", "df2"), constraints.positive)
    support = constraints.positive
    has_rsample = True
    mean = derived(lambda d: torch.where(d.df2 > 2, d.df2, math.nan) / (d.df2 - 2))
    mode = derived(lambda d: torch.where(
        d.df1 > 2, (1 - 2 / d.df1) * d.df2 / (d.df2 + 2), math.nan))

    def __init__(self, df1: Any, df2: Any, validate_args: Any = None) -> None:
        self._parametrise(validate_args, df1=df1, df2=df2)

    @property
    def variance(self) -> Tensor:
        m, n = self.df1, torch.where(self.df2 > 4, self.df2, math.nan)
        return 2 * (n / (n - 2)).square() * (m + n - 2) / (m * (n - 4))

    def _draw(self, shape: Size) -> Tensor:
        above, below = (gamma((df / 2).expand(shape)) / df for df in (self.df1, self.df2))
        tiny = torch.finfo(below.dtype).tiny
        return (above / below.clamp(min=tiny)).clamp(min=tiny)

    def _log_prob(self, value: Tensor) -> Tensor:
        a, b, ratio = self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        log_beta = a.lgamma() + b.lgamma() - (a + b).lgamma()
        return (a * ratio.log() + (a - 1) * value.log() - log_beta
                - (a + b) * torch.log1p(value * ratio))


class Dirichlet(ExponentialFamily):
    """Points of a simplex of density ~ the product of ``x_i**(concentration_i - 1)``."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    mean = derived(lambda d: d.concentration / d._total)
    _total = derived(lambda d: d.concentration.sum(-1, keepdim=True))
    _mean_carrier_measure = 0
    _natural_params = derived(lambda d: (d.concentration,))

    def __init__(self, concentration: Tensor, validate_args: Any = None) -> None:
        if concentration.ndim == 0:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    def _draw(self, shape: Size) -> Tensor:
        return dirichlet(self.concentration.expand(shape))

    _log_prob = formula(lambda d, value: (
        torch.xlogy(d.concentration - 1, value).sum(-1) - d._log_normalizer(d.concentration)))

    @property
    def mode(self) -> Tensor:
        a = self.concentration
        above = (a - 1).clamp(min=0)
        # where every corner is a mode, that of the largest concentration
        corner = torch.nn.functional.one_hot(a.argmax(-1), a.shape[-1]).to(a.dtype)
        return torch.where((a < 1).all(-1, keepdim=True), corner,
                           above / above.sum(-1, keepdim=True))

    variance = derived(lambda d: d.mean * (1 - d.mean) / (d._total + 1))

    def _entropy(self) -> Tensor:
        a, total = self.concentration, self._total.squeeze(-1)
        return (self._log_normalizer(a) + (total - a.shape[-1]) * total.digamma()
                - ((a - 1) * a.digamma()).sum(-1))

    _log_normalizer = formula(lambda d, x: x.lgamma().sum(-1) - x.sum(-1).lgamma())


class Beta(ExponentialFamily):
    """Numbers between 0 and 1 of density ~ ``x**(a - 1) * (1 - x)**(b - 1)``: the first of the
    coordinates of a Dirichlet distribution of two."""

    arg_constraints = {"concentration1": constraints.positive,
                       "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    concentration1 = derived(lambda d: d._dirichlet.concentration[..., 0])
    concentration0 = derived(lambda d: d._dirichlet.concentration[..., 1])
    mean, mode, variance = (
        derived(lambda d, n=n: getattr(d._dirichlet, n)[..., 0])  # type: ignore[misc]
        for n in ("mean", "mode", "variance"))
    _mean_carrier_measure = 0
    _natural_params = derived(lambda d: (d.concentration1, d.concentration0))

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: Any = None
                 ) -> None:
        both = torch.stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args)
        super().__init__(both.shape[:-1], validate_args=validate_args)

    def _expand_into(self, new: Any, batch_shape: Any) -> None:
        new._dirichlet = self._dirichlet.expand(batch_shape)

    _draw = formula(lambda d, shape: d._dirichlet._draw(Size((*shape, 2)))[..., 0])
    _log_prob = formula(lambda d, value: d._dirichlet._log_prob(
        torch.stack([value, 1 - value], -1)))
    _entropy = formula(lambda d: d._dirichlet.entropy())
    _log_normalizer = formula(lambda d, x, y: x.lgamma() + y.lgamma() - (x + y).lgamma())


class ContinuousBernoulli(ByProbabilityOrLogit, ExponentialFamily):
    """Numbers between 0 and 1 of density ~ ``probs**x * (1 - probs)**(1 - x)``.

    Between the numbers ``lims`` of probs, around 1/2, a Taylor series is used. Loaiza-Ganem and
    Cunningham, The continuous Bernoulli (2019).
    """

    support = constraints.unit_interval
    has_rsample = True
    probs = lazy_property(lambda d: clamp_probs(logits_to_probs(d.logits, True)))
    _mean_carrier_measure = 0
    _natural_params = derived(lambda d: (d.logits,))
    _log_weight = derived(lambda d: d._cont_bern_log_norm() + torch.log1p(-d.probs))
    _entropy = formula(lambda d: -d.mean * d.logits - d._log_weight)

    def __init__(self, probs: Any = None, logits: Any = None, lims: Any = (0.499, 0.501),
                 validate_args: Any = None) -> None:
        self._lims = lims
        self._parametrise(validate_args, **self._choose(probs, logits))
        if probs is not None:
            self.probs = clamp_probs(self.probs)

    def _by_probs(self, exact: Callable[[Tensor, Tensor, Tensor], Tensor],
                  near: Callable[[Tensor], Tensor]) -> Tensor:
        """``exact(probs, 1 - 2 probs, -logits)``, or ``near(probs - 1 / 2)`` around 1 / 2."""
        outside = (self.probs <= self._lims[0]) | (self.probs > self._lims[1])
        p = torch.where(outside, self.probs, self._lims[0])
        return torch.where(
            outside, exact(p, 1 - 2 * p, torch.log1p(-p) - p.log()), near(self.probs - 0.5))

    _cont_bern_log_norm = formula(lambda d: d._by_probs(
        lambda p, gap, odds: (odds / gap).log(),
        lambda x: math.log(2) + (4 / 3 + 104 / 45 * x * x) * x * x))
    mean = derived(lambda d: d._by_probs(
        lambda p, gap, odds: 1 / odds - p / gap, lambda x: 0.5 + (1 / 3 + 16 / 45 * x * x) * x))
    variance = derived(lambda d: d._by_probs(
        lambda p, gap, odds: odds**-2 - p * (1 - p) / gap.square(),
        lambda x: 1 / 12 - (1 / 15 - 128 / 945 * x * x) * x * x))
    _icdf = formula(lambda d, value: d._by_probs(
        lambda p, gap, odds: -torch.log1p(value * gap / (p - 1)) / odds, lambda x: value))
    _draw = formula(lambda d, shape: d.icdf(uniform(shape, d.probs.dtype)))

    def _log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        return self._cont_bern_log_norm() - binary_cross_entropy_with_logits(
            logits, value, reduction="none")

    def _cdf(self, value: Tensor) -> Tensor:
        found = self._by_probs(
            lambda p, gap, odds: (p - 1) * torch.expm1(-odds * value) / gap, lambda x: value)
        return torch.where(value <= 0, 0.0, torch.where(value >= 1, 1.0, found))

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        low, high = (limit - 0.5 for limit in self._lims)
        outside = (x <= low) | (x > high)
        kept = torch.where(outside, x, low)
        return torch.where(outside, (torch.expm1(kept) / kept).log(),
                           x / 2 + x.square() / 24 - x**4 / 2880)


__all__ = [
    "Beta", "Chi2", "ContinuousBernoulli", "Dirichlet", "Exponential", "FisherSnedecor", "Gamma",
]  # fmt: skip
