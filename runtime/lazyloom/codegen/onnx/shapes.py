"""Ops that move data in ONNX: shapes, parts, and tensors that are made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...types import TensorType
from ..answers import YES, Answer, Call, No
from .graph import OnnxGraph
from .rules import ANY, FLOAT32, MOVED, NUMBERS, RULES, Rule, one, operand, rule

#: a place behind the end of every axis
_END = (1 << 63) - 1


@rule("reshape", "expand_dims", "squeeze", dtypes=ANY, claimed=MOVED)
def _reshape(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    return g.reshape(x[0], call.results[0].shape)


RULES["identity"] = Rule(lambda g, call, x: g.reshape(x[0], call.results[0].shape), ANY,
                         claimed=MOVED)
RULES["copy"] = Rule(one("Identity"), ANY)
RULES["barrier"] = Rule(lambda g, call, x: [g.add("Identity", each) for each in x], ANY)
RULES["straight_through"] = Rule(lambda g, call, x: g.add("Identity", x[1]), ANY)
for _name in ("positive", "real", "conj"):
    RULES[_name] = Rule(one("Identity"), ANY, lambda call: (
        No("of complex numbers") if operand(call, 0).dtype.kind == "c" else YES))


@rule("broadcast_to", dtypes=ANY, claimed=MOVED)
def _broadcast(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    return g.add("Expand", x[0], g.ints(call.results[0].shape))


@rule("transpose", "moveaxis", "swapaxes", dtypes=ANY, claimed=MOVED, claim=lambda call: (
    YES if call.op == "transpose" else No(f"{call.op} is not in its table")))
def _transpose(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    a, ndim = call.attributes, operand(call, 0).ndim
    order = list(range(ndim))
    if call.op == "swapaxes":
        first, second = a["axis1"] % ndim, a["axis2"] % ndim
        order[first], order[second] = second, first
    elif call.op == "moveaxis":
        source = [d % ndim for d in a["source"]]
        order = [d for d in order if d not in source]
        for at, axis in sorted(zip([d % ndim for d in a["destination"]], source, strict=True)):
            order.insert(at, axis)
    else:
        axes = a["axes"]
        order = order[::-1] if axes is None else [d % ndim for d in axes]
    return g.add("Transpose", x[0], perm=order) if ndim else g.add("Identity", x[0])


@rule("concatenate", dtypes=ANY, claimed=MOVED)
def _concatenate(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    return g.add("Concat", *x, axis=int(call.attributes["axis"]))


@rule("stack", dtypes=ANY, claimed=MOVED)
def _stack(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    axis = int(call.attributes["axis"]) % call.results[0].ndim
    return g.add("Concat", *[g.add("Unsqueeze", each, g.ints([axis])) for each in x], axis=axis)


@rule("split", dtypes=ANY, claimed=MOVED)
def _split(g: OnnxGraph, call: Call, x: Sequence[str]) -> list[str]:
    sizes = call.attributes["sizes"]
    return g.several(len(sizes), "Split", x[0], g.ints(sizes), axis=int(call.attributes["axis"]))


def _with_axes(call: Call) -> Answer:
    return YES if operand(call, 0).ndim else No("of a scalar")


def strides_of(call: Call) -> list[int]:
    """Return a slice's strides."""
    values = call.attributes["strides"]
    return [1] * operand(call, 0).ndim if values is None else list(values)


def sliced(g: OnnxGraph, name: str, call: Call) -> str:
    """Return the elements that the attributes of a slice name."""
    a, t = call.attributes, operand(call, 0)
    stops = []
    for stop, stride, n in zip(a["stops"], strides_of(call), t.shape, strict=True):
        # a stop of -1 is the place before the first element; in ONNX it counts from the end
        stops.append(-1 - _END if stop < 0 else _END if stop >= n and stride != 1 else stop)
    return g.add("Slice", name, g.ints(a["starts"]), g.ints(stops), g.ints(range(t.ndim)),
                 g.ints(strides_of(call)))


