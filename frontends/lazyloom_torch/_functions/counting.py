"""Counting: what is not zero, how often it occurs, and what is distinct.

Shapes that depend on data read a count, nothing else; everything is computed on the device.
"""

from __future__ import annotations

from typing import Any

import lazyloom
from lazyloom.dtypes import bool_, float64, int64

from .._core import axis, cast, numel, record, scalar
from .._promotion import is_number
from .._registry import declare
from .._tensor import Tensor, operand
from ..return_types import named
from . import bounds
from .indexing import coordinates, count_true, nonzero_values

_wrap = Tensor.from_value


def _full(shape: tuple[int, ...], number: Any, dtype: Any = int64) -> Any:
    return record("full", [scalar(number, dtype)], {"shape": shape})


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Indices of elements that are not zero, a row each. Reads their number."""
    v = operand(input)
    if not v.shape and as_tuple:
        v = record("reshape", [v], {"shape": (1,)})
    if as_tuple:
        return tuple(_wrap(x) for x in nonzero_values(v, "nonzero"))
    if not v.shape:
        return _wrap(_full((count_true(v, "nonzero"), 0), 0))
    return _wrap(record("stack", nonzero_values(v, "nonzero"), {"axis": 1}))


def argwhere(input: Tensor) -> Tensor:
    """Indices of elements that are not zero, a row each. Reads their number."""
    found: Tensor = nonzero(input)
    return found


def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The first ``size`` rows of :func:`nonzero`, with ``fill_value`` where there are no more."""
    if size < 0:
        raise RuntimeError(f"nonzero_static: size must be non-negative, got {size}")
    v = operand(input)
    if not v.shape:
        return _wrap(_full((size, 0), 0))
    flat = record("flat_nonzero", [v], {"size": size})
    found = record("stack", coordinates(flat, v.shape), {"axis": 1})
    there = record("less", [flat, scalar(v.type.size, int64)])
    there = record("reshape", [there], {"shape": (size, 1)})
    return _wrap(record("where", [there, found, scalar(fill_value, int64)]))


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each non-negative integer occurs, or the sum of its weights. Reads the largest."""
    v = operand(input)
    if v.dtype.kind not in "iu":
        raise NotImplementedError(f"bincount is not implemented for {input.dtype!r}")
    if len(v.shape) != 1:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError(f"minlength should be >= 0, got {minlength}")
    w = None if weights is None else operand(weights)
    if w is not None:
        if w.shape != v.shape:
            raise RuntimeError("weights should be 1-d and have the same length as input")
        if w.dtype.name != "float32":
            w = cast(w, float64)
    if not v.shape[0]:
        return _wrap(_full((minlength,), 0, int64 if w is None else w.dtype))
    ends = record("stack", [record(op, [v], {"axes": None, "keepdims": False})
                            for op in ("min", "max")])
    low, high = lazyloom.read_for_shape(ends, "bincount").tolist()
    if low < 0:
        raise RuntimeError(
            f"bincount only supports 1-d non-negative integral inputs; the least is {low}")
    return _wrap(record("bincount", [v] if w is None else [v, w],
                        {"length": max(high + 1, minlength)}))


# ---------------------------------------------------------------------------- histograms


def _limits(v: Any, low: Any, high: Any, name: str) -> tuple[Any, Any]:
    """The ends of a histogram: those given, or those of the data where they are equal."""
    d = v.dtype
    if low is not None and low != high:
        if low > high:
            raise RuntimeError(f"{name}: max must be larger than min, got {low} and {high}")
        return _full((), float(low), d), _full((), float(high), d)
    if not v.type.size:
        start = float(low or 0)
        if low is None:
            return _full((), 0.0, d), _full((), 1.0, d)
        return _full((), start - 1, d), _full((), start + 1, d)
    ends = [record(op, [v], {"axes": None, "keepdims": False}) for op in ("min", "max")]
    bad = record("logical_not", [record("isfinite", [record("subtract", [ends[1], ends[0]])])])
    ends[0] = bounds.require(ends[0], bad, "torch.histogram_range")
    return _apart(ends[0], ends[1], 1.0 if name == "torch.histc" else 0.5)


def _apart(low: Any, high: Any, by: float) -> tuple[Any, Any]:
    """Two ends, moved from one another where they are equal."""
    d = low.dtype
    shift = record("where", [record("equal", [low, high]), scalar(by, d), scalar(0.0, d)])
    return record("subtract", [low, shift]), record("add", [high, shift])


def _float(input: Tensor, name: str) -> Any:
    v = operand(input)
    if not v.dtype.is_floating:
        raise NotImplementedError(f"{name} is not implemented for {input.dtype!r}")
    return v


def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """Counts of elements in equal bins from min to max; from the least to the largest if equal."""
    v = _float(input, "histc")
    if bins <= 0:
        raise RuntimeError(f"torch.histc: bins must be > 0, but got {bins}")
    d = v.dtype
    v = record("reshape", [v], {"shape": (v.type.size,)})
    given = (min.item() if isinstance(min, Tensor) else min,
             max.item() if isinstance(max, Tensor) else max)
    low, high = _limits(v, *given, "torch.histc")
    inside = record("logical_and", [record("greater_equal", [v, low]),
                                    record("less_equal", [v, high])])
    where = record("divide", [
        record("multiply", [record("subtract", [v, low]), scalar(bins, d)]),
        record("subtract", [high, low])])
    place = record("minimum", [cast(where, int64), scalar(bins - 1, int64)])
    place = record("where", [inside, place, scalar(-1, int64)])
    return _wrap(cast(record("bincount", [place], {"length": bins}), d))


def _edges(v: Any, bins: Any, ends: tuple[Any, Any] | None, name: str) -> Any:
    """The edges of the bins of one coordinate."""
    if isinstance(bins, Tensor):
        if bins.ndim != 1 or not bins.tensor_type.size:
            raise RuntimeError(f"{name}: bins tensors must be 1-d and not empty")
        if bins.tensor_type.dtype is not v.dtype:
            raise RuntimeError(
                f"{name}: bins tensors must have the input's dtype, got {bins.dtype!r}")
        return operand(bins)
    if bins <= 0:
        raise RuntimeError(f"{name}: bins must be > 0, but got {bins}")
    first, last = ends or (None, None)
    low, high = _limits(v, first, last, name)
    if ends is not None and ends[0] == ends[1]:
        low, high = _apart(_full((), float(ends[0]), v.dtype), _full((), float(ends[1]), v.dtype),
                           0.5)  # fmt: skip
    d = v.dtype
    step = record("divide", [record("subtract", [high, low]), scalar(bins, d)])
    at = record("iota", [], {"shape": (bins + 1,), "axis": 0, "dtype": int64})
    # from the nearer end, so that both ends are exact
    first = record("add", [low, record("multiply", [cast(at, d), step])])
    back = record("subtract", [scalar(bins, int64), at])
    second = record("subtract", [high, record("multiply", [cast(back, d), step])])
    return record("where", [record("less", [at, scalar((bins + 1) // 2, int64)]), first, second])


def _bin(v: Any, edges: Any) -> Any:
    """The bin of each element, the last one closed; -1 outside."""
    n = edges.shape[0] - 1
    found = record("searchsorted", [edges, v], {"side": "right"})
    at = record("minimum", [record("subtract", [found, scalar(1, int64)]), scalar(n - 1, int64)])
    last = record("reshape", [record("slice", [edges], {
        "starts": (n,), "stops": (n + 1,), "strides": (1,)})], {"shape": ()})
    return record("where", [record("less_equal", [v, last]), at, scalar(-1, int64)])


def _histogram(columns: list[Any], edges: list[Any], weight: Any, density: bool) -> Any:
    """Counts, or sums of weights, of points given by their coordinates."""
    d = columns[0].dtype
    shape = tuple(e.shape[0] - 1 for e in edges)
    flat = _full(columns[0].shape, 0)
    inside: Any = None
    for column, e, n in zip(columns, edges, shape, strict=True):
        at = _bin(column, e)
        here = record("greater_equal", [at, scalar(0, int64)])
        inside = here if inside is None else record("logical_and", [inside, here])
        flat = record("add", [record("multiply", [flat, scalar(n, int64)]), at])
    flat = record("where", [inside, flat, scalar(-1, int64)])
    counts = cast(record("bincount", [flat] if weight is None else [flat, weight],
                         {"length": numel(shape)}), d)
    hist = record("reshape", [counts], {"shape": shape})
    if density:
        total = record("sum", [hist], {"axes": None, "keepdims": False})
        hist = record("divide", [hist, total])
        for i, e in enumerate(edges):
            n = shape[i]
            width = record("subtract", [
                record("slice", [e], {"starts": (1,), "stops": (n + 1,), "strides": (1,)}),
                record("slice", [e], {"starts": (0,), "stops": (n,), "strides": (1,)})])
            width = record("reshape", [width], {
                "shape": tuple(n if k == i else 1 for k in range(len(shape)))})
            hist = record("divide", [hist, width])
    return hist


def _weights(weight: Tensor | None, shape: tuple[int, ...], dtype: Any, name: str) -> Any:
    if weight is None:
        return None
    if weight.tensor_type.shape != shape:
        raise RuntimeError(
            f"{name}: weight has shape {list(weight.shape)}, expected {list(shape)}: one for each "
            "point of the input")
    if weight.tensor_type.dtype is not dtype:
        raise RuntimeError(f"{name}: weight must have the input's dtype, got {weight.dtype!r}")
    return record("reshape", [operand(weight)], {"shape": (numel(shape),)})


def histogram(input: Tensor, bins: Any = 100, *, range: Any = None, weight: Tensor | None = None,
              density: bool = False) -> Any:  # fmt: skip
    """How many elements lie in each bin, and the bins' edges.

    ``bins`` is their number or their edges; the last bin holds its right edge. ``range`` is a
    pair of numbers, by default the least and the largest element.
    """
    v = _float(input, "histogram")
    if range is not None and (isinstance(bins, Tensor) or len(range) != 2):
        raise RuntimeError("torch.histogram: range is a pair of numbers, for a number of bins")
    flat = record("reshape", [v], {"shape": (v.type.size,)})
    edges = _edges(flat, bins, None if range is None else tuple(range), "torch.histogram")
    w = _weights(weight, v.shape, v.dtype, "torch.histogram")
    hist = _histogram([flat], [edges], w, density)
    return named("histogram", "hist", "bin_edges")(_wrap(hist), _wrap(edges))


def histogramdd(input: Tensor, bins: Any, *, range: Any = None, weight: Tensor | None = None,
                density: bool = False) -> Any:  # fmt: skip
    """How many points lie in each box of bins, and the bins' edges along each coordinate.

    The last dimension of the input holds coordinates. ``bins`` is a number for all of them, or
    one for each, or edges for each; ``range`` the least and the largest of each, in one list.
    """
    v = _float(input, "histogramdd")
    if len(v.shape) < 2:
        raise RuntimeError(
            f"torch.histogramdd: input tensor should have at least 2 dimensions, but got "
            f"{len(v.shape)}")
    n = v.shape[-1]
    many = [bins] * n if is_number(bins) else list(bins)
    if len(many) != n:
        raise RuntimeError(
            f"torch.histogramdd: bins has {len(many)} elements, expected {n}: one for each "
            "coordinate")
    if range is not None and len(range) != 2 * n:
        raise RuntimeError(f"torch.histogramdd: range has {len(range)} numbers, expected {2 * n}")
    count = numel(v.shape[:-1])
    points = record("reshape", [v], {"shape": (count, n)})
    columns = [record("reshape", [record("slice", [points], {
        "starts": (0, i), "stops": (count, i + 1), "strides": (1, 1)})], {"shape": (count,)})
        for i, _ in enumerate(many)]
    edges = [_edges(c, b, None if range is None else (range[2 * i], range[2 * i + 1]),
                    "torch.histogramdd")
             for i, (c, b) in enumerate(zip(columns, many, strict=True))]
    w = _weights(weight, v.shape[:-1], v.dtype, "torch.histogramdd")
    hist = _histogram(columns, edges, w, density)
    return named("histogramdd", "hist", "bin_edges")(_wrap(hist), tuple(map(_wrap, edges)))


# ---------------------------------------------------------------------------- distinct elements


def _starts(ordered: Any) -> Any:
    """Where a vector has another element than before; NaN are all distinct."""
    n = ordered.shape[0]
    if n < 2:
        return _full((n,), True, bool_)
    after = record("slice", [ordered], {"starts": (1,), "stops": (n,), "strides": (1,)})
    before = record("slice", [ordered], {"starts": (0,), "stops": (n - 1,), "strides": (1,)})
    return record("concatenate", [
        _full((1,), True, bool_), record("not_equal", [after, before])], {"axis": 0})


def _number(starts: Any, at: int = 0) -> Any:
    """The number of each run: how many began before."""
    count = record("cumsum", [cast(starts, int64)], {"axis": at})
    return record("subtract", [count, scalar(1, int64)])


def _put_back(order: Any, values: Any) -> Any:
    """Values that belong to sorted positions, in the places these came from."""
    return record("scatter_along_axis", [_full(values.shape, 0), order, values],
                  {"axis": 0, "mode": "set"})


def _ranks(columns: Any) -> Any:
    """For each column the number of distinct smaller elements; NaN are distinct."""
    order = record("argsort", [columns], {"axis": 0, "descending": False, "stable": True})
    ordered = record("take_along_axis", [columns, order], {"axis": 0})
    first = record("equal", [record("iota", [], {
        "shape": columns.shape, "axis": 0, "dtype": int64}), scalar(0, int64)])
    before = record("roll", [ordered], {"shifts": (1,), "axes": (0,)})
    new = record("logical_or", [first, record("not_equal", [ordered, before])])
    return _put_back(order, _number(new))


def _row_ranks(rows: Any) -> Any:
    """The number of distinct smaller rows for each row, in lexicographic order.

    Columns are ranked together in pairs, so that the number of ops is the logarithm of theirs.
    """
    n, k = rows.shape
    ranks = _ranks(rows)
    while k > 1:
        if k % 2:
            ranks = record("concatenate", [_full((n, 1), 0), ranks], {"axis": 1})
            k += 1
        pairs = record("reshape", [ranks], {"shape": (n, k // 2, 2)})
        high, low = (record("reshape", [record("slice", [pairs], {
            "starts": (0, 0, i), "stops": (n, k // 2, i + 1), "strides": (1, 1, 1)})],
            {"shape": (n, k // 2)}) for i in (0, 1))
        k //= 2
        ranks = _ranks(record("add", [record("multiply", [high, scalar(n, int64)]), low]))
    return record("reshape", [ranks], {"shape": (n,)})


def _runs(starts: Any, name: str) -> tuple[Any, Any]:
    """Where runs begin, of which the number is read, and their lengths."""
    n = starts.shape[0]
    first = record("flat_nonzero", [starts], {"size": count_true(starts, name)})
    if not first.shape[0]:
        return first, first
    after = record("slice", [first], {
        "starts": (1,), "stops": first.shape, "strides": (1,)}) if first.shape[0] > 1 else None
    ends = [*([] if after is None else [after]), _full((1,), n)]
    return first, record("subtract", [record("concatenate", ends, {"axis": 0}), first])


def _results(output: Any, inverse: Any, counts: Any) -> Any:
    found = tuple(_wrap(x) for x in (output, inverse, counts) if x is not None)
    return found[0] if len(found) == 1 else found


def _slices(input: Tensor, dim: int, name: str) -> tuple[Any, Any, int]:
    """A tensor's value with a dimension first, its slices as rows, and the dimension."""
    at = axis(dim, input.ndim)
    v = operand(input)
    if not v.shape:
        raise IndexError(f"{name}(): dim is {dim}, but the tensor has no dimensions")
    n = v.shape[at]
    if not v.type.size and n:
        raise RuntimeError(
            f"There are 0 sized dimensions, and they aren't selected, so {name} cannot be applied")
    moved = v if at == 0 else record("moveaxis", [v], {"source": (at,), "destination": (0,)})
    return moved, record("reshape", [moved], {
        "shape": (n, numel(moved.shape[1:]) if n else 1)}), at


