"""Elementwise ops in ONNX."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import ml_dtypes

from ...dtypes import bfloat16, float32
from ..answers import YES, Answer, Call, No
from .graph import OnnxGraph
from .rules import (
    ANY,
    FLOAT32,
    FLOATS,
    NUMBERS,
    RULES,
    WIDE_FLOATS,
    Emit,
    Rule,
    given,
    is_bool,
    one,
    operand,
    rule,
)

_OTHERS = frozenset(RULES)
#: the numbers that are claimed for comparisons and choices
_CLAIMED = ("float32", "int32", "int64", "bool")
_REAL = (*NUMBERS, "bool")

for _name, _op in {
    "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "reciprocal": "Reciprocal", "sin": "Sin",
    "cos": "Cos", "tanh": "Tanh", "erf": "Erf", "sigmoid": "Sigmoid", "softsign": "Softsign",
    "divide": "Div",
}.items():
    RULES[_name] = Rule(one(_op), claimed=FLOAT32)
for _name, _op in {
    "tan": "Tan", "asin": "Asin", "acos": "Acos", "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh",
    "asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh",
}.items():
    RULES[_name] = Rule(one(_op))
for _name, _op in {"abs": "Abs", "negative": "Neg"}.items():
    RULES[_name] = Rule(one(_op), (*FLOATS, "int32", "int64"), claimed=FLOAT32)
# of float16, ONNX Runtime gives 0 for NaN
RULES["sign"] = Rule(one("Sign"), (*WIDE_FLOATS, "int32", "int64"), claimed=FLOAT32)
for _name, _op in {"floor": "Floor", "ceil": "Ceil"}.items():
    RULES[_name] = Rule(
        lambda g, call, x, op=_op: g.add(  # type: ignore[misc]
            op if call.results[0].dtype.is_floating else "Identity", x[0]),
        NUMBERS, claimed=FLOAT32)


def _by_kind(number: str, truth: str) -> Emit:
    """Return a rule of one node, another one for bool."""
    return lambda g, call, x: g.add(truth if is_bool(call) else number, *x)


for _name, _op, _truth in (
    ("add", "Add", "Or"), ("multiply", "Mul", "And"), ("maximum", "Max", "Or"),
    ("minimum", "Min", "And"),
):
    RULES[_name] = Rule(_by_kind(_op, _truth), _REAL, claimed=FLOAT32)
RULES["subtract"] = Rule(one("Sub"), NUMBERS, claimed=FLOAT32)
RULES["power"] = Rule(one("Pow"), (*FLOATS, "int32", "int64"), claimed=FLOAT32)


RULES["relu"] = Rule(lambda g, call, x: (
    g.add("Relu", x[0]) if call.results[0].dtype.is_floating
    else g.add("Max", x[0], constant(g, call, 0))), (*FLOATS, "int32", "int64"), claimed=FLOAT32)


def _not_bool(call: Call) -> Answer:
    return No("of bool") if is_bool(call) else YES


def _ordered(op: str) -> Emit:
    """Return a rule of a comparison, in which false is less than true."""
    def emit(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
        return g.add(op, *([g.cast(name, "int32") for name in x] if is_bool(call) else x))

    return emit


for _name, _op in {"less": "Less", "less_equal": "LessOrEqual", "greater": "Greater",
                   "greater_equal": "GreaterOrEqual"}.items():
    RULES[_name] = Rule(_ordered(_op), _REAL, claimed=_CLAIMED, claim=_not_bool)
RULES["equal"] = Rule(one("Equal"), _REAL, claimed=_CLAIMED, claim=_not_bool)


@rule("not_equal", dtypes=_REAL, claimed=_CLAIMED, claim=_not_bool)
def _not_equal(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    return g.add("Not", g.add("Equal", *x))


def truth(g: OnnxGraph, call: Call, k: int, name: str) -> str:
    """Return whether each element of an operand is not zero."""
    return name if operand(call, k).dtype.kind == "b" else g.cast(name, "bool")


@rule("logical_and", "logical_or", "logical_xor", "logical_not", dtypes=_REAL, claimed=("bool",))
def _logical(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    op = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor", "logical_not": "Not"}
    return g.add(op[call.op], *[truth(g, call, k, name) for k, name in enumerate(x)])


@rule("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", since=18,
      dtypes=("bool", "int32", "int64", "uint64"))
def _bits(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    word = call.op.removeprefix("bitwise_").capitalize()
    return g.add(word if is_bool(call) else f"Bitwise{word}", *x)


# Whether a number is finite

for _name in ("isnan", "isinf", "isfinite"):

    def _class_of(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
        if not operand(call, 0).dtype.is_floating:
            same = g.add("Equal", x[0], x[0])
            return same if call.op == "isfinite" else g.add("Not", same)
        if call.op == "isnan":
            return g.add("IsNaN", x[0])
        if call.op == "isinf":
            return g.add("IsInf", x[0])
        return g.add("Not", g.add("Or", g.add("IsNaN", x[0]), g.add("IsInf", x[0])))

    RULES[_name] = Rule(
        _class_of, (*WIDE_FLOATS, "int32", "int64", "uint64", "bool"),
        claimed=("float32", "bool") if _name == "isnan" else (), claim=_not_bool)


def _where_check(call: Call) -> Answer:
    return No("a choice of bool") if call.results[0].dtype.name == "bool" else YES


def chosen(g: OnnxGraph, call: Call, condition: str, x: str, y: str) -> str:
    """Return x where a condition is true, y elsewhere; runtimes have no Where of bool."""
    if call.results[0].dtype.kind != "b":
        return g.add("Where", condition, x, y)
    return g.add("Or", g.add("And", condition, x), g.add("And", g.add("Not", condition), y))


#: the dtypes that runtimes have a Where of, and bool
_CHOSEN = (*NUMBERS, "uint8", "complex64", "complex128", "bool")
RULES["where"] = Rule(lambda g, call, x: chosen(g, call, *x), _CHOSEN, claimed=_CLAIMED,
                      claim=_where_check)
RULES["masked_fill"] = Rule(lambda g, call, x: chosen(g, call, x[1], x[2], x[0]), _CHOSEN)
RULES["square"] = Rule(lambda g, call, x: g.add("Mul", x[0], x[0]), NUMBERS, claimed=FLOAT32)
RULES["rsqrt"] = Rule(lambda g, call, x: g.add("Reciprocal", g.add("Sqrt", x[0])), claimed=FLOAT32)
RULES["silu"] = Rule(lambda g, call, x: g.add("Mul", x[0], g.add("Sigmoid", x[0])), claimed=FLOAT32)


def constant(g: OnnxGraph, call: Call, value: float) -> str:
    """Return a 0-d number of the dtype of the first result."""
    return g.number(value, call.results[0].dtype)


def _exact(call: Call) -> bool:
    """Return True for float64, whose numbers attributes, of float32, do not hold."""
    return call.results[0].dtype.name == "float64"


def _elu(g: OnnxGraph, call: Call, x: str, alpha: float) -> str:
    """Return x above 0, and alpha * (exp(x) - 1) elsewhere."""
    below = g.add("Mul", constant(g, call, alpha), _expm1(g, call, x))
    return g.add("Where", g.add("Greater", x, constant(g, call, 0)), x, below)


@rule("elu", claimed=FLOAT32)
def _elu_rule(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    alpha = float(call.attributes["alpha"])
    return _elu(g, call, x[0], alpha) if _exact(call) else g.add("Elu", x[0], alpha=alpha)


@rule("selu")
def _selu(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    if not _exact(call):
        return g.add("Selu", x[0])
    # https://arxiv.org/abs/1706.02515, appendix
    return g.add("Mul", constant(g, call, 1.0507009873554804934193349852946),
                 _elu(g, call, x[0], 1.6732632423543772848170429916717))


@rule("celu", dtypes=WIDE_FLOATS, claimed=FLOAT32)
def _celu(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    """Celu is of float32 alone."""
    alpha = float(call.attributes["alpha"])
    if not _exact(call):
        return g.add("Celu", x[0], alpha=alpha)
    scale = constant(g, call, alpha)
    below = g.add("Mul", scale, _expm1(g, call, g.add("Div", x[0], scale)))
    return g.add("Where", g.add("Greater", x[0], constant(g, call, 0)), x[0], below)


@rule("leaky_relu", claimed=FLOAT32)
def _leaky_relu(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    slope = float(call.attributes["negative_slope"])
    if not _exact(call):
        return g.add("LeakyRelu", x[0], alpha=slope)
    return g.add("Where", g.add("Greater", x[0], constant(g, call, 0)), x[0],
                 g.add("Mul", x[0], constant(g, call, slope)))


@rule("hardsigmoid", "hardswish", claimed=FLOAT32)
def _hard(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    if not _exact(call):
        return g.add("HardSigmoid", x[0], alpha=1 / 6, beta=0.5) if (
            call.op == "hardsigmoid") else g.add("HardSwish", x[0])
    moved = g.add("Clip", g.add("Add", x[0], constant(g, call, 3)), constant(g, call, 0),
                  constant(g, call, 6))
    part = g.add("Mul", moved, constant(g, call, 1 / 6))
    return part if call.op == "hardsigmoid" else g.add("Mul", x[0], part)


@rule("relu6", "hardtanh", dtypes=(*FLOATS, "int32", "int64"), claimed=FLOAT32)
def _limits(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    low, high = (0, 6) if call.op == "relu6" else (call.attributes["min"], call.attributes["max"])
    return g.add("Clip", x[0], constant(g, call, low), constant(g, call, high))


@rule("gelu", claimed=FLOAT32)
def _gelu(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    """Gelu came with version 20; before it is Gelu's own definition."""
    if g.opset >= 20:
        return g.add("Gelu", x[0], approximate=call.attributes["approximate"])
    def number(value: float) -> str:
        return constant(g, call, value)

    half = g.add("Mul", number(0.5), x[0])
    if call.attributes["approximate"] == "tanh":
        cube = g.add("Mul", g.add("Mul", x[0], x[0]), x[0])
        inner = g.add("Add", x[0], g.add("Mul", number(0.044715), cube))
        bent = g.add("Tanh", g.add("Mul", number(math.sqrt(2 / math.pi)), inner))
    else:
        bent = g.add("Erf", g.add("Mul", x[0], number(math.sqrt(0.5))))
    return g.add("Mul", half, g.add("Add", number(1), bent))