@rule("slice", dtypes=ANY, claimed=MOVED, claim=_with_axes)
def _slice(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    return sliced(g, x[0], call) if operand(call, 0).ndim else g.add("Identity", x[0])


@rule("flip", dtypes=ANY)
def _flip(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    axes = call.attributes["axes"]
    t = operand(call, 0)
    axes = range(t.ndim) if axes is None else [d % t.ndim for d in axes]
    if not axes:
        return g.add("Identity", x[0])
    return g.add("Slice", x[0], g.ints([-1] * len(axes)), g.ints([-1 - _END] * len(axes)),
                 g.ints(axes), g.ints([-1] * len(axes)))


def starts_of(
    g: OnnxGraph, call: Call, x: Sequence[str], shape: Sequence[int], sizes: Sequence[int]
) -> list[int] | str:
    """Return the place where a block begins, from the operands that say it, moved inside.

    It is the list of numbers if all of them are constants, else a name. Starts below 0 count from
    the end.
    """
    known = [g.value_of(name) for name in x]
    if all(value is not None for value in known):
        starts = [int(v) + n if v < 0 else int(v) for v, n in zip(known, shape, strict=True)]
        return [min(max(s, 0), n - size)
                for s, n, size in zip(starts, shape, sizes, strict=True)]
    moved = [g.reshape(g.cast(name, "int64"), [1]) for name in x]
    starts_name = g.add("Concat", *moved, axis=0)
    zeros = g.ints([0] * len(shape))
    starts_name = g.add("Where", g.add("Less", starts_name, zeros),
                        g.add("Add", starts_name, g.ints(shape)), starts_name)
    most = g.ints([n - size for n, size in zip(shape, sizes, strict=True)])
    return g.add("Min", g.add("Max", starts_name, zeros), most)


@rule("dynamic_slice", dtypes=ANY, claimed=MOVED, claim=_with_axes)
def _dynamic_slice(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    shape, sizes = operand(call, 0).shape, call.attributes["sizes"]
    if not shape:
        return g.add("Identity", x[0])
    starts = starts_of(g, call, x[1:], shape, sizes)
    if isinstance(starts, str):
        return g.add("Slice", x[0], starts, g.add("Add", starts, g.ints(sizes)),
                     g.ints(range(len(shape))))
    # where extents vary, an axis may be whole by chance
    axes = [d for d, n in enumerate(shape) if g.varying or (starts[d], sizes[d]) != (0, n)]
    if not axes:
        return g.add("Identity", x[0])
    return g.add("Slice", x[0], g.ints([starts[d] for d in axes]),
                 g.ints([starts[d] + sizes[d] for d in axes]), g.ints(axes))


@rule("dynamic_update_slice", dtypes=ANY)
def _dynamic_update(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    shape, sizes = operand(call, 0).shape, operand(call, 1).shape
    if not shape or 0 in sizes:
        return g.add("Identity", x[0] if shape else x[1])
    starts = starts_of(g, call, x[2:], shape, sizes)
    if isinstance(starts, list):
        return _placed(g, x[0], x[1], shape, starts, sizes, 0)
    # the positions of the block's elements along each axis, as ScatterND takes them
    grids = []
    for d, size in enumerate(sizes):
        start = g.add("Slice", starts, g.ints([d]), g.ints([d + 1]), g.ints([0]))
        along = g.add("Add", counted(g, size), start)
        spread = g.reshape(along, [size if k == d else 1 for k in range(len(sizes))])
        grids.append(g.add("Unsqueeze", g.add("Expand", spread, g.ints(sizes)), g.ints([-1])))
    return g.add("ScatterND", x[0], g.add("Concat", *grids, axis=-1), x[1])


def _placed(
    g: OnnxGraph, name: str, update: str, shape: Sequence[int], starts: Sequence[int],
    sizes: Sequence[int], axis: int,
) -> str:  # fmt: skip
    """Return a value whose block, from an axis on, is another: parts before, within and behind."""
    while axis < len(shape) and (starts[axis], sizes[axis]) == (0, shape[axis]):
        axis += 1
    if axis == len(shape):
        return update

    def part(first: int, last: int) -> str:
        return g.add("Slice", name, g.ints([first]), g.ints([last]), g.ints([axis]))

    first, last = starts[axis], starts[axis] + sizes[axis]
    within = update
    if any((starts[d], sizes[d]) != (0, shape[d]) for d in range(axis + 1, len(shape))):
        within = _placed(g, part(first, last), update,
                         [*shape[:axis], sizes[axis], *shape[axis + 1:]],
                         [*starts[:axis], 0, *starts[axis + 1:]], sizes, axis + 1)
    parts = [within]
    if first > 0:
        parts.insert(0, part(0, first))
    if last < shape[axis] or g.varying:
        parts.append(part(last, _END))
    return g.add("Concat", *parts, axis=axis)


@rule("slice_update", dtypes=ANY)
def _slice_update(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    a, t = call.attributes, operand(call, 0)
    strides = strides_of(call)
    sizes = [len(range(*each)) for each in zip(a["starts"], a["stops"], strides, strict=True)]
    update = x[1] if operand(call, 1).shape == tuple(sizes) else (
        g.add("Expand", x[1], g.ints(sizes)))
    if not t.ndim or 0 in sizes:
        return g.add("Identity", x[0] if t.ndim else update)
    if all(s == 1 for s in strides):
        return _placed(g, x[0], update, t.shape, a["starts"], sizes, 0)
    places = np.arange(t.size).reshape(t.shape)[np.ix_(*[
        np.arange(*each) for each in zip(a["starts"], a["stops"], strides, strict=True)])]
    flat = g.add("ScatterElements", g.reshape(x[0], [t.size]), g.ints(places.ravel().tolist()),
                 g.reshape(update, [places.size]), axis=0)
    return g.reshape(flat, t.shape)


def _pad_claim(call: Call) -> Answer:
    a = call.attributes
    if min((*a["low"], *a["high"], 0)) < 0:
        return No("padding inside, or less than none")
    return YES if operand(call, 0).ndim else No("of a scalar")


@rule("pad", dtypes=ANY, claimed=FLOAT32, claim=_pad_claim, check=lambda call: (
    No("padding inside") if any(call.attributes["interior"] or ()) else YES))
def _pad(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    a, t = call.attributes, operand(call, 0)
    if not t.ndim:
        return g.add("Identity", x[0])
    name = x[0]
    low, high = list(a["low"]), list(a["high"])
    if min(*low, *high, 0) < 0:
        starts = [max(-n, 0) for n in low]
        stops = [size - max(-n, 0) for n, size in zip(high, t.shape, strict=True)]
        name = g.add("Slice", name, g.ints(starts), g.ints(stops), g.ints(range(t.ndim)))
        low, high = [max(n, 0) for n in low], [max(n, 0) for n in high]
    return g.add("Pad", name, g.ints([*low, *high]), x[1], mode="constant")


@rule("roll", dtypes=ANY)
def _roll(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    a, t = call.attributes, operand(call, 0)
    shape: Sequence[int] = t.shape
    name, axes = x[0], a["axes"]
    if axes is None:
        name, shape, axes = g.reshape(name, [t.size]), [t.size], [0]
    for shift, axis in zip(a["shifts"], axes, strict=True):
        d = axis % max(len(shape), 1)
        moved = shift % shape[d] if shape[d] else 0
        if moved:
            behind = g.add("Slice", name, g.ints([-moved]), g.ints([_END]), g.ints([d]))
            before = g.add("Slice", name, g.ints([0]), g.ints([-moved]), g.ints([d]))
            name = g.add("Concat", behind, before, axis=d)
    return g.reshape(name, t.shape)


@rule("repeat", dtypes=ANY)
def _repeat(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    t, repeats = operand(call, 0), call.attributes["repeats"]
    shape, axis = list(t.shape), call.attributes["axis"]
    name = x[0]
    if axis is None:
        name, shape, axis = g.reshape(name, [t.size]), [t.size], 0
    axis %= len(shape)
    inner = g.add("Unsqueeze", name, g.ints([axis + 1]))
    counts = [1] * (len(shape) + 1)
    counts[axis + 1] = repeats
    spread = g.add("Tile", inner, g.ints(counts))
    return g.reshape(spread, call.results[0].shape)


@rule("tile", dtypes=ANY)
def _tile(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    t, repeats = operand(call, 0), list(call.attributes["repeats"])
    name, ndim = x[0], call.results[0].ndim
    if t.ndim < ndim:
        name = g.reshape(name, [*[1] * (ndim - t.ndim), *t.shape])
    return g.add("Tile", name, g.ints([*[1] * (ndim - len(repeats)), *repeats])) if ndim else (
        g.add("Identity", name))


@rule("tril", "triu", dtypes=(*NUMBERS, "bool"))
def _triangle(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    """Runtimes have Trilu for few dtypes; other ones are chosen by positions."""
    k = g.constant(np.array(call.attributes["k"], np.int64))
    upper = int(call.op == "triu")
    t = call.results[0]
    if t.dtype.name in ("float32", "float64", "int64", "bool"):
        return g.add("Trilu", x[0], k, upper=upper)
    rows = g.add("Add", g.reshape(counted(g, t.shape[-2]), [t.shape[-2], 1]), k)
    kept = g.add("LessOrEqual" if upper else "GreaterOrEqual", rows, counted(g, t.shape[-1]))
    return g.add("Where", kept, x[0], g.number(0, t.dtype))


@rule("diagonal", dtypes=ANY)
def _diagonal(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    a, t = call.attributes, operand(call, 0)
    first, second = a["axis1"] % t.ndim, a["axis2"] % t.ndim
    rest = [d for d in range(t.ndim) if d not in (first, second)]
    moved = g.add("Transpose", x[0], perm=[first, second, *rest])
    size = call.results[0].shape[-1]
    row = counted(g, size, max(-a["offset"], 0))
    column = counted(g, size, max(a["offset"], 0))
    places = g.add("Concat", g.reshape(row, [size, 1]), g.reshape(column, [size, 1]), axis=1)
    found = g.add("GatherND", moved, places)
    return g.add("Transpose", found, perm=[*range(1, t.ndim - 1), 0])


# Tensors that are made


def counted(g: OnnxGraph, length: int, first: int = 0) -> str:
    """Return the numbers from the first on, of int64."""
    zero, one_ = (g.constant(np.array(n, np.int64)) for n in (first, 1))
    return g.add("Range", zero, g.constant(np.array(first + length, np.int64)), one_)


def _full(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    return g.add("Expand", x[0], g.ints(call.results[0].shape))


RULES["full"] = Rule(_full, ANY)


@rule("iota", dtypes=ANY, check=lambda call: (
    No("of complex numbers") if call.results[0].dtype.kind == "c" else YES))
def _iota(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    t = call.results[0]
    axis = call.attributes["axis"] % t.ndim
    along = g.reshape(counted(g, t.shape[axis]),
                      [n if d == axis else 1 for d, n in enumerate(t.shape)])
    return g.cast(g.add("Expand", along, g.ints(t.shape)), t.dtype)


@rule("arange", dtypes=("float32", "float64", "int32", "int64", "uint64"))
def _arange(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    t = call.results[0]
    numbers = counted(g, call.attributes["length"])
    if t.dtype.name != "int64":
        numbers = g.cast(numbers, t.dtype)
    start, step = (_number(g, name) for name in x)
    stepped = numbers if step == 1 else g.add("Mul", numbers, x[1])
    return stepped if start == 0 else g.add("Add", stepped, x[0])


def _number(g: OnnxGraph, name: str) -> Any:
    value = g.value_of(name)
    return None if value is None else value.item()


@rule("eye", dtypes=ANY)
def _eye(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    t = call.results[0]
    k = g.constant(np.array(call.attributes["k"], np.int64))
    rows = g.add("Add", g.reshape(counted(g, t.shape[0]), [t.shape[0], 1]), k)
    return ones_where(g, g.add("Equal", rows, counted(g, t.shape[1])), t)


def ones_where(g: OnnxGraph, where: str, t: TensorType) -> str:
    """Return ones of a dtype where something is true, and zeros elsewhere."""
    if t.dtype.kind == "c":
        return g.add("Where", where, g.number(1, t.dtype), g.number(0, t.dtype))
    return where if t.dtype.kind == "b" else g.cast(where, t.dtype)


def flat(g: OnnxGraph, name: str, t: TensorType) -> str:
    """Return a value of one axis."""
    return name if t.ndim == 1 else g.reshape(name, [math.prod(t.shape)])
