"""The torch-like frontend's own function for an op of the table.

A function takes the operands (tensors of the frontend) and all attributes of the op, and gives
NotImplemented for attributes or dtypes that PyTorch has no counterpart for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lazyloom_torch as torch
import lazyloom_torch.nn.functional as F  # noqa: N812

Call = Callable[[list[Any], dict[str, Any]], Any]

#: same operands, no attributes: op -> name, itself where empty
_PLAIN = {
    **dict.fromkeys(
        "add subtract multiply divide floor_divide remainder fmod maximum minimum fmax fmin hypot"
        " nextafter logaddexp logaddexp2 gcd lcm xlogy not_equal less less_equal greater"
        " greater_equal logical_and logical_or logical_xor logical_not bitwise_and bitwise_or"
        " bitwise_xor bitwise_not abs negative positive sign square sqrt rsqrt reciprocal exp exp2"
        " expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh"
        " atan2 floor ceil trunc isnan isinf isfinite signbit angle erf erfc erfinv lgamma digamma"
        " sigmoid where lerp addcmul addcdiv complex matmul kron".split(), ""),
    "equal": "eq", "power": "pow", "shift_left": "bitwise_left_shift",
    "shift_right": "bitwise_right_shift", "conj": "conj", "copysign": "copysign",
    "solve": "linalg.solve", "inv": "linalg.inv",
    "det": "linalg.det",
}  # fmt: skip

#: same operands, attributes by position in this order
_FUNCTIONAL = {
    "relu": ("relu",), "relu6": ("relu6",), "silu": ("silu",), "mish": ("mish",),
    "selu": ("selu",), "softsign": ("softsign",), "tanhshrink": ("tanhshrink",),
    "hardsigmoid": ("hardsigmoid",), "hardswish": ("hardswish",),
    "log_sigmoid": ("logsigmoid",), "elu": ("elu", "alpha"), "celu": ("celu", "alpha"),
    "leaky_relu": ("leaky_relu", "negative_slope"), "hardtanh": ("hardtanh", "min", "max"),
    "softshrink": ("softshrink", "lambd"), "hardshrink": ("hardshrink", "lambd"),
    "threshold": ("threshold", "threshold", "value"), "softplus": ("softplus", "beta", "threshold"),
    "gelu": ("gelu", "approximate"),
}  # fmt: skip

#: PyTorch has another function for these kinds of dtypes: the sign of NaN is 0, the angle of -0.0;
#: integers divided by 0 are an error
_OTHER_KINDS = {"sign": "fc", "angle": "f", "floor_divide": "iu", "fmod": "iu", "remainder": "iu"}


def _plain(op: str, name: str) -> Call:
    function: Any = torch
    for part in (name or op).split("."):
        function = getattr(function, part)
    kinds = _OTHER_KINDS.get(op, "")

    def call(x: list[Any], a: dict[str, Any]) -> Any:
        if kinds and x[0].value.dtype.kind in kinds:
            return NotImplemented
        return function(*x)

    return call


def _functional(name: str, *attributes: str) -> Call:
    function = getattr(F, name)
    return lambda x, a: function(*x, *(a[n] for n in attributes))


def _add_product(name: str) -> Call:
    function = getattr(torch, name)
    # PyTorch's factor is a Python number
    return lambda x, a: NotImplemented if len(x) > 3 and x[3] is not None else function(*x[:3])


def _reduction(name: str) -> Call:
    function = getattr(torch, name)

    def call(x: list[Any], a: dict[str, Any]) -> Any:
        if a["axes"] == ():
            return NotImplemented  # an empty list means all dimensions in PyTorch
        return function(x[0], a["axes"], a["keepdims"])

    return call


def _truth(name: str) -> Call:
    reduction = _reduction(name)
    # PyTorch's result for uint8 is uint8
    return lambda x, a: NotImplemented if x[0].dtype is torch.uint8 else reduction(x, a)


def _extremum(name: str) -> Call:
    function = getattr(torch, name)
    return lambda x, a: NotImplemented if a["axes"] == () else function(
        x[0], () if a["axes"] is None else a["axes"], a["keepdims"])


def _accumulation(name: str) -> Call:
    function = getattr(torch, name)

    def call(x: list[Any], a: dict[str, Any]) -> Any:
        if a["axes"] == ():
            return NotImplemented
        dtype = a["dtype"] or x[0].value.dtype
        return function(x[0], a["axes"], a["keepdims"], dtype=getattr(torch, dtype.name))

    return call


def _spread(name: str) -> Call:
    function = getattr(torch, name)
    return lambda x, a: NotImplemented if a["axes"] == () else function(
        x[0], a["axes"], correction=a["correction"], keepdim=a["keepdims"])


def _cumulative(name: str) -> Call:
    function = getattr(torch, name)

    def call(x: list[Any], a: dict[str, Any]) -> Any:
        if a["reverse"]:
            return NotImplemented
        if name in ("cummax", "cummin", "logcumsumexp"):
            found = function(x[0], a["axis"])
            return found if name == "logcumsumexp" else found[0]
        return function(x[0], a["axis"], dtype=x[0].dtype)

    return call


def _slice(x: list[Any], a: dict[str, Any]) -> Any:
    strides = a["strides"] or (1,) * x[0].ndim
    if min(strides, default=1) < 1:
        return NotImplemented
    return x[0][tuple(map(slice, a["starts"], a["stops"], strides))]


def _integer_power(x: list[Any], a: dict[str, Any]) -> Any:
    # squares have an op of their own, and integers no reciprocal
    if a["exponent"] == 2 or a["exponent"] < 0 and x[0].value.dtype.kind in "iu":
        return NotImplemented
    return x[0] ** a["exponent"]


def _conv(x: list[Any], a: dict[str, Any]) -> Any:
    n = x[0].ndim - 2
    low, high = (a[k] or (0,) * n for k in ("padding_low", "padding_high"))
    if not 1 <= n <= 3 or low != high or min(low) < 0 or (
            a["input_dilation"] and set(a["input_dilation"]) != {1}):
        return NotImplemented
    return getattr(F, f"conv{n}d")(x[0], x[1], None, a["strides"] or 1, low, a["dilation"] or 1,
                                   a["groups"])


def _layer_norm(x: list[Any], a: dict[str, Any]) -> Any:
    n = a["normalized_ndim"]
    return F.layer_norm(x[0], tuple(x[0].shape)[x[0].ndim - n:], *x[1:], eps=a["eps"])


def _attention(x: list[Any], a: dict[str, Any]) -> Any:
    mask = x[3] if len(x) > 3 else None
    if mask is not None and a["causal"] or len({v.shape[:-2] for v in x[:3]}) > 1:
        return NotImplemented  # PyTorch's broadcasts first, which adds up in another order
    return F.scaled_dot_product_attention(
        *x[:3], attn_mask=mask, is_causal=a["causal"], scale=a["scale"])


def _pairwise(name: str) -> Call:
    function = getattr(F, name)
    return lambda x, a: function(x[0], x[1], reduction=a["reduction"])


TORCH: dict[str, Call] = {
    **{op: _plain(op, name) for op, name in _PLAIN.items()},
    **{op: _functional(*given) for op, given in _FUNCTIONAL.items()},
    "addcmul": _add_product("addcmul"),
    "addcdiv": _add_product("addcdiv"),
    "round": lambda x, a: torch.round(x[0], decimals=a["decimals"]),
    "clip": lambda x, a: torch.clamp(x[0], *([*x[1:], None, None][:2])),
    "nan_to_num": lambda x, a: torch.nan_to_num(x[0], a["nan"], a["posinf"], a["neginf"]),
    "integer_power": _integer_power,
    "masked_fill": lambda x, a: NotImplemented if x[2].ndim else torch.masked_fill(*x),
    "cast": lambda x, a: x[0].to(getattr(torch, a["dtype"].name)),
    **{op: _reduction(op) for op in ("mean", "logsumexp")},
    **{op: _truth(op) for op in ("all", "any")},
    "max": _extremum("amax"),
    "min": _extremum("amin"),
    **{op: _accumulation(op) for op in ("sum", "prod")},
    **{op: _spread(op) for op in ("var", "std")},
    **{op: _cumulative(op) for op in ("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp")},
    "count_nonzero": lambda x, a: NotImplemented if a["keepdims"] or a["axes"] == () else (
        torch.count_nonzero(x[0], a["axes"])),
    "argmax": lambda x, a: torch.argmax(x[0], a["axis"], a["keepdims"]),
    "argmin": lambda x, a: torch.argmin(x[0], a["axis"], a["keepdims"]),
    "norm": lambda x, a: NotImplemented if a["axes"] == () else torch.linalg.vector_norm(
        x[0], a["order"], a["axes"], a["keepdims"]),
    # the sign of zeros is in the order of the other sort
    "sort": lambda x, a: NotImplemented if a["descending"] else torch.sort(
        x[0], a["axis"], False, stable=a["stable"])[0],
    "argsort": lambda x, a: torch.argsort(x[0], a["axis"], a["descending"], a["stable"]),
    "sort_with_indices": lambda x, a: torch.sort(
        x[0], a["axis"], a["descending"], stable=a["stable"]),
    "top_k": lambda x, a: torch.topk(x[0], a["k"], a["axis"], a["largest"]),
    "searchsorted": lambda x, a: torch.searchsorted(x[0], x[1], side=a["side"]),
    "reshape": lambda x, a: torch.reshape(x[0], a["shape"]),
    "transpose": lambda x, a: NotImplemented if a["axes"] is None else x[0].permute(a["axes"]),
    "moveaxis": lambda x, a: torch.movedim(x[0], a["source"], a["destination"]),
    "swapaxes": lambda x, a: torch.transpose(x[0], a["axis1"], a["axis2"]),
    "squeeze": lambda x, a: torch.squeeze(x[0], a["axes"]),
    "broadcast_to": lambda x, a: torch.broadcast_to(x[0], a["shape"]),
    "concatenate": lambda x, a: torch.cat(x, a["axis"]),
    "stack": lambda x, a: torch.stack(x, a["axis"]),
    "split": lambda x, a: torch.split(x[0], list(a["sizes"]), a["axis"]),
    "flip": lambda x, a: NotImplemented if a["axes"] is None else torch.flip(x[0], a["axes"]),
    "roll": lambda x, a: NotImplemented if len(set(a["axes"] or ())) < len(a["axes"] or ()) else (
        torch.roll(x[0], a["shifts"], a["axes"])),
    "slice": _slice,
    "repeat": lambda x, a: torch.repeat_interleave(x[0], a["repeats"], a["axis"]),
    "tile": lambda x, a: torch.tile(x[0], a["repeats"]),
    "triu": lambda x, a: torch.triu(x[0], a["k"]),
    "tril": lambda x, a: torch.tril(x[0], a["k"]),
    "diagonal": lambda x, a: torch.diagonal(x[0], a["offset"], a["axis1"], a["axis2"]),
    "diag_embed": lambda x, a: torch.diag_embed(x[0], a["offset"], a["axis1"], a["axis2"]),
    "einsum": lambda x, a: torch.einsum(a["equation"], *x),
    "softmax": lambda x, a: NotImplemented if not x[0].ndim else torch.softmax(x[0], a["axis"]),
    "log_softmax": lambda x, a: NotImplemented if not x[0].ndim else (
        torch.log_softmax(x[0], a["axis"])),
    "layer_norm": _layer_norm,
    "conv": _conv,
    "scaled_dot_product_attention": _attention,
    "grid_sample": lambda x, a: F.grid_sample(
        x[0], x[1], a["mode"], a["padding"], a["align_corners"]),
    "ctc_loss": lambda x, a: F.ctc_loss(*x, blank=a["blank"], reduction="none"),
    "binary_cross_entropy": lambda x, a: F.binary_cross_entropy(*x, reduction=a["reduction"]),
    "mse_loss": _pairwise("mse_loss"),
    "l1_loss": _pairwise("l1_loss"),
    "huber_loss": lambda x, a: F.huber_loss(x[0], x[1], reduction=a["reduction"], delta=a["delta"]),
    "cholesky": lambda x, a: NotImplemented if a["upper"] else torch.linalg.cholesky(x[0]),
    "eigh": lambda x, a: NotImplemented if a["upper"] else torch.linalg.eigh(x[0]),
    "qr": lambda x, a: torch.linalg.qr(x[0]) if a["mode"] == "reduced" else NotImplemented,
    "svd": lambda x, a: torch.linalg.svd(x[0], full_matrices=False),
    "eye": lambda x, a: NotImplemented if a["k"] else torch.eye(
        a["n"], a["m"], dtype=getattr(torch, a["dtype"].name)),
}  # fmt: skip
