"""Special functions that XLA has no operation for, element by element.

They are computed in float64 whatever the operands' dtype, from Chebyshev series on intervals
(:mod:`lazyloom.ops.series`) and from closed forms, and rounded once at the end.
"""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable
from typing import Any

from . import rules, series
from ._helpers import broadcast, constant, differentiated, in_float64, isnan
from ._jax import lax
from .kinds import Array, T
from .quotients import (
    bessel_i0e,
    bessel_i1_over,
    bessel_i1e,
    chebyshev,
    or_half,
    over,
    sine_over,
    slope_by_series,
)
from .samples import Elementwise
from .spec import op
from .traits import NOT_DIFFERENTIABLE, Derivative


def _select(condition: Any, x: Any, y: Any) -> Any:
    like = y if hasattr(y, "dtype") else x
    x, y = [v if hasattr(v, "dtype") else constant(like, v) for v in (x, y)]
    return lax.select(condition, x, y)


# Bessel functions. Below 8 a series in x * x; above, sqrt(2 / (pi x)) (p cos - q sin) of an
# angle, with series in (8 / x)**2.


def _small(x: Any, coefficients: tuple[float, ...]) -> Any:
    return chebyshev(x * x * (1 / 32) - 1.0, coefficients)


def _wave(x: Any, p: tuple[float, ...], q: tuple[float, ...], turn: float) -> tuple[Any, ...]:
    """The functions of the first and second kind for large positive x."""
    near = 8.0 / x
    t = 2.0 * near * near - 1.0
    along, across = chebyshev(t, p), near * chebyshev(t, q)
    angle = x - turn * math.pi
    size = lax.sqrt((2 / math.pi) / x)
    sine, cosine = lax.sin(angle), lax.cos(angle)
    infinite = lax.eq(x, constant(x, math.inf))
    return tuple(_select(infinite, 0.0, size * v) for v in (
        along * cosine - across * sine, along * sine + across * cosine))


def _split(x: Any, limit: float) -> tuple[Any, Any, Any]:
    """Where x is above the limit; x where it is not, else 1; x where it is, else limit + 1."""
    above = lax.gt(x, constant(x, limit))
    return above, _select(above, 1.0, x), _select(above, x, limit + 1.0)


@differentiated(lambda x, value: -_j1(x))
def _j0(x: Any) -> Any:
    above, small, large = _split(lax.abs(x), 8.0)
    return _select(above, _wave(large, series.P0, series.Q0, 0.25)[0], _small(small, series.J0))


@differentiated(lambda x, value: _j0(x) - _j1_over(x))
def _j1(x: Any) -> Any:
    above, small, large = _split(lax.abs(x), 8.0)
    at_size = _select(
        above, _wave(large, series.P1, series.Q1, 0.75)[0], small * _small(small, series.J1))
    return _select(lax.lt(x, constant(x, 0.0)), -at_size, at_size)


def _slope_of_j1_over(x: Any, value: Any) -> Any:
    return slope_by_series(x, 8.0, lambda x: _small(x, series.J1),
                           lambda x: (_j0(x) - 2.0 * _j1_over(x)) / x)


@differentiated(_slope_of_j1_over)
def _j1_over(x: Any) -> Any:
    return over(x, _j1(x), 0.5)


def _second_kind(x: Any, value: Any, at_zero: float) -> Any:
    """A function that is infinite at 0 and undefined for negative x."""
    value = _select(lax.eq(x, constant(x, 0.0)), at_zero, value)
    return _select(lax.lt(x, constant(x, 0.0)), math.nan, value)


@differentiated(lambda x, value: -_y1(x))
def _y0(x: Any) -> Any:
    above, small, large = _split(lax.abs(x), 8.0)
    low = (2 / math.pi) * lax.log(small) * _small(small, series.J0) + _small(small, series.Y0)
    high = _wave(large, series.P0, series.Q0, 0.25)[1]
    return _second_kind(x, _select(above, high, low), -math.inf)


@differentiated(lambda x, value: _y0(x) - value / x)
def _y1(x: Any) -> Any:
    above, small, large = _split(lax.abs(x), 8.0)
    first = small * _small(small, series.J1)
    low = (2 / math.pi) * (lax.log(small) * first - 1.0 / small) + small * _small(small, series.Y1)
    high = _wave(large, series.P1, series.Q1, 0.75)[1]
    return _second_kind(x, _select(above, high, low), -math.inf)


def _modified(x: Any, order: int) -> Any:
    """exp(x) times the modified function of the second kind: below 2 a series in x * x, above
    in 4 / x."""
    above, small, large = _split(lax.abs(x), 2.0)
    t = small * small * 0.5 - 1.0
    log = lax.log(small * 0.5)
    if order == 0:
        low = chebyshev(t, series.K0) - log * chebyshev(t, series.I0)
    else:
        low = chebyshev(t, series.K1) / small + log * small * chebyshev(t, series.I1)
    scaled = series.K1_LARGE if order else series.K0_LARGE
    high = chebyshev(4.0 / large - 1.0, scaled) / lax.sqrt(large)
    return _second_kind(x, _select(above, high, lax.exp(small) * low), math.inf)


