"""Reductions in ONNX."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..answers import YES, Call, No
from .elementwise import constant, truth
from .graph import OnnxGraph
from .rules import FLOAT32, FLOATS, NUMBERS, RULES, WIDE_FLOATS, Rule, operand, rule


def axes_of(call: Call) -> list[int]:
    """Return the axes that a reduction is over."""
    axes, ndim = call.attributes["axes"], operand(call, 0).ndim
    return list(range(ndim)) if axes is None else [d % ndim for d in axes]


def reduced(g: OnnxGraph, call: Call, op: str, name: str, keepdims: bool | None = None) -> str:
    """Return a value reduced along the axes of a call."""
    keep = bool(call.attributes["keepdims"]) if keepdims is None else keepdims
    return g.reduce(op, name, axes_of(call), keep, operand(call, 0).ndim)


def count(call: Call) -> int:
    """Return the number of elements that each result of a reduction is of."""
    return math.prod(operand(call, 0).shape[d] for d in axes_of(call))


@rule("sum", "prod", dtypes=("float32", "float64", "float16", "int32", "int64", "bool"),
      claimed=FLOAT32)
def _sum(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    name, target = x[0], call.results[0].dtype
    op = "ReduceSum" if call.op == "sum" else "ReduceProd"
    if target.kind == "b":
        # whether any, or all, are true
        return g.cast(reduced(g, call, op, g.cast(truth(g, call, 0, name), "int32")), target)
    if operand(call, 0).dtype is not target:
        name = g.cast(name, target)
    return reduced(g, call, op, name)


@rule("mean", claimed=FLOAT32)
def _mean(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    t = call.results[0]
    if not count(call):
        return g.add("Expand", constant(g, call, math.nan), g.ints(t.shape))
    return reduced(g, call, "ReduceMean", x[0])


# not claimed: ONNX Runtime's sometimes ignore NaN
@rule("max", "min", dtypes=(*FLOATS, "int32", "int64"))
def _extremum(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    return reduced(g, call, "ReduceMax" if call.op == "max" else "ReduceMin", x[0])


@rule("all", "any", dtypes=(*NUMBERS, "bool"))
def _truths(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    true = truth(g, call, 0, x[0])
    if call.op == "any":
        return g.cast(reduced(g, call, "ReduceSum", g.cast(true, "int64")), "bool")
    false = g.cast(g.add("Not", true), "int64")
    return g.add("Not", g.cast(reduced(g, call, "ReduceSum", false), "bool"))


@rule("count_nonzero", dtypes=(*NUMBERS, "bool"))
def _count_nonzero(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    return reduced(g, call, "ReduceSum", g.cast(truth(g, call, 0, x[0]), "int64"))


@rule("argmax", "argmin", dtypes=(*FLOATS, "int32", "int64"))
def _arg(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    op = "ArgMax" if call.op == "argmax" else "ArgMin"
    a, t, target = call.attributes, operand(call, 0), call.results[0]
    if a["axis"] is None or not t.ndim:
        flat = g.add(op, g.reshape(x[0], [-1]), axis=0, keepdims=0)
        return g.reshape(flat, target.shape)
    return g.add(op, x[0], axis=a["axis"] % t.ndim, keepdims=int(a["keepdims"]))


def _variance(g: OnnxGraph, call: Call, x: str) -> str:
    """Return the mean squared distance from the mean, by two passes."""
    away = g.add("Sub", x, reduced(g, call, "ReduceMean", x, True))
    total = reduced(g, call, "ReduceSum", g.add("Mul", away, away))
    return g.add("Div", total, constant(g, call, max(count(call) - call.attributes["correction"],
                                                     0)))


RULES["var"] = Rule(lambda g, call, x: _variance(g, call, x[0]), WIDE_FLOATS)
RULES["std"] = Rule(lambda g, call, x: g.add("Sqrt", _variance(g, call, x[0])), WIDE_FLOATS)


@rule("norm", dtypes=WIDE_FLOATS, check=lambda call: (
    YES if call.attributes["order"] in (1, 2, math.inf, -math.inf)
    else No(f"order={call.attributes['order']}, expected 1, 2, inf or -inf")))
def _norm(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    op = {1: "ReduceSum", 2: "ReduceL2", math.inf: "ReduceMax", -math.inf: "ReduceMin"}[
        call.attributes["order"]]
    return reduced(g, call, op, x[0] if op == "ReduceL2" else g.add("Abs", x[0]))


@rule("logsumexp", dtypes=WIDE_FLOATS)
def _logsumexp(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    if not count(call):
        return reduced(g, call, "ReduceLogSumExp", x[0])
    most = reduced(g, call, "ReduceMax", x[0], True)
    infinite = g.add("Equal", g.add("Abs", most), constant(g, call, math.inf))
    shift = g.add("Where", infinite, constant(g, call, 0), most)
    total = reduced(g, call, "ReduceSum", g.add("Exp", g.add("Sub", x[0], shift)), True)
    found = g.add("Add", g.add("Log", total), shift)
    return found if call.attributes["keepdims"] else g.reshape(found, call.results[0].shape)


def _of_axis(op: str, g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    """Return the result of an op along an axis, of a scalar as of one element."""
    if operand(call, 0).ndim:
        return g.add(op, x[0], axis=int(call.attributes["axis"]))
    return g.reshape(g.add(op, g.reshape(x[0], [1]), axis=0), [])


@rule("softmax", "log_softmax", claimed=FLOAT32, claim=lambda call: (
    YES if operand(call, 0).ndim else No("of a scalar")))
def _softmax(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    return _of_axis("Softmax" if call.op == "softmax" else "LogSoftmax", g, call, x)
