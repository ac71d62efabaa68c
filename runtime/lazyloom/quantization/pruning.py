"""Dead code elimination after quantisation."""

from __future__ import annotations

from ..dtypes import uint8
from ..ops.spec import lookup
from ..trace.scalars import Scalar
from .graph import Op, OpGraph, OpOutput, Rewriter, Source

_QUANTIZE, _DEQUANTIZE = lookup("quantize"), lookup("dequantize")
_MAX_POOL, _RELU = lookup("max_pool"), lookup("relu")


def pruned(graph: OpGraph) -> OpGraph:
    """Return the graph without what quantisation has made unnecessary.

    Pairs of dequantize and quantize with equal parameters are removed, equal quantisations become
    one, a relu before a quantisation whose smallest number is 0 is removed, and quantisations move
    before ops that select elements, towards a dequantisation. Results stay the same, bit for bit,
    except for those of NaN.
    """
    while True:
        result = _Pruning(graph).run()
        if [op.spec for op in result.ops] == [op.spec for op in graph.ops]:
            return result
        graph = result


class _Pruning(Rewriter):
    def run(self) -> OpGraph:
        outputs: dict[object, OpOutput] = {}
        for op in self.graph.ops:
            if op.kind is not _QUANTIZE:
                self.keep(op)
                continue
            key = (op.spec, *map(_key, op.operands))
            if key not in outputs:
                outputs[key] = self._quantize(op)
            self.instead[OpOutput(op, 0)] = outputs[key]
        return self.finished()

    def _quantize(self, op: Op) -> OpOutput:
        """Add a quantisation where it is best done, and the ops after it."""
        x, *parameters = op.operands
        after: list[Op] = []
        output: OpOutput | None = None
        while isinstance(x, OpOutput):
            inner = x.op
            if _undone(inner, op):
                integers = inner.operands[0]
                assert integers is not None
                source = self.of(integers)
                output = source if isinstance(source, OpOutput) else None
                break
            relu = inner.kind is _RELU and _smallest_is_zero(op)
            if self.uses[x] != 1 or not (relu or _selects(inner, op)):
                break
            if not relu:
                after.append(inner)
            x = inner.operands[0]
        if output is None:
            assert x is not None
            output = self.add("quantize", [self.of(x), *[
                None if p is None else self.of(p) for p in parameters]], **op.spec.attrs)
        for each in reversed(after):
            output = self.add(each.kind, [output], **each.spec.attrs)
        return output


def _key(x: Source | None) -> object:
    return (x.number, x.type) if isinstance(x, Scalar) else x


def _undone(inner: Op, op: Op) -> bool:
    """Return True if a quantisation gives back what was dequantised."""
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
    """Return True if an op commutes with a quantisation by one scale, which is monotonic.

    Each element of its result is an element of the operand, or the largest of several.
    """
    moves = inner.kind.access.data_movement and len(inner.operands) == 1
    return (moves or inner.kind is _MAX_POOL) and op.spec.attrs["axis"] is None