@differentiated(lambda x, value: value - _k1e(x))
def _k0e(x: Any) -> Any:
    return _modified(x, 0)


@differentiated(lambda x, value: value - _k0e(x) - value / x)
def _k1e(x: Any) -> Any:
    return _modified(x, 1)


@differentiated(lambda x, value: _i1(x))
def _i0(x: Any) -> Any:
    return lax.exp(lax.abs(x)) * bessel_i0e(x)


@differentiated(lambda x, value: or_half(x, _i0(x) - bessel_i1_over(x)))
def _i1(x: Any) -> Any:
    return lax.exp(lax.abs(x)) * bessel_i1e(x)


_REAL = Elementwise(low=-12.0, high=12.0, special=False)
_POSITIVE = Elementwise(low=0.3, high=12.0, special=False)


@op(rules.elementwise, T="floating", source="DLMF 10.25.2", reference="scipy.special.i0",
    tolerance=8.0)
def bessel_i0(x: T) -> Array:
    """The modified Bessel function of the first kind of order 0."""
    return in_float64(_i0, x)


@op(rules.elementwise, T="floating", source="DLMF 10.25.2", reference="scipy.special.i1",
    tolerance=8.0)
def bessel_i1(x: T) -> Array:
    """The modified Bessel function of the first kind of order 1."""
    return in_float64(_i1, x)


@op(rules.elementwise, T="floating", source="DLMF 10.2.2", reference="scipy.special.j0",
    samples=_REAL, tolerance=64.0)
def bessel_j0(x: T) -> Array:
    """The Bessel function of the first kind of order 0; 0 at the infinities."""
    return in_float64(_j0, x)


@op(rules.elementwise, T="floating", source="DLMF 10.2.2", reference="scipy.special.j1",
    samples=_REAL, tolerance=64.0)
def bessel_j1(x: T) -> Array:
    """The Bessel function of the first kind of order 1; 0 at the infinities."""
    return in_float64(_j1, x)


@op(rules.elementwise, T="floating", source="DLMF 10.49.3", samples=_REAL, tolerance=8.0)
def spherical_bessel_j0(x: T) -> Array:
    """sin(x) / x, the spherical Bessel function of order 0; 1 at 0, and 0 at the infinities."""

    def definition(x: Any) -> Any:
        infinite = lax.eq(lax.abs(x), constant(x, math.inf))
        return _select(infinite, 0.0, sine_over(_select(infinite, 1.0, x)))

    return in_float64(definition, x)


@op(rules.elementwise, T="floating", source="DLMF 10.2.3", reference="scipy.special.y0",
    samples=_POSITIVE, tolerance=64.0)
def bessel_y0(x: T) -> Array:
    """The Bessel function of the second kind of order 0; -inf at 0, NaN below."""
    return in_float64(_y0, x)


@op(rules.elementwise, T="floating", source="DLMF 10.2.3", reference="scipy.special.y1",
    samples=_POSITIVE, tolerance=64.0)
def bessel_y1(x: T) -> Array:
    """The Bessel function of the second kind of order 1; -inf at 0, NaN below."""
    return in_float64(_y1, x)


@op(rules.elementwise, T="floating", source="DLMF 10.27.4", reference="scipy.special.k0e",
    samples=_POSITIVE, tolerance=8.0)
def bessel_k0e(x: T) -> Array:
    """exp(x) times the modified Bessel function of the second kind of order 0; inf at 0, NaN
    below."""
    return in_float64(_k0e, x)


@op(rules.elementwise, T="floating", source="DLMF 10.27.4", reference="scipy.special.k1e",
    samples=_POSITIVE, tolerance=8.0)
def bessel_k1e(x: T) -> Array:
    """exp(x) times the modified Bessel function of the second kind of order 1; inf at 0, NaN
    below."""
    return in_float64(_k1e, x)


@op(rules.elementwise, T="floating", source="DLMF 9.2.2", derivative=NOT_DIFFERENTIABLE,
    samples=Elementwise(low=-9.0, high=9.0, special=False), tolerance=64.0)
def airy_ai(x: T) -> Array:
    """The Airy function that vanishes at infinity."""
    return in_float64(_airy, x)


