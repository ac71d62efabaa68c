"""Random numbers of distributions that are drawn by rejection or by search.

Each loop redraws the elements that are still open, all at once, and ends when there are none:
parameters outside their domain never enter it. They give NaN, or -1 if the result is an
integer. Counts are computed in float64 whatever the dtype of the parameters, because
float32 cannot distinguish all integers above 2**24.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..dtypes import CLASSES_SORTED
from . import rules
from ._helpers import broadcast_to, constant, convert, isnan, widened
from ._jax import jax, jnp, lax
from .incomplete_gamma import gamma_number_derivative
from .kinds import Array, Floating, Index, Integer, Ints, T
from .random import _KEY, _SOURCE, _drawn, _integers
from .samples import Generator, Sample
from .spec import OpDef, op
from .traits import HEAVY, NOT_DIFFERENTIABLE, Derivative


def _few(*params: float) -> Generator:
    """One sample per dtype, and only one per shape: loops are slow to compile."""

    def generate(op: OpDef) -> Iterator[Sample]:
        shapes: list[tuple[int, ...]] = [(3, 2), (), (0, 3), (2, 2)]
        for i, d in enumerate(CLASSES_SORTED[op.T]):
            values = [np.full((1, 1) if i == 0 else (), p, d.numpy) for p in params]
            yield Sample([_KEY, *values], {"shape": shapes[i % 4]}, f"{d.name} {shapes[i % 4]}",
                         smooth=False)

    return generate


#: below this mean a count is found by search from 0, above it by the ratio of uniforms
_FEW = 10.0
#: beyond any count of a mean of _FEW: larger counts have a probability below 1e-80
_SEARCHED = 200


def _uniform(key: Any, i: Any, shape: Any, dtype: Any) -> Any:
    """Uniform numbers in [0, 1) of the i-th key derived from ``key``."""
    folded = jax.random.key_data(_drawn("fold_in", key, convert(i, jnp.uint32)))
    return _drawn("uniform", folded, shape, dtype)


def _rejected(
    key: Any, step: Callable[[Any], tuple[Any, Any]], start: Any, uniform: bool = True
) -> tuple[Any, Any]:
    """Numbers drawn by rejection, and uniform ones that are independent of them.

    Args:
        step: a function of two uniform numbers per element: a number, and whether it is accepted.
        start: NaN where a number is to be drawn; anything else stays.
        uniform: whether uniform numbers are wanted; 0 otherwise.
    """

    # Open elements are NaN, so one result holds everything and its computation is compiled once.
    # The uniform numbers come from the same code, run once more. The branches keep the draw
    # from being computed again for each result.
    def body(state: Any) -> Any:
        i, drawn, first = state
        u = _uniform(key, i, (2, *start.shape), start.dtype)

        def closed(u: Any, drawn: Any, first: Any) -> Any:
            new, accepted = step(u)
            new = lax.select(accepted, new, constant(new, math.nan))
            return lax.select(isnan(drawn), new, drawn), first

        def begun(u: Any, drawn: Any, first: Any) -> Any:
            return drawn, u[0]

        return i + 1, *lax.cond(i == 0, begun, closed, u, drawn, first)

    def pending(state: Any) -> Any:
        return (state[0] == 0) | jnp.any(isnan(state[1]))

    i = jnp.int32(0 if uniform else 1)
    _, drawn, first = lax.while_loop(pending, body, (i, start, constant(start, 0.0)))
    return drawn, first


def _open(where: Any, like: Any, value: float) -> Any:
    """NaN where a number is to be drawn, ``value`` elsewhere."""
    return lax.select(where, constant(like, math.nan), constant(like, value))


# Gamma numbers


def _gamma_parts(key: Any, a: Any) -> tuple[Any, Any]:
    """Gamma numbers of shape a (a + 1 where a < 1), and the log of uniform ones.

    Where a < 1, the first times the second's exponential to the power 1 / a is gamma of a.
    """
    d = lax.select(a < 1.0, a + 1.0, a) - 1.0 / 3.0
    c = 1.0 / (3.0 * lax.sqrt(d))

    def step(u: Any) -> Any:
        x = math.sqrt(2.0) * lax.erf_inv(2.0 * u[0] - 1.0)
        v = 1.0 + c * x
        v = v * v * v
        log_v = lax.log(lax.max(v, lax.full_like(v, np.finfo(v.dtype).tiny)))
        return v, (v > 0.0) & (lax.log(u[1]) < 0.5 * x * x + d * (1.0 - v + log_v))

    v, u = _rejected(key, step, _open((a >= 0.0) & lax.is_finite(a), a, 1.0))
    return d * v, lax.log1p(-u)


def _gamma(key: Any, a: Any) -> Any:
    drawn, log_u = _gamma_parts(key, a)
    drawn = lax.select(a < 1.0, drawn * lax.exp(log_u / a), drawn)
    drawn = lax.select(a == 0.0, lax.full_like(a, 0.0), drawn)
    return lax.select(a >= 0.0, drawn, lax.full_like(a, math.nan))


def _gamma_derivative(primals: Any, tangents: Any) -> Any:
    result = _gamma(*primals)
    return result, tangents[1] * gamma_number_derivative(primals[1], result)


@op(rules.draw, T="floating", source=_SOURCE + "; Marsaglia and Tsang 2000; gradient by implicit "
    "differentiation", derivative=Derivative(differentiable=("a",)), execution=HEAVY,
    samples=_few(2.0))
def random_gamma(key: Integer, a: T, *, shape: Ints) -> Array:
    """Gamma numbers of shape parameter a and scale 1. There is no second derivative."""
    drawn = jax.custom_jvp(_gamma)
    drawn.defjvp(_gamma_derivative)
    return convert(drawn(key, broadcast_to(widened(a), shape)), a.dtype)


@op(rules.draw, T="floating", source=_SOURCE + "; from two gamma numbers",
    derivative=NOT_DIFFERENTIABLE, execution=HEAVY, samples=_few(2.0, 3.0))
def random_beta(key: Integer, a: T, b: T, *, shape: Ints) -> Array:
    """Beta numbers of parameters a and b."""
    both = jnp.stack([broadcast_to(widened(v), shape) for v in (a, b)])
    drawn, log_u = _gamma_parts(key, both)
    # logarithms, scaled by the smaller parameter: neither number underflows to 0
    least = lax.min(lax.min(both[0], both[1]), lax.full_like(both[0], 1.0))
    boost = lax.select(both < 1.0, log_u * (least[None] / both), lax.full_like(both, 0.0))
    logs = least[None] * lax.log(drawn) + boost
    share = lax.logistic((logs[0] - logs[1]) / least)
    valid = (both[0] > 0.0) & (both[1] > 0.0)
    return convert(lax.select(valid, share, lax.full_like(share, math.nan)), a.dtype)


# Counts: search from 0 if few are expected, otherwise ratio of uniforms


def _searched(u: Any, first: Any, ratio: Callable[[Any], Any], open_: Any) -> Any:
    """The counts at which the distribution function passes u.

    Args:
        first: the probability of 0.
        ratio: a function of i, the probability of i + 1 divided by that of i.
        open_: where to search; 0 elsewhere.
    """

    def body(state: Any) -> Any:
        i, p, remaining, count, open_ = state
        open_ = open_ & (remaining >= p)
        count = lax.select(open_, count + 1.0, count)
        return i + 1.0, p * ratio(i), remaining - p, count, open_

    start = (jnp.float64(0), first, u, lax.full_like(u, 0.0), open_)
    return lax.while_loop(
        lambda state: (state[0] < _SEARCHED) & jnp.any(state[4]), body, start)[3]


def _stirling_tail(z: Any) -> Any:
    """log gamma(z) minus Stirling's formula for it, by Stieltjes' continued fraction; z >= 1."""
    tail = lax.full_like(z, 0.0)
    for a in (22999 / 22737, 195 / 371, 53 / 210, 1 / 30, 1 / 12):
        tail = a / (z + tail)
    return tail


def _log_factorials(k: Any, m: Any) -> Any:
    """log(m! / k!) + (k - m) log(m + 1), without loss of digits if k is near m."""
    return ((k - m) - (k + 0.5) * lax.log1p((k - m) / (m + 1.0))
            + _stirling_tail(m + 1.0) - _stirling_tail(k + 1.0))


def _ratio_of_uniforms(key: Any, mean: Any, variance: Any, last: Any,
                       log_f: Callable[[Any], Any], open_: Any) -> tuple[Any, Any]:  # fmt: skip
    """Counts from 0 to ``last`` of a log-concave distribution, and independent uniform numbers.

    Args:
        log_f: the log of the probability of a count divided by that of the mode.
        open_: where to draw; 0 elsewhere.
    """
    width = 1.7155277699214135 * lax.sqrt(variance + 0.5) + 0.8989161620588988

    def step(u: Any) -> Any:
        u = 1.0 - u
        k = lax.floor(mean + 0.5 + width * (u[1] - 0.5) / u[0])
        inside = (k >= 0.0) & (k <= last)
        k = lax.select(inside, k, lax.full_like(k, 0.0))
        return k, inside & (2.0 * lax.log(u[0]) <= log_f(k))

    return _rejected(key, step, _open(open_, mean, 0.0))


def _wide(x: Any, shape: Any) -> Any:
    return broadcast_to(convert(x, jnp.float64), shape)


def _poisson(key: Any, rate: Any) -> Any:
    few = rate < _FEW
    small = lax.select(few, rate, lax.full_like(rate, 1.0))
    large = lax.select(few, lax.full_like(rate, _FEW), rate)
    mode = lax.floor(large)
    step = lax.log1p((large - mode - 1.0) / (mode + 1.0))
    drawn, u = _ratio_of_uniforms(
        key, large, large, lax.full_like(large, math.inf),
        lambda k: _log_factorials(k, mode) + (k - mode) * step,
        (rate >= _FEW) & lax.is_finite(rate))
    searched = _searched(u, lax.exp(-small), lambda i: small / (i + 1.0), few & (rate > 0.0))
    return lax.select(few, searched, lax.select(lax.is_finite(rate), drawn, rate))


@op(rules.count_draw, T="floating", source=_SOURCE + "; search, and Stadlober 1990",
    derivative=NOT_DIFFERENTIABLE, execution=HEAVY, samples=_few(3.0))
def random_poisson(key: Integer, rate: T, *, shape: Ints) -> Array:
    """Poisson numbers (int64) of mean ``rate``; -1 where that is negative or NaN."""
    rate = _wide(rate, shape)
    return _integers(_poisson(key, rate), rate >= 0.0)


def _binomial(key: Any, n: Any, p: Any) -> Any:
    """Successes (float64) in n trials; both parameters are valid or NaN."""
    mirrored = p > 0.5
    p = lax.select(mirrored, 1.0 - p, p)
    q = 1.0 - p
    mean = n * p
    few = mean < _FEW
    one = lax.full_like(n, 1.0)
    small_n, small_p = lax.select(few, n, one), lax.select(few, p, one * 0.5)
    odds = small_p / (1.0 - small_p)
    many = mean >= _FEW
    n_, p_ = lax.select(many, n, 100.0 * one), lax.select(many, p, 0.5 * one)
    mode = lax.floor((n_ + 1.0) * p_)
    step = lax.log((n_ - mode + 1.0) * p_ / ((mode + 1.0) * (1.0 - p_)))
    drawn, u = _ratio_of_uniforms(
        key, n_ * p_, n_ * p_ * q, n_,
        lambda k: (_log_factorials(k, mode) + _log_factorials(n_ - k, n_ - mode)
                   + (k - mode) * step), many)
    searched = _searched(
        u, lax.exp(small_n * lax.log1p(-small_p)),
        lambda i: lax.max(small_n - i, 0.0 * one) / (i + 1.0) * odds, few & (mean > 0.0))
    count = lax.min(lax.select(few, searched, drawn), n)
    return lax.select(mirrored, n - count, count)


@op(rules.count_draw, T="floating", source=_SOURCE + "; search, and Stadlober 1990",
    derivative=NOT_DIFFERENTIABLE, execution=HEAVY, samples=_few(6.0, 0.4))
def random_binomial(key: Integer, n: T, p: T, *, shape: Ints) -> Array:
    """Numbers (int64) of successes of probability p in n trials, n rounded down.

    -1 where n is negative, infinite or NaN or p is not from 0 to 1.
    """
    n, p = lax.floor(_wide(n, shape)), _wide(p, shape)
    valid = (n >= 0.0) & lax.is_finite(n) & (p >= 0.0) & (p <= 1.0)
    zero = lax.full_like(n, 0.0)
    return _integers(_binomial(key, lax.select(valid, n, zero), lax.select(valid, p, zero)), valid)


def _hypergeometric(key: Any, good: Any, bad: Any, drawn: Any) -> Any:
    """Good ones (float64) among those drawn; the parameters are valid."""
    total = good + bad
    # at most half are good, and at most half of all are drawn
    rare, taken = lax.min(good, bad), lax.min(drawn, total - drawn)
    one = lax.full_like(total, 1.0)
    total_ = lax.max(total, one)
    mean = taken * (rare / total_)
    few = mean < _FEW
    other = total - rare
    first = lax.exp(_log_factorials(total, other) - _log_factorials(total - taken, other - taken)
                    + rare * lax.log1p(-taken / (other + 1.0)))
    variance = mean * (other / total_) * ((total - taken) / lax.max(total - 1.0, one))
    mode = lax.floor((rare + 1.0) * ((taken + 1.0) / (total + 2.0)))
    never_drawn = other - taken
    step = lax.log((rare - mode + 1.0) * (taken - mode + 1.0)
                   / ((mode + 1.0) * (never_drawn + mode + 1.0)))

    # stacked along a new axis: a quarter of the code
    modes = jnp.stack([mode, rare - mode, taken - mode, never_drawn + mode])

    def log_f(k: Any) -> Any:
        counts = jnp.stack([k, rare - k, taken - k, never_drawn + k])
        return jnp.sum(_log_factorials(counts, modes), axis=0) + (k - mode) * step

    many, u = _ratio_of_uniforms(key, mean, variance, lax.min(rare, taken), log_f, ~few)
    searched = _searched(
        u, first, lambda i: (lax.max(rare - i, 0.0 * one) * lax.max(taken - i, 0.0 * one)
                             / ((i + 1.0) * (other - taken + i + 1.0))), few & (mean > 0.0))
    count = lax.min(lax.select(few, searched, many), lax.min(rare, taken))
    count = lax.select(drawn > taken, rare - count, count)
    return lax.select(good > bad, drawn - count, count)


def _checked_urn(good: Any, bad: Any, drawn: Any) -> Any:
    valid = (good >= 0.0) & (bad >= 0.0) & (drawn >= 0.0) & (drawn <= good + bad)
    zero = lax.full_like(good, 0.0)
    return valid, [lax.select(valid, v, zero) for v in (good, bad, drawn)]


@op(rules.count_draw, T="index", source=_SOURCE + "; search, and Stadlober 1990",
    derivative=NOT_DIFFERENTIABLE, execution=HEAVY, samples=_few(5, 4, 3))
def random_hypergeometric(key: Integer, good: T, bad: T, drawn: T, *, shape: Ints) -> Array:
    """Numbers (int64) of good ones among ``drawn`` of ``good + bad``, without replacement.

    -1 where a parameter is negative or more are drawn than there are.
    """
    valid, urn = _checked_urn(*[_wide(v, shape) for v in (good, bad, drawn)])
    return _integers(_hypergeometric(key, *urn), valid)


def _in_turn(key: Any, draw: Callable[..., Any], remaining: Any, columns: Any) -> Any:
    """Counts of classes drawn one after the other, each by ``draw(key, remaining, column)``."""

    def step(remaining: Any, key_and_column: Any) -> Any:
        key, column = key_and_column
        count = draw(key, remaining, column)
        return remaining - count, count

    keys = jax.random.key_data(_drawn("split", key, columns[0].shape[0]))
    _, counts = lax.scan(step, remaining, (keys, columns))
    return jnp.moveaxis(counts, 0, -1)


def _multinomial_samples(op: OpDef) -> Iterator[Sample]:
    n = np.array(7, np.int32)
    for d in CLASSES_SORTED["floating"]:
        yield Sample([_KEY, n, np.array([0.5, 0.25, 0.25], d.numpy)], {"shape": (2,)}, d.name,
                     smooth=False)
    table = np.array([[0.5, 0.5], [1.0, 0.0]])
    yield Sample([_KEY, np.array([[4], [9], [0]]), table], {"shape": (3, 2)}, "many", smooth=False)
    yield Sample([_KEY, n, table[0]], {"shape": (0,)}, "empty", smooth=False)


@op(rules.class_counts, source=_SOURCE + "; a binomial number after the other",
    derivative=NOT_DIFFERENTIABLE, execution=HEAVY, samples=_multinomial_samples)
def random_multinomial(key: Integer, n: Index, p: Floating, *, shape: Ints) -> Array:
    """How often (int64) each class was met in n draws; a class each along the last axis of p.

    The last class gets what is left of n, whatever its probability. -1 where n is negative or
    another class's probability is negative or NaN.
    """
    classes = p.shape[-1]
    p, n = _wide(p, (*shape, classes)), _wide(n, shape)
    # the share of this class in what remains after the classes before it
    before = jnp.cumsum(p, axis=-1) - p
    share = p / lax.max(1.0 - before, lax.full_like(p, np.finfo(np.float64).tiny))
    share = lax.min(share, lax.full_like(p, 1.0))
    last = lax.broadcasted_iota(np.dtype("int32"), p.shape, p.ndim - 1) == classes - 1
    share = lax.select(last, lax.full_like(p, 1.0), share)
    valid = (n >= 0.0) & jnp.all((share >= 0.0) & (share <= 1.0), axis=-1)
    n = lax.select(valid, n, lax.full_like(n, 0.0))
    share = lax.select(broadcast_to(valid[..., None], p.shape), share, lax.full_like(p, 0.0))
    counts = _in_turn(key, lambda key, remaining, column: _binomial(key, remaining, column[0]), n,
                      (jnp.moveaxis(share, -1, 0),))
    return _integers(counts, broadcast_to(valid[..., None], p.shape))


def _colors_samples(op: OpDef) -> Iterator[Sample]:
    for d in CLASSES_SORTED["index"]:
        yield Sample([_KEY, np.array(4, d.numpy), np.array([5, 0, 3], d.numpy)], {"shape": (2,)},
                     d.name, smooth=False)
    yield Sample([_KEY, np.array([[1], [2]]), np.array([2, 3])], {"shape": (2, 2)}, "many",
                 smooth=False)
    yield Sample([_KEY, np.array(1), np.array([2, 3])], {"shape": (0,)}, "empty", smooth=False)


@op(rules.class_counts, T="index", source=_SOURCE + "; a hypergeometric number after the other",
    derivative=NOT_DIFFERENTIABLE, execution=HEAVY, samples=_colors_samples)
def random_multivariate_hypergeometric(
    key: Integer, drawn: T, colors: T, *, shape: Ints
) -> Array:
    """How many (int64) of each color are among ``drawn`` without replacement.

    Colors lie along the last axis. -1 where a number is negative or too many are drawn.
    """
    colors = _wide(colors, (*shape, colors.shape[-1]))
    drawn = _wide(drawn, shape)
    total = jnp.sum(colors, axis=-1)
    valid = jnp.all(colors >= 0.0, axis=-1) & (drawn >= 0.0) & (drawn <= total)
    spread = broadcast_to(valid[..., None], colors.shape)
    colors = lax.select(spread, colors, lax.full_like(colors, 0.0))
    remaining = lax.select(valid, drawn, lax.full_like(drawn, 0.0))
    after = jnp.flip(jnp.cumsum(jnp.flip(colors, -1), axis=-1), -1) - colors
    counts = _in_turn(
        key, lambda key, remaining, column: _hypergeometric(key, column[0], column[1], remaining),
        remaining,
        (jnp.moveaxis(colors, -1, 0), jnp.moveaxis(after, -1, 0)))
    return _integers(counts, spread)


@op(rules.count_draw, T="floating", source=_SOURCE + "; Devroye 1986, p. 551",
    derivative=NOT_DIFFERENTIABLE, execution=HEAVY, samples=_few(2.0))
def random_zipf(key: Integer, a: T, *, shape: Ints) -> Array:
    """Zipf numbers (int64), of probability proportional to k**-a, limited to 2**63 - 1.

    -1 where a is not above 1.
    """
    a = _wide(a, shape)
    valid = a > 1.0
    less = lax.select(valid, a - 1.0, lax.full_like(a, 1.0))
    # the share of the hat below the largest number
    below = lax.expm1(less * -math.log(2.0**63))
    limit = -lax.expm1(less * -math.log(2.0))

    def step(u: Any) -> Any:
        k = lax.floor(lax.exp(-lax.log1p(u[0] * below) / less))
        return k, u[1] * k * -lax.expm1(-less * lax.log1p(1.0 / k)) <= limit

    return _integers(_rejected(key, step, _open(valid, a, 1.0), uniform=False)[0], valid)


@op(rules.draw, T="floating", source=_SOURCE + "; Best and Fisher 1979",
    derivative=NOT_DIFFERENTIABLE, execution=HEAVY, samples=_few(2.0))
def random_von_mises(key: Integer, kappa: T, *, shape: Ints) -> Array:
    """Angles from -pi to pi, von Mises of mean 0; NaN where kappa is negative or NaN."""
    dtype = kappa.dtype
    kappa = broadcast_to(widened(kappa), shape)
    # beyond these limits the distribution is uniform or normal to the last digit
    flat, steep = kappa < 1e-8, kappa > 1e6
    usual = (kappa >= 1e-8) & ~steep
    k = lax.select(usual, kappa, lax.full_like(kappa, 1.0))
    s = 0.5 / k + lax.sqrt(1.0 + 0.25 / (k * k))

    def step(u: Any) -> Any:
        u = 1.0 - u
        z = lax.cos(math.pi * u[0])
        w = (1.0 + s * z) / (s + z)
        y = k * (s - w)
        return w, (y * (2.0 - y) >= u[1]) | (lax.log(y / u[1]) + 1.0 - y >= 0.0)

    w, u = _rejected(key, step, _open(usual, kappa, 1.0))
    angle = lax.acos(lax.max(lax.min(w, lax.full_like(w, 1.0)), lax.full_like(w, -1.0)))
    sign = 2.0 * u - 1.0
    angle = lax.select(sign < 0.0, -angle, angle)
    angle = lax.select(flat, math.pi * sign, angle)
    normal = math.sqrt(2.0) * lax.erf_inv(sign) / lax.sqrt(kappa)
    angle = lax.select(steep, normal, angle)
    angle = lax.select(kappa >= 0.0, angle, lax.full_like(angle, math.nan))
    return convert(angle, dtype)
