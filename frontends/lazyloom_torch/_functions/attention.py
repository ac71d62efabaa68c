"""Attention: the scaled dot product, and several heads with their projections."""

from __future__ import annotations

import math
from typing import Any

from .. import _dtypes
from .._autocast import casting, lowered
from .._core import broadcast_shapes, cast, record, scalar
from .._divided import divided
from .._tensor import Tensor, operand
from . import pointwise, shaping
from .activations import softmax
from .convolutions import linear
from .dropping import dropout
from .padding import pad

_wrap = Tensor.from_value


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
    dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(q @ k.T * scale + mask) @ v`` over the last two dimensions.

    A bool mask is true where a position is seen. ``enable_gqa`` lets several heads of the
    query (dimension -3) share one of key and value.
    """
    if divided:
        of_parts = divided.get("attention")
        if of_parts is not None:
            found: Tensor = of_parts(
                query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
            return found
    if is_causal and attn_mask is not None:
        raise RuntimeError("Explicit attn_mask should not be set when is_causal=True")
    if casting:
        query, key, value = lowered(query, key, value)
        if attn_mask is not None and attn_mask.dtype is not _dtypes.bool_:
            (attn_mask,) = lowered(attn_mask)
    q, k, v = operand(query), operand(key), operand(value)
    if q.dtype is not k.dtype or q.dtype is not v.dtype:
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got {query.dtype!r}, "
            f"{key.dtype!r} and {value.dtype!r}")
    if min(len(x.shape) for x in (q, k, v)) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be at least 2 dimensional, but got "
            f"{len(q.shape)}, {len(k.shape)} and {len(v.shape)}")
    if enable_gqa:
        k, v = (_repeated(x, q, name) for x, name in ((k, "key"), (v, "value")))
    lead = q.shape[:-2]
    if lead != k.shape[:-2] or lead != v.shape[:-2]:
        lead = broadcast_shapes(lead, k.shape[:-2], v.shape[:-2])
        q, k, v = [x if x.shape[:-2] == lead else record(
            "broadcast_to", [x], {"shape": (*lead, *x.shape[-2:])}) for x in (q, k, v)]
    mask = None if attn_mask is None else operand(attn_mask)
    if attn_mask is not None and mask is not None and (
            mask.dtype.kind != "b" and mask.dtype is not q.dtype):
        if q.dtype.itemsize != 2 or mask.dtype.name != "float32":
            raise RuntimeError(
                "Expected attn_mask dtype to be bool or to match query dtype, but got "
                f"attn_mask.dtype: {attn_mask.dtype!r} and query.dtype: {query.dtype!r}")
        mask = cast(mask, q.dtype)
    if dropout_p > 0.0:
        return _dropped(q, k, v, mask, is_causal, scale, dropout_p)
    return _wrap(record("scaled_dot_product_attention", [q, k, v, mask], {
        "causal": is_causal, "scale": None if scale is None else float(scale)}))


def _repeated(x: Any, q: Any, name: str) -> Any:
    """Heads of key or value repeated to be as many as the query's."""
    if len(x.shape) < 3 or not x.shape[-3] or q.shape[-3] % x.shape[-3]:
        raise RuntimeError(
            f"Number of heads in {name} and query must match, or the {name}'s divide the query's, "
            f"but got {list(x.shape)} and {list(q.shape)}")
    times = q.shape[-3] // x.shape[-3]
    return x if times == 1 else record("repeat", [x], {
        "repeats": times, "axis": len(x.shape) - 3})


def _dropped(q: Any, k: Any, v: Any, mask: Any, causal: bool, scale: float | None, p: float
             ) -> Tensor:  # fmt: skip
    factor = (1.0 / math.sqrt(q.shape[-1]) if q.shape[-1] else 1.0) if scale is None else scale
    turned = record("swapaxes", [k], {"axis1": -2, "axis2": -1})
    scores = record("multiply", [record("matmul", [q, turned]), scalar(factor, q.dtype)])
    if causal:
        ones = record("full", [scalar(True, _dtypes.bool_.lazy)], {"shape": scores.shape[-2:]})
        mask = record("tril", [ones])
    if mask is not None:
        mask = mask if mask.shape == scores.shape else record(
            "broadcast_to", [mask], {"shape": scores.shape})
        scores = record("add", [scores, mask]) if mask.dtype.kind != "b" else record(
            "where", [mask, scores, scalar(-math.inf, scores.dtype)])
    weights = operand(dropout(_wrap(record("softmax", [scores], {"axis": -1})), p))
    return _wrap(record("matmul", [weights, v]))


