"""The model of a region.

Reshapes and transposes are no nodes at first but views (:mod:`.views`). Ops that work element by
element or row by row (:mod:`.rows`) are done on what a view is of, so that the orders of axes
around attention meet and cancel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ...program.stream import Leaf, Operand, Result
from ...trace.scalars import Baked
from ...types import TensorType, tensor_type
from ..answers import Call
from ..generator import Region
from ..onnx import ELEMENTWISE, OnnxGraph, emit
from . import attention, bounds, ops, views
from .int8 import Integers
from .model import model as written
from .rows import of_rows
from .views import FactoredView, whole


def input_of(k: int) -> str:
    """Return a model's name for an operand of the region."""
    return f"x{k}"


def model(region: Region, values: Mapping[int, Any]) -> tuple[bytes, list[str]]:
    """Return a region's model, in which operands with values are initializers, and its outputs."""
    writer = _Writer(region, values)
    for call in region.calls:
        writer.add(call)
    graph = writer.graph
    # each has its own name: a result may be an output twice, and no output may be an input
    outputs = [graph.add("Identity", writer.name(writer.results[n][r]))
               for n, r in region.program.outputs]
    inputs = [(input_of(k), t) for k, t in enumerate(region.operands) if k not in values]
    return written(graph, inputs, list(zip(outputs, region.results, strict=True))), outputs


class _Writer:
    def __init__(self, region: Region, values: Mapping[int, Any]) -> None:
        self.graph: Final = OnnxGraph()
        self.operands: Final = [
            whole(self.graph.constant(values[k]) if k in values else input_of(k), t.shape)
            for k, t in enumerate(region.operands)]
        self.results: Final[list[list[FactoredView]]] = []
        #: bounds of the operands, and of the results of each op, where there are any
        self._of_operands: Final = [bounds.of_array(values[k]) if k in values else None
                                    for k in range(len(region.operands))]
        self._of_results: Final[list[float | None]] = []
        self.integers: Final = Integers(self.graph, self.name)
        #: what was added for each view
        self._names: Final[dict[FactoredView, str]] = {}

    def name(self, view: FactoredView) -> str:
        """Return the name of a value, which is moved if it is a view of another."""
        found = self._names.get(view)
        if found is None:
            found = self._names[view] = views.add(self.graph, view)
        return found

    def add(self, call: Call) -> None:
        """Add an op after those before it."""
        operands = [self._view(item) for item in call.wired]
        known = [self._bound(item, t) for item, t in zip(call.wired, call.operands, strict=True)]
        self._of_results.append(bounds.of_result(call, known))
        bounded = bool(known) and known[0] is not None
        one = self.integers.add(call, operands, bounded) or self.integers.product(call, operands)
        if one is None and call.op == attention.OP:
            one = attention.fused(self.graph, call, [x for x in operands if x], self.name)
        found = [one] if one else (
            self._moved(call, operands) or self._elementwise(call, operands)
            or self._by_rows(call, operands))
        if found is None:
            names = ["" if x is None else self.name(x) for x in operands]
            found = [whole(name, t.shape) for name, t in zip(
                emit(self.graph, call, names), call.results, strict=True)]
        self.results.append(found)

    def _view(self, item: Operand) -> FactoredView | None:
        if isinstance(item, Leaf):
            return self.operands[item.number]
        if isinstance(item, Result):
            return self.results[item.instruction][item.number]
        if isinstance(item, Baked):
            return whole(self.graph.constant(np.array(item.number, item.dtype.numpy)), ())
        assert item is None, "a region has no scalars of the program's"
        return None

    def _bound(self, item: Operand, t: TensorType | None) -> float | None:
        """Return a bound of an operand's magnitudes; None where there is none."""
        if isinstance(item, Leaf):
            found = self._of_operands[item.number]
            return bounds.of_type(t) if found is None else found
        if isinstance(item, Result):
            return self._of_results[item.instruction]
        return abs(float(item.number)) if isinstance(item, Baked) else 0.0

    def _moved(
        self, call: Call, operands: Sequence[FactoredView | None]
    ) -> list[FactoredView] | None:
        """Return the result of an op that only moves elements as a view."""
        if call.op not in ops.RESHAPES and call.op != "transpose":
            return None
        x = operands[0]
        assert x is not None
        if call.op == "transpose":
            axes = call.attributes["axes"]
            n = len(x.shape)
            return [x.transposed(
                range(n)[::-1] if axes is None else [d % n for d in axes])]
        shape = call.results[0].shape
        # one that divides no factors is a node
        return [x.reshaped(shape) or whole(
            self.graph.add("Reshape", self.name(x), self.graph.ints(shape)), shape)]

    def _elementwise(
        self, call: Call, operands: Sequence[FactoredView | None]
    ) -> list[FactoredView] | None:
        """Add an elementwise op on what its operands are views of, if they are alike."""
        if call.op not in ELEMENTWISE:
            return None
        shape = call.results[0].shape
        given = [x for x in operands if x is not None]
        full = [x for x in given if x.shape == shape]
        if not full or _plain(full[0]) or not all(x.like(full[0]) for x in full):
            return None
        view, on = full[0], []
        types: list[TensorType | None] = []
        for x, t in zip(operands, call.operands, strict=False):
            if x is None or t is None:
                on.append("")
                types.append(None)
            elif x.shape == shape:
                on.append(x.name)
                types.append(tensor_type(view.base, t.dtype))
            else:
                small = _small(x, view)
                if small is None:
                    return None
                on.append(self.name(small))
                types.append(tensor_type(small.shape, t.dtype))
        results = [tensor_type(view.base, t.dtype) for t in call.results]
        there = Call(call.op, call.attributes, types, results, call.values[:len(types)])
        return [view.on(name) for name in emit(self.graph, there, on)]

    def _by_rows(
        self, call: Call, operands: Sequence[FactoredView | None]
    ) -> list[FactoredView] | None:
        """Add an op that works row by row on what its first operand is a view of."""
        x = operands[0] if operands else None
        if x is None or _plain(x) or not x.base or not x.rows:
            return None
        there = of_rows(call, x.base[:-1])
        if there is None:
            return None
        on = [x.name, *("" if y is None else self.name(y) for y in operands[1:])]
        names = emit(self.graph, there, on[:len(there.operands)])
        return [x.with_rows(name, t.shape[-1])
                for name, t in zip(names, there.results, strict=True)]


def _plain(view: FactoredView) -> bool:
    return view.shape == view.base and view.order == tuple(range(len(view.factors)))


def _small(x: FactoredView, view: FactoredView) -> FactoredView | None:
    """Return an operand of an elementwise op that is a number, or a row beside a view's rows, in
    a shape that fits the view's base; None for another one."""
    if not x.factors:
        return x.reshaped(())
    if view.rows and x.shape[-1] == view.shape[-1] and all(d == 1 for d in x.shape[:-1]):
        return x.reshaped(x.shape[-1:])
    return None
