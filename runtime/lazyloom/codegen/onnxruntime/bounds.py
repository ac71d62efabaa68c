"""Bounds of values, from those of integers and of weights that are known.

What is bounded is no NaN, of which a quantisation needs no pass of its own to look for them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from ...types import TensorType
from ..answers import Call
from . import ops

#: bounds above may overflow, with what is between
_MOST: Final = 1e30
#: the largest magnitude of integers by dtype
_INTEGERS: Final = {"int8": 128.0, "uint8": 255.0}
#: ops whose results are at most as large as their operand, of which they may be only parts
_KEPT: Final = frozenset({
    *ops.RESHAPES, "transpose", "slice", "dynamic_slice", "split", "broadcast_to", "relu", "relu6",
    "gelu", "silu"})
_AT_MOST_ONE: Final = frozenset({"tanh", "sigmoid", "softmax", "erf"})


def of_array(array: Any) -> float | None:
    """Return the largest magnitude of an array of numbers; None where it is not finite."""
    found = float(abs(array.astype("float64")).max(initial=0)) if array.dtype.kind in "fiu" else (
        math.inf)
    return found if found < _MOST else None


def of_type(t: TensorType | None) -> float | None:
    """Return the largest magnitude that a dtype has; None but for integers of 8 bits."""
    return None if t is None else _INTEGERS.get(t.dtype.name)


def of_result(call: Call, operands: Sequence[float | None]) -> float | None:
    """Return a bound of the magnitudes of an op's results, given those of its operands.

    None where there is none; that of an operand that is absent is 0.
    """
    integers = of_type(call.results[0])
    if integers is not None:
        return integers
    # of what moves elements the others are places
    operands = operands[:1] if call.op in _KEPT else operands
    given = [b for b in operands if b is not None]
    if len(given) < len(operands) or not given:
        return None
    found = _of_float(call, given)
    # rounding makes it somewhat more
    return 1.001 * found if found is not None and found < _MOST else None


def _of_float(call: Call, given: Sequence[float]) -> float | None:
    x = call.operands[0]
    assert x is not None
    if call.op in _KEPT:
        return given[0]
    if call.op in _AT_MOST_ONE:
        return 1.0
    if call.op in ("add", "subtract"):
        return given[0] + given[1]
    if call.op == "multiply":
        return given[0] * given[1]
    if call.op == "dequantize":
        return (given[0] + (given[2] if len(given) > 2 else 0.0)) * given[1]
    if call.op in ("matmul", "dot_general"):
        return given[0] * given[1] * ops.work(call) / call.results[0].size
    if call.op == "layer_norm":
        n = math.prod(x.shape[x.ndim - call.attributes["normalized_ndim"]:])
        present = [t is not None for t in call.operands]
        if 4 * n * given[0] * given[0] > _MOST or call.attributes["eps"] <= 0:
            return None
        weight = given[1] if len(present) > 1 and present[1] else 1.0
        return math.sqrt(n) * weight + (given[2] if len(given) > 2 else 0.0)
    if call.op == "scaled_dot_product_attention" and (
        given[0] * given[1] * x.shape[-1] * max(abs(call.attributes["scale"] or 1.0), 1.0) < _MOST
    ):
        return given[2]
    return None
