"""Ops that do the same for each row of their first operand, whichever axes are before the last."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ...types import TensorType, tensor_type
from ..answers import Call
from . import ops

#: an op's name and attributes for an operand with other axes before the last, given its type and
#: the number of these axes; None for a call that does not work row by row
_Rule = Callable[[Call, TensorType, int], "tuple[str, dict[str, Any]] | None"]


def of_rows(call: Call, leading: tuple[int, ...]) -> Call | None:
    """Return the call that does the same for rows that lie in axes of other extents.

    None for one that needs its own axes.
    """
    rule, x = _RULES.get(call.op), call.operands[0]
    if rule is None or x is None or not x.ndim:
        return None
    found = rule(call, x, len(leading))
    if found is None:
        return None
    name, changed = found
    operands = (tensor_type((*leading, x.shape[-1]), x.dtype),
                *(call.operands[1:] if name == call.op else ()))
    attributes = {**call.attributes, **changed} if name == call.op else changed
    results = [tensor_type((*leading, t.shape[-1]), t.dtype) for t in call.results]
    return Call(name, attributes, operands, results, call.values[:len(operands)])


def _dot_general(call: Call, x: TensorType, leading: int) -> tuple[str, dict[str, Any]] | None:
    a, y = call.attributes, call.operands[1]
    if y is None or y.ndim != 2 or a["lhs_batch"] or len(a["rhs_contract"]) != 1 or (
        [d % x.ndim for d in a["lhs_contract"]] != [x.ndim - 1]
    ):
        return None
    return call.op, {"lhs_contract": (leading,)}


def _matmul(call: Call, x: TensorType, leading: int) -> tuple[str, dict[str, Any]] | None:
    y = call.operands[1]
    return (call.op, {}) if y is not None and y.ndim == 2 and x.ndim > 1 and leading else None


def _norm(call: Call, x: TensorType, leading: int) -> tuple[str, dict[str, Any]] | None:
    return (call.op, {}) if call.attributes["normalized_ndim"] == 1 else None


def _along_last(call: Call, x: TensorType, leading: int) -> tuple[str, dict[str, Any]] | None:
    if call.attributes["axis"] % x.ndim != x.ndim - 1:
        return None
    return call.op, {"axis": leading}


def _slice(call: Call, x: TensorType, leading: int) -> tuple[str, dict[str, Any]] | None:
    a = call.attributes
    before = call.results[0].shape[:-1]
    strides = a["strides"] or (1,) * x.ndim
    if before != x.shape[:-1] or any(s != 1 for s in strides[:-1]):
        return None
    return call.op, {"starts": (0,) * leading + (a["starts"][-1],),
                     "stops": (2**31,) * leading + (a["stops"][-1],),
                     "strides": (1,) * leading + (strides[-1],)}


def _dynamic_slice(call: Call, x: TensorType, leading: int) -> tuple[str, dict[str, Any]] | None:
    starts = ops.known_starts(call)
    if starts is None or call.results[0].shape[:-1] != x.shape[:-1]:
        return None
    size = call.attributes["sizes"][-1]
    return "slice", {"starts": (0,) * leading + (starts[-1],),
                     "stops": (2**31,) * leading + (starts[-1] + size,),
                     "strides": None}


_RULES: Final[Mapping[str, _Rule]] = {
    "dot_general": _dot_general, "matmul": _matmul, "layer_norm": _norm, "rms_norm": _norm,
    "softmax": _along_last, "log_softmax": _along_last, "split": _along_last, "slice": _slice,
    "dynamic_slice": _dynamic_slice,
}
