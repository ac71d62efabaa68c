"""The distributions that ``Generator`` and ``RandomState`` share."""

from __future__ import annotations

import math
from typing import Any

import numpy as onp

import lazyloom
from lazyloom.dtypes import DType

from .._arguments import dtypes as dt
from .._arguments.convert import param
from .._array.ndarray import ScalarArray, ndarray, wrap
from .._functions.elementwise import chosen as where
from . import _checks as checks
from ._bits import BitGenerator
from ._checks import real, shape_of, whole

record = lazyloom.record


def _shapes(*parameters: Any) -> list[tuple[int, ...]]:
    return [getattr(x, "shape", ()) for x in parameters]


def call(op: str, *xs: Any) -> Any:
    """An op of float64 operands, some of which may be Python numbers."""
    return wrap(record(op, [param(x, dt.FLOAT64) for x in xs]))


def finish(x: Any, size: Any = None, dtype: DType | None = None, out: Any = None) -> Any:
    """What a draw returns: a scalar where NumPy does, ``out`` if it was given."""
    value = x.value
    if dtype is not None and value.type.dtype is not dtype:
        value = record("cast", (value,), {"dtype": dtype})
    lazyloom.boundary(value)
    if out is not None:
        out[...] = wrap(value)
        return out
    return ScalarArray.from_value(value) if size is None and not value.type.shape else (
        ndarray.from_value(value))


def _simplex(x: Any, name: str) -> None:
    if not onp.all(onp.greater_equal(x, 0) & onp.less_equal(x, 1)):
        raise ValueError("pvals < 0, pvals > 1 or pvals contains NaNs")
    if onp.ndim(x) and onp.any(onp.sum(x[..., :-1], axis=-1) > 1.0 + 1e-12):
        raise ValueError("sum(pvals[:-1]) > 1.0")


