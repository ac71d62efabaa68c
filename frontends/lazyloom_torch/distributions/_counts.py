"""Families of counts and of categories."""

from __future__ import annotations

import math
from typing import Any

import lazyloom_torch as torch
from lazyloom_torch import Size, Tensor
from lazyloom_torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid, one_hot

from .._samples import draw, gamma
from . import constraints
from .distribution import ByProbabilityOrLogit, Distribution
from .exp_family import ExponentialFamily
from .utils import broadcast_all, checked, derived, formula, is_number, uniform


def log_ways(total: Tensor, part: Tensor) -> Tensor:
    """The logarithm of the number of ways to choose a part of a total."""
    return (total + 1).lgamma() - (part + 1).lgamma() - (total - part + 1).lgamma()


def _entropy_of_trial(d: ByProbabilityOrLogit) -> Any:
    return binary_cross_entropy_with_logits(d.logits, d.probs, reduction="none")


class Bernoulli(ByProbabilityOrLogit, ExponentialFamily):
    """1 with probability ``probs`` (or log odds ``logits``), 0 otherwise."""

    support = constraints.boolean
    has_enumerate_support = True
    mean = derived(lambda d: d.probs)
    mode = derived(lambda d: torch.where(
        d.probs == 0.5, math.nan, (d.probs > 0.5).to(d.probs.dtype)))
    variance = derived(lambda d: d.probs * (1 - d.probs))
    _mean_carrier_measure = 0
    _natural_params = derived(lambda d: (torch.logit(d.probs),))
    _draw = formula(lambda d, shape: draw(
        "random_bernoulli", [d.probs.expand(shape)], shape).to(d._param.dtype))
    _values = formula(lambda d: torch.arange(2, dtype=d._param.dtype))
    _entropy = formula(lambda d: _entropy_of_trial(d))
    _log_normalizer = formula(lambda d, x: x.exp().log1p())

    def _log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value.to(logits.dtype), reduction="none")


class Geometric(ByProbabilityOrLogit):
    """How many trials fail before the first success, each with probability ``probs``."""

    support = constraints.nonnegative_integer
    mean = derived(lambda d: 1 / d.probs - 1)
    mode = derived(lambda d: torch.zeros_like(d.probs))
    variance = derived(lambda d: d.mean / d.probs)
    _entropy = formula(lambda d: _entropy_of_trial(d) / d.probs)

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        super().__init__(probs, logits, validate_args)
        if self._validate_args and probs is not None:
            self._require("probs", lambda p: p > 0, (
                "Expected parameter probs of distribution Geometric to be positive"))

    def _draw(self, shape: Size) -> Tensor:
        tiny = torch.finfo(self.probs.dtype).tiny
        waiting = -uniform(shape, self.probs.dtype).clamp(min=tiny).log()
        return (waiting / -torch.log1p(-self.probs)).floor()

    _log_prob = formula(lambda d, value: (
        value * torch.log1p(-torch.where((d.probs == 1) & (value == 0), 0.0, d.probs))
        + d.probs.log()))


class Poisson(ExponentialFamily):
    """Counts of events that come at ``rate``."""

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    mean = variance = derived(lambda d: d.rate)
    mode = derived(lambda d: d.rate.floor())
    _natural_params = derived(lambda d: (d.rate.log(),))

    def __init__(self, rate: Any, validate_args: Any = None) -> None:
        self._parametrise(validate_args, rate=rate)

    _draw = formula(lambda d, shape: draw(
        "random_poisson", [d.rate.expand(shape)], shape).to(d.rate.dtype))
    _log_prob = formula(lambda d, value: torch.xlogy(value, d.rate) - (value + 1).lgamma() - d.rate)
    _log_normalizer = formula(lambda d, x: x.exp())


