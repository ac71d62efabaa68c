"""Activations, normalisation over an axis, dropout, embeddings and attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lazyloom import Spec
from lazyloom.dtypes import int64

from .. import _dtypes
from .._core import (
    axis,
    broadcast_shapes,
    cast,
    record,
    record_one,
    record_spec,
    record_two,
    scalar,
    spec,
)
from .._tensor import Tensor, operand
from . import convert
from .convolutions import bilinear as bilinear
from .convolutions import linear as linear

_wrap = Tensor._wrap

#: torch name -> (op, {torch argument: op attribute}, defaults)
_TABLE: dict[str, tuple[str, dict[str, str], dict[str, Any]]] = {
    "relu6": ("relu6", {}, {}),
    "silu": ("silu", {}, {}),
    "mish": ("mish", {}, {}),
    "selu": ("selu", {}, {}),
    "elu": ("elu", {"alpha": "alpha"}, {"alpha": 1.0}),
    "celu": ("celu", {"alpha": "alpha"}, {"alpha": 1.0}),
    "leaky_relu": ("leaky_relu", {"negative_slope": "negative_slope"}, {"negative_slope": 0.01}),
    "hardtanh": ("hardtanh", {"min_val": "min", "max_val": "max"},
                 {"min_val": -1.0, "max_val": 1.0}),
    "hardsigmoid": ("hardsigmoid", {}, {}),
    "hardswish": ("hardswish", {}, {}),
    "softsign": ("softsign", {}, {}),
    "tanhshrink": ("tanhshrink", {}, {}),
    "softshrink": ("softshrink", {"lambd": "lambd"}, {"lambd": 0.5}),
    "hardshrink": ("hardshrink", {"lambd": "lambd"}, {"lambd": 0.5}),
    "threshold": ("threshold", {"threshold": "threshold", "value": "value"}, {}),
    "softplus": ("softplus", {"beta": "beta", "threshold": "threshold"},
                 {"beta": 1.0, "threshold": 20.0}),
    "logsigmoid": ("log_sigmoid", {}, {}),
    "relu": ("relu", {}, {}),
    "sigmoid": ("sigmoid", {}, {}),
    "tanh": ("tanh", {}, {}),
}


def _make(name: str) -> Callable[..., Tensor]:
    op, names, defaults = _TABLE[name]
    usual = spec(op, 1, {names[k]: float(v) for k, v in defaults.items()}) if (
        len(defaults) == len(names)) else None

    def function(input: Tensor, *args: Any, inplace: bool = False, **kwargs: Any) -> Tensor:
        if usual is not None and not args and not kwargs:
            value = record_one(usual, operand(input))
            return convert.store(input, value) if inplace else _wrap(value)
        given = dict(defaults)
        order = list(names)
        if len(args) > len(order):
            inplace, args = bool(args[-1]), args[:-1]
        given.update(zip(order, args, strict=False))
        for key, value in kwargs.items():
            if key not in names:
                raise TypeError(f"{name}() got an unexpected keyword argument {key!r}")
            given[key] = value
        if len(given) != len(names):
            missing = next(k for k in names if k not in given)
            raise TypeError(f"{name}() missing required argument: {missing!r}")
        value = record(op, [operand(input)], {names[k]: float(v) for k, v in given.items()})
        return convert.store(input, value) if inplace else _wrap(value)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``{op}`` of each element; see the op reference."
    return function


def _plain(op: str) -> Callable[..., Tensor]:
    ready = spec(op, 1)

    def function(input: Tensor, inplace: bool = False) -> Tensor:
        value = record_one(ready, operand(input))
        return convert.store(input, value) if inplace else _wrap(value)

    function.__name__ = function.__qualname__ = op
    function.__doc__ = f"``{op}`` of each element; see the op reference."
    return function


_GELU: dict[str, Spec] = {}


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x times the normal distribution function of x; approximate "none" or "tanh"."""
    ready = _GELU.get(approximate)
    if ready is None:
        ready = _GELU[approximate] = spec("gelu", 1, {"approximate": approximate})
    return _wrap(record_one(ready, operand(input)))


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Leaky ReLU whose slope is one number, or one per channel (dimension 1)."""
    v, w = operand(input), operand(weight)
    if w.type.size != 1:
        if len(v.shape) < 2 or w.shape != (v.shape[1],):
            raise RuntimeError(
                f"prelu: weight has {w.type.size} elements, expected 1 or the number of channels "
                f"of the input of shape {list(v.shape)}")
        w = record("reshape", [w], {"shape": (w.shape[0], *(1,) * (len(v.shape) - 2))})
    return _wrap(record("prelu", [v, w]))


def _along(op: str) -> Callable[..., Tensor]:
    specs: dict[int, Spec] = {}

    def function(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
                 ) -> Tensor:
        v = operand(input)
        if dtype is not None:
            v = cast(v, _dtypes.as_dtype(dtype).lazy)
        if dim is None:
            dim = 0 if len(v.shape) in (0, 1, 3) else 1
        if not v.shape:
            axis(dim, 0)
            return _wrap(record("reshape", [record(op, [record("reshape", [v], {"shape": (1,)})], {
                "axis": 0})], {"shape": ()}))
        at = axis(dim, len(v.shape))
        if at == len(v.shape) - 1:
            at = -1
        ready = specs.get(at)
        if ready is None:
            ready = specs[at] = spec(op, 1, {"axis": at})
        return _wrap(record_one(ready, v))

    function.__name__ = function.__qualname__ = op
    function.__doc__ = f"{op} along a dimension."
    return function


softmax, log_softmax = _along("softmax"), _along("log_softmax")


def softmin(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """Softmax of the negative."""
    return softmax(-input, dim, dtype=dtype)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of a dimension times the sigmoid of the second."""
    a, b = input.chunk(2, dim)
    return a * b.sigmoid()


