"""Ops and regions as JSON, as plug-ins get them: ``capi/include/lazyloom_codegen.h`` describes it.
"""

from __future__ import annotations

import json
import math
from typing import Any

from ..dtypes import DType
from ..program.stream import Leaf, Operand, Result
from ..trace.scalars import Baked
from ..types import TensorType
from .answers import Call
from .generator import Layout, Region


def call_json(call: Call) -> str:
    """Return an op with its attributes, its types, and the operands that are numbers."""
    return json.dumps({
        "op": call.op, "attributes": _attributes(call),
        "operands": [None if t is None else _type(t) for t in call.operands],
        "values": [None if v is None else _number(v) for v in call.values],
        "results": [_type(t) for t in call.results]})


def region_json(region: Region) -> str:
    """Return a region as a graph: operands, nodes in an order in which they can run, results."""
    count = len(region.operands)
    nodes = []
    for i, call in zip(region.program.structure.instructions, region.calls, strict=True):
        nodes.append({
            "op": call.op, "attributes": _attributes(call),
            "inputs": [_input(item) for item in i.operands],
            "results": [_type(t) for t in call.results]})
    return json.dumps({
        "version": 1,
        "operands": [_array(t, layout) for t, layout in zip(
            region.operands, region.layouts[:count], strict=True)],
        "nodes": nodes,
        "results": [{"node": n, "result": r, **_array(t, layout)} for (n, r), t, layout in zip(
            region.program.outputs, region.results, region.layouts[count:], strict=True)]})


def strides(t: TensorType, layout: Layout) -> list[int]:
    """Return the distance in bytes of neighbours along each axis, in an order in memory."""
    found = [0] * t.ndim
    step = t.dtype.itemsize
    for axis in reversed(layout):
        found[axis] = step
        step *= t.shape[axis]
    return found


def _type(t: TensorType) -> dict[str, Any]:
    return {"dtype": t.dtype.name, "shape": list(t.shape)}


def _array(t: TensorType, layout: Layout) -> dict[str, Any]:
    return {**_type(t), "strides": strides(t, layout)}


def _attributes(call: Call) -> dict[str, Any]:
    return {name: _plain(value) for name, value in call.attributes.items()}


def _input(item: Operand) -> dict[str, Any] | None:
    if isinstance(item, Leaf):
        return {"operand": item.number}
    if isinstance(item, Result):
        return {"node": item.instruction, "result": item.number}
    if isinstance(item, Baked):
        return {"constant": _number(item.number), "dtype": item.dtype.name}
    assert item is None, "a region has no scalars of the program's"
    return None


def _number(value: bool | int | float) -> int | float | str:
    """Return a constant: an integer where it is one, also of floats and for booleans."""
    if not isinstance(value, float) or (
        abs(value) < 2**53 and value.is_integer() and str(value) != "-0.0"
    ):
        return int(value)
    return value if math.isfinite(value) else repr(value)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if isinstance(value, (tuple, list)):
        return [_plain(v) for v in value]
    if isinstance(value, DType):
        return value.name
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)
