"""Histograms of one and more dimensions."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, Final

import numpy as onp

import lazyloom

from .._arguments import dtypes as dt
from .._array.ndarray import ndarray, wrap
from .._ufuncs.ufunc import TABLE
from . import reductions
from .conditions import unless
from .creation import arange
from .elementwise import chosen as where
from .elementwise import rounded
from .manipulation import _array
from .quantiles import percentile
from .selecting import compress
from .sorting import searchsorted, sort
from .spaced import linspace

record = lazyloom.record


def _diff(x: ndarray) -> ndarray:
    return x[1:] - x[:-1]  # type: ignore[no-any-return]


def _outer_edges(x: ndarray, range: Any) -> tuple[Any, Any, ndarray | None]:
    """The ends of the binned interval, and the condition under which the data has none."""
    if range is not None:
        low, high = range
        if not isinstance(low, lazyloom.Tensor) and not isinstance(high, lazyloom.Tensor):
            if low > high:
                raise ValueError("max must be larger than min in range parameter.")
            if not (math.isfinite(low) and math.isfinite(high)):
                raise ValueError(f"supplied range of [{low}, {high}] is not finite")
            return (low - 0.5, high + 0.5, None) if low == high else (low, high, None)
        low, high = _array(low), _array(high)
    elif x.size == 0:
        return 0, 1, None
    else:
        low, high = reductions.min(x), reductions.max(x)
    infinite = None
    if low.dtype.kind == "f":
        infinite = ~(TABLE["isfinite"](low) & TABLE["isfinite"](high))
    same = low == high
    d = dt.promote(low.type.dtype, high.type.dtype, float).numpy
    low, high = low.astype(d), high.astype(d)
    return where(same, low - 0.5, low), where(same, high + 0.5, high), infinite


def _kind(x: Any) -> Any:
    if isinstance(x, ndarray):
        return x.type.dtype
    return type(x) if type(x) in dt.WEAK else dt.internal(onp.asarray(x).dtype)


def _even_edges(x: ndarray, count: int, range: Any, of: str) -> ndarray:
    if count < 1:
        raise ValueError("`bins` must be positive, when an integer")
    low, high, infinite = _outer_edges(x, range)
    ends = [] if range is None else [_kind(range[0]), _kind(range[1])]
    if not ends or of == "histogram":
        ends.append(x.type.dtype)
    edges: ndarray = linspace(
        low, high, count + 1, dtype=dt.promote(*dict.fromkeys(ends), float).numpy)
    return edges if infinite is None else unless(infinite, "range", of, edges)


def _given_edges(bins: Any, name: str = "`bins`") -> ndarray:
    """Edges that were given; those on the host are checked at once, else when read."""
    edges = _array(bins)
    if edges.ndim != 1:
        raise ValueError(f"{name} must be 1d, when an array")
    if isinstance(bins, ndarray):
        return unless(edges[:-1] > edges[1:], "bins", "histogram", edges)  # type: ignore[no-any-return]
    host = onp.asarray(bins)
    if (host[:-1] > host[1:]).any():
        raise ValueError(f"{name} must increase monotonically, when an array")
    return edges


# ------------------------------------------------------------------ estimated bins


def _spread(x: ndarray) -> Any:
    return reductions.max(x) - reductions.min(x)


def _sqrt(x: ndarray, range: Any) -> Any:
    return _spread(x) / x.size**0.5


def _sturges(x: ndarray, range: Any) -> Any:
    return _spread(x) / (math.log2(x.size) + 1.0)


def _rice(x: ndarray, range: Any) -> Any:
    return _spread(x) / (2.0 * x.size ** (1.0 / 3))


def _scott(x: ndarray, range: Any) -> Any:
    return (24.0 * onp.pi**0.5 / x.size) ** (1.0 / 3.0) * reductions.std(x)


def _stone(x: ndarray, range: Any) -> Any:
    n = x.size
    width = _spread(x)
    most = max(100, int(n**0.5))
    if n <= 1:
        return width * 0.0
    # all histograms of 1 to ``most`` bins at once: how many elements lie below each edge
    low, high = range
    bins, edge = arange(1, most + 1)[:, None], arange(most + 1)[None]
    edges = where(edge == bins, high, rounded(edge * ((high - low) / bins)) + low)
    below = where(edge == bins, n, searchsorted(sort(x), edges))
    counts = where(edge[:, 1:] <= bins, below[:, 1:] - below[:, :-1], 0) / n
    losses = (2 - (n + 1) * (counts * counts).sum(1)) / (width / bins[:, 0])
    best = reductions.argmin(losses) + 1
    return where(width == 0, 0.0, width / best)


def _stacked(parts: list[Any]) -> ndarray:
    return wrap(record("stack", [p.value for p in parts], {"axis": 0}))  # type: ignore[no-any-return]


def _doane(x: ndarray, range: Any) -> Any:
    n = x.size
    if n <= 2:
        return _spread(x) * 0.0
    scale = (6.0 * (n - 2) / ((n + 1.0) * (n + 3))) ** 0.5
    sigma = reductions.std(x)
    skew = reductions.mean(((x - reductions.mean(x)) / sigma) ** 3)
    bins = 1.0 + math.log2(n) + TABLE["log2"](1.0 + abs(skew) / scale)
    return where(sigma > 0, _spread(x) / bins, 0.0)


def _fd(x: ndarray, range: Any) -> Any:
    quartiles = percentile(x, [75, 25])
    return 2.0 * (quartiles[0] - quartiles[1]) * x.size ** (-1.0 / 3.0)


def _auto(x: ndarray, range: Any) -> Any:
    robust = TABLE["maximum"](_fd(x, range), _sqrt(x, range) / 2)
    return TABLE["minimum"](robust, _sturges(x, range))


_ESTIMATORS: Final = {
    "stone": _stone, "auto": _auto, "doane": _doane, "fd": _fd, "rice": _rice, "scott": _scott,
    "sqrt": _sqrt, "sturges": _sturges,
}  # fmt: skip
_range = range


def _estimated(x: ndarray, bins: str, range: Any, weights: Any) -> int:
    """The number of bins by a rule's width; reads it, as it is a shape."""
    if bins not in _ESTIMATORS:
        raise ValueError(f"{bins!r} is not a valid estimator for `bins`")
    if weights is not None:
        raise TypeError(
            "Automated estimation of the number of bins is not supported for weighted data")
    low, high, infinite = _outer_edges(x, range)
    if range is not None:
        x = compress((x >= low) & (x <= high), x)
    if x.size == 0:
        return 1
    wide = x if x.dtype.kind == "f" else x.astype(float)
    width = _ESTIMATORS[bins](wide, (low, high))
    if x.dtype.kind in "iu":
        width = where((width > 0) & (width < 1), 1.0, width)
    count = where(width > 0, TABLE["ceil"]((high - low) / width), 1.0)
    if infinite is not None:
        count = unless(infinite, "range", "histogram", count)
    return max(int(count), 1)