class Binomial(ByProbabilityOrLogit):
    """How many of ``total_count`` trials succeed, each with probability ``probs``."""

    total_count: Any
    arg_constraints = {"total_count": constraints.nonnegative_integer,
                       **ByProbabilityOrLogit.arg_constraints}
    has_enumerate_support = True
    mean = derived(lambda d: d.total_count * d.probs)
    mode = derived(lambda d: ((d.total_count + 1) * d.probs).floor().clamp(max=d.total_count))
    variance = derived(lambda d: d.mean * (1 - d.probs))

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None,
                 validate_args: Any = None) -> None:
        chosen = self._choose(probs, logits)
        self._parametrise(validate_args, total_count=total_count, **chosen)
        self.total_count = self.total_count.to(self._param.dtype)
        #: the largest count, if it is known without looking at data
        self._most = int(total_count) if is_number(total_count) else None

    support = constraints.dependent_property(
        lambda d: constraints.integer_interval(0, d.total_count), is_discrete=True, event_dim=0)
    _draw = formula(lambda d, shape: draw(
        "random_binomial", [d.total_count.expand(shape), d.probs.expand(shape)], shape).to(
            d._param.dtype))
    # log(1 - probs) by logsigmoid, which has the right gradient at 0, too
    _log_prob = formula(lambda d, value: (
        log_ways(d.total_count, value) + value * d.logits + d.total_count * logsigmoid(-d.logits)))

    def _values(self) -> Tensor:
        if self._most is None:
            self._most = int(self.total_count.max())
            self.total_count = checked(self.total_count, self.total_count == self._most, (
                "Inhomogeneous total count not supported by `enumerate_support`"))
        return torch.arange(self._most + 1, dtype=self._param.dtype)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """0 to ``total_count``, which must be one number. Reads it if it is a tensor."""
        return super().enumerate_support(expand)

    def _entropy(self) -> Tensor:
        log_prob = self._log_prob(self.enumerate_support(False))
        return -(log_prob * log_prob.exp()).sum(0)


class NegativeBinomial(ByProbabilityOrLogit):
    """How many trials succeed, each with probability ``probs``, before ``total_count`` fail."""

    total_count: Any
    arg_constraints = {"total_count": constraints.greater_than_eq(0),
                       "probs": constraints.half_open_interval(0.0, 1.0),
                       "logits": constraints.real}
    support = constraints.nonnegative_integer
    mean = derived(lambda d: d.total_count * d.logits.exp())
    mode = derived(lambda d: ((d.total_count - 1) * d.logits.exp()).floor().clamp(min=0))
    variance = derived(lambda d: d.mean / torch.sigmoid(-d.logits))

    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None,
                 validate_args: Any = None) -> None:
        chosen = self._choose(probs, logits)
        self._parametrise(validate_args, total_count=total_count, **chosen)
        self.total_count = self.total_count.to(self._param.dtype)

    def _draw(self, shape: Size) -> Tensor:
        # Poisson numbers of gamma rates
        rate = gamma(self.total_count.expand(shape)) * self.logits.exp()
        return draw("random_poisson", [rate], shape).to(rate.dtype)

    def _log_prob(self, value: Tensor) -> Tensor:
        n, total = self.total_count, self.total_count + value
        ways = torch.where(total == 0, 0.0, total.lgamma() - n.lgamma() - (value + 1).lgamma())
        return ways + n * logsigmoid(-self.logits) + value * logsigmoid(self.logits)


