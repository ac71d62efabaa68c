"""Placement of quantisation in a graph."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ..dtypes import DType, float32, int8, uint8
from ..ops.spec import lookup
from .folding import bias_of, constant, data_of
from .graph import Constant, Op, OpGraph, OpOutput, Rewriter, Source

_ADD, _CONV, _DOT, _MATMUL = (
    lookup("add"), lookup("conv"), lookup("dot_general"), lookup("matmul"))
_LIMITS: Final = (lookup("relu"), lookup("relu6"))


class Scale(NamedTuple):
    """How a value is quantised: the integer 1 of ``dtype`` stands for ``number``."""

    number: float
    dtype: DType


class Weights(NamedTuple):
    """Weights as integers, and a scale for each channel of the result."""

    data: Constant
    scale: Constant
    axis: int


def scale_of(low: float, high: float) -> Scale:
    """Return the scale of values between two numbers: uint8 if none is negative, else int8."""
    dtype = uint8 if low >= 0 else int8
    number = max(high, -low) / np.iinfo(dtype.numpy).max
    # only zeros, or numbers too small to divide in float32
    return Scale(number if number > 2.0**-120 else 1.0, dtype)


def weights_of(op: Op) -> Weights:
    """Return the rounded weights of a convolution or product: the largest of each channel is 127.
    """
    data = data_of(op.operands[1])  # type: ignore[arg-type]
    axis = _channels(op)
    others = tuple(d for d in range(data.ndim) if d != axis)
    scale = np.abs(data).max(axis=others, keepdims=True).astype(np.float32) / np.float32(127)
    scale = np.where(scale > 2.0**-120, scale, np.float32(1))
    return Weights(constant(np.clip(np.rint(data / scale), -127, 127), np.int8),
                   constant(scale.reshape(-1)), axis)


def _channels(op: Op) -> int:
    """Return the axis of the weights that is the channels of the result."""
    if op.kind is _CONV:
        return 0
    return 1 - (op.spec.attrs["rhs_contract"][0] if op.kind is _DOT else 0)


class Placing:
    """What to quantise in a graph.

    Attributes:
        eligible: how many convolutions and products with constant weights there are.
        main: those that are quantised, in order.
        values: the values that are quantised between ops, in order.
        added: for each sum, the position of the operand that is quantised.
    """

    def __init__(self, graph: OpGraph, skip: Collection[int] = ()) -> None:
        self.graph: Final = graph
        self.uses: Final = graph.uses()
        eligible = [op for op in graph.ops if _eligible(op)]
        self.eligible: Final = len(eligible)
        skipped = {n + len(eligible) if n < 0 else n for n in skip}
        self.main: Final = [op for n, op in enumerate(eligible) if n not in skipped]
        chosen = set(self.main)
        values: dict[Source, None] = {}
        self.added: Final[dict[Op, int]] = {}
        for op in graph.ops:
            if op in chosen:
                x = op.operands[0]
                assert x is not None
                values[x] = None
            elif op.kind is _ADD:
                other = self._other(op, chosen)
                if other >= 0:
                    x = op.operands[other]
                    assert x is not None
                    self.added[op] = other
                    values[x] = None
                    values[self._after(op)] = None
        self.values: Final = list(values)

    def _other(self, op: Op, main: set[Op]) -> int:
        """Return the other operand of a sum with the result of a convolution or product, or -1."""
        a, b = op.operands
        if not isinstance(a, OpOutput) or not isinstance(b, OpOutput) or a == b or not (
            a.type == b.type == op.types[0]
        ):
            return -1
        for x, other in ((a, 1), (b, 0)):
            if self.uses[x] == 1:
                biased = bias_of(x.op)
                y = x if biased is None else biased[0]
                if isinstance(y, OpOutput) and y.op in main and self.uses[y] == 1:
                    return other
        return -1

    def _after(self, op: Op) -> OpOutput:
        """Return the result of a sum, or of the relu or relu6 after it."""
        total = OpOutput(op, 0)
        if self.uses.get(total) == 1:
            for user in self.graph.ops:
                if total in user.operands and user.kind in _LIMITS:
                    return OpOutput(user, 0)
        return total


def _eligible(op: Op) -> bool:
    """Return True if an op is a convolution or product of float32 with constant weights."""
    if op.kind not in (_CONV, _DOT, _MATMUL):
        return False
    x, w = op.operands[:2]
    if x is None or isinstance(x, Constant) or not isinstance(w, Constant):
        return False
    if x.type.dtype is not float32 or w.type.size == 0:
        return False
    if op.kind is _CONV:
        return True
    a = op.spec.attrs
    return w.type.ndim == 2 and x.type.ndim >= 2 and (op.kind is _MATMUL or (
        a["lhs_contract"] == (x.type.ndim - 1,) and not a["lhs_batch"]
        and a.get("accumulate") is None))


class _Quantizing(Rewriter):
    """Quantises each such value once, and dequantises it for each use.

    Arguments are dequantised only for convolutions and products.
    """

    def __init__(self, graph: OpGraph, scales: dict[Source, tuple[Scale, Constant]]) -> None:
        super().__init__(graph)
        self.scales: Final = scales
        self.integers: Final[dict[Source, OpOutput]] = {}

    def of(self, x: Source) -> Source:
        if isinstance(x, OpOutput) and x in self.integers:
            return self.rounded(x)
        return super().of(x)

    def rounded(self, x: Source) -> OpOutput:
        """Return a quantised value, dequantised for one use."""
        return self.add("dequantize", [self.integers[x], self.scales[x][1]], axis=None)

    def round(self, x: Source) -> None:
        """Quantise a value, if it has a scale."""
        if x in self.scales:
            scale, number = self.scales[x]
            self.integers[x] = self.add(
                "quantize", [super().of(x), number], axis=None, dtype=scale.dtype)


def quantized(
    placing: Placing, scales: Sequence[Scale], weights: Sequence[Weights]
) -> OpGraph:
    """Return the graph with its values quantised, by a scale for each and weights for each main op.
    """
    scale_of_value = {x: (s, constant(s.number))
             for x, s in zip(placing.values, scales, strict=True)}
    new = _Quantizing(placing.graph, scale_of_value)
    by_op = dict(zip(placing.main, weights, strict=True))
    for value in placing.values:
        if not isinstance(value, OpOutput):
            new.round(value)
    for op in placing.graph.ops:
        w = by_op.get(op)
        if w is not None:
            x = op.operands[0]
            assert x is not None
            integers = new.add("dequantize", [w.data, w.scale], axis=w.axis)
            attributes: dict[str, Any] = dict(op.spec.attrs)
            product = new.add(op.kind, [new.rounded(x), integers, *op.operands[2:]], **attributes)
            new.instead[OpOutput(op, 0)] = product
        else:
            new.keep(op)
        for n in range(len(op.types)):
            new.round(OpOutput(op, n))
    return new.finished()