# Heads


def _additive(mask: Tensor | None, name: str, like: Tensor) -> Tensor | None:
    """A mask whose true elements hide, as numbers to add."""
    if mask is None or mask.dtype.is_floating_point:
        return mask
    if mask.dtype is not _dtypes.bool_:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    return pointwise.where(mask, -math.inf, 0.0).to(like.dtype)


def _check_shapes(
    query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None,
    heads: int,
) -> bool:
    """Whether the query has a batch. AssertionError for ranks that do not go together."""
    rank = query.ndim
    if rank not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {rank}-D query tensor")
    if key.ndim != rank or value.ndim != rank:
        raise AssertionError(
            f"For {rank}-D query, expected key and value to be {rank}-D but found {key.ndim}-D and "
            f"{value.ndim}-D tensors respectively")
    if padding is not None and padding.ndim != rank - 1:
        raise AssertionError(
            f"For {rank}-D query, expected key_padding_mask to be None or {rank - 1}-D but found "
            f"{padding.ndim}-D")
    if mask is not None and mask.ndim not in (2, 3):
        raise AssertionError(
            f"For {rank}-D query, expected attn_mask to be None, 2-D or 3-D but found "
            f"{mask.ndim}-D")
    if rank == 2 and mask is not None and mask.ndim == 3 and tuple(mask.shape) != (
        heads, query.shape[0], key.shape[0]):
        raise AssertionError(
            f"Expected attn_mask shape to be {(heads, query.shape[0], key.shape[0])} but got "
            f"{tuple(mask.shape)}")
    return rank == 3


def _projected(
    query: Tensor, key: Tensor, value: Tensor, weight: Tensor, bias: Tensor | None
) -> tuple[Tensor, ...]:
    """The three projections of one packed weight, in as few products as the operands allow."""
    size = query.shape[-1]
    if query is key and key is value:
        return tuple(linear(query, weight, bias).chunk(3, -1))
    parts = weight.split([size, size * 2])
    biases = (None, None) if bias is None else bias.split([size, size * 2])
    q = linear(query, parts[0], biases[0])
    if key is value:
        return (q, *linear(key, parts[1], biases[1]).chunk(2, -1))
    weights, ends = parts[1].chunk(2), (None, None) if biases[1] is None else biases[1].chunk(2)
    return q, linear(key, weights[0], ends[0]), linear(value, weights[1], ends[1])


