"""Loops and branches in ONNX: recorded functions as graphs within the graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...dtypes import bool_, int64
from ...ops.bodies import Body, BodyConstant, BodyInput, BodyResult, Use, parsed
from ...ops.spec import lookup
from ...types import TensorType, tensor_type
from ..answers import Call
from .graph import OnnxGraph
from .rules import ANY, emit, rule
from .shapes import counted

_BODIES = {"scan": ("body",), "while_loop": ("condition", "body"), "cond": ("if_true", "if_false")}


def _calls(body: Body) -> list[Call]:
    """Return the ops of a body, without the checks of indices, which take no part in results."""
    def type_of(use: Use | None) -> TensorType | None:
        if use is None:
            return None
        source = use.source
        if isinstance(source, BodyInput):
            return body.leaves[source.number]
        if isinstance(source, BodyConstant):
            return tensor_type((), source.dtype)
        assert isinstance(source, BodyResult)
        return body.types[source.instruction][source.number]

    return [Call(i.op.name, i.attrs, [type_of(use) for use in i.operands], types)
            for i, types in zip(body.instructions, body.types, strict=True)]


def _body(call: Call, name: str) -> Body:
    return parsed(lookup(call.op), call.attributes[name])


def _inner(call: Call) -> list[tuple[str, Call]]:
    return [(name, inner) for name in _BODIES[call.op] for inner in _calls(_body(call, name))]


def _emitted(g: OnnxGraph, body: Body, leaves: Sequence[str]) -> list[str]:
    """Add the nodes of a body; return the names of its results."""
    results: list[list[str]] = []

    def name_of(use: Use | None) -> str:
        if use is None:
            return ""
        source = use.source
        if isinstance(source, BodyInput):
            return leaves[source.number]
        if isinstance(source, BodyConstant):
            return g.number(source.number, source.dtype)
        assert isinstance(source, BodyResult)
        return results[source.instruction][source.number]

    for i, call in zip(body.instructions, _calls(body), strict=True):
        results.append(emit(g, call, [name_of(use) for use in i.operands]))
    return [name_of(use) for use in body.results]


def _end(inner: OnnxGraph, names: Sequence[str], types: Sequence[TensorType]) -> None:
    """Make values the results of a graph, each by a name of its own that the graph computes."""
    for name, t in zip(names, types, strict=True):
        inner.outputs.append((inner.add("Identity", name), t))


@rule("cond", dtypes=ANY, inner=_inner)
def _cond(g: OnnxGraph, call: Call, x: Sequence[str]) -> list[str]:
    branches = {}
    for name, attribute in (("if_true", "then_branch"), ("if_false", "else_branch")):
        inner = branches[attribute] = g.body()
        _end(inner, _emitted(inner, _body(call, name), x[1:]), call.results)
    return g.several(len(call.results), "If", x[0], **branches)


@rule("scan", dtypes=ANY, inner=_inner)
def _scan(g: OnnxGraph, call: Call, x: Sequence[str]) -> list[str]:
    a = call.attributes
    body = _body(call, "body")
    carry, xs = a["carry"], a["xs"]
    if not a["length"]:
        # which runtimes do not take
        return [*[g.add("Identity", name) for name in x[:carry]],
                *[g.constant(np.zeros(t.shape, t.dtype.numpy)) for t in call.results[carry:]]]
    inner = g.body()
    leaves = [inner.name() for _ in range(carry + xs)]
    inner.inputs.extend(zip(leaves, body.leaves, strict=False))
    scanned = list(x[carry:carry + xs])
    if not xs:
        # what is scanned says the number of steps
        scanned.append(counted(g, a["length"]))
        inner.inputs.append((inner.name(), tensor_type((), int64)))
    _end(inner, _emitted(inner, body, [*leaves, *x[carry + xs:]]), body.result_types)
    backwards: dict[str, list[int]] = {}
    if a["reverse"]:
        backwards["scan_input_directions"] = [1] * len(scanned)
        if len(call.results) > carry:
            backwards["scan_output_directions"] = [1] * (len(call.results) - carry)
    return g.several(len(call.results), "Scan", *x[:carry], *scanned, body=inner,
                     num_scan_inputs=len(scanned), **backwards)


@rule("while_loop", dtypes=ANY, inner=_inner)
def _while(g: OnnxGraph, call: Call, x: Sequence[str]) -> list[str]:
    a, carry = call.attributes, call.attributes["carry"]
    body, condition = _body(call, "body"), _body(call, "condition")
    rest = list(x[carry:])
    inner = g.body()
    step, going = inner.name(), inner.name()
    leaves = [inner.name() for _ in range(carry)]
    inner.inputs.extend([(step, tensor_type((), int64)), (going, tensor_type((), bool_)),
                     *zip(leaves, body.leaves[:carry], strict=True)])
    found = _emitted(inner, body, [*leaves, *rest])
    (more,) = _emitted(inner, condition, [*found, *rest])
    _end(inner, [more, *found], [tensor_type((), bool_), *body.result_types])
    (first,) = _emitted(g, condition, x)
    most = "" if a["max_steps"] is None else g.constant(np.array(a["max_steps"], np.int64))
    return g.several(len(call.results), "Loop", most, first, *x[:carry], body=inner)