# ---------------------------------------------------------------------- functions


def _checked(a: Any, weights: Any) -> tuple[ndarray, Any]:
    x = _array(a)
    if x.dtype == bool:
        import warnings

        warnings.warn("Converting input from bool to <class 'numpy.uint8'> for compatibility.",
                      RuntimeWarning, stacklevel=3)  # fmt: skip
        x = x.astype(onp.uint8)
    w = None
    if weights is not None:
        w = _array(weights)
        if w.shape != x.shape:
            raise ValueError("weights should have the same shape as a.")
        w = w.reshape(-1)
    return x.reshape(-1), w


def _edges(x: ndarray, bins: Any, range: Any, weights: Any) -> ndarray:
    if isinstance(bins, str):
        return _even_edges(x, _estimated(x, bins, range, weights), range, "histogram")
    if isinstance(bins, (list, tuple)) or getattr(bins, "ndim", 0) > 0:
        return _given_edges(bins)
    try:
        count = operator.index(bins)
    except TypeError:
        raise TypeError("`bins` must be an integer, a string, or an array") from None
    return _even_edges(x, count, range, "histogram")


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges of a histogram's bins. See ``numpy.histogram_bin_edges``.

    A rule's name such as ``"auto"`` reads the number of bins, which is a shape; nothing else
    is read. Reading the edges raises ValueError where the data is not finite.
    """
    x, w = _checked(a, weights)
    return _edges(x, bins, range, w)


def _bins(x: ndarray, edges: ndarray) -> ndarray:
    """The bin of each element; the last edge belongs to the last bin, the rest lies outside."""
    last = edges.size - 2
    place = searchsorted(edges, x, "right") - 1
    place = where(x == edges[-1], last, place)
    inside = (x >= edges[0]) & (x <= edges[-1])
    return where(inside, place, last + 1)  # type: ignore[no-any-return]


def _totals(place: ndarray, weights: Any, length: int) -> ndarray:
    """How many elements, or which sum of weights, each of ``length`` places has."""
    if weights is None:
        return wrap(record("bincount", (place.value,), {"length": length}))  # type: ignore[no-any-return]
    d = weights.type.dtype
    w = weights.astype(onp.complex128 if d.kind == "c" else onp.float64)
    summed = wrap(record("bincount", (place.value, w.value), {"length": length}))
    return summed.astype(d.numpy)  # type: ignore[no-any-return]


def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None,
              weights: Any = None) -> Any:  # fmt: skip
    """Counts (or sums of weights) in bins, and the bins' edges. See ``numpy.histogram``."""
    x, w = _checked(a, weights)
    edges = _edges(x, bins, range, w)
    count = edges.size - 1
    totals = _totals(_bins(x, edges), w, count + 1)[:-1].copy()
    if density:
        return totals / _diff(edges).astype(float) / totals.sum(), edges
    return totals, edges