def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Tensor:
    """The input divided by its norm along a dimension, at least eps."""
    return input / input.norm(p, dim, True).clamp(min=eps)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Elements zero with probability p and scaled by 1 / (1 - p) otherwise, in training."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0.0:
        return input
    from ..random import default_generator

    key = default_generator.draw(step=True)
    value = record("dropout", [operand(input), key], {"rate": float(p)})
    return convert.store(input, value) if inplace else _wrap(value)


def _channel_dropout(name: str, spatial: int) -> Callable[..., Tensor]:
    def function(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
                 ) -> Tensor:
        if not training or p == 0.0:
            return input
        from .creation import ones

        shape = (*input.shape[:input.ndim - spatial], *(1,) * spatial)
        made = input * dropout(ones(shape, dtype=input.dtype), p)
        return convert.store(input, operand(made)) if inplace else made

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Dropout of whole channels."
    return function


dropout1d, dropout2d, dropout3d = (_channel_dropout(f"dropout{n}d", n) for n in (1, 2, 3))


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False) -> Tensor:
    """Dropout that keeps the mean and variance of SELU's outputs."""
    if not training or p == 0.0:
        return input
    from .creation import ones_like

    low = -1.7580993408473766
    a = (1.0 / ((1 - p) * (1 + p * low * low))) ** 0.5
    keep = dropout(ones_like(input), p) != 0
    from .pointwise import where

    made: Tensor = where(keep, input, low) * a + (-a * p * low)
    return made


def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:
    """Rows of the weight at integer indices; the row padding_idx gets no gradient."""
    if max_norm is not None or scale_grad_by_freq or sparse:
        raise RuntimeError(
            "embedding: max_norm, scale_grad_by_freq and sparse are not supported; leave them out")
    where = operand(input)
    if where.dtype.kind not in "iu":
        raise RuntimeError(
            f"Expected tensor for argument #1 'indices' to have integer type, got {input.dtype!r}")
    if padding_idx is not None and padding_idx < 0:
        padding_idx += weight.shape[0]
    ready = _EMBEDDINGS.get(padding_idx)
    if ready is None:
        ready = _EMBEDDINGS[padding_idx] = spec("embedding", 2, {"padding_index": padding_idx})
    return _wrap(record_two(ready, operand(weight), where))


_EMBEDDINGS: dict[int | None, Spec] = {}


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """A last dimension of zeros with a one at each index (int64). Reads the largest for -1."""
    if tensor.dtype is not _dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if num_classes == -1:
        num_classes = int(tensor.max().item()) + 1
    return _wrap(record("one_hot", [operand(tensor)], {"depth": num_classes, "dtype": int64}))


def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None,
    bias: Tensor | None = None, eps: float = 1e-5,
) -> Tensor:
    """Mean 0 and variance 1 over the last dimensions, then ``* weight + bias``."""
    n = _trailing(input, normalized_shape, "layer_norm")
    if weight is None or bias is None:
        return _wrap(record("layer_norm", [
            operand(input), None if weight is None else operand(weight),
            None if bias is None else operand(bias)], {"normalized_ndim": n, "eps": float(eps)}))
    eps = float(eps)
    ready = _LAYER_NORMS.get((n, eps))
    if ready is None:
        ready = _LAYER_NORMS[n, eps] = spec("layer_norm", 3, {"normalized_ndim": n, "eps": eps})
    return _wrap(record_spec(ready, (operand(input), operand(weight), operand(bias))))


_LAYER_NORMS: dict[tuple[int, float], Spec] = {}


def rms_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """The input divided by its root mean square over the last dimensions, times weight."""
    n = _trailing(input, normalized_shape, "rms_norm")
    small = _dtypes.finfo(input.dtype).eps if eps is None else eps
    return _wrap(record("rms_norm", [operand(input), None if weight is None else operand(weight)],
                        {"normalized_ndim": n, "eps": float(small)}))


