"""Functions of sequences: differences, integration, statistics, histograms, convolution."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as onp

import lazyloom

from .._arguments import dtypes as dt
from .._arguments.convert import value_of
from .._array.ndarray import ndarray, wrap
from .._ufuncs.ufunc import TABLE
from .conditions import unless
from .joining import concatenate
from .manipulation import broadcast_to, moveaxis
from .products import common

record = lazyloom.record


def _array(a: Any) -> ndarray:
    return a if isinstance(a, ndarray) else ndarray.from_value(value_of(a))


def _slices(x: ndarray, axis: int, *parts: slice) -> list[ndarray]:
    before = (slice(None),) * axis
    return [x[(*before, p)] for p in parts]


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The n-th differences along an axis. See ``numpy.diff``."""
    x = _array(a)
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    if x.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    position = dt.normalize_axis(axis, x.ndim)
    parts = []
    for extra in (prepend, append):
        if extra is not None:
            e = _array(extra)
            if not e.ndim:
                shape = tuple(1 if i == position else s for i, s in enumerate(x.shape))
                e = broadcast_to(e, shape)
            parts.append(e)
    if prepend is not None:
        x = concatenate([parts.pop(0), x], position)
    if append is not None:
        x = concatenate([x, parts.pop(0)], position)
    for _ in range(n):
        after, before = _slices(x, position, slice(1, None), slice(None, -1))
        x = TABLE["not_equal" if x.dtype == bool else "subtract"](after, before)
    return x


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of the flattened array. See ``numpy.ediff1d``."""
    x = _array(ary).reshape(-1)
    parts = [x[1:] - x[:-1]]
    for name, given in (("to_begin", to_begin), ("to_end", to_end)):
        if given is None:
            continue
        end = _array(given)
        if not dt.can_cast(end.type.dtype, x.type.dtype, "same_kind"):
            raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the "
                            "`same_kind` rule.")  # fmt: skip
        end = end.reshape(-1).astype(x.dtype)
        parts = [end, *parts] if name == "to_begin" else [*parts, end]
    return concatenate(parts) if len(parts) > 1 else parts[0]


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences inside, one-sided at the ends. See ``numpy.gradient``."""
    x = _array(f)
    axes = tuple(range(x.ndim)) if axis is None else dt.normalize_axes(axis, x.ndim)
    spacings = list(varargs) or [1.0]
    if len(spacings) == 1:
        spacings *= len(axes)
    if len(spacings) != len(axes):
        raise TypeError("invalid number of arguments")
    if x.dtype.kind not in "fc":
        if x.dtype == bool:
            TABLE["subtract"](x, x)  # raises, as there is no difference of bools
        x = x.astype(float)
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    results = []
    for position, h in zip(axes, spacings):
        y = moveaxis(x, position, 0)
        n = y.shape[0]
        if n < edge_order + 1:
            raise ValueError("Shape of array too small to calculate a numerical gradient, at least "
                             "(edge_order + 1) elements are required.")  # fmt: skip
        results.append(moveaxis(_gradient_rows(y, h, edge_order), 0, position))
    return results[0] if len(axes) == 1 else tuple(results)


