"""Sorting and searching, and what is picked from a sorted dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyloom.dtypes import bool_, int32, int64

from .._core import axis, cast, record, scalar
from .._elementwise import elementwise
from .._errors import described
from .._promotion import combine, is_number
from .._registry import declare
from .._tensor import Tensor, operand
from ..return_types import named
from . import bounds, pointwise

_wrap = Tensor.from_value


def _ordered(input: Tensor, name: str, *, bools: bool = True) -> Any:
    """The value of a tensor whose elements have an order."""
    v = operand(input)
    if v.dtype.is_complex or not bools and v.dtype.kind == "b":
        raise NotImplementedError(f"{name} does not support {input.dtype!r}")
    return v


def _flat_zero() -> Any:
    return record("full", [scalar(0, int64)], {"shape": ()})


def _sorted(v: Any, at: int, descending: bool = False) -> tuple[Any, Any]:
    """Values in order along a dimension, and the positions they had."""
    if not v.shape:
        return v, _flat_zero()
    values, indices = record("sort_with_indices", [v], {
        "axis": at, "descending": descending, "stable": True})
    return values, indices


def sort(input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool | None = None
         ) -> Any:
    """Values in order along a dimension, and the indices they had. It is always stable."""
    at = axis(dim, input.ndim)
    found = _sorted(_ordered(input, "sort"), at, bool(descending))
    return named("sort", "values", "indices")(*map(_wrap, found))


def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices that sort a dimension."""
    at = axis(dim, input.ndim)
    v = _ordered(input, "argsort")
    if not v.shape:
        return _wrap(_flat_zero())
    return _wrap(record("argsort", [v], {
        "axis": at, "descending": bool(descending), "stable": True}))


def msort(input: Tensor) -> Tensor:
    """Values in order along the first dimension."""
    found: Tensor = sort(input, 0)[0]
    return found