def _taken(moved: Any, where: Any, at: int) -> Any:
    found = record("take", [moved, where], {"axis": 0})
    return found if at == 0 else record("moveaxis", [found], {"source": (0,), "destination": (at,)})


def _real(input: Tensor, name: str) -> None:
    if input.tensor_type.dtype.is_complex:
        raise NotImplementedError(f"{name} is not implemented for {input.dtype!r}")


def unique(input: Tensor, sorted: bool = True, return_inverse: bool = False,
           return_counts: bool = False, dim: int | None = None) -> Any:  # fmt: skip
    """The different elements, or slices along a dimension, in order; where each is; how often.

    Reads how many there are. NaN are all different.
    """
    _real(input, "unique")
    if dim is None:
        v = operand(input)
        keys = moved = record("reshape", [v], {"shape": (v.type.size,)})
        at, shape = 0, v.shape
    else:
        moved, rows, at = _slices(input, dim, "unique")
        keys = _row_ranks(rows) if rows.type.size else _full((0,), 0)
        shape = keys.shape
    ordered, order = record("sort_with_indices", [keys], {
        "axis": 0, "descending": False, "stable": True})
    starts = _starts(ordered)
    first, counts = _runs(starts, "unique")
    found = record("take", [ordered, first], {"axis": 0}) if dim is None else _taken(
        moved, record("take", [order, first], {"axis": 0}), at)
    inverse = None
    if return_inverse:
        inverse = record("reshape", [_put_back(order, _number(starts))], {"shape": shape})
    return _results(found, inverse, counts if return_counts else None)