class Distributions:
    """Draws from a bit generator, the key of each made by a recorded op.

    Parameters broadcast against each other and to ``size``. Results are float64 where not said
    otherwise, counts are int64; with neither size nor array parameters they are scalars.
    Parameters on the host are checked as NumPy's are, with its errors; see ``_checks``.
    """

    def __init__(self, bit_generator: BitGenerator) -> None:
        self._bit_generator = bit_generator

    def __str__(self) -> str:
        return f"{type(self).__name__}({type(self._bit_generator).__name__})"

    def __repr__(self) -> str:
        return f"{self} at 0x{id(self):X}"

    def _draw(
        self, op: str, shape: Any, *parameters: Any, of: DType = dt.FLOAT64, **attributes: Any
    ) -> Any:
        """Numbers of a random op with a fresh key; parameters are cast to a dtype."""
        operands = [self._bit_generator.next_key(), *(param(p, of) for p in parameters)]
        return wrap(record(op, operands, {"shape": shape, **attributes}))

    def _standard(self, name: str, shape: Any, dtype: DType = dt.FLOAT64) -> Any:
        return self._draw("random_" + name, shape, dtype=dtype)

    # ------------------------------------------------- location and scale

    def _uniform(self, low: Any, high: Any, size: Any, may_fall: bool) -> Any:
        checks.interval(low, high, may_fall)
        low, high = real(low, "low"), real(high, "high")
        shape = shape_of(size, *_shapes(low, high))
        return finish(self._draw("random_uniform", shape, low, high), size)

    def _normal(self, loc: Any, scale: Any, size: Any, names: tuple[str, str]) -> Any:
        loc, scale = real(loc, names[0]), real(scale, names[1], checks.non_negative)
        shape = shape_of(size, *_shapes(loc, scale))
        return self._draw("random_normal", shape, loc, scale, dtype=dt.FLOAT64)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Normal of mean loc and deviation scale. As ``numpy.random.Generator.normal``."""
        return finish(self._normal(loc, scale, size, ("loc", "scale")), size)

    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None) -> Any:
        """The exponential of normal numbers. As ``numpy.random.Generator.lognormal``."""
        return finish(call("exp", self._normal(mean, sigma, size, ("mean", "sigma"))), size)

    def _located(self, name: str, loc: Any, scale: Any, size: Any) -> Any:
        loc, scale = real(loc, "loc"), real(scale, "scale", checks.non_negative)
        base = self._standard(name, shape_of(size, *_shapes(loc, scale)))
        return finish(base * scale + loc, size)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Gumbel numbers. As ``numpy.random.Generator.gumbel``."""
        return self._located("gumbel", loc, scale, size)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Laplace numbers. As ``numpy.random.Generator.laplace``."""
        return self._located("laplace", loc, scale, size)

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Logistic numbers. As ``numpy.random.Generator.logistic``."""
        return self._located("logistic", loc, scale, size)

    def standard_cauchy(self, size: Any = None) -> Any:
        """Cauchy numbers. As ``numpy.random.Generator.standard_cauchy``."""
        return finish(self._standard("cauchy", shape_of(size)), size)

    def triangular(self, left: Any, mode: Any, right: Any, size: Any = None) -> Any:
        """Triangular numbers. As ``numpy.random.Generator.triangular``."""
        checks.ordered(("left", "mode", "right"), left, mode, right)
        ends = checks.known(left, "left"), checks.known(right, "right")
        if ends[0] is not None and ends[1] is not None and onp.any(onp.equal(*ends)):
            raise ValueError("left == right")
        left, mode, right = real(left, "left"), real(mode, "mode"), real(right, "right")
        u = self._draw("random_uniform", shape_of(size, *_shapes(left, mode, right)), 0.0, 1.0)
        below = left + call("sqrt", u * ((right - left) * (mode - left)))
        above = right - call("sqrt", (1.0 - u) * ((right - left) * (right - mode)))
        first = u * (right - left) <= mode - left
        return finish(where(first, below, above), size)

    # ------------------------------------------- exponential and relatives

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        """Exponential numbers. As ``numpy.random.Generator.exponential``."""
        scale = real(scale, "scale", checks.non_negative)
        return finish(self._standard("exponential", shape_of(size, *_shapes(scale))) * scale, size)

    def rayleigh(self, scale: Any = 1.0, size: Any = None) -> Any:
        """Rayleigh numbers. As ``numpy.random.Generator.rayleigh``."""
        scale = real(scale, "scale", checks.non_negative)
        base = self._standard("exponential", shape_of(size, *_shapes(scale)))
        return finish(call("sqrt", base * 2.0) * scale, size)

    def weibull(self, a: Any, size: Any = None) -> Any:
        """Weibull numbers of scale 1. As ``numpy.random.Generator.weibull``."""
        a = real(a, "a", checks.non_negative)
        base = self._standard("exponential", shape_of(size, *_shapes(a)))
        if type(a) is float:
            return finish(call("power", base, 1.0 / a) if a else base * 0.0, size)
        return finish(where(a == 0.0, 0.0, call("power", base, 1.0 / a)), size)

    def power(self, a: Any, size: Any = None) -> Any:
        """Numbers in [0, 1] of density a * x**(a - 1). As ``numpy.random.Generator.power``."""
        a = real(a, "a", checks.positive)
        base = self._standard("exponential", shape_of(size, *_shapes(a)))
        return finish(call("power", -call("expm1", -base), 1.0 / a), size)

    def pareto(self, a: Any, size: Any = None) -> Any:
        """Pareto II (Lomax) numbers. As ``numpy.random.Generator.pareto``."""
        a = real(a, "a", checks.positive)
        base = self._standard("exponential", shape_of(size, *_shapes(a)))
        return finish(call("expm1", base / a), size)

    # ------------------------------------------------- gamma and relatives

    def _gamma(self, shape: Any, dims: tuple[int, ...], of: DType = dt.FLOAT64) -> Any:
        return self._draw("random_gamma", dims, shape, of=of)

    def _chisquare(self, df: Any, dims: tuple[int, ...]) -> Any:
        return self._gamma(df * 0.5, dims) * 2.0

    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
        """Gamma numbers. As ``numpy.random.Generator.gamma``."""
        shape = real(shape, "shape", checks.non_negative)
        scale = real(scale, "scale", checks.non_negative)
        return finish(self._gamma(shape, shape_of(size, *_shapes(shape, scale))) * scale, size)

    def beta(self, a: Any, b: Any, size: Any = None) -> Any:
        """Beta numbers. As ``numpy.random.Generator.beta``."""
        a, b = real(a, "a", checks.positive), real(b, "b", checks.positive)
        return finish(self._draw("random_beta", shape_of(size, *_shapes(a, b)), a, b), size)

    def chisquare(self, df: Any, size: Any = None) -> Any:
        """Chi-square numbers. As ``numpy.random.Generator.chisquare``."""
        df = real(df, "df", checks.positive)
        return finish(self._chisquare(df, shape_of(size, *_shapes(df))), size)

    def f(self, dfnum: Any, dfden: Any, size: Any = None) -> Any:
        """Fisher's F numbers. As ``numpy.random.Generator.f``."""
        dfnum, dfden = real(dfnum, "dfnum", checks.positive), real(dfden, "dfden", checks.positive)
        dims = shape_of(size, *_shapes(dfnum, dfden))
        above, below = self._chisquare(dfnum, dims) / dfnum, self._chisquare(dfden, dims) / dfden
        return finish(above / below, size)

    def _noncentral(self, df: Any, nonc: Any, dims: tuple[int, ...]) -> Any:
        def shift() -> Any:
            root = math.sqrt(nonc) if type(nonc) is float else call("sqrt", nonc)
            return call("square", self._standard("normal", dims) + root)

        def mixed() -> Any:
            return df + call("multiply", self._draw("random_poisson", dims, nonc * 0.5), 2.0)

        # a degree of freedom that the normal number takes, or a random number more of them
        if type(df) is float:
            if df > 1.0:
                return self._chisquare(df - 1.0, dims) + shift()
            return self._chisquare(mixed(), dims) + nonc * 0.0  # a NaN stays one
        usual = df > 1.0
        degrees = where(usual, df - 1.0, mixed())
        return self._chisquare(degrees, dims) + where(usual, shift(), nonc * 0.0)

    def noncentral_chisquare(self, df: Any, nonc: Any, size: Any = None) -> Any:
        """Noncentral chi-square numbers. As ``numpy.random.Generator.noncentral_chisquare``."""
        df, nonc = real(df, "df", checks.positive), real(nonc, "nonc", checks.non_negative)
        return finish(self._noncentral(df, nonc, shape_of(size, *_shapes(df, nonc))), size)

    def noncentral_f(self, dfnum: Any, dfden: Any, nonc: Any, size: Any = None) -> Any:
        """Noncentral F numbers. As ``numpy.random.Generator.noncentral_f``."""
        dfnum, dfden = real(dfnum, "dfnum", checks.positive), real(dfden, "dfden", checks.positive)
        nonc = real(nonc, "nonc", checks.non_negative)
        dims = shape_of(size, *_shapes(dfnum, dfden, nonc))
        above = self._noncentral(dfnum, nonc, dims) / dfnum
        return finish(above / (self._chisquare(dfden, dims) / dfden), size)

    def standard_t(self, df: Any, size: Any = None) -> Any:
        """Student's t numbers. As ``numpy.random.Generator.standard_t``."""
        df = real(df, "df", checks.positive)
        dims = shape_of(size, *_shapes(df))
        spread = self._gamma(df * 0.5, dims) / (df * 0.5)
        return finish(self._standard("normal", dims) / call("sqrt", spread), size)

    def wald(self, mean: Any, scale: Any, size: Any = None) -> Any:
        """Inverse Gaussian numbers. As ``numpy.random.Generator.wald``."""
        mean, scale = real(mean, "mean", checks.positive), real(scale, "scale", checks.positive)
        dims = shape_of(size, *_shapes(mean, scale))
        normal = self._standard("normal", dims)
        # the roots of the quadratic are mean / ratio and mean * ratio, without a difference
        y = normal * normal * mean
        root = call("sqrt", y) + call("sqrt", y + 4.0 * scale)
        ratio = root * root / (4.0 * scale)
        u = self._draw("random_uniform", dims, 0.0, 1.0)
        return finish(where(u * (1.0 + 1.0 / ratio) <= 1.0, mean / ratio, mean * ratio), size)

    def vonmises(self, mu: Any, kappa: Any, size: Any = None) -> Any:
        """Angles from -pi to pi. As ``numpy.random.Generator.vonmises``."""
        mu, kappa = real(mu, "mu"), real(kappa, "kappa", checks.non_negative)
        angle = self._draw("random_von_mises", shape_of(size, *_shapes(mu, kappa)), kappa) + mu
        return finish(call("remainder", angle + math.pi, 2.0 * math.pi) - math.pi, size)

    def _dirichlet(self, alpha: Any, size: Any, check: Any) -> Any:
        if not checks.on_device(alpha):
            len(alpha)
            if onp.ndim(alpha) != 1:
                raise ValueError("alpha must be one-dimensional")
        alpha = real(alpha, "alpha", check)
        if alpha.ndim != 1:
            raise ValueError("alpha must be one-dimensional")
        dims = (*shape_of(size), *alpha.shape)
        if not alpha.size:
            return finish(self._draw("random_uniform", dims, 0.0, 1.0), size)
        # gamma numbers of alpha + 1, brought down to alpha as logarithms: none underflows
        gamma, boost = self._gamma(alpha + 1.0, dims), self._standard("exponential", dims)
        none = alpha == 0.0
        some = where(none, 1.0, alpha)
        least = call("minimum", some.min(), 1.0)
        logs = where(none, -math.inf, call("log", gamma) * least - boost * (least / some))
        x = call("exp", (logs - logs.max(-1, keepdims=True)) / least)
        return finish(where(none, 0.0, x / x.sum(-1, keepdims=True)), size)

    # -------------------------------------------------------------- counts

    def poisson(self, lam: Any = 1.0, size: Any = None) -> Any:
        """Poisson numbers, int64. As ``numpy.random.Generator.poisson``."""
        lam = real(lam, "lam", checks.rate)
        return finish(self._draw("random_poisson", shape_of(size, *_shapes(lam)), lam), size)

    def geometric(self, p: Any, size: Any = None) -> Any:
        """Numbers of trials, int64. As ``numpy.random.Generator.geometric``."""
        p = real(p, "p", checks.likely)
        return finish(self._draw("random_geometric", shape_of(size, *_shapes(p)), p), size)

    def zipf(self, a: Any, size: Any = None) -> Any:
        """Zipf numbers, int64. As ``numpy.random.Generator.zipf``."""
        a = real(a, "a", checks.above_one)
        return finish(self._draw("random_zipf", shape_of(size, *_shapes(a)), a), size)

    def binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        """Numbers of successes in n trials, int64. As ``numpy.random.Generator.binomial``."""
        n, p = whole(n, "n"), real(p, "p", checks.probability)
        return finish(self._draw("random_binomial", shape_of(size, *_shapes(n, p)), n, p), size)

    def negative_binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        """Failures before n successes, int64. As NumPy's ``Generator.negative_binomial``."""
        n, p = real(n, "n", checks.positive), real(p, "p", checks.likely)
        if type(n) is float and type(p) is float:
            if (1.0 - p) * (n + 10.0 * math.sqrt(n)) > p * checks.POISSON_LAM_MAX:
                raise ValueError(
                    "n too large or p too small: the counts would not fit int64")
        dims = shape_of(size, *_shapes(n, p))
        rate = self._gamma(n, dims) * ((1.0 - p) / p)
        return finish(self._draw("random_poisson", dims, rate), size)

    def logseries(self, p: Any, size: Any = None) -> Any:
        """Log-series numbers, int64. As ``numpy.random.Generator.logseries``."""
        p = real(p, "p", checks.unsure)
        dims = shape_of(size, *_shapes(p))
        u = -self._draw("random_uniform", dims, -1.0, 0.0)
        v = -self._draw("random_uniform", dims, -1.0, 0.0)
        # Kemp 1981: given u the number is geometric, of failure probability q
        exponent = u * (math.log1p(-p) if type(p) is float else call("log1p", -p))
        q = -call("expm1", exponent)
        many = call("floor", 1.0 + call("log", v) / call("log1p", -call("exp", exponent)))
        few = where(v >= q, 1.0, 2.0)
        found = where(v >= p, 1.0, where(v <= q * q, many, few))
        return finish(found, size, dt.INT64)

    def hypergeometric(self, ngood: Any, nbad: Any, nsample: Any, size: Any = None) -> Any:
        """Good ones in a sample, int64. As ``numpy.random.Generator.hypergeometric``."""
        urn = [whole(n, name) for n, name in (
            (ngood, "ngood"), (nbad, "nbad"), (nsample, "nsample"))]
        good, bad, sample = urn
        if not any(isinstance(n, ndarray) for n in urn):
            if onp.any(onp.greater_equal(good, 10**9) | onp.greater_equal(bad, 10**9)):
                raise ValueError("both ngood and nbad must be less than 1000000000")
            if onp.any(onp.less(onp.add(good, bad), sample)):
                raise ValueError("ngood + nbad < nsample")
        shape = shape_of(size, *_shapes(*urn))
        return finish(self._draw("random_hypergeometric", shape, *urn, of=dt.INT64), size)

    def _multinomial(self, n: Any, pvals: Any, size: Any) -> Any:
        pvals = real(pvals, "pvals", _simplex)
        if not _shapes(pvals)[0] or not pvals.shape[-1]:
            raise ValueError("pvals must have at least 1 dimension and the last dimension of pvals "
                             "must be greater than 0.")
        return self._classes("random_multinomial", n, pvals, size)

    def _classes(self, op: str, n: Any, classes: Any, size: Any) -> Any:
        shape = shape_of(size, *_shapes(n), classes.shape[:-1])
        operands = (self._bit_generator.next_key(), param(n, dt.INT64), classes.value)
        return finish(wrap(record(op, operands, {"shape": shape})))

    # --------------------------------------------------------- many at once

    def permutation_of(self, n: int) -> Any:
        """The numbers from 0 to n - 1 in random order, a Value."""
        key = self._bit_generator.next_key()
        return record("random_permutation", (key,), {"n": n})

    def bytes(self, length: int) -> bytes:
        """Random bytes; reads them. As ``numpy.random.Generator.bytes``."""
        if length < 0:
            raise ValueError(f"bytes: length is {length}, expected 0 or more")
        attributes = {"shape": (int(length),), "dtype": dt.internal(onp.uint8)}
        key = self._bit_generator.next_key()
        data: Any = record("random_bits", (key,), attributes).read()
        return bytes(data.tobytes())
