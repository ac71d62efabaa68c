"""Attention as the operator that ONNX Runtime has for it.

MultiHeadAttention takes the heads side by side in the last axis, as products give them, and
computes blocks of scores that stay in the cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from ..answers import Call
from ..onnx import OnnxGraph
from .views import FactoredView, whole

OP: Final = "scaled_dot_product_attention"


def fused(
    graph: OnnxGraph, call: Call, operands: Sequence[FactoredView],
    name: Callable[[FactoredView], str],
) -> FactoredView | None:  # fmt: skip
    """Add attention on queries, keys and values that lie as products give them.

    Returns None where they would have to be moved for it, and for causal attention: the operator
    adds what hides a score, which NaN outlives.
    """
    rows = [_side_by_side(x) for x in operands[:3]]
    q, k = rows[:2]
    if len(operands) > 3 or q is None or k is None or None in rows or call.attributes["causal"]:
        return None
    heads, size = operands[0].shape[-3] if len(operands[0].shape) == 4 else 1, q.shape[2]
    scale = call.attributes["scale"]
    if scale is None:
        scale = 1 / math.sqrt(size // heads)
    result = graph.contrib(
        "MultiHeadAttention", *[name(x) for x in rows if x is not None], num_heads=heads,
        scale=float(scale))
    shape = call.results[0].shape
    batch, length = q.shape[:2]
    view = whole(result, (batch, length, heads * shape[-1]))
    if len(shape) == 3:
        return view
    parted = view.reshaped((batch, length, heads, shape[-1]))
    assert parted is not None
    return parted.transposed((0, 2, 1, 3))


def _side_by_side(x: FactoredView) -> FactoredView | None:
    """Return (N, L, H * E) of a value (N, H, L, E) or (N, L, E), if nothing moves for it."""
    found: FactoredView | None = x
    if len(x.shape) == 4:
        n, h, length, e = x.shape
        found = x.transposed((0, 2, 1, 3)).reshaped((n, length, h * e))
    elif len(x.shape) != 3:
        return None
    if found is None or list(found.order) != sorted(found.order):
        return None
    return found
