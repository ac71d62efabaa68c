"""The ops that regions may have, and what they are in ONNX.

A rule says whether it supports a call, or why not, and adds the nodes that compute it to a graph.
Ops that ONNX Runtime computes otherwise than their definition are not claimed: each rule is
compared with XLA on all samples of its op, including NaN and infinities.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ...types import TensorType
from ..answers import YES, Answer, Call, No
from . import int8
from .model import DTYPES, OnnxGraph

#: from names of the operands ("" for one that is absent) to names of the results
Emit = Callable[[OnnxGraph, Call, Sequence[str]], "str | list[str]"]
Check = Callable[[Call], Answer]


class Rule(NamedTuple):
    """How an op is done.

    Attributes:
        emit: adds its nodes.
        check: called for a call whose dtypes fit.
        dtypes: those that each operand and result may have.
    """

    emit: Emit
    check: Check = lambda call: YES
    dtypes: tuple[str, ...] = ("float32",)


_RULES: Final[dict[str, Rule]] = {}
_NUMBERS: Final = ("float32", "int32", "int64")
_ANY: Final = tuple(DTYPES)


def supports(call: Call) -> Answer:
    """Return YES if there is a rule for a call, or why not."""
    rule = _RULES.get(call.op)
    if rule is None:
        if ".vjp" in call.op or ".jvp" in call.op:
            return No("a derivative, and its regions are of inference")
        return No(f"{call.op} is not in its table")
    for t in (*call.operands, *call.results):
        if t is not None and t.dtype.name not in rule.dtypes:
            return No(f"dtype {t.dtype.name}, expected {' or '.join(rule.dtypes)}")
    answer = rule.check(call)
    return answer and int8.supports(call)


def emit(graph: OnnxGraph, call: Call, operands: Sequence[str]) -> list[str]:
    """Add the nodes of a supported call; return the names of its results."""
    names = _RULES[call.op].emit(graph, call, operands)
    return [names] if isinstance(names, str) else names


def _rule(
    *ops: str, check: Check = lambda call: YES, dtypes: tuple[str, ...] = ("float32",)
) -> Callable[[Emit], Emit]:
    def enter(function: Emit) -> Emit:
        for op in ops:
            _RULES[op] = Rule(function, check, dtypes)
        return function

    return enter


def _type(call: Call, k: int) -> TensorType:
    t = call.operands[k]
    assert t is not None
    return t


def _given(x: Sequence[str], k: int) -> str:
    """Return the name of an operand that may be absent, "" if it is."""
    return x[k] if k < len(x) else ""


def _node(op: str, **attributes: Any) -> Emit:
    """Return a rule of one node with fixed attributes."""
    return lambda g, call, x: g.add(op, *x, **attributes)


def _parameter(op: str, *attributes: str) -> Emit:
    """Return a rule of one node with attributes of the op."""
    return lambda g, call, x: g.add(op, *x, **{n: float(call.attributes[n]) for n in attributes})


# Elementwise

for _name, _op in {
    "abs": "Abs", "negative": "Neg", "exp": "Exp", "log": "Log", "sqrt": "Sqrt",
    "reciprocal": "Reciprocal", "sin": "Sin", "cos": "Cos", "tanh": "Tanh", "erf": "Erf",
    "floor": "Floor", "ceil": "Ceil", "sign": "Sign", "relu": "Relu", "sigmoid": "Sigmoid",
    "softsign": "Softsign", "add": "Add", "subtract": "Sub", "multiply": "Mul",
    "divide": "Div", "power": "Pow", "maximum": "Max", "minimum": "Min",
}.items():
    _RULES[_name] = Rule(_node(_op))
for _name, _op in {"equal": "Equal", "less": "Less", "less_equal": "LessOrEqual",
                   "greater": "Greater", "greater_equal": "GreaterOrEqual"}.items():
    _RULES[_name] = Rule(_node(_op), dtypes=(*_NUMBERS, "bool"), check=lambda call: (
        No("of bool") if _type(call, 0).dtype.name == "bool" else YES))
for _name, _op in {"logical_and": "And", "logical_or": "Or", "logical_not": "Not",
                   "logical_xor": "Xor"}.items():
    _RULES[_name] = Rule(_node(_op), dtypes=("bool",))
_RULES["isnan"] = Rule(_node("IsNaN"), dtypes=("float32", "bool"), check=lambda call: (
    No("of bool") if _type(call, 0).dtype.name == "bool" else YES))
_RULES["where"] = Rule(_node("Where"), dtypes=(*_NUMBERS, "bool"), check=lambda call: (
    No("a choice of bool") if call.results[0].dtype.name == "bool" else YES))
_RULES["elu"] = Rule(_parameter("Elu", "alpha"))
_RULES["celu"] = Rule(_parameter("Celu", "alpha"))
_RULES["leaky_relu"] = Rule(lambda g, call, x: g.add(
    "LeakyRelu", x[0], alpha=float(call.attributes["negative_slope"])))
_RULES["hardsigmoid"] = Rule(_node("HardSigmoid", alpha=1 / 6, beta=0.5))
_RULES["hardswish"] = Rule(_node("HardSwish"))
_RULES["relu6"] = Rule(lambda g, call, x: g.add("Clip", x[0], g.float(0), g.float(6)))
_RULES["hardtanh"] = Rule(lambda g, call, x: g.add(
    "Clip", x[0], g.float(call.attributes["min"]), g.float(call.attributes["max"])))
_RULES["square"] = Rule(lambda g, call, x: g.add("Mul", x[0], x[0]))
_RULES["rsqrt"] = Rule(lambda g, call, x: g.add("Reciprocal", g.add("Sqrt", x[0])))
_RULES["silu"] = Rule(lambda g, call, x: g.add("Mul", x[0], g.add("Sigmoid", x[0])))
_RULES["gelu"] = Rule(lambda g, call, x: g.add(
    "Gelu", x[0], approximate=call.attributes["approximate"]))


@_rule("clip")
def _clip(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    least, most = _given(x, 1), _given(x, 2)
    clipped = g.add("Max", x[0], least) if least else x[0]
    return g.add("Min", clipped, most) if most else clipped


@_rule("not_equal", dtypes=(*_NUMBERS, "bool"),
       check=lambda call: No("of bool") if _type(call, 0).dtype.name == "bool" else YES)
def _not_equal(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    return g.add("Not", g.add("Equal", *x))


def _castable(call: Call) -> Answer:
    """Reject casts from float to an integer: by the op's definition, values out of range saturate.
    """
    source, target = _type(call, 0).dtype.name, call.results[0].dtype.name
    if source == "float32" and target not in ("float32", "bool"):
        return No(f"from {source} to {target}")
    return YES


@_rule("cast", dtypes=("float32", "bool", "uint8", "int8", "int32", "int64"), check=_castable)
def _cast(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    return g.add("Cast", x[0], to=DTYPES[call.results[0].dtype.name])


#: ops that compute each element of their result from those at its place
ELEMENTWISE: Final = frozenset(_RULES)


def _dequantize_check(call: Call) -> Answer:
    zero = call.operands[2] if len(call.operands) > 2 else None
    if zero is not None and zero.dtype.name == "int32":
        return No("a zero point of int32")
    return YES


# quantisation: :mod:`.int8` adds these

_RULES["quantize"] = Rule(_node("QuantizeLinear"), dtypes=("float32", "int8", "uint8"))
_RULES["dequantize"] = Rule(_node("DequantizeLinear"), check=_dequantize_check,
                            dtypes=("float32", "int8", "uint8", "int32"))


# Products


@_rule("matmul")
def _matmul(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    return g.add("MatMul", *x)


def _own_dtype(call: Call) -> Answer:
    accumulate = call.attributes["accumulate"]
    if accumulate is not None and accumulate.name != "float32":
        return No(f"sums in {accumulate.name}")
    return YES


@_rule("dot_general", check=_own_dtype)
def _dot_general(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    """Add a product of matrices after transposes and reshapes, except those that change nothing."""
    left, right = _type(call, 0), _type(call, 1)
    lb, lc = ([d % left.ndim for d in call.attributes[f"lhs_{n}"]] for n in ("batch", "contract"))
    rb, rc = ([d % right.ndim for d in call.attributes[f"rhs_{n}"]] for n in ("batch", "contract"))
    lf = [d for d in range(left.ndim) if d not in (*lb, *lc)]
    rf = [d for d in range(right.ndim) if d not in (*rb, *rc)]
    if left.ndim == right.ndim == 2 and not lb and len(lc) == 1:
        return g.add("Gemm", *x, transA=int(lc == [0]), transB=int(rc == [1]))

    def moved(name: str, t: TensorType, order: list[int], groups: Sequence[list[int]]) -> str:
        if order != sorted(order):
            name = g.add("Transpose", name, perm=order)
        shape = [math.prod(t.shape[d] for d in group) for group in groups]
        now = [t.shape[d] for d in order]
        return name if shape == now else g.add("Reshape", name, g.ints(shape))

    batches = [[d] for d in lb]
    a = moved(x[0], left, lb + lf + lc,
              [*batches, *([[d] for d in lf] if not lb and lf else [lf]), lc])
    b = moved(x[1], right, rb + rc + rf, [*[[d] for d in rb], rc, rf])
    product = g.add("MatMul", a, b)
    result = call.results[0]
    extents = [*(left.shape[d] for d in lb),
               *([left.shape[d] for d in lf] if not lb and lf else
                 [math.prod(left.shape[d] for d in lf)]),
               math.prod(right.shape[d] for d in rf)]
    return product if list(result.shape) == extents else (
        g.add("Reshape", product, g.ints(result.shape)))


def _spread(call: Call, name: str, n: int, default: int) -> list[int]:
    values = call.attributes[name]
    return [default] * n if values is None else list(values)


def _window_check(call: Call) -> Answer:
    n = _type(call, 0).ndim - 2
    if not 1 <= n <= 3:
        return No(f"{n} spatial axes, expected 1 to 3")
    if min((*_spread(call, "padding_low", n, 0), *_spread(call, "padding_high", n, 0))) < 0:
        return No("negative padding")
    return YES


def _conv_check(call: Call) -> Answer:
    away = call.attributes["input_dilation"]
    if away is not None and any(d != 1 for d in away):
        return No(f"input_dilation={away}, expected 1")
    return _window_check(call)


@_rule("conv", check=_conv_check)
def _conv(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    n = _type(call, 0).ndim - 2
    return g.add(
        "Conv", *x, kernel_shape=_type(call, 1).shape[2:], strides=_spread(call, "strides", n, 1),
        pads=_spread(call, "padding_low", n, 0) + _spread(call, "padding_high", n, 0),
        dilations=_spread(call, "dilation", n, 1), group=int(call.attributes["groups"]))


# Pooling


def _pool_check(call: Call) -> Answer:
    window = call.attributes["window"]
    n = len(window)
    if _type(call, 0).ndim != n + 2:
        return No(f"{_type(call, 0).ndim - n} axes beside the window's, expected 2")
    for size, low, high in zip(
        window, _spread(call, "padding_low", n, 0), _spread(call, "padding_high", n, 0), strict=True
    ):
        if max(low, high) >= size:
            return No("padding as wide as the window")
    if call.op == "avg_pool" and any(d != 1 for d in _spread(call, "dilation", n, 1)):
        return No("dilation")
    return _window_check(call)


@_rule("max_pool", "avg_pool", check=_pool_check)
def _pool(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    a = call.attributes
    n = len(a["window"])
    common: dict[str, Any] = {
        "kernel_shape": a["window"],
        # the window's size where no strides are given
        "strides": a["window"] if a["strides"] is None else a["strides"],
        "pads": _spread(call, "padding_low", n, 0) + _spread(call, "padding_high", n, 0)}
    if call.op == "max_pool":
        return g.add("MaxPool", x[0], dilations=_spread(call, "dilation", n, 1), **common)
    return g.add("AveragePool", x[0], count_include_pad=int(a["count_include_pad"]), **common)


def _adaptive_check(call: Call) -> Answer:
    output, t = call.attributes["output"], _type(call, 0)
    n = len(output)
    if all(parts == 1 for parts in output):
        return YES
    if t.ndim != n + 2:
        return No(f"{t.ndim - n} axes beside those that are pooled, expected 2")
    if any(size % parts for size, parts in zip(t.shape[2:], output, strict=True)):
        return No("parts of several sizes")
    return YES if n <= 3 else No(f"{n} spatial axes, expected 1 to 3")


@_rule("adaptive_avg_pool", check=_adaptive_check)
def _adaptive(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    output, t = call.attributes["output"], _type(call, 0)
    axes = range(t.ndim - len(output), t.ndim)
    if all(parts == 1 for parts in output):
        return g.add("ReduceMean", x[0], g.ints(axes), keepdims=1)
    window = [t.shape[d] // parts for d, parts in zip(axes, output, strict=True)]
    return g.add("AveragePool", x[0], kernel_shape=window, strides=window)


# Reductions and normalisation


# not max and min, which sometimes ignore NaN
@_rule("sum", "mean", "prod")
def _reduce(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    axes = call.attributes["axes"]
    ndim = _type(call, 0).ndim
    axes = range(ndim) if axes is None else [d % ndim for d in axes]
    return g.add(
        {"sum": "ReduceSum", "mean": "ReduceMean", "prod": "ReduceProd"}[call.op], x[0],
        g.ints(axes), keepdims=int(call.attributes["keepdims"]), noop_with_empty_axes=1)


@_rule("softmax", "log_softmax", check=lambda call: (
    YES if _type(call, 0).ndim else No("of a scalar")))
def _softmax(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    return g.add("Softmax" if call.op == "softmax" else "LogSoftmax", x[0],
                 axis=int(call.attributes["axis"]))


def _full(g: OnnxGraph, shape: Sequence[int], value: float) -> str:
    return g.constant(np.full(tuple(shape), value, np.float32))


@_rule("layer_norm")
def _layer_norm(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    n = int(call.attributes["normalized_ndim"])
    shape = _type(call, 0).shape[_type(call, 0).ndim - n:]
    scale_and_shift = [_given(x, 1) or _full(g, shape, 1), _given(x, 2) or _full(g, shape, 0)]
    return g.add("LayerNormalization", x[0], *scale_and_shift, axis=-n,
                 epsilon=float(call.attributes["eps"]))


@_rule("rms_norm")
def _rms_norm(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    n, ndim = int(call.attributes["normalized_ndim"]), _type(call, 0).ndim
    power = g.add("ReduceMean", g.add("Mul", x[0], x[0]), g.ints(range(ndim - n, ndim)), keepdims=1)
    root = g.add("Sqrt", g.add("Add", power, g.float(call.attributes["eps"])))
    normal = g.add("Div", x[0], root)
    weight = _given(x, 1)
    return g.add("Mul", normal, weight) if weight else normal


@_rule("batch_norm_infer")
def _batch_norm(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    channels = _type(call, 1).shape
    return g.add(
        "BatchNormalization", x[0], _given(x, 3) or _full(g, channels, 1),
        _given(x, 4) or _full(g, channels, 0), x[1], x[2], epsilon=float(call.attributes["eps"]))


@_rule("group_norm")
def _group_norm(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    t, groups = _type(call, 0), int(call.attributes["groups"])
    parts = g.add("Reshape", x[0], g.ints([t.shape[0], groups, -1]))
    normal = g.add("InstanceNormalization", parts, _full(g, [groups], 1), _full(g, [groups], 0),
                   epsilon=float(call.attributes["eps"]))
    result = g.add("Reshape", normal, g.ints(t.shape))
    per_channel = g.ints([t.shape[1], *[1] * (t.ndim - 2)])
    for name, op in ((_given(x, 1), "Mul"), (_given(x, 2), "Add")):
        if name:
            result = g.add(op, result, g.add("Reshape", name, per_channel))
    return result


def _attention_check(call: Call) -> Answer:
    q, k, v = (_type(call, n) for n in range(3))
    if not q.ndim == k.ndim == v.ndim >= 2 or not q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
        return No("leading axes that broadcast")
    mask = call.operands[3] if len(call.operands) > 3 else None
    if mask is not None:
        return No("a mask, which may leave a position that sees nothing")
    return YES


@_rule("scaled_dot_product_attention", check=_attention_check)
def _attention(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    q, k = _type(call, 0), _type(call, 1)
    scale = call.attributes["scale"]
    if scale is None:
        scale = 1 / math.sqrt(max(q.shape[-1], 1))
    order = [*range(k.ndim - 2), k.ndim - 1, k.ndim - 2]
    scores = g.add("Mul", g.add("MatMul", x[0], g.add("Transpose", x[1], perm=order)),
                   g.float(scale))
    if call.attributes["causal"]:
        size = (q.shape[-2], k.shape[-2])
        # a sum with -inf would keep NaN
        scores = g.add("Where", g.constant(np.tri(*size, dtype=bool)), scores, g.float(-math.inf))
    return g.add("MatMul", g.add("Softmax", scores, axis=-1), x[2])


# Shapes


#: ops that give their operand another shape
RESHAPES: Final = ("reshape", "expand_dims", "squeeze", "identity")


@_rule(*RESHAPES, dtypes=_ANY)
def _reshape(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    return g.add("Reshape", x[0], g.ints(call.results[0].shape))


@_rule("broadcast_to", dtypes=_ANY)
def _broadcast(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    return g.add("Expand", x[0], g.ints(call.results[0].shape))


@_rule("transpose", dtypes=_ANY)
def _transpose(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    ndim = _type(call, 0).ndim
    axes = call.attributes["axes"]
    order = list(reversed(range(ndim))) if axes is None else [d % ndim for d in axes]
    return g.add("Transpose", x[0], perm=order) if ndim else g.add("Identity", x[0])


@_rule("concatenate", dtypes=_ANY)
def _concatenate(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    return g.add("Concat", *x, axis=int(call.attributes["axis"]))


@_rule("stack", dtypes=_ANY)
def _stack(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    axis = int(call.attributes["axis"]) % call.results[0].ndim
    return g.add("Concat", *[g.add("Unsqueeze", each, g.ints([axis])) for each in x], axis=axis)


@_rule("split", dtypes=_ANY)
def _split(g: OnnxGraph, call: Call, x: Sequence[str]) -> list[str]:
    sizes = call.attributes["sizes"]
    return g.several(len(sizes), "Split", x[0], g.ints(sizes), axis=int(call.attributes["axis"]))


@_rule("slice", dtypes=_ANY, check=lambda call: (
    YES if _type(call, 0).ndim else No("of a scalar")))
def _slice(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    a, t = call.attributes, _type(call, 0)
    # a stop of -1 is the place before the first element; in ONNX it counts from the end
    stops = [-1 - n if stop < 0 else stop for stop, n in zip(a["stops"], t.shape, strict=True)]
    return g.add("Slice", x[0], g.ints(a["starts"]), g.ints(stops), g.ints(range(t.ndim)),
                 g.ints(_spread(call, "strides", t.ndim, 1)))


def known_starts(call: Call) -> list[int] | None:
    """Return where a dynamic slice begins, if its starts are constants of the program."""
    starts = []
    for start, n, size in zip(
        call.values[1:], _type(call, 0).shape, call.attributes["sizes"], strict=True
    ):
        if start is None:
            return None
        starts.append(min(max(int(start) + (n if start < 0 else 0), 0), n - size))
    return starts


@_rule("dynamic_slice", dtypes=_ANY, check=lambda call: (
    YES if _type(call, 0).ndim else No("of a scalar")))
def _dynamic_slice(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    """Starts below 0 count from the end; then the block is moved inside."""
    shape, sizes = _type(call, 0).shape, call.attributes["sizes"]
    known = known_starts(call)
    if known is not None:
        return g.add("Slice", x[0], g.ints(known),
                     g.ints([at + size for at, size in zip(known, sizes, strict=True)]),
                     g.ints(range(len(shape))))
    moved = []
    for k, name in enumerate(x[1:]):
        start = name if _type(call, k + 1).dtype.name == "int64" else g.add("Cast", name, to=7)
        moved.append(g.add("Reshape", start, g.ints([1])))
    starts = g.add("Concat", *moved, axis=0)
    zeros = g.ints([0] * len(shape))
    starts = g.add("Where", g.add("Less", starts, zeros),
                   g.add("Add", starts, g.ints(shape)), starts)
    most = g.ints([n - size for n, size in zip(shape, sizes, strict=True)])
    starts = g.add("Min", g.add("Max", starts, zeros), most)
    return g.add("Slice", x[0], starts, g.add("Add", starts, g.ints(sizes)),
                 g.ints(range(len(shape))))


def _pad_check(call: Call) -> Answer:
    a = call.attributes
    if any(a["interior"] or ()) or min((*a["low"], *a["high"], 0)) < 0:
        return No("padding inside, or less than none")
    return YES if _type(call, 0).ndim else No("of a scalar")


@_rule("pad", check=_pad_check)
def _pad(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    a = call.attributes
    return g.add("Pad", x[0], g.ints([*a["low"], *a["high"]]), x[1], mode="constant")


@_rule("take", "embedding", dtypes=_NUMBERS)
def _take(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    """Indices below 0 count from the end; those out of range are clamped."""
    t = _type(call, 0)
    axis = int(call.attributes.get("axis", 0)) % t.ndim
    n = t.shape[axis]
    indices = x[1] if _type(call, 1).dtype.name == "int64" else g.add("Cast", x[1], to=7)
    zero = g.constant(np.array(0, np.int64))
    indices = g.add("Where", g.add("Less", indices, zero),
                    g.add("Add", indices, g.constant(np.array(n, np.int64))), indices)
    indices = g.add("Min", g.add("Max", indices, zero), g.constant(np.array(n - 1, np.int64)))
    return g.add("Gather", x[0], indices, axis=axis)


# Other facts about ops

#: ops that move weights, whose results are weights, too
MOVES: Final = frozenset({"reshape", "expand_dims", "squeeze", "transpose", "broadcast_to",
                          "slice", "cast", "identity", "dequantize"})
#: positions of operands that are weights
WEIGHTS: Final[Mapping[str, tuple[int, ...]]] = {
    "conv": (1,), "batch_norm_infer": (1, 2, 3, 4), "layer_norm": (1, 2), "group_norm": (1, 2),
    "rms_norm": (1,), "embedding": (0,), "matmul": (1,), "dot_general": (1,),
    "quantize": (1, 2), "dequantize": (1, 2),
}


def work(call: Call) -> int:
    """Return the multiplications of a product, a convolution or attention; 0 for another op."""
    size = call.results[0].size
    if call.op == "conv":
        return size * math.prod(_type(call, 1).shape[1:])
    if call.op == "matmul":
        return size * _type(call, 0).shape[-1]
    if call.op == "dot_general":
        summed: Sequence[int] = call.attributes["lhs_contract"]
        return size * math.prod(_type(call, 0).shape[d] for d in summed)
    if call.op == "scaled_dot_product_attention":
        q, k, v = (_type(call, n) for n in range(3))
        return q.size * k.shape[-2] + size * v.shape[-2]
    return 0
