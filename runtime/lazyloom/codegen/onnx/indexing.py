"""Lookups, updates at indices, sorting and cumulative ops in ONNX."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..answers import YES, Answer, Call, No
from .graph import OnnxGraph
from .rules import ANY, FLOATS, RULES, Rule, operand, rule
from .shapes import counted, ones_where

_CLAIMED = ("float32", "int32", "int64")


def _scalar(g: OnnxGraph, n: int) -> str:
    return g.constant(np.array(n, np.int64))


def inside(g: OnnxGraph, call: Call, k: int, name: str, n: int, clamped: bool = True) -> str:
    """Return indices, an operand, as positions of an axis: below 0 they count from the end."""
    indices = name if operand(call, k).dtype.name == "int64" else g.cast(name, "int64")
    known = g.value_of(indices)
    zero = _scalar(g, 0)
    if known is None or known.size == 0 or known.min() < 0 or known.max() >= n:
        indices = g.add("Where", g.add("Less", indices, zero),
                        g.add("Add", indices, _scalar(g, n)), indices)
        if clamped:
            indices = g.add("Min", g.add("Max", indices, zero), _scalar(g, n - 1))
    return indices


def _indices_check(call: Call) -> Answer:
    for k, t in enumerate(call.operands):
        if k and t is not None and t.dtype.name == "uint64":
            return No("indices of uint64, expected int64 or narrower ones")
    return YES


@rule("take", "embedding", dtypes=ANY, claimed=_CLAIMED, check=_indices_check)
def _take(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    """Those out of range are clamped."""
    t = operand(call, 0)
    axis = int(call.attributes.get("axis", 0)) % t.ndim
    return g.add("Gather", x[0], inside(g, call, 1, x[1], t.shape[axis]), axis=axis)


@rule("take_along_axis", dtypes=ANY, check=_indices_check)
def _take_along(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    t, axis = operand(call, 0), call.attributes["axis"] % operand(call, 0).ndim
    indices = inside(g, call, 1, x[1], t.shape[axis])
    return g.add("GatherElements", x[0], indices, axis=axis)


def _order(call: Call) -> tuple[list[int], list[int]]:
    """Return the axes of an index op, and the other ones."""
    ndim = operand(call, 0).ndim
    axes = [d % ndim for d in call.attributes["axes"]]
    return axes, [d for d in range(ndim) if d not in axes]


def _places(g: OnnxGraph, call: Call, x: Sequence[str], first: int, clamped: bool) -> str:
    """Return the indices of an index op, broadcast and side by side along a last axis."""
    axes, _ = _order(call)
    shape = np.broadcast_shapes(*[operand(call, first + k).shape for k in range(len(axes))])
    parts = []
    for k, axis in enumerate(axes):
        n = operand(call, 0).shape[axis]
        name = inside(g, call, first + k, x[first + k], n, clamped)
        if operand(call, first + k).shape != shape:
            name = g.add("Expand", name, g.ints(shape))
        parts.append(g.add("Unsqueeze", name, g.ints([-1])))
    return g.add("Concat", *parts, axis=-1)


@rule("index", dtypes=ANY, check=_indices_check)
def _index(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    t = operand(call, 0)
    axes, rest = _order(call)
    if len(axes) == 1:
        return g.add("Gather", x[0], inside(g, call, 1, x[1], t.shape[axes[0]]), axis=axes[0])
    order = [*axes, *rest]
    moved = x[0] if order == sorted(order) else g.add("Transpose", x[0], perm=order)
    found = g.add("GatherND", moved, _places(g, call, x, 1, True))
    if axes != list(range(axes[0], axes[0] + len(axes))) or not axes[0]:
        return found
    # the axes of the indices take the place of those that they index
    count = call.results[0].ndim - len(rest)
    back = [*range(count, count + axes[0]), *range(count),
            *range(count + axes[0], call.results[0].ndim)]
    return g.add("Transpose", found, perm=back)


_REDUCTIONS = {"add": "add", "multiply": "mul", "min": "min", "max": "max"}


@rule("index_update", dtypes=(*FLOATS, "int32", "int64", "bool", "uint8"), since=18,
      check=_indices_check)
def _index_update(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    t, mode = operand(call, 0), call.attributes["mode"]
    axes, rest = _order(call)
    order = [*axes, *rest]
    places = _places(g, call, x, 2, False)
    count = np.broadcast_shapes(*[operand(call, 2 + k).shape for k in range(len(axes))])
    taken = [*count, *[t.shape[d] for d in rest]]
    together = axes == list(range(axes[0], axes[0] + len(axes)))
    value = x[1]
    if together and axes[0]:
        # its own order is that of the result of index: what comes before the axes comes first
        shape = [*[t.shape[d] for d in range(axes[0])], *count,
                 *[t.shape[d] for d in rest if d > axes[0]]]
        n, m = axes[0], len(count)
        value = g.add("Transpose", g.add("Expand", value, g.ints(shape)),
                      perm=[*range(n, n + m), *range(n), *range(n + m, len(shape))])
    else:
        value = g.add("Expand", value, g.ints(taken))
    straight = order == sorted(order)
    moved = x[0] if straight else g.add("Transpose", x[0], perm=order)
    more = {} if mode == "set" else {"reduction": _REDUCTIONS[mode]}
    found = g.add("ScatterND", moved, places, value, **more)
    return found if straight else g.add(
        "Transpose", found, perm=[order.index(d) for d in range(t.ndim)])


@rule("scatter_along_axis", dtypes=(*FLOATS, "int32", "int64", "bool", "uint8"), since=18,
      check=_indices_check)
def _scatter(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    t, mode = operand(call, 0), call.attributes["mode"]
    axis = call.attributes["axis"] % t.ndim
    shape = operand(call, 1).shape
    indices = inside(g, call, 1, x[1], t.shape[axis], False)
    updates = x[2] if operand(call, 2).shape == shape else g.add("Expand", x[2], g.ints(shape))
    more = {} if mode == "set" else {"reduction": _REDUCTIONS[mode]}
    return g.add("ScatterElements", x[0], indices, updates, axis=axis, **more)


@rule("one_hot", dtypes=ANY, check=lambda call: (
    No("indices of uint64") if operand(call, 0).dtype.name == "uint64" else YES))
def _one_hot(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    indices = x[0] if operand(call, 0).dtype.name == "int64" else g.cast(x[0], "int64")
    places = g.add("Unsqueeze", indices, g.ints([-1]))
    return ones_where(g, g.add("Equal", places, counted(g, call.attributes["depth"])),
                      call.results[0])


# Orders

_SORTED = (*FLOATS, "int32", "int64")


def _top(
    g: OnnxGraph, call: Call, x: str, k: int, axis: int, largest: bool
) -> tuple[str, str]:
    """Of equal elements the first comes first."""
    values, places = g.several(2, "TopK", x, g.ints([k]), axis=axis, largest=int(largest), sorted=1)
    return values, places


@rule("sort", "argsort", "sort_with_indices", dtypes=_SORTED)
def _sort(g: OnnxGraph, call: Call, x: Sequence[str]) -> list[str]:
    t = operand(call, 0)
    if t.ndim == 0:
        found = [g.add("Identity", x[0]), _scalar(g, 0)]
    else:
        axis = call.attributes["axis"] % t.ndim
        found = list(_top(g, call, x[0], t.shape[axis], axis, call.attributes["descending"]))
    return {"sort": found[:1], "argsort": found[1:]}.get(call.op, found)


@rule("top_k", dtypes=_SORTED)
def _top_k(g: OnnxGraph, call: Call, x: Sequence[str]) -> list[str]:
    a, t = call.attributes, operand(call, 0)
    return list(_top(g, call, x[0], a["k"], a["axis"] % t.ndim, a["largest"]))


RULES["cumsum"] = Rule(
    lambda g, call, x: g.add("CumSum", x[0], _scalar(
        g, call.attributes["axis"] % operand(call, 0).ndim),
        reverse=int(call.attributes["reverse"])),
    ("float32", "float64", "int32", "int64"),
    lambda call: YES if operand(call, 0).ndim else No("of a scalar"))


@rule("first_out_of_range", dtypes=("int32", "int64"))
def _out_of_range(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    size = call.attributes["size"]
    least = _scalar(g, -size if call.attributes["negative"] else 0)
    # there is always one that is in range
    indices = g.add("Concat", g.reshape(g.cast(x[0], "int64"), [-1]), g.ints([0]), axis=0)
    out = g.add("Or", g.add("Less", indices, least),
                g.add("GreaterOrEqual", indices, _scalar(g, size)))
    first = g.add("ArgMax", g.cast(out, "int32"), axis=0, keepdims=0)
    found = g.add("Where", out, indices, _scalar(g, 0))
    return g.add("Gather", found, first, axis=0)
