"""Products of quantised values, in int8 with sums in int32.

A product of two dequantised operands is one operator that takes the integers. Integers with a sign
are multiplied as unsigned ones with 128 as their zero, which is several times as fast where the
processor multiplies unsigned bytes by signed ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from ...dtypes import float32
from ..answers import YES, Answer, Call, No
from ..onnx import OnnxGraph
from .views import FactoredView, whole

PRODUCTS: Final = ("conv", "dot_general", "matmul")
_NARROW: Final = ("int8", "uint8")


def supports(call: Call) -> Answer:
    """Return YES for a product that has no dequantised operand, or two in a form that is done in
    int8; or why not. One in float32, of operands that are dequantised first, is slower than XLA's.
    """
    if call.op not in PRODUCTS:
        return YES
    x, y = call.producer(0), call.producer(1)
    dequantized = [p is not None and p.op == "dequantize" for p in (x, y)]
    if not any(dequantized):
        return YES
    if x is None or y is None or not all(dequantized):
        return No("one operand of two is dequantised", deliberate=True)
    if call.op == "conv":
        return No("a convolution of dequantised operands", deliberate=True)
    return _form(call, x, y)


def _form(call: Call, x: Call, y: Call) -> Answer:
    """Return YES if a product of two dequantised operands is one of rows and a matrix."""
    left, right = x.operands[0], y.operands[0]
    assert left is not None and right is not None
    if left.dtype.name not in _NARROW or right.dtype.name != "int8":
        return No(f"a product of {left.dtype.name} and {right.dtype.name}, expected int8 weights",
                  deliberate=True)
    if right.ndim != 2 or left.ndim < 2:
        return No("a product that is not one of rows and a matrix", deliberate=True)
    if any(len(p.operands) > 2 and p.operands[2] is not None for p in (x, y)):
        return No("a product of integers with zero points", deliberate=True)
    summed = 0
    if call.op == "dot_general":
        a = call.attributes
        if a["lhs_batch"] or len(a["rhs_contract"]) != 1 or (
            [d % left.ndim for d in a["lhs_contract"]] != [left.ndim - 1]
        ):
            return No("a product of other axes, expected the last one of the first operand",
                      deliberate=True)
        summed = int(a["rhs_contract"][0]) % 2
    if x.attributes["axis"] is not None or not (
        y.attributes["axis"] is None or y.attributes["axis"] % 2 == 1 - summed
    ):
        return No("scales along an axis that is summed over", deliberate=True)
    return YES


class Integers:
    """The integers of a model: what is known of them beside their names."""

    def __init__(self, graph: OnnxGraph, name: Callable[[FactoredView], str]) -> None:
        self.graph: Final = graph
        self.name: Final = name
        #: for int8 values by name, the same ones as uint8 with 128 as their zero
        self._unsigned: Final[dict[str, str]] = {}
        #: for dequantised values by name, their integers and their scale
        self._integers: Final[dict[str, tuple[str, str]]] = {}

    def add(
        self, call: Call, operands: Sequence[FactoredView | None], bounded: bool
    ) -> FactoredView | None:
        """Add a quantisation or what undoes it, on what the operand is a view of.

        An operand that is bounded has no NaN. Returns None for another op.
        """
        if call.op not in ("quantize", "dequantize"):
            return None
        x, scale = operands[:2]
        assert x is not None and scale is not None
        if call.attributes["axis"] is not None:
            x = whole(self.name(x), x.shape)
        zero = operands[2] if len(operands) > 2 else None
        given = self.name(scale), "" if zero is None else self.name(zero)
        return x.on(self._quantize(call, x.name, *given, bounded) if call.op == "quantize" else
                    self._dequantize(call, x.name, *given))

    def _quantize(self, call: Call, x: str, scale: str, zero: str, bounded: bool) -> str:
        g, axis = self.graph, call.attributes["axis"]
        # NaN becomes the zero point
        finite = x if bounded else g.add("Where", g.add("IsNaN", x), g.number(0, float32), x)
        # 0 / 0 would be NaN, too
        least = g.number(2.0**-126, float32)
        scale = g.add("Where", g.add("Equal", scale, g.number(0, float32)), least, scale)
        dtype, each = call.results[0].dtype.numpy, call.operands[1]
        assert each is not None
        made = g.add("QuantizeLinear", finite, scale,
                     zero or g.constant(np.zeros(each.shape, dtype)), **_along(axis))
        if dtype == np.int8 and not zero and axis is None:
            self._unsigned[made] = g.add(
                "QuantizeLinear", finite, scale, g.constant(np.array(128, np.uint8)))
        return made

    def _dequantize(self, call: Call, x: str, scale: str, zero: str) -> str:
        result = self.graph.add("DequantizeLinear", x, scale, *([zero] if zero else []),
                                **_along(call.attributes["axis"]))
        self._integers[result] = x, scale
        return result

    def product(self, call: Call, operands: Sequence[FactoredView | None]) -> FactoredView | None:
        """Add a product of what was dequantised; None for another op or product."""
        if call.op not in PRODUCTS or call.op == "conv":
            return None
        x, y = operands[:2]
        assert x is not None and y is not None
        left, right = self._integers.get(x.name), self._integers.get(y.name)
        if left is None or right is None:
            return None
        # the same views, of the integers
        rows, weights = x.on(self._unsigned.get(left[0], left[0])), y.on(right[0])
        zero = [self.graph.constant(np.array(128, np.uint8))] if rows.name != left[0] else []
        if call.op == "dot_general" and call.attributes["rhs_contract"][0] % 2:
            weights = weights.transposed((1, 0))
        if not rows.rows:
            rows = whole(self.name(rows), rows.shape)
        name = self.graph.contrib("MatMulIntegerToFloat", rows.name, self.name(weights), left[1],
                                  right[1], *zero)
        return rows.with_rows(name, call.results[0].shape[-1])


def _along(axis: int | None) -> dict[str, int]:
    return {} if axis is None else {"axis": int(axis)}
