"""Attention."""

from __future__ import annotations

import math

import numpy as np

from ._helpers import broadcast_to, is_half, widened
from ._jax import lax
from .cases import Cases, case
from .contraction import product_of
from .kinds import AnyType, Array, T
from .normalization import stable_softmax
from .rules import nn as rules
from .spec import op
from .traits import HEAVY, Derivative

_SEEN = np.array([[True, False, True], [False, False, False]])


@op(
    rules.attention, T="floating", source="Vaswani et al., Attention Is All You Need, 2017",
    execution=HEAVY, derivative=Derivative(differentiable=("q", "k", "v", "mask"), linear="v"),
    tolerance=4.0,
    samples=Cases(
        case((2, 4), (3, 4), (3, 5)), case((2, 2, 4), (2, 3, 4), (2, 3, 4), causal=True),
        case((2, 4), (3, 4), (3, 5), _SEEN, scale=1.0),
        case((2, 1, 2, 4), (2, 3, 4), (2, 3, 4), _SEEN[:1]), case((2, 4), (3, 4), (3, 5),
             np.array([[0.5, -np.inf, 1.0]], np.float32), causal=True),
        case((3, 4), (2, 4), (2, 1), causal=True), case((0, 4), (3, 4), (3, 5)),
        case((2, 4), (0, 4), (0, 5))),
)  # fmt: skip
def scaled_dot_product_attention(
    q: T, k: T, v: T, mask: AnyType = None, *, causal: bool = False, scale: float | None = None
) -> Array:
    """softmax(q @ k.T * scale + mask) @ v for q (..., L, E), k (..., S, E), v (..., S, V).

    ``scale`` is 1 / sqrt(E) if None. A bool ``mask`` is true where a position is seen;
    one of the dtype of q is added to the scores; either broadcasts to (..., L, S).
    ``causal`` lets position i of q see positions 0 to i of k. A position that sees
    nothing gives zeros. Leading axes of q and k broadcast, those of k and v are equal.
    Scores of half-precision operands are in float32. Raises ShapeError, DTypeError.
    """
    source, features = k.shape[-2], q.shape[-1]
    factor = (1.0 / math.sqrt(max(features, 1))) if scale is None else scale
    last = k.ndim - 1
    turned = lax.transpose(k, (*range(last - 1), last, last - 1))
    scores = product_of(q, turned, "float32" if is_half(q) else None)
    scores = lax.mul(scores, lax.full_like(scores, factor))
    nothing = lax.full_like(scores, -math.inf)
    if mask is not None and mask.dtype.name == "bool":
        scores = lax.select(broadcast_to(mask, scores.shape), scores, nothing)
    elif mask is not None:
        scores = lax.add(scores, broadcast_to(widened(mask), scores.shape))
    if causal:
        row = lax.broadcasted_iota("int32", scores.shape, scores.ndim - 2)
        column = lax.broadcasted_iota("int32", scores.shape, scores.ndim - 1)
        scores = lax.select(lax.le(column, row), scores, nothing)
    weights = stable_softmax(scores, scores.ndim - 1, mask is not None and source > 0)
    return product_of(lax.convert_element_type(weights, v.dtype), v)
