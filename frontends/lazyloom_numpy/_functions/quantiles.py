"""Medians, quantiles and percentiles, with NaN and without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as onp

import lazyloom

from .._arguments import dtypes as dt
from .._arguments.convert import as_value, operand
from .._array.ndarray import ndarray, wrap
from .._ufuncs.outputs import finish
from .._ufuncs.ufunc import TABLE
from .conditions import unless
from .elementwise import chosen as where
from .elementwise import rounded
from .manipulation import _array, broadcast_to
from .sorting import argsort, sort, take, take_along_axis

record = lazyloom.record
_floor, _isnan = TABLE["floor"], TABLE["isnan"]


class _Rows:
    """The reduced axes of an array, flattened into its first, and how to give them back."""

    def __init__(self, a: Any, axis: Any, name: str = "quantile") -> None:
        self.name: Final = name
        x = _array(a)
        ndim = x.ndim
        self.shape: Final = x.shape
        self.axes: Final = tuple(range(ndim)) if axis is None else dt.normalize_axes(axis, ndim)
        self.kept: Final = tuple(i for i in range(ndim) if i not in self.axes)
        self.x: Final = self.flattened(x)

    def flattened(self, x: ndarray) -> ndarray:
        """Another array of the same shape, its axes in the same order."""
        count = 1
        for i in self.axes:
            count *= x.shape[i]
        moved = x.transpose((*self.axes, *self.kept)) if x.ndim else x
        return moved.reshape((count, *(x.shape[i] for i in self.kept)))

    def finish(self, result: Any, before: tuple[int, ...], keepdims: Any, out: Any) -> Any:
        """The result, with the axes kept as 1 or left out; ``before`` is the shape of q."""
        if keepdims is True:
            kept = (1 if i in self.axes else n for i, n in enumerate(self.shape))
            result = result.reshape((*before, *kept))
        # a median is a mean of elements, other quantiles are what a ufunc gives
        return finish(result.value, out, self.name, self.name != "median")


# --------------------------------------------------------------------------- methods


def _between(alpha: float, beta: float) -> Callable[..., Any]:
    """Hyndman and Fan's continuous methods: a position among n sorted elements."""

    def position(n: Any, q: Any) -> Any:
        scaled = rounded(n * q)
        shift = rounded(q * (1 - alpha - beta))
        return scaled + (alpha + shift) - 1

    return position


def _last(n: Any, q: Any) -> Any:
    return rounded((n - 1) * q)


def _below(n: Any, q: Any) -> Any:
    return rounded(n * q) - 1


def _boundary(position: Any, stays: Any) -> Any:
    """A whole position, of the element before where ``stays`` holds, else of the next."""
    before = _floor(position)
    return where(stays, before, before + 1)


def _inverted_cdf(n: Any, q: Any) -> Any:
    position = _below(n, q)
    return _boundary(position, position == _floor(position))


def _closest_observation(n: Any, q: Any) -> Any:
    position = rounded(n * q) - 1 - 0.5
    before = _floor(position)
    return _boundary(position, (position == before) & (before % 2 == 1))


def _middle(n: Any, q: Any) -> Any:
    position = _last(n, q)
    return 0.5 * (_floor(position) + TABLE["ceil"](position))


#: methods whose position is a whole number, so that an element is the result
_DISCRETE: Final[dict[str, Callable[..., Any]]] = {
    "inverted_cdf": _inverted_cdf,
    "closest_observation": _closest_observation,
    "lower": lambda n, q: _floor(_last(n, q)),
    "higher": lambda n, q: TABLE["ceil"](_last(n, q)),
    "nearest": lambda n, q: TABLE["rint"](_last(n, q)),
}

#: methods that lie between two elements
_CONTINUOUS: Final[dict[str, Callable[..., Any]]] = {
    "averaged_inverted_cdf": _below,
    "interpolated_inverted_cdf": _between(0, 1),
    "hazen": _between(0.5, 0.5),
    "weibull": _between(0, 0),
    "linear": _last,
    "median_unbiased": _between(1 / 3.0, 1 / 3.0),
    "normal_unbiased": _between(3 / 8.0, 3 / 8.0),
    "midpoint": _middle,
}


def _weight(method: str, position: Any, before: Any) -> Any:
    """How far a position lies towards the next element."""
    weight = position - before
    if method == "averaged_inverted_cdf":
        return where(weight == 0, 0.5, 1.0).astype(position.dtype)
    if method == "midpoint":
        return where(position % 1 == 0, 0.0, 0.5).astype(position.dtype)
    return weight