def _trailing(input: Tensor, normalized_shape: Any, name: str) -> int:
    if type(normalized_shape) is not tuple:
        normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else (
            tuple(normalized_shape))
    wanted = normalized_shape
    if not wanted or input._type.shape[-len(wanted):] != wanted:
        raise RuntimeError(
            f"{name}: given normalized_shape={list(wanted)}, expected input with shape "
            f"[*, {', '.join(map(str, wanted))}], but got input of size {list(input.shape)}")
    return len(wanted)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0 and variance 1 over groups of channels (dimension 1)."""
    if input.ndim < 2 or input.shape[1] % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input "
            f"of shape {list(input.shape)} and num_groups={num_groups}")
    return _wrap(record("group_norm", [
        operand(input), None if weight is None else operand(weight),
        None if bias is None else operand(bias)], {"groups": num_groups, "eps": float(eps)}))


def instance_norm(
    input: Tensor, running_mean: Any = None, running_var: Any = None,
    weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True,
    momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:
    """Group normalisation with one channel a group."""
    return group_norm(input, input.shape[1], weight, bias, eps)


def batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None,
    weight: Tensor | None = None, bias: Tensor | None = None, training: bool = False,
    momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:
    """Normalisation of each channel (dimension 1) over the batch and positions.

    In training with the batch's own moments, which also update the running ones in
    place (the variance unbiased); otherwise with the running ones.
    """
    from .._grad_mode import no_grad

    x = operand(input)
    w = None if weight is None else operand(weight)
    b = None if bias is None else operand(bias)
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError("batch_norm: running_mean and running_var are needed in evaluation")
        return _wrap(record("batch_norm_infer", [
            x, operand(running_mean), operand(running_var), w, b], {"eps": float(eps)}))
    count = x.type.size // max(x.shape[1], 1)
    if count <= 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size "
            f"{list(x.shape)}")
    y, mean, variance = record("batch_norm_train", [x, w, b], {"eps": float(eps)})
    with no_grad():
        for running, new, factor in ((running_mean, mean, 1.0),
                                     (running_var, variance, count / (count - 1))):
            if running is None:
                continue
            kind = running._type.dtype
            new = cast(new.detach(), kind)
            if factor != 1.0:
                new = record("multiply", [new, scalar(factor, kind)])
            old = record("multiply", [operand(running), scalar(1.0 - momentum, kind, bake=False)])
            fresh = record("multiply", [new, scalar(momentum, kind, bake=False)])
            running._assign(record("add", [old, fresh]))
    return _wrap(y)


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(q @ k.T * scale + mask) @ v`` over the last two dimensions."""
    if is_causal and attn_mask is not None:
        raise RuntimeError("Explicit attn_mask should not be set when is_causal=True")
    if enable_gqa:
        repeats = query.shape[-3] // key.shape[-3]
        key, value = (t.repeat_interleave(repeats, -3) for t in (key, value))
    if dropout_p > 0.0:
        scores = _attention_weights(query, key, attn_mask, is_causal, scale)
        made: Tensor = dropout(scores, dropout_p) @ value
        return made
    q, k, v = operand(query), operand(key), operand(value)
    lead = q.shape[:-2]
    if lead != k.shape[:-2] or lead != v.shape[:-2]:
        lead = broadcast_shapes(lead, k.shape[:-2])
        q, k, v = [x if x.shape[:-2] == lead else record(
            "broadcast_to", [x], {"shape": (*lead, *x.shape[-2:])}) for x in (q, k, v)]
    mask = None if attn_mask is None else operand(attn_mask)
    if mask is not None and mask.dtype.kind != "b":
        mask = cast(mask, q.dtype)
    return _wrap(record("scaled_dot_product_attention", [q, k, v, mask], {
        "causal": is_causal, "scale": None if scale is None else float(scale)}))


def _attention_weights(
    query: Tensor, key: Tensor, mask: Tensor | None, causal: bool, scale: float | None
) -> Tensor:
    from .creation import ones

    factor = query.shape[-1] ** -0.5 if scale is None else scale
    scores = query @ key.transpose(-2, -1) * factor
    if causal:
        mask = ones(scores.shape[-2:], dtype=bool).tril()
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf")) if mask.dtype is _dtypes.bool_ else (
            scores + mask)
    return softmax(scores, -1)


FUNCTIONS: dict[str, Any] = {
    **{n: _make(n) if _TABLE[n][1] else _plain(_TABLE[n][0]) for n in _TABLE},
    **{f.__name__: f for f in (
        gelu, prelu, softmax, log_softmax, softmin, glu, normalize, dropout, dropout1d, dropout2d,
        dropout3d, alpha_dropout, embedding, one_hot, layer_norm, rms_norm,
        group_norm, instance_norm, batch_norm, scaled_dot_product_attention)},
}