def _gradient_rows(y: ndarray, h: Any, edge_order: int) -> ndarray:
    if onp.ndim(h) if not isinstance(h, ndarray) else h.ndim:
        points = _array(h)
        if points.ndim != 1:
            raise ValueError("distances must be either scalars or 1d")
        if points.size != y.shape[0]:
            raise ValueError(
                "when 1d, distances must match the length of the corresponding dimension")
        d = (points[1:] - points[:-1]).reshape((-1,) + (1,) * (y.ndim - 1))
        d1, d2 = d[:-1], d[1:]
        inside = (-(d2 / (d1 * (d1 + d2))) * y[:-2] + ((d2 - d1) / (d1 * d2)) * y[1:-1]
                  + (d1 / (d2 * (d1 + d2))) * y[2:])  # fmt: skip
        first, last = d[:1], d[-1:]
        if edge_order == 1:
            head, tail = (y[1:2] - y[:1]) / first, (y[-1:] - y[-2:-1]) / last
        else:
            a, b = d[:1], d[1:2]
            head = (-(2 * a + b) / (a * (a + b)) * y[:1] + (a + b) / (a * b) * y[1:2]
                    - a / (b * (a + b)) * y[2:3])  # fmt: skip
            a, b = d[-2:-1], d[-1:]
            tail = (b / (a * (a + b)) * y[-3:-2] - (b + a) / (a * b) * y[-2:-1]
                    + (2 * b + a) / (b * (a + b)) * y[-1:])  # fmt: skip
    else:
        inside = (y[2:] - y[:-2]) / (2.0 * h)
        if edge_order == 1:
            head, tail = (y[1:2] - y[:1]) / h, (y[-1:] - y[-2:-1]) / h
        else:
            head = (-1.5 / h) * y[:1] + (2.0 / h) * y[1:2] + (-0.5 / h) * y[2:3]
            tail = (0.5 / h) * y[-3:-2] + (-2.0 / h) * y[-2:-1] + (1.5 / h) * y[-1:]
    return concatenate([head, inside, tail], 0).astype(y.dtype)


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral by the trapezoidal rule. See ``numpy.trapezoid``."""
    a = _array(y)
    position = dt.normalize_axis(axis, a.ndim)
    if x is None:
        d: Any = dx
    else:
        points = _array(x)
        d = diff(points, axis=-1 if points.ndim == 1 else axis)
        if points.ndim == 1:
            shape = [1] * a.ndim
            shape[position] = d.shape[0]
            d = d.reshape(tuple(shape))
    after, before = _slices(a, position, slice(1, None), slice(None, -1))
    return ((after + before) * d / 2.0).sum(axis)


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *,
            keepdims: bool = False) -> Any:  # fmt: skip
    """The weighted mean. See ``numpy.average``."""
    x = _array(a)
    if weights is None:
        mean = x.mean(axis, keepdims=keepdims)
        if not returned:
            return mean
        return mean, mean * 0 + x.size / max(mean.size, 1)
    w = _array(weights)
    if x.shape != w.shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        axes = dt.normalize_axes(axis, x.ndim)
        if w.shape != tuple(x.shape[i] for i in axes):
            raise ValueError("Shape of weights must be consistent with shape of a along specified "
                             "axis.")  # fmt: skip
        shape = tuple(x.shape[i] if i in axes else 1 for i in range(x.ndim))
        w = w.transpose(sorted(range(len(axes)), key=lambda i: axes[i])).reshape(shape)
        w = broadcast_to(w, x.shape)
    d = dt.promote(x.type.dtype, w.type.dtype, *(() if x.dtype.kind in "fc" else (float,)))
    total = w.sum(axis, dtype=d.numpy, keepdims=keepdims)
    if not isinstance(weights, lazyloom.Tensor) and w.size == 0:
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    total = unless(total == 0, "no weight", "average", total)
    result = TABLE["multiply"](x, w, dtype=d.numpy).sum(axis, keepdims=keepdims) / total
    return (result, broadcast_to(total, result.shape).copy()) if returned else result


def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None,
        fweights: Any = None, aweights: Any = None, *, dtype: Any = None) -> Any:  # fmt: skip
    """The covariance matrix. See ``numpy.cov``."""
    x = _array(m)
    if x.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    if y is not None and _array(y).ndim > 2:
        raise ValueError("y has more than 2 dimensions")
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    if dtype is None:
        others = () if y is None else (_array(y).type.dtype,)
        dtype = dt.promote(x.type.dtype, *others, dt.FLOAT64).numpy
    x = x.astype(dtype)
    x = x.reshape(1, -1) if x.ndim < 2 else x
    if not rowvar and x.shape[0] != 1:
        x = x.T
    if y is not None:
        other = _array(y).astype(dtype)
        other = other.reshape(1, -1) if other.ndim < 2 else other
        if not rowvar and other.shape[0] != 1:
            other = other.T
        x = concatenate([x, other], 0)
    if ddof is None:
        ddof = 0 if bias else 1
    w: Any = None
    if fweights is not None:
        w = _covariance_weights(fweights, "fweights", x.shape[1])
    if aweights is not None:
        aw = _covariance_weights(aweights, "aweights", x.shape[1])
        w = aw if w is None else w * aw
    if w is None:
        centred = x - x.mean(1, keepdims=True)
        factor: Any = x.shape[1] - ddof
        if factor <= 0:
            warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=2)
            factor = 0.0
        product = centred
    else:
        total = w.sum()
        centred = x - average(x, 1, w)[:, None]
        product = centred * w
        if ddof == 0:
            factor = total
        elif aweights is None:
            factor = total - ddof
        else:
            factor = total - ddof * (w * _array(aweights)).sum() / total
    conjugated = centred.T.conj() if centred.dtype.kind == "c" else centred.T
    result = TABLE["matmul"](product, conjugated) / factor
    return result.squeeze() if result.size == 1 or 1 in result.shape else result


def _covariance_weights(given: Any, name: str, count: int) -> ndarray:
    """Weights of observations, in float64; negative ones are told when a result is read."""
    w = _array(given)
    if name == "fweights" and w.dtype.kind not in "biu" and not (
        isinstance(given, lazyloom.Tensor) or bool((onp.asarray(given) % 1 == 0).all())
    ):
        raise TypeError("fweights must be integer")
    if w.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if w.size != count:
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    if not isinstance(given, lazyloom.Tensor) and (onp.asarray(given) < 0).any():
        raise ValueError(f"{name} cannot be negative")
    return unless(w < 0, "negative weight", "cov", w.astype(float))  # type: ignore[no-any-return]


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """Pearson's correlation coefficients. See ``numpy.corrcoef``."""
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    d = c.diagonal().real if c.dtype.kind == "c" else c.diagonal()
    size = TABLE["sqrt"](d)
    c = c / size[:, None] / size[None, :]
    return c if c.dtype.kind == "c" else c.clip(-1, 1)