def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k largest (or smallest) along a dimension, in order, and their indices."""
    at = axis(dim, input.ndim)
    v = _ordered(input, "topk", bools=False)
    k = k.__index__()
    size = v.shape[at] if v.shape else 1
    if not 0 <= k <= size:
        raise RuntimeError(f"selected index k out of range: k is {k}, the dimension has {size}")
    if not v.shape:
        found: Any = (v, _flat_zero())
    else:
        found = record("top_k", [v], {"k": k, "axis": at, "largest": bool(largest)})
    return named("topk", "values", "indices")(*map(_wrap, found))


def _picked(name: str, v: Any, at: int, index: Any, keepdim: bool) -> Any:
    """Values at one index along a dimension, and the index: gradients go there only."""
    found = record("take_along_axis", [v, index], {"axis": at})
    parts = [found, index]
    if not keepdim:
        shape = (*v.shape[:at], *v.shape[at + 1:])
        parts = [record("reshape", [p], {"shape": shape}) for p in parts]
    return named(name, "values", "indices")(*map(_wrap, parts))


def _one_along(x: Any, at: int, position: int) -> Any:
    """The slice at one position of a dimension, which is kept."""
    starts, stops = [0] * len(x.shape), list(x.shape)
    starts[at], stops[at] = position, position + 1
    return record("slice", [x], {
        "starts": tuple(starts), "stops": tuple(stops), "strides": (1,) * len(x.shape)})


def _some(v: Any, at: int, name: str) -> None:
    if not v.shape[at]:
        raise IndexError(f"{name}(): Expected reduction dim {at} to have non-zero size.")


def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest along a dimension (k counts from 1), and its index."""
    at = axis(dim, input.ndim)
    v = _ordered(input, "kthvalue", bools=False)
    if v.shape:
        _some(v, at, "kthvalue")
    if not 1 <= k <= (v.shape[at] if v.shape else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {at}")
    if not v.shape:
        return named("kthvalue", "values", "indices")(_wrap(v), _wrap(_flat_zero()))
    return _picked("kthvalue", v, at, _one_along(_sorted(v, at)[1], at, k - 1), keepdim)


def _middle(v: Any, at: int, skip_nan: bool) -> Any:
    """The index of the lower median along a dimension, which is kept with size 1.

    Of the first NaN where there is one; with ``skip_nan`` of the median of the others.
    """
    values, order = _sorted(v, at)
    n = v.shape[at]
    if not v.dtype.is_floating:
        return _one_along(order, at, (n - 1) // 2)
    nan = record("isnan", [v])
    count = record("sum", [cast(nan, int64)], {"axes": (at,), "keepdims": True})
    there = record("subtract", [scalar(n, int64), count])
    if skip_nan:
        half = record("floor_divide", [record("subtract", [there, scalar(1, int64)]),
                                       scalar(2, int64)])
        position = record("maximum", [half, scalar(0, int64)])
    else:
        middle = scalar((n - 1) // 2, int64)
        position = record("where", [record("equal", [count, scalar(0, int64)]), middle, there])
    return record("take_along_axis", [order, position], {"axis": at})


def _median(name: str, skip_nan: bool) -> Any:
    def function(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
        v = _ordered(input, name, bools=False)
        if dim is not None:
            at = axis(dim, input.ndim)
            if not v.shape:
                return named(name, "values", "indices")(_wrap(v), _wrap(_flat_zero()))
            _some(v, at, name)
            return _picked(name, v, at, _middle(v, at, skip_nan), keepdim)
        flat = record("reshape", [v], {"shape": (v.type.size,)})
        if not v.type.size:
            nothing = float("nan") if v.dtype.is_floating else int(np.iinfo(v.dtype.numpy).min)
            return _wrap(record("full", [scalar(nothing, v.dtype)], {"shape": ()}))
        where = _middle(flat, 0, skip_nan)
        found = record("reshape", [record("take_along_axis", [flat, where], {"axis": 0})],
                       {"shape": ()})
        return _wrap(_shared_gradient(flat, found))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"The lower median{' of what is not NaN' if skip_nan else ''}; along a dimension its "
        "index too.")
    return function


def _shared_gradient(flat: Any, found: Any) -> Any:
    """``found``, an element of a vector, whose gradient all elements equal to it share."""
    if not flat.requires_grad:
        return found
    here = found.detach()
    equal = record("logical_or", [
        record("equal", [flat, here]),
        record("logical_and", [record("isnan", [flat]), record("isnan", [here])])])
    count = record("sum", [cast(equal, flat.dtype)], {"axes": None, "keepdims": False})
    none = scalar(0, flat.dtype)
    share = record("divide", [record("sum", [record("where", [equal, flat, none])],
                                     {"axes": None, "keepdims": False}), count])
    return record("straight_through", [share, here])


median, nanmedian = _median("median", False), _median("nanmedian", True)


def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent value along a dimension, the smallest of several; its last index."""
    at = axis(dim, input.ndim)
    v = _ordered(input, "mode")
    if not v.shape:
        return named("mode", "values", "indices")(_wrap(v), _wrap(_flat_zero()))
    _some(v, at, "mode")
    values, order = _sorted(v, at)
    n = v.shape[at]
    here = record("iota", [], {"shape": v.shape, "axis": at, "dtype": int64})
    before = record("roll", [values], {"shifts": (1,), "axes": (at,)})
    first = record("equal", [here, scalar(0, int64)])
    differs = record("not_equal", [values, before])
    if v.dtype.is_inexact:
        nans = record("logical_and", [record("isnan", [values]), record("isnan", [before])])
        differs = record("logical_and", [differs, record("logical_not", [nans])])
    new = record("logical_or", [first, differs])
    start = record("cummax", [record("where", [new, here, scalar(0, int64)])], {"axis": at})
    length = record("subtract", [here, start])
    place = record("argmax", [length], {"axis": at, "keepdims": True})
    if n == 1:
        place = record("full", [scalar(0, int64)], {"shape": place.shape})
    index = record("take_along_axis", [order, place], {"axis": at})
    return _picked("mode", v, at, index, keepdim)


def searchsorted(sorted_sequence: Tensor, input: Any, *, out_int32: bool = False,
                 right: bool = False, side: str | None = None, sorter: Tensor | None = None
                 ) -> Tensor:  # fmt: skip
    """Where elements of input would go in sequences sorted along their last dimension.

    A sequence of one dimension serves an input of any shape, or a number; others serve an input
    of their own leading dimensions. ``sorter`` holds the indices that sort the sequence.
    """
    name = "torch.searchsorted()"
    if side not in (None, "left", "right"):
        raise RuntimeError(f"{name}: side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            f"{name}: side and right can't be set to opposites, got side of left while right was "
            "True")
    if not sorted_sequence.ndim:
        raise RuntimeError(
            f"{name}: boundaries tensor should have positive dimension, but got 0 dimension")
    number = not isinstance(input, Tensor)
    if number and not is_number(input):
        raise TypeError(f"{name}: input must be a Tensor or a number, not {described(input)}")
    if number or not input.ndim:
        if sorted_sequence.ndim != 1:
            raise RuntimeError(
                f"{name}: input value can be a scalar only when boundaries tensor dimension is 1, "
                f"but it has {sorted_sequence.ndim}")
    s = operand(sorted_sequence)
    common = combine(pointwise.ranked(x) for x in (sorted_sequence, input)).lazy
    if common.kind not in "iuf":
        raise NotImplementedError(f"searchsorted is not implemented for {common.name}")
    v = operand(input) if not number else record("full", [scalar(input, common)], {"shape": ()})
    if len(s.shape) > 1 and s.shape[:-1] != v.shape[:-1]:
        raise RuntimeError(
            f"{name}: boundaries tensor should be 1 dimension or the first N-1 dimensions of "
            "boundaries tensor and input value tensor must match, but we got boundaries tensor "
            f"{list(s.shape)} and input value tensor {list(v.shape)}")
    if sorter is not None:
        if sorter.tensor_type.shape != s.shape:
            raise RuntimeError(
                f"{name}: boundary and sorter must have the same size, but got boundary tensor "
                f"{list(s.shape)} and got sorter tensor {list(sorter.shape)}")
        if sorter.tensor_type.dtype is not int64:
            raise RuntimeError(
                f"{name}: sorter must be a tensor of long dtype but got dtype {sorter.dtype!r}")
        order = bounds.checked(operand(sorter), s.shape[-1], s.type.ndim - 1, "searchsorted",
                               negative=False)  # fmt: skip
        s = record("take_along_axis", [s, order], {"axis": -1}) if s.type.size else s
    found = record("searchsorted", [cast(s, common), cast(v, common)],
                   {"side": side or ("right" if right else "left")})
    return _wrap(cast(found, int32) if out_int32 else found)


def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
              ) -> Tensor:  # fmt: skip
    """The bucket of each element between sorted boundaries; on one, the lower without ``right``."""
    if boundaries.ndim != 1:
        raise RuntimeError(
            f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, right=right, out_int32=out_int32)


def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
         ) -> Tensor:  # fmt: skip
    """Which elements are among the test elements. NaN is not."""
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise TypeError("isin() takes at least one Tensor")
    for t in (elements, test_elements):
        if isinstance(t, Tensor) and t.tensor_type.dtype.kind in "bc":
            raise RuntimeError(f"Unsupported input type encountered for isin(): {t.dtype!r}")
    common = combine(pointwise.ranked(x) for x in (elements, test_elements)).lazy
    x, tests = (cast(operand(t), common) if isinstance(t, Tensor) else record(
        "full", [scalar(t, common)], {"shape": ()}) for t in (elements, test_elements))
    tests = record("reshape", [tests], {"shape": (tests.type.size,)})
    n = tests.shape[0]
    if not n or not x.type.size:
        found = record("full", [scalar(False, bool_)], {"shape": x.shape})
    elif n <= 16:
        wide = record("reshape", [x], {"shape": (*x.shape, 1)})
        found = record("any", [record("equal", [wide, tests])],
                       {"axes": (len(x.shape),), "keepdims": False})
    else:
        ordered = record("sort", [tests], {"axis": 0, "descending": False, "stable": True})
        place = record("minimum", [record("searchsorted", [ordered, x], {"side": "left"}),
                                   scalar(n - 1, int64)])
        found = record("equal", [record("take", [ordered, place], {"axis": 0}), x])
    return _wrap(record("logical_not", [found]) if invert else found)


def _check_interpolation(interpolation: str) -> None:
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}")


def _shares(name: str, v: Any, q: Any) -> Any:
    """The wanted quantiles as a Value of the input's dtype, in range."""
    if v.dtype.name not in ("float32", "float64"):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if not v.type.size:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
        return record("full", [scalar(float(q), v.dtype)], {"shape": ()})
    if q.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if q.tensor_type.dtype is not v.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    found = operand(q)
    inside = record("logical_and", [record("greater_equal", [found, scalar(0, v.dtype)]),
                                    record("less_equal", [found, scalar(1, v.dtype)])])
    outside = record("logical_not", [record("all", [inside], {"axes": None, "keepdims": False})])
    return bounds.require(found, outside, "torch.quantile_range")


def _quantile(name: str, skip_nan: bool) -> Any:
    def function(input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *,
                 interpolation: str = "linear") -> Tensor:
        v = operand(input)
        shares = _shares(name, v, q)
        _check_interpolation(interpolation)
        ndim = len(v.shape)
        at = 0 if dim is None else axis(dim, ndim)
        # the dimension goes last
        if dim is None or not ndim:
            rows = record("reshape", [v], {"shape": (v.type.size,)})
            rest: tuple[int, ...] = ()
        else:
            rows = v if at == ndim - 1 else record(
                "moveaxis", [v], {"source": (at,), "destination": (ndim - 1,)})
            rest = rows.shape[:-1]
        count = shares.shape or (1,)
        points = record("reshape", [shares], {"shape": (*(1,) * len(rest), *count)})
        found = _between(rows, points, (*rest, *count), interpolation, skip_nan)
        found = record("moveaxis", [found], {"source": (len(rest),), "destination": (0,)})
        if keepdim:
            kept = (1,) * ndim if dim is None else (*v.shape[:at], 1, *v.shape[at + 1:])
        else:
            kept = rest
        return _wrap(record("reshape", [found], {
            "shape": (*shares.shape, *(kept if ndim else ()))}))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"The quantiles q{' of what is not NaN' if skip_nan else ''} of all elements or along a "
        "dimension; of a vector q the first dimension of the result.")
    return function


def _between(rows: Any, points: Any, shape: tuple[int, ...], interpolation: str, skip_nan: bool
             ) -> Any:  # fmt: skip
    """Quantiles of the last dimension, ``points`` of it, by their ranks among its elements."""
    n, d = rows.shape[-1], rows.dtype
    last = len(rows.shape) - 1
    ordered = record("sort", [rows], {"axis": last, "descending": False, "stable": True})
    nan = record("isnan", [rows])
    if skip_nan:
        there = record("sum", [cast(record("logical_not", [nan]), d)],
                       {"axes": (last,), "keepdims": True})
        top = record("maximum", [record("subtract", [there, scalar(1, d)]), scalar(0, d)])
        ranks = record("multiply", [points, top])
    else:
        ranks = record("broadcast_to", [record("multiply", [points, scalar(n - 1, d)])],
                       {"shape": shape})
        none = record("logical_not", [record("any", [nan], {"axes": (last,), "keepdims": True})])
        ranks = record("where", [none, ranks, scalar(n - 1, d)])
    if interpolation in ("lower", "higher", "nearest"):
        op = {"lower": "floor", "higher": "ceil", "nearest": "round"}[interpolation]
        return _at_ranks(ordered, record(op, [ranks]), last)
    below = record("floor", [ranks])
    low, high = _at_ranks(ordered, below, last), _at_ranks(ordered, record("ceil", [ranks]), last)
    if interpolation == "midpoint":
        half = record("full", [scalar(0.5, d)], {"shape": ranks.shape})
        return record("lerp", [low, high, half])
    return record("lerp", [low, high, record("subtract", [ranks, below])])


def _at_ranks(ordered: Any, ranks: Any, last: int) -> Any:
    return record("take_along_axis", [ordered, cast(ranks, int64)], {"axis": last})


quantile, nanquantile = _quantile("quantile", False), _quantile("nanquantile", True)

declare({"function method out": [
    *map(elementwise, (sort, argsort, msort)), topk, kthvalue, median, nanmedian, mode,
    searchsorted, bucketize, isin, quantile, nanquantile]})