def _airy(x: Any) -> Any:
    size = lax.abs(x)
    large = lax.gt(size, constant(x, 4.0))
    far = _select(large, size, 4.0)
    zeta = far * lax.sqrt(far) * (2 / 3)
    near = (16 / 3) / zeta
    t = 2.0 * near - 1.0
    root = lax.sqrt(lax.sqrt(far)) * math.sqrt(math.pi)
    positive = lax.exp(-zeta) * chebyshev(t, series.AI_LARGE) / (2.0 * root)
    angle = zeta + math.pi / 4
    negative = (lax.sin(angle) * chebyshev(t, series.AI_COS)
                + near * lax.cos(angle) * chebyshev(t, series.AI_SIN)) / root
    outside = _select(lax.gt(x, constant(x, 0.0)), positive, negative)
    outside = _select(lax.eq(size, constant(x, math.inf)), 0.0, outside)
    return _select(large, outside, chebyshev(_select(large, 0.0, x) * 0.25, series.AI))


# The normal distribution


@differentiated(lambda x, value: 2.0 * x * value - 2.0 / math.sqrt(math.pi))
def _erfcx(x: Any) -> Any:
    # (1 + 2 x) exp(x**2) erfc(x) is smooth in (x - 4) / (x + 4); Shepherd and Laframboise 1981
    size = lax.abs(x)
    infinite = lax.eq(size, constant(x, math.inf))
    finite = _select(infinite, 1.0, size)
    at_size = chebyshev((finite - 4.0) / (finite + 4.0), series.ERFCX) / (1.0 + 2.0 * finite)
    at_size = _select(infinite, 0.0, at_size)
    return _select(lax.lt(x, constant(x, 0.0)), 2.0 * lax.exp(x * x) - at_size, at_size)


@op(rules.elementwise, T="floating", source="SciPy erfcx", reference="scipy.special.erfcx",
    tolerance=16.0)
def erfcx(x: T) -> Array:
    """exp(x * x) erfc(x), without underflow for large x."""
    return in_float64(_erfcx, x)


def _change_of_hazard(x: Any, value: Any) -> Any:
    far = lax.eq(value, constant(x, 0.0))
    return _select(far, 0.0, -value * (_select(far, 0.0, x) + value))


@differentiated(_change_of_hazard)
def _hazard(x: Any) -> Any:
    """The normal density over the distribution function."""
    return math.sqrt(2 / math.pi) / _erfcx(x * -math.sqrt(0.5))


@differentiated(lambda x, value: _hazard(x))
def _log_ndtr(x: Any) -> Any:
    low = lax.lt(x, constant(x, -1.0))
    scaled = x * -math.sqrt(0.5)
    tail = _erfcx(_select(low, scaled, 1.0)) * 0.5
    rest = lax.erfc(_select(low, 1.0, -scaled)) * -0.5
    return _select(low, lax.log(tail) - x * x * 0.5, lax.log1p(rest))


@op(rules.elementwise, T="floating", source="SciPy log_ndtr", reference="scipy.special.log_ndtr",
    tolerance=16.0)
def log_ndtr(x: T) -> Array:
    """The logarithm of the normal distribution function, accurate where that is tiny."""
    return in_float64(_log_ndtr, x)


@op(rules.elementwise, T="floating", source="SciPy ndtri", reference="scipy.special.ndtri",
    samples=Elementwise(low=0.05, high=0.95), tolerance=16.0)
def ndtri(x: T) -> Array:
    """The inverse of the normal distribution function; infinite at 0 and 1, NaN outside."""
    return in_float64(_ndtri, x)


@differentiated(lambda x, value: math.sqrt(2 * math.pi) * lax.exp(value * value * 0.5))
def _ndtri(x: Any) -> Any:
    return importlib.import_module("jax.scipy.special").ndtri(x)


@differentiated(lambda x, value: -1.0 - lax.log(x))
def _entr(x: Any) -> Any:
    positive = lax.gt(x, constant(x, 0.0))
    safe = _select(positive, x, 1.0)
    at_most = _select(lax.eq(x, constant(x, 0.0)), 0.0, _select(isnan(x), x, -math.inf))
    return _select(positive, -safe * lax.log(safe), at_most)


@op(rules.elementwise, T="floating", source="SciPy entr", reference="scipy.special.entr",
    samples=Elementwise(low=0.2), tolerance=8.0)
def entr(x: T) -> Array:
    """-x log(x), 0 at 0 and -inf below."""
    return in_float64(_entr, x)


# The zeta function


@op(rules.elementwise, T="floating", source="SciPy zeta",
    derivative=Derivative(differentiable=("q",)), reference="scipy.special.zeta",
    samples=Elementwise(low=1.3, high=6.0, special=False), tolerance=32.0)
def zeta(x: T, q: T) -> Array:
    """The Hurwitz zeta function, the sum of (k + q)**-x over k from 0; inf for x = 1."""

    def function(x: Any, q: Any) -> Any:
        x = lax.stop_gradient(x)
        slope = differentiated(lambda q, value: -x * function(x + 1.0, q))
        return slope(lambda q: lax.zeta(x, q))(q)

    return in_float64(function, *broadcast(x, q))