@rule("clip", dtypes=NUMBERS, claimed=FLOAT32)
def _clip(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    least, most = given(x, 1), given(x, 2)
    clipped = g.add("Max", x[0], least) if least else x[0]
    if most:
        return g.add("Min", clipped, most)
    return clipped if least else g.add("Identity", x[0])


@rule("softplus")
def _softplus(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    beta, threshold = call.attributes["beta"], call.attributes["threshold"]
    scale = constant(g, call, beta)
    scaled = g.add("Mul", x[0], scale)
    soft = g.add("Div", _soft(g, call, scaled), scale)
    return g.add("Where", g.add("Greater", scaled, constant(g, call, threshold)), x[0], soft)


def _soft(g: OnnxGraph, call: Call, x: str) -> str:
    """Return log(1 + exp(x)) without overflow, which Softplus of some runtimes is not."""
    small = g.add("Exp", g.add("Neg", g.add("Abs", x)))
    above = g.add("Max", x, constant(g, call, 0))
    return g.add("Add", above, _log1p(g, call, small))


def _log1p(g: OnnxGraph, call: Call, x: str) -> str:
    """Return log(1 + x), accurate near 0: log(u) * x / (u - 1) for u = 1 + x as it is rounded."""
    one = constant(g, call, 1)
    u = g.add("Add", x, one)
    rest = g.add("Sub", u, one)
    none = g.add("Equal", u, one)
    exact = g.add("Div", g.add("Mul", g.add("Log", u), x), g.add("Where", none, one, rest))
    large = g.add("Greater", x, constant(g, call, 2))
    return g.add("Where", none, x, g.add("Where", large, g.add("Log", u), exact))


RULES["log1p"] = Rule(lambda g, call, x: _log1p(g, call, x[0]))


def _expm1(g: OnnxGraph, call: Call, x: str) -> str:
    """Return (u - 1) * x / log(u) for u = exp(x) as it is rounded, which is accurate near 0."""
    one = constant(g, call, 1)
    u = g.add("Exp", x)
    rest = g.add("Sub", u, one)
    none = g.add("Equal", u, one)
    far = g.add("Greater", g.add("Abs", x), constant(g, call, 2))
    divisor = g.add("Where", g.add("Or", none, far), one, g.add("Log", u))
    exact = g.add("Div", g.add("Mul", rest, x), divisor)
    return g.add("Where", none, x, g.add("Where", far, rest, exact))


RULES["expm1"] = Rule(lambda g, call, x: _expm1(g, call, x[0]), WIDE_FLOATS)


@rule("log2", "log10")
def _logarithm(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    base = 2 if call.op == "log2" else 10
    return g.add("Div", g.add("Log", x[0]), constant(g, call, math.log(base)))


RULES["exp2"] = Rule(lambda g, call, x: g.add("Pow", constant(g, call, 2), x[0]))
RULES["log_sigmoid"] = Rule(lambda g, call, x: g.add(
    "Neg", _soft(g, call, g.add("Neg", x[0]))), WIDE_FLOATS)
RULES["mish"] = Rule(lambda g, call, x: g.add(
    "Mul", x[0], g.add("Tanh", _soft(g, call, x[0]))), WIDE_FLOATS)
RULES["tanhshrink"] = Rule(lambda g, call, x: g.add("Sub", x[0], g.add("Tanh", x[0])), WIDE_FLOATS)
RULES["integer_power"] = Rule(
    lambda g, call, x: g.add("Pow", x[0], constant(g, call, call.attributes["exponent"])),
    (*FLOATS, "int32", "int64"), lambda call: (
        No("a power of integers, expected one of an exponent from 0 on")
        if call.attributes["exponent"] < 0 and not call.results[0].dtype.is_floating else YES))
RULES["prelu"] = Rule(lambda g, call, x: g.add(
    "Where", g.add("Greater", x[0], constant(g, call, 0)), x[0], g.add("Mul", x[0], x[1])))
RULES["threshold"] = Rule(lambda g, call, x: g.add(
    "Where", g.add("LessOrEqual", x[0], constant(g, call, call.attributes["threshold"])),
    constant(g, call, call.attributes["value"]), x[0]))
RULES["addcmul"] = Rule(lambda g, call, x: _added(g, x, g.add("Mul", x[1], x[2])), NUMBERS)
RULES["addcdiv"] = Rule(lambda g, call, x: _added(g, x, g.add("Div", x[1], x[2])))


def _added(g: OnnxGraph, x: Sequence[str], term: str) -> str:
    value = given(x, 3)
    return g.add("Add", x[0], g.add("Mul", value, term) if value else term)


@rule("hardshrink", "softshrink")
def _shrink(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    shift, zero = constant(g, call, call.attributes["lambd"]), constant(g, call, 0)
    outside = x[0]
    if call.op == "softshrink":
        outside = g.add("Where", g.add("Greater", x[0], shift), g.add("Sub", x[0], shift),
                        g.add("Add", x[0], shift))
    return g.add("Where", g.add("LessOrEqual", g.add("Abs", x[0]), shift), zero, outside)


@rule("lerp")
def _lerp(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    """Return what is nearer plus the distance from it, as the op's definition does."""
    start, end, weight = x
    distance = g.add("Sub", end, start)
    near = g.add("Add", start, g.add("Mul", weight, distance))
    far = g.add("Sub", end, g.add("Mul", distance, g.add("Sub", constant(g, call, 1), weight)))
    return g.add("Where", g.add("Less", g.add("Abs", weight), constant(g, call, 0.5)), near, far)


@rule("trunc", dtypes=NUMBERS)
def _trunc(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    if not call.results[0].dtype.is_floating:
        return g.add("Identity", x[0])
    below = g.add("Less", x[0], constant(g, call, 0))
    return g.add("Where", below, g.add("Ceil", x[0]), g.add("Floor", x[0]))


@rule("round", dtypes=(*FLOATS, "int32", "int64", "uint64"), check=lambda call: (
    No(f"decimals={call.attributes['decimals']} of integers, expected 0")
    if call.attributes["decimals"] and not call.results[0].dtype.is_floating else YES))
def _round(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    if not call.results[0].dtype.is_floating:
        return g.add("Identity", x[0])
    decimals = call.attributes["decimals"]
    if not decimals:
        return g.add("Round", x[0])
    scale = constant(g, call, 10.0 ** abs(decimals))
    there, back = ("Mul", "Div") if decimals > 0 else ("Div", "Mul")
    return g.add(back, g.add("Round", g.add(there, x[0], scale)), scale)


def _integral(call: Call) -> bool:
    return not call.results[0].dtype.is_floating


def _of_nonzero(g: OnnxGraph, call: Call, x: Sequence[str], op: str, **attributes: int) -> str:
    """Return a quotient or remainder of integers, 0 where the divisor is.

    Processors stop at a division by 0, and at that of the smallest integer by -1.
    """
    zero, one = constant(g, call, 0), constant(g, call, 1)
    none = g.add("Equal", x[1], zero)
    divisor = g.add("Where", none, one, x[1])
    minus = ""
    if call.results[0].dtype.kind == "i":
        minus = g.add("Equal", x[1], constant(g, call, -1))
        divisor = g.add("Where", minus, one, divisor)
    found = g.add(op, x[0], divisor, **attributes)
    if minus and op == "Div":
        found = g.add("Where", minus, g.add("Neg", x[0]), found)
    return g.add("Where", none, zero, found)


@rule("fmod", dtypes=(*FLOATS, "int32", "int64", "uint64"))
def _fmod(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    if _integral(call):
        return _of_nonzero(g, call, x, "Mod", fmod=1)
    return g.add("Mod", *x, fmod=1)


@rule("remainder", dtypes=(*FLOATS, "int32", "int64", "uint64"))
def _remainder(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    """Return the remainder of the sign of the divisor, which Mod has for integers alone."""
    if _integral(call):
        return _of_nonzero(g, call, x, "Mod", fmod=0)
    return _float_remainder(g, call, x)


def _rest(g: OnnxGraph, call: Call, x: Sequence[str]) -> tuple[str, str]:
    """Return the remainder of the sign of x, and whether that of y is another one."""
    zero = constant(g, call, 0)
    rest = g.add("Mod", *x, fmod=1)
    other = g.add("Xor", g.add("Less", rest, zero), g.add("Less", x[1], zero))
    return rest, g.add("And", other, g.add("Not", g.add("Equal", rest, zero)))


def _float_remainder(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    rest, moved = _rest(g, call, x)
    return g.add("Where", moved, g.add("Add", rest, x[1]), rest)


@rule("floor_divide", dtypes=(*FLOATS, "int32", "int64", "uint64"))
def _floor_divide(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    if _integral(call):
        rest = _of_nonzero(g, call, x, "Mod", fmod=0)
        return _of_nonzero(g, call, [g.add("Sub", x[0], rest), x[1]], "Div")
    rest, moved = _rest(g, call, x)
    # what is left of x after the remainder is a multiple of y, but for rounding
    whole = g.add("Round", g.add("Div", g.add("Sub", x[0], rest), x[1]))
    whole = g.add("Where", moved, g.add("Sub", whole, constant(g, call, 1)), whole)
    none = g.add("Equal", x[1], constant(g, call, 0))
    return g.add("Where", none, g.add("Div", *x), whole)


@rule("nan_to_num", dtypes=(*FLOATS, "bfloat16"))
def _nan_to_num(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    """Return x with the numbers of its own dtype that take the place of infinities."""
    a, dtype = call.attributes, call.results[0].dtype
    limits = ml_dtypes.finfo(dtype.numpy)  # type: ignore[no-untyped-call]
    wide = float32 if dtype is bfloat16 else dtype
    name = x[0] if wide is dtype else g.cast(x[0], wide)
    found = g.add("Where", g.add("IsNaN", name), g.number(a["nan"], wide), name)
    for infinity, given_value, limit in (
        (math.inf, a["posinf"], limits.max), (-math.inf, a["neginf"], limits.min)
    ):
        value = float(limit) if given_value is None else given_value
        found = g.add("Where", g.add("Equal", name, g.number(infinity, wide)),
                      g.number(value, wide), found)
    return found if wide is dtype else g.cast(found, dtype)


def _cast_check(call: Call) -> Answer:
    kinds = operand(call, 0).dtype.kind + call.results[0].dtype.kind
    return No("a cast of complex numbers") if "c" in kinds else YES


def _cast_claim(call: Call) -> Answer:
    """Refuse casts from float to an integer: by the op's definition, values out of range saturate.
    """
    source, target = operand(call, 0).dtype.name, call.results[0].dtype.name
    if source == "float32" and target not in ("float32", "bool"):
        return No(f"from {source} to {target}")
    return YES


@rule("cast", dtypes=ANY, check=_cast_check, claimed=("float32", "bool", "uint8", "int8", "int32",
                                                      "int64"), claim=_cast_claim)
def _cast(g: OnnxGraph, call: Call, x: Sequence[str]) -> str:
    """Floating point becomes a narrow integer by way of a wide one, whose low bits it keeps."""
    source, target = operand(call, 0).dtype, call.results[0].dtype
    name = x[0]
    if source.is_floating and target.kind in "iu" and target.name not in ("int32", "int64"):
        name = g.cast(name, "int32" if target.itemsize < 4 else "int64")
    return g.cast(name, target)


#: ops that compute each element of their result from those at its place
ELEMENTWISE: Final = frozenset(RULES) - _OTHERS
