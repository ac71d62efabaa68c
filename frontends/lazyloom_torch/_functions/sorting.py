"""Sorting, searching, counting and sets."""

from __future__ import annotations

from typing import Any

import numpy as np

import lazyloom

from .._core import axis, cast, record
from .._tensor import Tensor, operand
from ..return_types import named
from .indexing import nonzero_values

_wrap = Tensor._wrap
_Sort = named("sort", "values", "indices")
_TopK = named("topk", "values", "indices")
_KthValue = named("kthvalue", "values", "indices")


def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """Values in order along a dimension, and the indices they had."""
    at = axis(dim, input.ndim)
    v = operand(input)
    if not v.shape:
        from .creation import zeros

        return _Sort(_wrap(v), zeros((), dtype=int))
    return _Sort(*map(_wrap, record("sort_with_indices", [v], {
        "axis": at, "descending": bool(descending), "stable": True})))


def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices that sort a dimension."""
    if not input.ndim:
        return sort(input, dim)[1]
    return _wrap(record("argsort", [operand(input)], {
        "axis": axis(dim, input.ndim), "descending": bool(descending), "stable": True}))


def msort(input: Tensor) -> Tensor:
    return sort(input, 0)[0]


def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k largest (or smallest) along a dimension, in order, and their indices."""
    at = axis(dim, input.ndim)
    size = input._type.shape[at] if input.ndim else 1
    if not 0 <= k <= size:
        raise RuntimeError(f"selected index k out of range: k is {k}, the dimension has {size}")
    return _TopK(*map(_wrap, record("top_k", [operand(input)], {
        "k": k, "axis": at, "largest": bool(largest)})))


def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest along a dimension (k counts from 1), and its index."""
    at = axis(dim, input.ndim)
    if not 1 <= k <= input._type.shape[at]:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {at}")
    found = [x.narrow(at, k - 1, 1) for x in sort(input, at)]
    return _KthValue(*[x.clone() if keepdim else x.squeeze(at).clone() for x in found])


def searchsorted(sorted_sequence: Tensor, input: Any, *, right: bool = False,
                 side: str | None = None, out_int32: bool = False) -> Tensor:
    """Where elements of input would go in sorted sequences."""
    from .creation import as_tensor

    values = as_tensor(input)
    s, v = operand(sorted_sequence), operand(values)
    if s.dtype is not v.dtype:
        raise RuntimeError(
            "torch.searchsorted(): boundary tensor and input value tensor should have same dtype, "
            f"but got boundary tensor dtype {sorted_sequence.dtype!r} and input value tensor dtype "
            f"{values.dtype!r}")
    found = record("searchsorted", [s, v], {"side": side or ("right" if right else "left")})
    return _wrap(cast(found, lazyloom.dtypes.int32) if out_int32 else found)


def bucketize(input: Any, boundaries: Tensor, *, right: bool = False, out_int32: bool = False
              ) -> Tensor:
    return searchsorted(boundaries, input, right=right, out_int32=out_int32)


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Indices of elements that are not zero. Reads their number."""
    v = operand(input)
    if not v.shape:
        v = record("reshape", [v], {"shape": (1,)})
    found = nonzero_values(v, "nonzero")
    if as_tuple:
        return tuple(_wrap(x) for x in found)
    if not input.ndim:
        return _wrap(record("reshape", [found[0]], {"shape": (found[0].shape[0], 1)}))[:, :0]
    return _wrap(record("stack", found, {"axis": 1}))


argwhere = nonzero


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each non-negative integer occurs. Reads the largest."""
    v = operand(input)
    if v.dtype.kind not in "iu" or len(v.shape) != 1:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    top = int(input.max().item()) + 1 if v.shape[0] else 0
    w = None if weights is None else operand(weights)
    if w is not None and not w.dtype.is_floating:
        w = cast(w, lazyloom.dtypes.float64)
    return _wrap(record("bincount", [v, w] if w is not None else [v],
                        {"length": max(top, minlength)}))


def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """Counts of elements in equal bins between min and max. Reads the limits if both are 0."""
    low, high = float(min), float(max)
    if low == high:
        low, high = float(input.min().item()), float(input.max().item())
    if low == high:
        low, high = low - 1, high + 1
    inside = input[(input >= low) & (input <= high)]
    at = ((inside - low) * (bins / (high - low))).floor().long().clamp(0, bins - 1)
    return bincount(at, minlength=bins).to(input.dtype)


def unique(input: Tensor, sorted: bool = True, return_inverse: bool = False,
           return_counts: bool = False, dim: int | None = None) -> Any:
    """The different elements, in order. Reads the tensor: their number is data."""
    from .creation import tensor

    found = np.unique(input.read(), return_inverse=True, return_counts=True, axis=dim)
    shape = input._type.shape if dim is None else (-1,)
    results = [tensor(found[0])]
    if return_inverse:
        results.append(tensor(np.asarray(found[1]).reshape(shape).astype(np.int64)))
    if return_counts:
        results.append(tensor(np.asarray(found[2]).astype(np.int64)))
    return results[0] if len(results) == 1 else tuple(results)


def isin(elements: Any, test_elements: Any, *, invert: bool = False) -> Tensor:
    """Which elements are among the test elements."""
    from .creation import as_tensor

    x, y = as_tensor(elements), as_tensor(test_elements)
    found: Tensor = (x.unsqueeze(-1) == y.reshape(-1)).any(-1)
    return ~found if invert else found


FUNCTIONS = {f.__name__: f for f in (
    sort, argsort, msort, topk, kthvalue, searchsorted, bucketize, nonzero, bincount, histc,
    unique, isin)}
FUNCTIONS["argwhere"] = argwhere