# --------------------------------------------------------- histograms, convolution


def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """Cross-correlation of one-dimensional sequences. See ``numpy.correlate``."""
    y = _array(v)
    return _convolve(a, y.conj()[::-1] if y.dtype.kind == "c" else y[::-1], mode, "correlate")


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """Convolution of one-dimensional sequences. See ``numpy.convolve``."""
    x, y = _array(a), _array(v)
    if y.ndim == 1 and x.ndim == 1 and y.size > x.size:
        x, y = y, x
    return _convolve(x, y, mode, "convolve")


def _convolve(a: Any, v: Any, mode: Any, name: str) -> Any:
    d, values = common(a, v)
    x, y = (ndarray.from_value(w if w.type.shape else record("reshape", (w,), {"shape": (1,)}))
            for w in values)
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError("object too deep for desired array")
    if not x.size or not y.size:
        raise ValueError(f"{'a' if not x.size else 'v'} cannot be empty")
    mode = {0: "valid", 1: "same", 2: "full"}.get(mode, mode) if type(mode) is int else mode
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    m, n = x.size, y.size
    flipped = m < n
    if flipped:
        x, y, m, n = y, x, n, m
    total = m + n - 1
    padded = x.value
    none = (0,)
    padded = record("pad", (padded, dt.scalar(0, d)), {
        "low": (n - 1,), "high": (n - 1,), "interior": none})  # fmt: skip
    full = _correlated(padded, y[::-1].value, total, d)
    if mode == "full":
        return full
    if mode == "valid":
        return full[n - 1 : m].copy()
    start = (n - 1) // 2
    if flipped and name == "correlate":
        start = n // 2
    return full[start : start + m].copy()


def _correlated(x: Any, kernel: Any, total: int, d: Any) -> Any:
    if d.kind == "f":
        image = record("reshape", (x,), {"shape": (1, 1, x.type.size)})
        weight = record("reshape", (kernel,), {"shape": (1, 1, kernel.type.size)})
        result = record("conv", (image, weight), {
            "strides": (1,), "padding_low": (0,), "padding_high": (0,), "dilation": (1,),
            "input_dilation": (1,), "groups": 1})  # fmt: skip
        return wrap(record("reshape", (result,), {"shape": (total,)}))
    places = {"shape": (total, kernel.type.size), "dtype": dt.INT64}
    windows = record("add", (record("iota", (), {**places, "axis": 0}),
                             record("iota", (), {**places, "axis": 1})))  # fmt: skip
    gathered = record("take", (x, windows), {"axis": 0})
    return TABLE["matmul"](wrap(gathered), wrap(kernel))