def histogramdd(sample: Any, bins: Any = 10, range: Any = None, density: Any = None,
                weights: Any = None) -> Any:  # fmt: skip
    """Counts in bins of several dimensions, and each dimension's edges.

    ``sample`` has a point in each row, or is a sequence of coordinates. See
    ``numpy.histogramdd``.
    """
    if isinstance(sample, (ndarray, onp.ndarray)) and sample.ndim == 2:
        points = _array(sample)
    else:
        points = _array(sample)
        points = points.reshape((1,) * (2 - points.ndim) + points.shape).T
    count, ndim = points.shape
    if isinstance(bins, Sequence) and not isinstance(bins, str) or getattr(bins, "ndim", 0) > 0:
        if len(bins) != ndim:
            raise ValueError(
                "The dimension of bins must be equal to the dimension of the sample x.")
        wanted = list(bins)
    else:
        wanted = [bins] * ndim
    if range is not None and len(range) != ndim:
        raise ValueError("range argument must have one entry per dimension")
    edges, places, sizes = [], [], []
    for i in _range(ndim):
        x = points[:, i]
        given = wanted[i]
        if isinstance(given, (list, tuple)) or getattr(given, "ndim", 0) > 0:
            e = _given_edges(given, f"`bins[{i}]`")
        else:
            try:
                n = operator.index(given)
            except TypeError:
                raise TypeError(f"`bins[{i}]` must be an integer, when a scalar") from None
            if n < 1:
                raise ValueError(f"`bins[{i}]` must be positive, when an integer")
            e = _even_edges(x, n, None if range is None else range[i], "histogramdd")
        edges.append(e)
        places.append(_bins(x, e))
        sizes.append(e.size)  # one more place than bins, for what lies outside
    flat: Any = None
    for place, size in zip(places, sizes):
        flat = place if flat is None else flat * size + place
    w = None if weights is None else _array(weights).astype(onp.float64)
    total = 1
    for size in sizes:
        total *= size
    hist = _totals(flat, w, total).reshape(sizes).astype(float)
    hist = hist[tuple(slice(0, -1) for _ in sizes)]
    if density:
        s = hist.sum()
        for i, e in enumerate(edges):
            shape = [1] * ndim
            shape[i] = -1
            hist = hist / _diff(e).reshape(shape)
        hist = hist / s
    return hist.copy(), edges


def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None,
                weights: Any = None) -> Any:  # fmt: skip
    """Counts in bins of two dimensions, and both dimensions' edges. See ``numpy.histogram2d``."""
    a, b = _array(x), _array(y)
    if len(a) != len(b):
        raise ValueError("x and y must have the same length.")
    d = dt.promote(*dict.fromkeys((a.type.dtype, b.type.dtype)))
    points = _stacked([a.astype(d.numpy), b.astype(d.numpy)]).T
    several = isinstance(bins, (list, tuple)) or getattr(bins, "ndim", 0) > 0
    if several and len(bins) not in (1, 2):
        bins = [bins, bins]
    hist, (first, second) = histogramdd(points, bins, range, density, weights)
    return hist, first, second
