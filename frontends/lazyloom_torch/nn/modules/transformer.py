"""Attention and transformer layers (Vaswani et al., 2017)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ... import _dtypes
from ..._functions import activations
from ..._functions.creation import zeros
from ..._tensor import Tensor
from .. import init
from ..parameter import Parameter
from .basic import Dropout, Linear, make_parameter
from .container import ModuleList
from .module import Module
from .norm import LayerNorm


class MultiheadAttention(Module):
    """Attention by several heads, with projections in and out.

    Inputs are (L, N, E), or (N, L, E) with ``batch_first``, or unbatched (L, E). Bool
    masks are true where a position is *not* seen, as in PyTorch.
    """

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True,
        add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int | None = None,
        vdim: int | None = None, batch_first: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        _dtypes.check_device(device)
        if embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")
        if add_bias_kv or add_zero_attn:
            raise RuntimeError(
                "MultiheadAttention: add_bias_kv and add_zero_attn are not supported; leave them "
                "out")
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.head_dim, self.batch_first = embed_dim // num_heads, batch_first
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self._same = self.kdim == embed_dim and self.vdim == embed_dim
        shapes = {"in_proj_weight": (3 * embed_dim, embed_dim)} if self._same else {
            "q_proj_weight": (embed_dim, embed_dim), "k_proj_weight": (embed_dim, self.kdim),
            "v_proj_weight": (embed_dim, self.vdim)}
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            shape = shapes.get(name)
            self.register_parameter(name, make_parameter(shape, dtype) if shape else None)
        self.register_parameter(
            "in_proj_bias", Parameter(zeros(3 * embed_dim, dtype=dtype)) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias=bias, dtype=dtype)
        for name in shapes:
            init.xavier_uniform_(getattr(self, name))
        if bias:
            init.zeros_(self.out_proj.bias)

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
        e = self.embed_dim
        bias = self.in_proj_bias
        if self._same and query is key and key is value:
            return list(activations.linear(query, self.in_proj_weight, bias).chunk(3, -1))
        weights = self.in_proj_weight.chunk(3) if self._same else (
            self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        biases = (None,) * 3 if bias is None else tuple(bias[i * e:(i + 1) * e] for i in range(3))
        return [activations.linear(x, w, b)
                for x, w, b in zip((query, key, value), weights, biases, strict=True)]

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
        need_weights: bool = True, attn_mask: Tensor | None = None,
        average_attn_weights: bool = True, is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        batched = query.ndim == 3
        if query.ndim not in (2, 3):
            raise RuntimeError(
                f"query should be unbatched 2D or batched 3D tensor but received {query.ndim}-D")
        q, k, v = self._project(query, key, value)
        if not batched:
            q, k, v = (x.unsqueeze(0) for x in (q, k, v))
        elif not self.batch_first:
            q, k, v = (x.transpose(0, 1) for x in (q, k, v))
        n, length, source = q.shape[0], q.shape[1], k.shape[1]
        heads = [x.reshape(n, x.shape[1], self.num_heads, self.head_dim).transpose(1, 2)
                 for x in (q, k, v)]
        mask = self._mask(attn_mask, key_padding_mask, n, length, source, q.dtype)
        rate = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            scores = heads[0] @ heads[1].transpose(-2, -1) * self.head_dim**-0.5
            if mask is not None:
                scores = scores + mask
            weights = activations.softmax(scores, -1)
            if rate:
                weights = activations.dropout(weights, rate)
            out = weights @ heads[2]
            if average_attn_weights:
                weights = weights.mean(1)
            if not batched:
                weights = weights.squeeze(0)
        else:
            causal = is_causal and key_padding_mask is None
            out = activations.scaled_dot_product_attention(
                *heads, attn_mask=None if causal else mask, dropout_p=rate, is_causal=causal)
        out = out.transpose(1, 2).reshape(n, length, self.embed_dim)
        if not batched:
            out = out.squeeze(0)
        elif not self.batch_first:
            out = out.transpose(0, 1)
        return self.out_proj(out), weights

    def _mask(
        self, attn: Tensor | None, padding: Tensor | None, n: int, length: int, source: int,
        dtype: Any,
    ) -> Tensor | None:
        """Both masks as numbers to add to the scores (N, heads, L, S)."""
        total = None
        if attn is not None:
            total = _additive(attn, dtype)
            if total.ndim == 3:
                total = total.reshape(n, self.num_heads, length, source)
        if padding is not None:
            more = _additive(padding, dtype).reshape(n, 1, 1, source)
            total = more if total is None else total + more
        return total

    def extra_repr(self) -> str:
        return f"embed_dim={self.embed_dim}, num_heads={self.num_heads}"


def _additive(mask: Tensor, dtype: Any) -> Tensor:
    if mask.dtype is not _dtypes.bool_:
        return mask.to(dtype)
    return zeros(mask.shape, dtype=dtype).masked_fill(mask, float("-inf"))


def _activation(given: Any) -> Callable[[Tensor], Tensor]:
    if callable(given):
        return given
    if given in ("relu", "gelu"):
        function: Callable[[Tensor], Tensor] = activations.FUNCTIONS[given]
        return function
    raise RuntimeError(f"activation should be relu/gelu, not {given}")


class TransformerEncoderLayer(Module):
    """Self-attention and a feed-forward network, each with dropout, residual and norm."""

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Any = "relu", layer_norm_eps: float = 1e-5, batch_first: bool = False,
        norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first,
                                            device=device, dtype=dtype)
        self.linear1 = Linear(d_model, dim_feedforward, bias, dtype=dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, dtype=dtype)
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self.norm_first = norm_first
        self.activation = _activation(activation)

    def forward(
        self, src: Tensor, src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None, is_causal: bool = False,
    ) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            out, _ = self.self_attn(
                x, x, x, attn_mask=src_mask, key_padding_mask=src_key_padding_mask,
                need_weights=False, is_causal=is_causal)
            made: Tensor = self.dropout1(out)
            return made

        def feed(x: Tensor) -> Tensor:
            inner = self.dropout(self.activation(self.linear1(x)))
            made: Tensor = self.dropout2(self.linear2(inner))
            return made

        if self.norm_first:
            src = src + attend(self.norm1(src))
            return src + feed(self.norm2(src))
        src = self.norm1(src + attend(src))
        made: Tensor = self.norm2(src + feed(src))
        return made


class TransformerEncoder(Module):
    """A stack of copies of an encoder layer."""

    def __init__(
        self, encoder_layer: Module, num_layers: int, norm: Module | None = None,
        enable_nested_tensor: bool = True, mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self, src: Tensor, mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None, is_causal: bool | None = None,
    ) -> Tensor:
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, bool(is_causal))
        return src if self.norm is None else self.norm(src)