def multi_head_attention_forward(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int,
    in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None,
    bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor,
    out_proj_bias: Tensor | None, training: bool = True, key_padding_mask: Tensor | None = None,
    need_weights: bool = True, attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False, q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None, static_v: Tensor | None = None,
    average_attn_weights: bool = True, is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention of several heads on (L, N, E) queries and (S, N, E) keys and values.

    Returns the result and, with ``need_weights``, the weights (N, L, S), or (N, heads, L, S)
    unless averaged. N may be absent. True elements of bool masks hide positions.
    """
    whole = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint; nn.Transformer's "
            "generate_square_subsequent_mask makes one")
    if not whole:
        same_key, same_value = query is key, key is value
        query = query.unsqueeze(1)
        key = query if same_key else key.unsqueeze(1)
        value = key if same_value else value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    steps, batch, features = query.shape
    if features != embed_dim_to_check:
        raise AssertionError(
            f"was expecting embedding dimension of {embed_dim_to_check}, but got {features}")
    size = features // num_heads
    if size * num_heads != features:
        raise AssertionError(f"embed_dim {features} not divisible by num_heads {num_heads}")
    if key.shape[:2] != value.shape[:2] or (
        not use_separate_proj_weight and key.shape != value.shape):
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    hint = is_causal and key_padding_mask is None and not need_weights
    hides = None if hint else _additive(attn_mask, "attn_mask", query)
    padding = _additive(key_padding_mask, "key_padding_mask", query)
    if use_separate_proj_weight:
        ends = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        if any(w is None for w in weights):
            raise AssertionError(
                "use_separate_proj_weight is True but q_proj_weight, k_proj_weight or "
                "v_proj_weight is None")
        q, k, v = (linear(x, w, b) for x, w, b in zip(  # type: ignore[arg-type]
            (query, key, value), weights, ends, strict=True))
    else:
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _projected(query, key, value, in_proj_weight, in_proj_bias)
    hides = _shaped(hides, steps, key.shape[0], batch * num_heads)
    if (bias_k is None) != (bias_v is None):
        raise AssertionError("bias_k and bias_v have to be given both or neither")
    if bias_k is not None and bias_v is not None:
        if static_k is not None or static_v is not None:
            raise AssertionError("bias cannot be added to static key or value.")
        k, v = (shaping.cat([x, b.expand(1, batch, features)]) for x, b in (
            (k, bias_k), (v, bias_v)))
        hides, padding = (None if m is None else pad(m, (0, 1)) for m in (hides, padding))
    rows = batch * num_heads

    def heads(x: Tensor) -> Tensor:
        found: Tensor = x.reshape(x.shape[0], rows, size).transpose(0, 1)
        return found

    q = heads(q)
    k, v = (_static(s, rows, size, name) if s is not None else heads(x) for x, s, name in (
        (k, static_k, "static_k"), (v, static_v, "static_v")))
    if add_zero_attn:
        k, v = (pad(x, (0, 0, 0, 1)) for x in (k, v))
        hides, padding = (None if m is None else pad(m, (0, 1)) for m in (hides, padding))
    source = k.shape[1]
    if padding is not None:
        if tuple(padding.shape) != (batch, source):
            raise AssertionError(
                f"Expected key_padding_mask.shape to be {(batch, source)}, but got "
                f"{tuple(padding.shape)}")
        wide = padding.reshape(batch, 1, 1, source).expand(batch, num_heads, 1, source).reshape(
            rows, 1, source)
        hides = wide if hides is None else hides + wide
    rate = dropout_p if training else 0.0
    weights_found: Tensor | None = None
    if need_weights:
        scores = (q * math.sqrt(1.0 / size)) @ k.transpose(-2, -1)
        if hides is not None:
            scores = scores + hides
        weights_found = softmax(scores, -1)
        if rate > 0.0:
            weights_found = dropout(weights_found, rate)
        found = weights_found @ v
    else:
        q, k, v = (x.reshape(batch, num_heads, x.shape[1], size) for x in (q, k, v))
        if hides is not None:
            hides = hides.unsqueeze(0) if hides.shape[0] == 1 else hides.reshape(
                batch, num_heads, -1, source)
        found = scaled_dot_product_attention(q, k, v, hides, rate, hint)
        found = found.reshape(rows, steps, size)
    found = linear(found.transpose(0, 1).reshape(steps * batch, features), out_proj_weight,
                   out_proj_bias)
    found = found.reshape(steps, batch, found.shape[1])
    if weights_found is not None:
        weights_found = weights_found.reshape(batch, num_heads, steps, source)
        if average_attn_weights:
            weights_found = weights_found.mean(1)
    if not whole:
        found = found.squeeze(1)
        weights_found = None if weights_found is None else weights_found.squeeze(0)
    return found, weights_found


def _shaped(mask: Tensor | None, steps: int, source: int, rows: int) -> Tensor | None:
    """The mask with a dimension for batch and heads. RuntimeError if it does not fit."""
    if mask is None:
        return None
    wanted = (steps, source) if mask.ndim == 2 else (rows, steps, source)
    if tuple(mask.shape) != wanted:
        raise RuntimeError(
            f"The shape of the {mask.ndim}D attn_mask is {tuple(mask.shape)}, but should be "
            f"{wanted}.")
    return mask.unsqueeze(0) if mask.ndim == 2 else mask


def _static(x: Tensor, rows: int, size: int, name: str) -> Tensor:
    if x.shape[0] != rows or x.shape[2] != size:
        raise AssertionError(
            f"expecting {name} of {rows} rows and {size} features, but got {tuple(x.shape)}")
    return x


FUNCTIONS: dict[str, Any] = {f.__name__: f for f in (
    scaled_dot_product_attention, multi_head_attention_forward)}
