"""Running sums, products, extrema, and positions of extrema, by ``native/c_kernels/scans.h``."""

from __future__ import annotations

import importlib
from typing import Any, Final

from ...program.stream import Leaf
from ...types import TensorType
from ..answers import YES, Answer, Call, No
from ..generator import NativeCode, Region
from ..worth import at_least
from .rows import code, rows

#: the number of elements from which on an op is worth a call
FEWEST: Final = 2048
#: the least places in a row to search for an extremum: XLA is faster where rows are short
LONG: Final = 64
_SCANS: Final = {"cumsum": 0, "cumprod": 1, "cummax": 2, "cummin": 3, "cumsum.vjp": 0}
_FINDS: Final = {"argmax": 2, "argmin": 3}
_TYPES: Final = {"int32": 0, "uint32": 1, "int64": 2, "uint64": 3, "float32": 4, "float64": 5}
#: seconds per element, for estimates
_EACH: Final = 1e-9


def known(op: str) -> bool:
    """Return True if an op is one of these."""
    return op in _SCANS or op in _FINDS


def _operand(call: Call) -> TensorType:
    """Return the type of the scanned operand: for a gradient, the cotangent."""
    operand = call.operands[-1]
    assert operand is not None
    return operand


def supports(call: Call) -> Answer:
    """Return YES if an op is supported, or why not."""
    if call.op.endswith(".vjp") and (
        call.attributes["outnums1"] != (0,) or call.attributes["argnums1"] != (0,)
        or len(call.operands) != 2
    ):
        return No("a derivative of another kind")
    x = _operand(call)
    if x.dtype.name not in _TYPES:
        return No(f"dtype {x.dtype.name}, expected one of {', '.join(_TYPES)}")
    enough = at_least(x.size, FEWEST, "elements")
    if call.op in _FINDS and enough:
        return at_least(_rows(call)[1], LONG, "places in a row")
    return enough


def _rows(call: Call) -> tuple[int, int, int]:
    """Return the number of rows along the axis, the places of each, and their distance."""
    x, axis = _operand(call), call.attributes["axis"]
    return (1, x.size, 1) if axis is None else rows(x, axis % x.ndim)


def runs_alone(call: Call) -> Answer:
    """Return YES except for sums and products of integers."""
    integers = _operand(call).dtype.kind != "f" and _SCANS.get(call.op, 2) < 2
    return No("NumPy is as quick") if integers else YES


def seconds(call: Call) -> float:
    """Estimate the seconds of a run."""
    return _EACH * _operand(call).size


def build(region: Region) -> NativeCode:
    """Return the function with the numbers that it takes."""
    native: Any = importlib.import_module("lazyloom._c_kernels")
    call = region.calls[0]
    x = _operand(call)
    source = region.program.structure.instructions[0].operands[-1]
    assert isinstance(source, Leaf)
    outer, count, inner = _rows(call)
    scans = call.op in _SCANS
    turned = scans and bool(call.attributes["reverse"]) != call.op.endswith(".vjp")
    return code(native.scanning() if scans else native.finding(), [
        _SCANS[call.op] if scans else _FINDS[call.op], _TYPES[x.dtype.name], outer, count, inner,
        turned, source.number, len(region.operands)])
