"""Distances and similarities of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import broadcast_shapes, record
from .._tensor import Tensor, operand
from . import pointwise, reductions
from .spatial import constant

_wrap = Tensor.from_value


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The norm of ``x1 - x2 + eps`` over the last dimension."""
    apart = pointwise.add(pointwise.sub(x1, x2), eps)
    return reductions.norm(apart, p, -1 if apart.ndim else None, keepdim)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """``x1 . x2 / (max(|x1|, eps) * max(|x2|, eps))`` along a dimension, with broadcasting."""
    values, common = pointwise.promoted((x1, x2))
    if common.category < 2:
        raise RuntimeError(
            f"expected common dtype to be floating point, yet common dtype is {common!r}")
    a, b = map(_wrap, values)
    if a.shape != b.shape:
        shape = broadcast_shapes(a.shape, b.shape)
        a, b = (_wrap(record("broadcast_to", [v], {"shape": shape})) for v in values)
    units = []
    for x in (a, b):
        length = reductions.norm(x, 2, dim, True)
        # the divisor of a short vector is constant: it has no derivative of its own
        units.append(pointwise.div(x, pointwise.clamp(length, min=eps)))
    return pointwise.mul(*units).sum(dim)


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The distances of all pairs of rows, by the p-norm, in the order of the upper triangle."""
    x = operand(input)
    if len(x.shape) != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {len(x.shape)}D")
    if p < 0:
        raise RuntimeError(f"pdist only supports non-negative p values, got {p}")
    if not x.dtype.is_floating:
        raise RuntimeError(f"pdist only supports floating-point dtypes, got {input.dtype!r}")
    rows, columns = np.triu_indices(x.shape[0], 1)
    if not len(rows):
        return _wrap(record("reshape", [record("slice", [x], {
            "starts": (0, 0), "stops": (0, x.shape[1])})], {"shape": (0,)})) if x.shape[1] else (
            reductions.FUNCTIONS["sum"](input[:0], 1))
    a, b = (record("take", [x, constant(i.astype(np.int64))], {"axis": 0})
            for i in (rows, columns))
    return reductions.distances(_wrap(record("subtract", [a, b])), p, 1)


FUNCTIONS: dict[str, Any] = {f.__name__: f for f in (
    pairwise_distance, cosine_similarity, pdist)}
