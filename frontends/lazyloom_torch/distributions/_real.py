"""Families of numbers on the whole line, on intervals with parameters for ends, and of angles."""

from __future__ import annotations

import math
from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Size, Tensor

from .._samples import draw, gamma
from . import constraints
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .utils import (
    derived,
    euler_constant,
    formula,
    lazy_property,
    standard_normal,
    undeclared,
    uniform,
)


class LocationScale(Distribution):
    """``loc + scale * z`` with z of a standard distribution, which is all that a family declares:
    what draws it, its log-density, cdf, quantiles and entropy."""

    arg_constraints: dict[str, Any] = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.real
    has_rsample = True
    mean: Any = derived(lambda d: d.loc)
    mode: Any = derived(lambda d: d.loc)
    _noise: str
    _standard_entropy: float

    def __init__(self, loc: Any, scale: Any, validate_args: Any = None) -> None:
        self._parametrise(validate_args, loc=loc, scale=scale)

    _log_density: Any = undeclared
    _probability: Any = undeclared
    _quantile: Any = undeclared
    _standardised = formula(lambda d, value: (value - d.loc) / d.scale)
    _draw = formula(lambda d, shape: d.loc + d.scale * draw(d._noise, [], shape, d.loc.dtype))
    _log_prob = formula(lambda d, value: d._log_density(d._standardised(value)) - d.scale.log())
    _cdf = formula(lambda d, value: d._probability(d._standardised(value)))
    _icdf = formula(lambda d, value: d.loc + d.scale * d._quantile(value))
    _entropy = formula(lambda d: d.scale.log() + d._standard_entropy)


class Normal(LocationScale, ExponentialFamily):
    """Normal numbers of mean ``loc`` and standard deviation ``scale``."""

    stddev = derived(lambda d: d.scale)
    variance = derived(lambda d: d.scale.square())
    _noise = "random_normal"
    _standard_entropy = (1 + math.log(2 * math.pi)) / 2
    _mean_carrier_measure = 0
    _natural_params = derived(lambda d: (d.loc / d.variance, -0.5 / d.variance))
    _log_density = formula(lambda d, z: -0.5 * (z * z + math.log(2 * math.pi)))
    _probability = formula(lambda d, z: 0.5 + 0.5 * torch.erf(z * math.sqrt(0.5)))
    _quantile = formula(lambda d, p: math.sqrt(2) * torch.erfinv(2 * p - 1))
    _log_normalizer = formula(lambda d, x, y: 0.5 * torch.log(-math.pi / y) - x * x / (4 * y))


class Cauchy(LocationScale):
    """Numbers around the median ``loc`` with half width ``scale``; there is no mean."""

    mean = derived(lambda d: torch.full_like(d.loc, math.nan))
    variance = derived(lambda d: torch.full_like(d.loc, math.inf))
    _noise = "random_cauchy"
    _standard_entropy = math.log(4 * math.pi)
    _log_density = formula(lambda d, z: -torch.log1p(z * z) - math.log(math.pi))
    _probability = formula(lambda d, z: 0.5 + torch.atan(z) / math.pi)
    _quantile = formula(lambda d, p: torch.tan((p - 0.5) * math.pi))


class Laplace(LocationScale):
    """Numbers of density ~ ``exp(-|x - loc| / scale)``."""

    stddev = derived(lambda d: math.sqrt(2) * d.scale)
    variance = derived(lambda d: 2 * d.scale.square())
    _noise = "random_laplace"
    _standard_entropy = 1 + math.log(2)
    _log_density = formula(lambda d, z: -z.abs() - math.log(2))
    _probability = formula(lambda d, z: (1 - z.sign() * torch.expm1(-z.abs())) / 2)

    def _quantile(self, p: Tensor) -> Tensor:
        above = 2 * p - 1
        return -above.sign() * torch.log1p(-above.abs())


class Gumbel(LocationScale):
    """Largest values: ``loc - scale * log(-log(u))`` of uniform u."""

    mean = derived(lambda d: d.loc + euler_constant * d.scale)
    stddev = derived(lambda d: d.scale * (math.pi / math.sqrt(6)))
    variance = derived(lambda d: d.scale.square() * (math.pi**2 / 6))
    _noise = "random_gumbel"
    _standard_entropy = 1 + euler_constant
    _log_density = formula(lambda d, z: -z - torch.exp(-z))
    _probability = formula(lambda d, z: torch.exp(-torch.exp(-z)))
    _quantile = formula(lambda d, p: -torch.log(-torch.log(p)))


class StudentT(LocationScale):
    """``loc + scale * t`` with t of ``df`` degrees of freedom."""

    df: Any
    loc: Any
    scale: Any
    arg_constraints = {"df": constraints.positive, **LocationScale.arg_constraints}
    mean = derived(lambda d: torch.where(d.df > 1, d.loc, math.nan))

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: Any = None
                 ) -> None:
        self._parametrise(validate_args, df=df, loc=loc, scale=scale)

    @property
    def variance(self) -> Tensor:
        found = torch.where(self.df > 2, self.scale.square() * self.df / (self.df - 2), math.inf)
        return torch.where(self.df > 1, found, math.nan)

    def _draw(self, shape: Size) -> Tensor:
        normal = standard_normal(shape, self.df.dtype)
        chi2 = 2 * gamma((self.df / 2).expand(shape))
        return self.loc + self.scale * normal * (self.df / chi2).sqrt()

    def _log_beta(self) -> Tensor:
        """``log B(df / 2, 1 / 2)``."""
        half = self.df / 2
        return half.lgamma() + math.lgamma(0.5) - (half + 0.5).lgamma()

    _log_density = formula(lambda d, z: (
        -(d.df + 1) / 2 * torch.log1p(z * z / d.df) - d.df.log() / 2 - d._log_beta()))

    def _entropy(self) -> Tensor:
        half = (self.df + 1) / 2
        return (half * (half.digamma() - (self.df / 2).digamma()) + self.df.log() / 2
                + self._log_beta() + self.scale.log())