def _interpolated(ordered: ndarray, q: ndarray, n: Any, method: str, weak: bool) -> Any:
    """The quantiles of sorted elements, of which the first n count (a number, or by column)."""
    by_column = isinstance(n, ndarray)
    points = q.reshape(-1)
    if by_column:
        points = points.reshape((-1,) + (1,) * (ordered.ndim - 1))
        n = n.astype(points.dtype if points.dtype.kind == "f" else onp.int64)
    top = n - 1
    exact = method == "linear" and points.dtype.kind in "iu"
    if exact or method in _DISCRETE:
        position = (n - 1) * points if exact else _DISCRETE[method](n, points)
        position = TABLE["maximum"](position, 0)
        return _columns(ordered, TABLE["minimum"](position, top), by_column)
    position = _CONTINUOUS[method](n, points)
    before = _floor(position)
    after = before + 1
    outside = position >= top
    before, after = where(outside, top, before), where(outside, top, after)
    low = position < 0
    before, after = where(low, 0, before), where(low, 0, after)
    weight = _weight(method, position, before)
    a, b = _columns(ordered, before, by_column), _columns(ordered, after, by_column)
    gap = TABLE["subtract"](b, a)
    if not by_column:
        weight = weight.reshape((-1,) + (1,) * (ordered.ndim - 1))
    near, rest = weight >= 0.5, 1 - weight
    if weak:
        d = dt.promote(gap.type.dtype, float).numpy
        weight, rest = weight.astype(d), rest.astype(d)
    # from the nearer end, so that a weight of one gives the upper element
    return where(near, b - rounded(gap * rest), a + rounded(gap * weight))


def _columns(ordered: ndarray, position: Any, by_column: bool) -> Any:
    index = position.astype(onp.int64)
    return take_along_axis(ordered, index, 0) if by_column else take(ordered, index, 0)


def _weighted(x: ndarray, weights: ndarray, q: ndarray, n: Any) -> Any:
    """The first elements at which the weights' running sum reaches a share q of all."""
    order = argsort(x, 0)
    ordered = take_along_axis(x, order, 0)
    running = take_along_axis(weights, order, 0).astype(onp.float64).cumsum(0)
    share = running / running[-1]
    if q.dtype.kind == "f":
        share = share.astype(q.dtype)
    share = where(share == 0, -1, share)
    points = q.reshape((-1,) + (1,) * x.ndim)
    index = (share < points).sum(1)
    return take_along_axis(ordered, TABLE["minimum"](index, n - 1), 0)


def _fitting_weights(weights: Any, rows: _Rows, axis: Any) -> ndarray:
    """The weights, broadcast and flattened as the data is. Raises as ``numpy.quantile``."""
    w = _array(weights)
    if w.shape != rows.shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        if w.shape != tuple(rows.shape[i] for i in rows.axes):
            raise ValueError("Shape of weights must be consistent with shape of a along specified "
                             "axis.")  # fmt: skip
        order = sorted(range(len(rows.axes)), key=lambda i: rows.axes[i])
        shape = tuple(n if i in rows.axes else 1 for i, n in enumerate(rows.shape))
        w = broadcast_to(w.transpose(order).reshape(shape), rows.shape)
    return rows.flattened(w)


def _points(q: Any, hundred: bool) -> tuple[ndarray, bool]:
    """The quantiles as an array, and whether they take the data's dtype.

    A number is checked at the call, an array when the result is read.
    """
    weak = type(q) in (int, float)
    top = 100 if hundred else 1
    kind = "percentile" if hundred else "quantile"
    points = ndarray.from_value(as_value(operand(q)))
    if not isinstance(q, lazyloom.Tensor):
        given = onp.asarray(q)
        if given.size and not (given.min() >= 0 and given.max() <= top):
            raise ValueError(f"{kind.capitalize()}s must be in the range [0, {top}]")
    else:
        points = unless(~((points >= 0) & (points <= top)), kind, kind, points)
    if points.ndim > 2:
        raise ValueError("q must be a scalar or 1d")
    return (points / 100 if hundred else points), weak