def unique_consecutive(input: Tensor, return_inverse: bool = False, return_counts: bool = False,
                       dim: int | None = None) -> Any:  # fmt: skip
    """The first of each run of equal elements, or of slices; the run of each; their lengths.

    Reads how many there are.
    """
    _real(input, "unique_consecutive")
    if dim is None:
        v = operand(input)
        moved = record("reshape", [v], {"shape": (v.type.size,)})
        starts, at, shape = _starts(moved), 0, v.shape
    else:
        moved, rows, at = _slices(input, dim, "unique_consecutive")
        n = rows.shape[0]
        if n > 1:
            width = rows.shape[1]
            after = record("slice", [rows], {
                "starts": (1, 0), "stops": (n, width), "strides": (1, 1)})
            before = record("slice", [rows], {
                "starts": (0, 0), "stops": (n - 1, width), "strides": (1, 1)})
            new = record("any", [record("not_equal", [after, before])],
                         {"axes": (1,), "keepdims": False})
            starts = record("concatenate", [_full((1,), True, bool_), new], {"axis": 0})
        else:
            starts = _full((n,), True, bool_)
        shape = starts.shape
    first, counts = _runs(starts, "unique_consecutive")
    inverse = None
    if return_inverse:
        inverse = record("reshape", [_number(starts)], {"shape": shape})
    return _results(_taken(moved, first, at), inverse, counts if return_counts else None)


declare({
    "function method out": [nonzero, histc, histogram],
    "function method": [
        argwhere, nonzero_static, bincount, histogramdd, unique, unique_consecutive],
})