class Uniform(Distribution):
    """Numbers of ``[low, high)``, each as probable as another."""

    low: Any
    high: Any
    arg_constraints = {"low": constraints.real, "high": constraints.real}
    has_rsample = True
    mean = derived(lambda d: (d.low + d.high) / 2)
    mode = derived(lambda d: torch.full_like(d.high, math.nan))
    stddev = derived(lambda d: d._width / math.sqrt(12))
    variance = derived(lambda d: d._width.square() / 12)
    _width = derived(lambda d: d.high - d.low)

    def __init__(self, low: Any, high: Any, validate_args: Any = None) -> None:
        self._parametrise(validate_args, low=low, high=high)
        if self._validate_args:
            number = getattr(self.high, "_number", None)
            high = self.high if number is None else number
            self._require("low", lambda low: low < high, "Uniform is not defined when low >= high"
                          + ("" if number is None else f" = {number!r}"))

    support = constraints.dependent_property(
        lambda d: constraints.interval(d.low, d.high), is_discrete=False, event_dim=0)
    _draw = formula(lambda d, shape: d.low + d._width * uniform(shape, d.low.dtype))
    _log_prob = formula(lambda d, value: (
        torch.where((value >= d.low) & (value < d.high), -d._width.log(), -math.inf)))
    _cdf = formula(lambda d, value: ((value - d.low) / d._width).clamp(0, 1))
    _icdf = formula(lambda d, value: d.low + d._width * value)
    _entropy = formula(lambda d: d._width.log())


class GeneralizedPareto(Distribution):
    """Excesses over the threshold ``loc``, of the tail index ``concentration``."""

    loc: Any
    scale: Any
    concentration: Any
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive,
                       "concentration": constraints.real}
    has_rsample = True
    mode = derived(lambda d: d.loc)

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: Any = None
                 ) -> None:
        self._parametrise(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """From ``loc`` to infinity, or to ``loc - scale / concentration``."""
        end = self.loc - self.scale / self.concentration
        return constraints.interval(
            self.loc, torch.where(self.concentration < 0, end, math.inf))

    def _by_tail(self, exponential: Tensor, other: Any) -> Tensor:
        """What holds where the index is 0, and ``other(index)`` elsewhere."""
        flat = torch.isclose(self.concentration, torch.zeros_like(self.concentration))
        return torch.where(flat, exponential, other(torch.where(flat, 1.0, self.concentration)))

    def _log_survival(self, value: Tensor) -> Tensor:
        y = (value - self.loc) / self.scale
        return self._by_tail(-y, lambda k: -torch.log1p(k * y) / k)

    def _log_prob(self, value: Tensor) -> Tensor:
        y = (value - self.loc) / self.scale
        return self._by_tail(-y, lambda k: -(1 + 1 / k) * torch.log1p(k * y)) - self.scale.log()

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of values above this one."""
        return self._log_survival(self._validate_sample(value))

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of :meth:`cdf`."""
        return torch.log1p(-self.log_survival_function(value).exp())

    _cdf = formula(lambda d, value: -torch.expm1(d._log_survival(value)))

    def _icdf(self, value: Tensor) -> Tensor:
        rest = torch.log1p(-value)
        return self.loc + self.scale * self._by_tail(
            -rest, lambda k: torch.expm1(-k * rest) / k)

    _draw = formula(lambda d, shape: d.icdf(uniform(shape, d.loc.dtype)))

    @property
    def mean(self) -> Tensor:
        exists = self.concentration < 1
        kept = torch.where(exists, self.concentration, 0.5)
        return torch.where(exists, self.loc + self.scale / (1 - kept), math.inf)

    @property
    def variance(self) -> Tensor:
        exists = self.concentration < 0.5
        kept = torch.where(exists, self.concentration, 0.25)
        found = (self.scale / (1 - kept)).square() / (1 - 2 * kept)
        return torch.where(exists, found, math.inf)

    _entropy = formula(lambda d: 1 + d.concentration + d.scale.log())


class VonMises(Distribution):
    """Angles around ``loc`` with density ~ ``exp(concentration * cos(x - loc))``."""

    loc: Any
    concentration: Any
    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    mean = mode = derived(lambda d: d.loc)
    #: circular: ``1 - I1(concentration) / I0(concentration)``
    variance = lazy_property(lambda d: 1 - (
        torch.special.i1e(d.concentration) / torch.special.i0e(d.concentration)))

    def __init__(self, loc: Any, concentration: Any, validate_args: Any = None) -> None:
        self._parametrise(validate_args, loc=loc, concentration=concentration)

    def _draw(self, shape: Size) -> Tensor:
        angle = draw("random_von_mises", [self.concentration.expand(shape)], shape)
        return (angle + self.loc + math.pi) % (2 * math.pi) - math.pi

    def _log_prob(self, value: Tensor) -> Tensor:
        # log I0 from the scaled function, which does not overflow
        log_i0e = torch.special.i0e(self.concentration).log()
        return (self.concentration * (torch.cos(value - self.loc) - 1) - log_i0e
                - math.log(2 * math.pi))


__all__ = [
    "Cauchy", "GeneralizedPareto", "Gumbel", "Laplace", "Normal", "StudentT", "Uniform", "VonMises",
]  # fmt: skip