# Polynomials in x whose degree is an operand


@op(rules.chebyshev, T="floating", source="DLMF 18.5.1 to 18.5.4", derivative=NOT_DIFFERENTIABLE,
    samples=Elementwise(*({"kind": k} for k in "tuvw"), low=0.0, high=5.0, special=False),
    tolerance=64.0)
def chebyshev_polynomial(x: T, n: T, *, kind: str) -> Array:
    """The Chebyshev polynomial of degree n (rounded towards zero) of the first (``kind`` "t"),
    second ("u"), third ("v") or fourth ("w") kind; 0 for a negative degree.

    ArgumentError for another kind.
    """
    return in_float64(functools.partial(_chebyshev, kind=kind), *broadcast(x, n))


def _chebyshev(x: Any, n: Any, kind: str) -> Any:
    n = _towards_zero(n)
    one = constant(x, 1.0)
    odd = lax.ne(lax.rem(n, constant(n, 2.0)), constant(n, 0.0))
    alternating = _select(odd, -1.0, one)
    if kind == "w":  # the fourth kind at x is the third kind at -x
        return _chebyshev(-x, n, "v") * alternating
    size = lax.abs(x)
    inside = lax.lt(size, one)
    below = lax.lt(x, constant(x, 0.0))
    sign = _select(below, alternating, one)
    angle = lax.acos(_select(inside, x, 0.0))
    growth = lax.acosh(_select(lax.gt(size, one), size, 2.0))
    if kind == "t":
        near, far, edge = lax.cos(n * angle), lax.cosh(n * growth), one
    elif kind == "u":
        near = lax.sin((n + 1.0) * angle) / lax.sin(angle)
        far, edge = lax.sinh((n + 1.0) * growth) / lax.sinh(growth), n + 1.0
    else:
        half = n + 0.5
        near = lax.cos(half * angle) / lax.cos(angle * 0.5)
        above = lax.cosh(half * growth) / lax.cosh(growth * 0.5)
        far = _select(below, lax.sinh(half * growth) / lax.sinh(growth * 0.5), above)
        edge = _select(below, 2.0 * n + 1.0, one)
    outside = sign * _select(lax.eq(size, one), edge, far)
    result = _select(inside, near, _select(isnan(x), x, outside))
    return _select(lax.lt(n, constant(n, 0.0)), 0.0, result)


def _towards_zero(n: Any) -> Any:
    return lax.select(lax.lt(n, constant(n, 0.0)), lax.ceil(n), lax.floor(n))


#: the polynomial of degree 1, and that of degree k + 1 from those of degree k and k - 1
_RECURRENCES: dict[str, tuple[Callable[[Any], Any], Callable[..., Any]]] = {
    "hermite_h": (lambda x: 2.0 * x, lambda x, k, p, q: 2.0 * (x * p - k * q)),
    "hermite_he": (lambda x: x, lambda x, k, p, q: x * p - k * q),
    "laguerre_l": (lambda x: 1.0 - x,
                   lambda x, k, p, q: ((2.0 * k + 1.0 - x) * p - k * q) / (k + 1.0)),
    "legendre_p": (lambda x: x, lambda x, k, p, q: ((2.0 * k + 1.0) * x * p - k * q) / (k + 1.0)),
}


@op(rules.orthogonal, T="floating", source="DLMF 18.9.1", derivative=NOT_DIFFERENTIABLE,
    samples=Elementwise(*({"kind": k} for k in _RECURRENCES), low=0.0, high=5.0, special=False),
    tolerance=64.0)
def orthogonal_polynomial(x: T, n: T, *, kind: str) -> Array:
    """The polynomial of degree n (rounded towards zero) of Hermite (``kind`` "hermite_h", or
    "hermite_he" of the probabilists), Laguerre ("laguerre_l") or Legendre ("legendre_p"); 0 for
    a negative degree.

    Computed by as many steps as the largest degree. ArgumentError for another kind.
    """
    first, following = _RECURRENCES[kind]

    def function(x: Any, n: Any) -> Any:
        n = _towards_zero(n)
        zero = constant(x, 0.0)

        def pending(state: tuple[Any, ...]) -> Any:
            return lax.reduce_or(lax.lt(state[0], n), range(n.ndim))

        def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
            k, p, before = state
            more = lax.lt(k, n)
            return (k + 1.0, lax.select(more, following(x, k, p, before), p),
                    lax.select(more, p, before))

        start = (constant(x, 1.0), first(x), constant(x, 1.0))
        result = lax.while_loop(pending, step, start)[1]
        result = lax.select(lax.eq(n, zero), constant(x, 1.0), result)
        return lax.select(lax.lt(n, zero), zero, result)

    return in_float64(function, *broadcast(x, n))