def _quantile(a: Any, q: Any, axis: Any, out: Any, method: str, keepdims: Any, weights: Any,
              skip_nan: bool, hundred: bool) -> Any:  # fmt: skip
    x = _array(a)
    if x.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    points, weak = _points(q, hundred)
    rows = _Rows(x, axis, "nanquantile" if skip_nan else "quantile")
    x = rows.x
    if method not in _DISCRETE and method not in _CONTINUOUS:
        raise ValueError(f"{method!r} is not a valid method. Use one of: "
                         f"{sorted([*_DISCRETE, *_CONTINUOUS])}")  # fmt: skip
    w = None
    if weights is not None:
        if method != "inverted_cdf":
            raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
        w = _fitting_weights(weights, rows, axis)
    n: Any = x.shape[0]
    if n == 0 or 0 in points.shape:
        if n == 0 and not skip_nan:
            raise IndexError("index -1 is out of bounds for axis 0 with size 0")
        result = wrap(record("full", (dt.scalar(onp.nan, x.type.dtype),),
                             {"shape": (*points.shape, *x.shape[1:])}))  # fmt: skip
        return rows.finish(result, points.shape, keepdims, out)
    nan = _isnan(x) if x.dtype.kind == "f" else None
    if skip_nan and nan is not None:
        n = (~nan).sum(0, keepdims=True)
        w = None if w is None else where(nan, 0, w)
    if w is not None:
        result = unless(w < 0, "negative weight", "quantile", _weighted(x, w, points, n))
    else:
        result = _interpolated(sort(x, 0), points, n, method, weak)
    if nan is not None:
        bad = nan.all(0) if skip_nan else nan.any(0)
        result = where(bad, onp.nan, result)
        if skip_nan:
            result = unless(bad, "all-NaN slice", "nanquantile", result)
    result = result.reshape((*points.shape, *x.shape[1:]))
    return rows.finish(result, points.shape, keepdims, out)


def quantile(a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
             method: str = "linear", keepdims: bool = False, *,
             weights: Any = None) -> Any:  # fmt: skip
    """The q-th quantiles over axes. See ``numpy.quantile``, with its 13 methods and weights.

    Reading the result raises ValueError where quantiles or weights that were computed are out
    of range.
    """
    return _quantile(a, q, axis, out, method, keepdims, weights, False, False)


def percentile(a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
               method: str = "linear", keepdims: bool = False, *,
               weights: Any = None) -> Any:  # fmt: skip
    """The q-th percentiles over axes: :func:`quantile` of q / 100. See ``numpy.percentile``."""
    return _quantile(a, q, axis, out, method, keepdims, weights, False, True)


def nanquantile(a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
                method: str = "linear", keepdims: Any = False, *,
                weights: Any = None) -> Any:  # fmt: skip
    """The q-th quantiles of what is not NaN; NaN of nothing. See ``numpy.nanquantile``."""
    return _quantile(a, q, axis, out, method, keepdims, weights, True, False)


def nanpercentile(a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
                  method: str = "linear", keepdims: Any = False, *,
                  weights: Any = None) -> Any:  # fmt: skip
    """The q-th percentiles of what is not NaN; NaN of nothing. See ``numpy.nanpercentile``."""
    return _quantile(a, q, axis, out, method, keepdims, weights, True, True)


# --------------------------------------------------------------------------- medians


def _of_nothing(rows: _Rows, keepdims: Any, out: Any) -> Any:
    d = rows.x.type.dtype if rows.x.dtype.kind in "fc" else dt.FLOAT64
    result = wrap(record("full", (dt.scalar(onp.nan, d),), {"shape": rows.x.shape[1:]}))
    return rows.finish(result, (), keepdims, out)


def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
           keepdims: bool = False) -> Any:  # fmt: skip
    """The median over axes; NaN wins. See ``numpy.median``."""
    rows = _Rows(a, axis, "median")
    x = rows.x
    n = x.shape[0]
    if n == 0:
        return _of_nothing(rows, keepdims, out)
    ordered = sort(x, 0)
    result = ordered[(n - 1) // 2 : n // 2 + 1].mean(0)
    if x.dtype.kind in "fc":
        # NaN sorts last, so the largest element tells
        result = where(_isnan(ordered[-1]), ordered[-1], result)
    return rows.finish(result, (), keepdims, out)


def nanmedian(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
              keepdims: Any = False) -> Any:  # fmt: skip
    """The median of what is not NaN; NaN of nothing. See ``numpy.nanmedian``."""
    rows = _Rows(a, axis, "nanquantile")
    x = rows.x
    if x.dtype.kind not in "fc":
        return median(a, axis, out, overwrite_input, keepdims)
    if not x.shape[0]:
        return _of_nothing(rows, keepdims, out)
    n = (~_isnan(x)).sum(0, keepdims=True)
    ordered = sort(x, 0)
    low = take_along_axis(ordered, TABLE["maximum"]((n - 1) // 2, 0), 0)
    # of nothing NaN, which stands first then
    high = take_along_axis(ordered, TABLE["minimum"](n // 2, x.shape[0] - 1), 0)
    result = where(low == high, low, (low + high) / 2)[0]
    result = unless(n == 0, "all-NaN slice", "nanmedian", result)
    return rows.finish(result, (), keepdims, out)
