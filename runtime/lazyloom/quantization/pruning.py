"""Dead code elimination after quantisation."""

from __future__ import annotations

from ..dtypes import uint8
from ..ops.spec import lookup
from ..trace.scalars import Scalar
from .graph import Op, OpGraph, OpOutput, Rewriter, Source

_QUANTIZE, _DEQUANTIZE = lookup("quantize"), lookup("dequantize")
_MAX_POOL, _RELU = lookup("max_pool"), lookup("relu")


def pruned(graph: OpGraph) -> OpGraph:
    """The graph without what quantisation has made unnecessary.

    Pairs of dequantize and quantize with equal parameters go, equal quantisations become one, a
    relu goes before a quantisation whose smallest number is 0, and quantisations go before what
    selects elements, to meet what was dequantised. Results stay as they are, bit for bit, but for
    those of NaN.
    """
    while True:
        found = _Pruning(graph).run()
        if [op.spec for op in found.ops] == [op.spec for op in graph.ops]:
            return found
        graph = found


class _Pruning(Rewriter):
    def run(self) -> OpGraph:
        known: dict[object, OpOutput] = {}
        for op in self.graph.ops:
            if op.kind is not _QUANTIZE:
                self.keep(op)
                continue
            key = (op.spec, *map(_key, op.operands))
            if key not in known:
                known[key] = self._quantize(op)
            self.instead[OpOutput(op, 0)] = known[key]
        return self.finished()

    def _quantize(self, op: Op) -> OpOutput:
        """A quantisation where it is done best, and what comes after it there."""
        x, *parameters = op.operands
        after: list[Op] = []
        made: OpOutput | None = None
        while isinstance(x, OpOutput):
            inner = x.op
            if _undone(inner, op):
                integers = inner.operands[0]
                assert integers is not None
                found = self.of(integers)
                made = found if isinstance(found, OpOutput) else None
                break
            relu = inner.kind is _RELU and _smallest_is_zero(op)
            if self.uses[x] != 1 or not (relu or _selects(inner, op)):
                break
            if not relu:
                after.append(inner)
            x = inner.operands[0]
        if made is None:
            assert x is not None
            made = self.add("quantize", [self.of(x), *[
                None if p is None else self.of(p) for p in parameters]], **op.spec.attrs)
        for each in reversed(after):
            made = self.add(each.kind, [made], **each.spec.attrs)
        return made


def _key(x: Source | None) -> object:
    return (x.number, x.type) if isinstance(x, Scalar) else x


def _undone(inner: Op, op: Op) -> bool:
    """Whether a quantisation gives back what was dequantised."""
    if inner.kind is not _DEQUANTIZE or inner.operands[0] is None:
        return False
    return (
        inner.operands[0].type.dtype is op.spec.attrs["dtype"]
        and inner.spec.attrs["axis"] == op.spec.attrs["axis"]
        and _parameters(inner) == _parameters(op))


def _parameters(op: Op) -> tuple[object, object]:
    scale, zero = (*op.operands[1:], None)[:2]
    return _key(scale), _key(zero)


def _smallest_is_zero(op: Op) -> bool:
    zero_point = (*op.operands, None)[2]
    return op.spec.attrs["dtype"] is uint8 and zero_point is None


def _selects(inner: Op, op: Op) -> bool:
    """Whether an op commutes with a quantisation by one scale, which is monotonic.

    Each element of its result is one of the operand, or the largest of some.
    """
    moves = inner.kind.access.data_movement and len(inner.operands) == 1
    return (moves or inner.kind is _MAX_POOL) and op.spec.attrs["axis"] is None