class Categorical(ByProbabilityOrLogit):
    """One of the numbers 0 to K - 1, with weights in the last dimension of ``probs``, or of
    ``logits`` (their logarithms)."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    mean = variance = derived(lambda d: torch.full_like(d.probs[..., 0], math.nan))
    mode = derived(lambda d: d.probs.argmax(-1))
    _binary = False
    _num_events = derived(lambda d: d._param.shape[-1])

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        ((name, given),) = self._choose(probs, logits).items()
        if given.ndim == 0:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if probs is not None:
            self.probs = given / given.sum(-1, keepdim=True)
        else:
            self.logits = given - given.logsumexp(-1, keepdim=True)
        Distribution.__init__(self, given.shape[:-1], validate_args=validate_args)

    support = constraints.dependent_property(
        lambda d: constraints.integer_interval(0, d._num_events - 1), is_discrete=True, event_dim=0)

    def _draw(self, shape: Size) -> Tensor:
        # exact weights, zeros too: the logits of probabilities are kept off 0
        weights = self.probs.log() if self._given == "probs" else self.logits
        return draw("random_categorical", [weights], shape).to(torch.int64)

    def _log_prob(self, value: Tensor) -> Tensor:
        shape = torch.broadcast_shapes(value.shape, self._batch_shape)
        at = value.long().expand(shape).unsqueeze(-1)
        return self.logits.expand((*shape, -1)).gather(-1, at).squeeze(-1)

    _values = formula(lambda d: torch.arange(d._num_events))
    _entropy = formula(lambda d: (
        -(d.probs * d.logits.clamp(min=torch.finfo(d.logits.dtype).min)).sum(-1)))


class OfCategories(Distribution):
    """A family whose values are vectors with an element for each category.

    A categorical distribution inside has its parameters.
    """

    arg_constraints: Any = Categorical.arg_constraints
    probs: Any = derived(lambda d: d._categorical.probs)
    logits: Any = derived(lambda d: d._categorical.logits)
    _param: Any = derived(lambda d: d._categorical._param)
    param_shape: Any = derived(lambda d: d._categorical.param_shape)

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        self._categorical = Categorical(probs, logits, validate_args)
        shape = self.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args)

    def _expand_into(self, new: Any, batch_shape: Any) -> None:
        new._categorical = self._categorical.expand(batch_shape)

    _one_hot = formula(lambda d, places: one_hot(places, d._event_shape[0]).to(d._param.dtype))


class OneHotCategorical(OfCategories):
    """Vectors that are 1 in the place of a category and 0 elsewhere."""

    support = constraints.one_hot
    has_enumerate_support = True
    mean = derived(lambda d: d.probs)
    mode = derived(lambda d: d._one_hot(d._categorical.mode))
    variance = derived(lambda d: d.probs * (1 - d.probs))
    _draw = formula(lambda d, shape: d._one_hot(d._categorical._draw(shape[:-1])))
    _log_prob = formula(lambda d, value: d._categorical._log_prob(value.argmax(-1)))
    _values = formula(lambda d: torch.eye(d._event_shape[0], dtype=d._param.dtype))
    _entropy = formula(lambda d: d._categorical.entropy())


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot vectors whose gradient is that of the probabilities."""

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        with torch.no_grad():
            found = self._draw(self._extended_shape(sample_shape))
        return found + (self.probs - self.probs.detach())


class Multinomial(OfCategories):
    """How often each category comes up in ``total_count`` draws."""

    mean = derived(lambda d: d.total_count * d.probs)
    variance = derived(lambda d: d.mean * (1 - d.probs))

    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None,
                 validate_args: Any = None) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)

    support = constraints.dependent_property(
        lambda d: constraints.multinomial(d.total_count), is_discrete=True, event_dim=1)
    _draw = formula(lambda d, shape: (
        d._one_hot(d._categorical._draw(Size((d.total_count, *shape[:-1])))).sum(0)))

    def _log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        # a category that cannot come up has not come up
        logits = torch.where((value == 0) & (logits == -math.inf), 0.0, logits)
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return ways + (value * logits).sum(-1)

    def _entropy(self) -> Tensor:
        """By the binomial distributions of the counts, one for each category."""
        one = Binomial(self.total_count, self.probs, validate_args=False)
        counts = one.enumerate_support(False)
        ways = (one._log_prob(counts).exp() * (counts + 1).lgamma()).sum((0, -1))
        return (self.total_count * self._categorical.entropy() + ways
                - math.lgamma(self.total_count + 1))


__all__ = [
    "Bernoulli", "Binomial", "Categorical", "Geometric", "Multinomial", "NegativeBinomial",
    "OneHotCategorical", "OneHotCategoricalStraightThrough", "Poisson",
]  # fmt: skip
