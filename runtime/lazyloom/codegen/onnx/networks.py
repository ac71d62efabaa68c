"""Products, convolutions, pooling, normalisation and attention in ONNX."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..answers import YES, Answer, Call, No
from .elementwise import constant
from .graph import OnnxGraph
from .rules import FLOAT32, FLOATS, RULES, WIDE_FLOATS, Rule, given, one, operand, rule
from .shapes import counted

# Products

_PRODUCTS = (*FLOATS, "int32", "int64", "uint64")
RULES["matmul"] = Rule(one("MatMul"), _PRODUCTS, claimed=FLOAT32)


def _own_dtype(call: Call) -> Answer:
    accumulate = call.attributes["accumulate"]
    if accumulate is not None and accumulate is not operand(call, 0).dtype:
        return No(f"sums in {accumulate.name}")
    return YES


@rule("dot_general", dtypes=_PRODUCTS, claimed=FLOAT32, claim=_own_dtype)
def _dot_general(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    """Add a product of matrices after transposes and reshapes, except those that change nothing."""
    left, right = operand(call, 0), operand(call, 1)
    result = call.results[0]
    x = [name if t.dtype is result.dtype else g.cast(name, result.dtype)
         for name, t in zip(x, (left, right), strict=True)]
    lb, lc = ([d % left.ndim for d in call.attributes[f"lhs_{n}"]] for n in ("batch", "contract"))
    rb, rc = ([d % right.ndim for d in call.attributes[f"rhs_{n}"]] for n in ("batch", "contract"))
    lf = [d for d in range(left.ndim) if d not in (*lb, *lc)]
    rf = [d for d in range(right.ndim) if d not in (*rb, *rc)]
    if left.ndim == right.ndim == 2 and not lb and len(lc) == 1 and result.dtype.is_floating:
        return g.add("Gemm", *x, transA=int(lc == [0]), transB=int(rc == [1]))

    def moved(name: str, t: Any, order: list[int], groups: Sequence[list[int]]) -> str:
        if order != sorted(order):
            name = g.add("Transpose", name, perm=order)
        shape = [math.prod(t.shape[d] for d in group) for group in groups]
        now = [t.shape[d] for d in order]
        return name if shape == now else g.reshape(name, shape)

    batches = [[d] for d in lb]
    a = moved(x[0], left, lb + lf + lc,
              [*batches, *([[d] for d in lf] if not lb and lf else [lf]), lc])
    b = moved(x[1], right, rb + rc + rf, [*[[d] for d in rb], rc, rf])
    product = g.add("MatMul", a, b)
    extents = [*(left.shape[d] for d in lb),
               *([left.shape[d] for d in lf] if not lb and lf else
                 [math.prod(left.shape[d] for d in lf)]),
               math.prod(right.shape[d] for d in rf)]
    return product if list(result.shape) == extents else g.reshape(product, result.shape)




def _einsum_check(call: Call) -> Answer:
    """Refuse axes that broadcast, which runtimes do each in their own way."""
    equation = call.attributes["equation"].replace(" ", "")
    if "." in equation:
        return No(f"an equation with an ellipsis, {equation}")
    sizes: dict[str, int] = {}
    for term, t in zip(equation.partition("->")[0].split(","), call.operands, strict=True):
        assert t is not None
        for letter, n in zip(term, t.shape, strict=True):
            if sizes.setdefault(letter, n) != n:
                return No(f"an equation, {equation}, with axes of size 1 that broadcast")
    return YES


@rule("einsum", dtypes=(*FLOATS, "int32", "int64"), check=_einsum_check)
def _einsum(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    return g.add("Einsum", *x, equation=call.attributes["equation"])



@rule("outer", dtypes=_PRODUCTS)
def _outer(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    left, right = operand(call, 0), operand(call, 1)
    return g.add("Mul", g.reshape(x[0], [*left.shape, *[1] * right.ndim]), x[1])


@rule("vecdot", dtypes=(*FLOATS, "int32", "int64"))
def _vecdot(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    ndim = max(operand(call, 0).ndim, operand(call, 1).ndim)
    return g.reduce("ReduceSum", g.add("Mul", *x), [call.attributes["axis"] % ndim], False, ndim)


# Convolutions


def spread(call: Call, name: str, n: int, default: int) -> list[int]:
    """Return an attribute of a number per spatial axis."""
    values = call.attributes[name]
    return [default] * n if values is None else list(values)


def _window_check(call: Call) -> Answer:
    n = operand(call, 0).ndim - 2
    if not 1 <= n <= 3:
        return No(f"{n} spatial axes, expected 1 to 3")
    if min((*spread(call, "padding_low", n, 0), *spread(call, "padding_high", n, 0))) < 0:
        return No("negative padding")
    return YES


def _conv_check(call: Call) -> Answer:
    away = call.attributes["input_dilation"]
    if away is not None and any(d != 1 for d in away):
        return No(f"input_dilation={away}, expected 1")
    return _window_check(call)


@rule("conv", check=_conv_check, claimed=FLOAT32)
def _conv(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    n = operand(call, 0).ndim - 2
    return g.add(
        "Conv", *x, kernel_shape=operand(call, 1).shape[2:], strides=spread(call, "strides", n, 1),
        pads=spread(call, "padding_low", n, 0) + spread(call, "padding_high", n, 0),
        dilations=spread(call, "dilation", n, 1), group=int(call.attributes["groups"]))


@rule("conv_transpose", check=_window_check)
def _conv_transpose(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    n = operand(call, 0).ndim - 2
    return g.add(
        "ConvTranspose", *x, kernel_shape=operand(call, 1).shape[2:],
        strides=spread(call, "strides", n, 1),
        pads=spread(call, "padding_low", n, 0) + spread(call, "padding_high", n, 0),
        output_padding=spread(call, "output_padding", n, 0),
        dilations=spread(call, "dilation", n, 1), group=int(call.attributes["groups"]))


# Pooling


def _pool_claim(call: Call) -> Answer:
    n = len(call.attributes["window"])
    if operand(call, 0).ndim != n + 2:
        return No(f"{operand(call, 0).ndim - n} axes beside the window's, expected 2")
    return YES


def _pool_check(call: Call) -> Answer:
    window = call.attributes["window"]
    n = len(window)
    for size, low, high in zip(
        window, spread(call, "padding_low", n, 0), spread(call, "padding_high", n, 0), strict=True
    ):
        if max(low, high) >= size:
            return No("padding as wide as the window")
        if min(low, high) < 0:
            return No("negative padding")
    if call.op == "avg_pool" and any(d != 1 for d in spread(call, "dilation", n, 1)):
        return No("dilation")
    return YES if 1 <= n <= 3 else No(f"{n} spatial axes, expected 1 to 3")


@rule("max_pool", "avg_pool", check=_pool_check, claimed=FLOAT32, claim=_pool_claim)
def _pool(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    a, t = call.attributes, operand(call, 0)
    n = len(a["window"])
    name = x[0]
    if t.ndim != n + 2:
        name = g.reshape(name, [math.prod(t.shape[:t.ndim - n]), 1, *t.shape[t.ndim - n:]])
    common: dict[str, Any] = {
        "kernel_shape": a["window"],
        "strides": spread(call, "strides", n, 1),
        "pads": spread(call, "padding_low", n, 0) + spread(call, "padding_high", n, 0)}
    if call.op == "max_pool":
        found = g.add("MaxPool", name, dilations=spread(call, "dilation", n, 1), **common)
    else:
        found = g.add("AveragePool", name, count_include_pad=int(a["count_include_pad"]), **common)
    return found if t.ndim == n + 2 else g.reshape(found, call.results[0].shape)


def _adaptive_check(call: Call) -> Answer:
    output, t = call.attributes["output"], operand(call, 0)
    n = len(output)
    if all(parts == 1 for parts in output):
        return YES
    if t.ndim != n + 2:
        return No(f"{t.ndim - n} axes beside those that are pooled, expected 2")
    if any(size % parts for size, parts in zip(t.shape[2:], output, strict=True)):
        return No("parts of several sizes")
    return YES if n <= 3 else No(f"{n} spatial axes, expected 1 to 3")


@rule("adaptive_avg_pool", "adaptive_max_pool", check=_adaptive_check, claimed=FLOAT32,
      claim=lambda call: YES if call.op == "adaptive_avg_pool" else No(
          "adaptive_max_pool is not in its table"))
def _adaptive(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    output, t = call.attributes["output"], operand(call, 0)
    axes = range(t.ndim - len(output), t.ndim)
    mean = call.op == "adaptive_avg_pool"
    if all(parts == 1 for parts in output):
        return g.reduce("ReduceMean" if mean else "ReduceMax", x[0], axes, True, t.ndim)
    window = [t.shape[d] // parts for d, parts in zip(axes, output, strict=True)]
    return g.add("AveragePool" if mean else "MaxPool", x[0], kernel_shape=window, strides=window)


# Normalisation


def _full(g: OnnxGraph, call: Call, shape: Sequence[int], value: float) -> str:
    return g.constant(np.full(tuple(shape), value, call.results[0].dtype.numpy))


def _normal(
    g: OnnxGraph, call: Call, x: str, axes: Sequence[int], ndim: int
) -> tuple[str, str, str]:
    """Return x with mean 0 and variance 1 along axes, and its mean and variance."""
    mean = g.reduce("ReduceMean", x, axes, True, ndim)
    away = g.add("Sub", x, mean)
    variance = g.reduce("ReduceMean", g.add("Mul", away, away), axes, True, ndim)
    return g.add("Div", away, _root(g, call, variance)), mean, variance


def _root(g: OnnxGraph, call: Call, variance: str) -> str:
    return g.add("Sqrt", g.add("Add", variance, constant(g, call, call.attributes["eps"])))


def _exact(call: Call) -> bool:
    """Return True for float64, whose epsilon an attribute, of float32, does not hold."""
    return call.results[0].dtype.name == "float64"


@rule("layer_norm", claimed=FLOAT32)
def _layer_norm(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    n, ndim = int(call.attributes["normalized_ndim"]), operand(call, 0).ndim
    if _exact(call):
        found = _normal(g, call, x[0], range(ndim - n, ndim), ndim)[0]
        found = g.add("Mul", found, x[1]) if given(x, 1) else found
        return g.add("Add", found, x[2]) if given(x, 2) else found
    shape = operand(call, 0).shape[ndim - n:]
    scale_and_shift = [given(x, 1) or _full(g, call, shape, 1),
                       given(x, 2) or _full(g, call, shape, 0)]
    return g.add("LayerNormalization", x[0], *scale_and_shift, axis=-n,
                 epsilon=float(call.attributes["eps"]))


@rule("rms_norm", dtypes=WIDE_FLOATS, claimed=FLOAT32)
def _rms_norm(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    n, ndim = int(call.attributes["normalized_ndim"]), operand(call, 0).ndim
    power = g.reduce("ReduceMean", g.add("Mul", x[0], x[0]), range(ndim - n, ndim), True, ndim)
    root = g.add("Sqrt", g.add("Add", power, constant(g, call, call.attributes["eps"])))
    normal = g.add("Div", x[0], root)
    weight = given(x, 1)
    return g.add("Mul", normal, weight) if weight else normal


def _per_channel(g: OnnxGraph, call: Call, result: str, weight: str, bias: str) -> str:
    for name, op in ((weight, "Mul"), (bias, "Add")):
        if name:
            result = g.add(op, result, _of_channels(g, call, name))
    return result


def _of_channels(g: OnnxGraph, call: Call, name: str) -> str:
    """Return a number per channel, axis 1, as it broadcasts to the first operand."""
    t = operand(call, 0)
    return g.reshape(name, [t.shape[1], *[1] * (t.ndim - 2)])


@rule("batch_norm_infer", claimed=FLOAT32)
def _batch_norm(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    if _exact(call):
        away = g.add("Sub", x[0], _of_channels(g, call, x[1]))
        found = g.add("Div", away, _of_channels(g, call, _root(g, call, x[2])))
        return _per_channel(g, call, found, given(x, 3), given(x, 4))
    channels = operand(call, 1).shape
    return g.add(
        "BatchNormalization", x[0], given(x, 3) or _full(g, call, channels, 1),
        given(x, 4) or _full(g, call, channels, 0), x[1], x[2],
        epsilon=float(call.attributes["eps"]))


@rule("batch_norm_train", dtypes=WIDE_FLOATS)
def _batch_norm_train(g: OnnxGraph, call: Call, x: Sequence[str]) -> list[str]:
    """Return the normal channels, and the mean and the variance of each."""
    t = operand(call, 0)
    axes = [d for d in range(t.ndim) if d != 1]
    found, mean, variance = _normal(g, call, x[0], axes, t.ndim)
    return [_per_channel(g, call, found, given(x, 1), given(x, 2)),
            g.reshape(mean, [t.shape[1]]), g.reshape(variance, [t.shape[1]])]


@rule("group_norm", claimed=FLOAT32)
def _group_norm(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    t, groups = operand(call, 0), int(call.attributes["groups"])
    rest = math.prod(t.shape[1:]) // groups
    parts = g.reshape(x[0], [t.shape[0], groups, rest])
    if _exact(call):
        normal = _normal(g, call, parts, [2], 3)[0]
    else:
        normal = g.add("InstanceNormalization", parts, _full(g, call, [groups], 1),
                       _full(g, call, [groups], 0), epsilon=float(call.attributes["eps"]))
    return _per_channel(g, call, g.reshape(normal, t.shape), given(x, 1), given(x, 2))


# Attention


def _attention_claim(call: Call) -> Answer:
    q, k, v = (operand(call, n) for n in range(3))
    if not q.ndim == k.ndim == v.ndim >= 2 or not q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
        return No("leading axes that broadcast")
    mask = call.operands[3] if len(call.operands) > 3 else None
    if mask is not None:
        return No("a mask, which may leave a position that sees nothing")
    return YES


@rule("scaled_dot_product_attention", dtypes=(*WIDE_FLOATS, "bool"), claimed=FLOAT32,
      claim=_attention_claim)
def _attention(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    """What a position does not see has a score of -inf; one that sees nothing gives zeros."""
    q, k = operand(call, 0), operand(call, 1)
    scale = call.attributes["scale"]
    if scale is None:
        scale = 1 / math.sqrt(max(q.shape[-1], 1))
    order = [*range(k.ndim - 2), k.ndim - 1, k.ndim - 2]
    scores = g.add("Mul", g.add("MatMul", x[0], g.add("Transpose", x[1], perm=order)),
                   constant(g, call, scale))
    never = constant(g, call, -math.inf)
    mask = given(x, 3)
    if mask and operand(call, 3).dtype.kind == "b":
        scores = g.add("Where", mask, scores, never)
    elif mask:
        scores = g.add("Add", scores, mask)
    if call.attributes["causal"]:
        rows = g.reshape(counted(g, q.shape[-2]), [q.shape[-2], 1])
        seen = g.add("LessOrEqual", counted(g, k.shape[-2]), rows)
        scores = g.add("Where", seen, scores, never)
    weights = g.add("Softmax", scores, axis=-1)
    if mask:
        weights = g.add("Where", g.add("Equal", scores, never), constant(g, call, 0), weights)
    return g.add("MatMul", weights, x[2])


# Resampling


@rule("grid_sample", check=lambda call: (
    YES if operand(call, 0).ndim == 4 else No("3 spatial axes, expected 2")))
def _grid_sample(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    a = call.attributes
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(a["mode"], a["mode"]) if (
        g.opset >= 20) else a["mode"]
    return g.add("GridSample", *x, mode=mode, padding_mode=a["padding"],
                 align_corners=int(a["align_corners"]))


# Quantisation


def _quantized_check(call: Call) -> Answer:
    scale = operand(call, 1)
    return YES if scale.ndim <= 1 else No(f"a scale of {scale.ndim} axes")


def _along(call: Call) -> dict[str, Any]:
    axis = call.attributes["axis"]
    return {} if axis is None or not operand(call, 1).ndim else {"axis": axis}


@rule("quantize", dtypes=("float32", "int8", "uint8"), check=_quantized_check,
      claimed=("float32", "int8", "uint8"))
def _quantize(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    t = operand(call, 1)
    zero = given(x, 2) or g.constant(np.zeros(t.shape, call.results[0].dtype.numpy))
    return g.add("QuantizeLinear", x[0], x[1], zero, **_along(call))


def _dequantize_claim(call: Call) -> Answer:
    zero = call.operands[2] if len(call.operands) > 2 else None
    if zero is not None and zero.dtype.name == "int32":
        return No("a zero point of int32")
    return YES


@rule("dequantize", dtypes=("float32", "int8", "uint8", "int32"), check=_quantized_check,
      claimed=("float32", "int8", "uint8", "int32"), claim=_dequantize_claim)
def _dequantize(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    return g.add("DequantizeLinear", *[name for name in x if name], **_along(call))
