"""Transformer layers (Vaswani et al., 2017)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ... import _dtypes
from ..._functions.creation import full
from ..._tensor import Tensor
from .. import functional as F  # noqa: N812
from .. import init
from ._attention import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm


def _generate_square_subsequent_mask(size: int, device: Any = None, dtype: Any = None) -> Tensor:
    """A mask to add to scores: -inf where a position is later."""
    kind = _dtypes.get_default_dtype() if dtype is None else dtype
    made: Tensor = full((size, size), float("-inf"), dtype=kind, device=device).triu(1)
    return made


def _is_causal(mask: Tensor | None, given: bool | None) -> bool:
    """Whether a mask is said to be causal. What is not said is not found out by a read: the
    mask is applied in any case."""
    return given is True and mask is not None


def _get_clones(module: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


def _get_activation_fn(activation: str) -> Callable[[Tensor], Tensor]:
    if activation == "relu":
        return F.relu
    if activation == "gelu":
        return F.gelu
    raise RuntimeError(f"activation should be relu/gelu, not {activation}")


class _Layer(Module):
    """What encoder and decoder layers share: the feed-forward part, norms and dropout."""

    _attentions: tuple[str, ...] = ()

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Any = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
        norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        made = {"device": device, "dtype": dtype}
        for name in self._attentions:
            setattr(self, name, MultiheadAttention(
                d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **made))
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **made)
        self.norm_first = norm_first
        count = len(self._attentions) + 1
        for i in range(1, count + 1):
            setattr(self, f"norm{i}", LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **made))
        for i in range(1, count + 1):
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = _get_activation_fn(activation) if isinstance(activation, str) else (
            activation)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("activation", F.relu)

    def _feed(self, x: Tensor) -> Tensor:
        made: Tensor = self.linear2(self.dropout(self.activation(self.linear1(x))))
        return made


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network, each with dropout, residual and norm."""

    _attentions = ("self_attn",)

    def forward(
        self, src: Tensor, src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None, is_causal: bool = False,
    ) -> Tensor:
        mask, padding = _canonical(src_mask, src_key_padding_mask, src, "src")
        if self.norm_first:
            src = src + self._sa_block(self.norm1(src), mask, padding, is_causal)
            return src + self._ff_block(self.norm2(src))
        src = self.norm1(src + self._sa_block(src, mask, padding, is_causal))
        made: Tensor = self.norm2(src + self._ff_block(src))
        return made

    def _sa_block(self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None,
                  is_causal: bool = False) -> Tensor:
        x = self.self_attn(x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask,
                           need_weights=False, is_causal=is_causal)[0]
        made: Tensor = self.dropout1(x)
        return made

    def _ff_block(self, x: Tensor) -> Tensor:
        made: Tensor = self.dropout2(self._feed(x))
        return made


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to what an encoder gave, and a feed-forward network."""

    _attentions = ("self_attn", "multihead_attn")

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None, tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        x = tgt
        mine = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        theirs = (memory_mask, memory_key_padding_mask, memory_is_causal)
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *mine)
            x = x + self._mha_block(self.norm2(x), memory, *theirs)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *mine))
        x = self.norm2(x + self._mha_block(x, memory, *theirs))
        made: Tensor = self.norm3(x + self._ff_block(x))
        return made

    def _sa_block(self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None,
                  is_causal: bool = False) -> Tensor:
        x = self.self_attn(x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask,
                           is_causal=is_causal, need_weights=False)[0]
        made: Tensor = self.dropout1(x)
        return made

    def _mha_block(
        self, x: Tensor, mem: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:
        x = self.multihead_attn(x, mem, mem, attn_mask=attn_mask,
                                key_padding_mask=key_padding_mask, is_causal=is_causal,
                                need_weights=False)[0]
        made: Tensor = self.dropout2(x)
        return made

    def _ff_block(self, x: Tensor) -> Tensor:
        made: Tensor = self.dropout3(self._feed(x))
        return made


def _canonical(mask: Tensor | None, padding: Tensor | None, src: Tensor, name: str
               ) -> tuple[Tensor | None, Tensor | None]:
    """Both masks of one kind: numbers to add where either of them is of numbers."""
    for what, m in (("mask", mask), ("key_padding_mask", padding)):
        if m is not None and m.dtype is not _dtypes.bool_ and not m.is_floating_point():
            raise AssertionError(
                f"only bool and floating types of {name}_{what} are supported, not {m.dtype!r}")
    if padding is not None and padding.dtype is _dtypes.bool_ and (
        mask is None or mask.is_floating_point()
    ):
        padding = _additive(padding, src.dtype)
    if mask is not None and mask.dtype is _dtypes.bool_:
        mask = _additive(mask, src.dtype)
    return mask, padding


def _additive(mask: Tensor, dtype: Any) -> Tensor:
    from ..._functions.creation import zeros

    made: Tensor = zeros(mask.shape, dtype=dtype).masked_fill(mask, float("-inf"))
    return made


class _Stack(Module):
    """Copies of a layer one after another, and a norm of what the last one gives."""

    def __init__(self, layer: Module, num_layers: int, norm: Module | None) -> None:
        super().__init__()
        self.num_layers = num_layers
        self.layers, self.norm = _get_clones(layer, num_layers), norm

    def _through(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        for layer in self.layers:
            x = layer(x, *args, **kwargs)
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_Stack):
    """A stack of copies of an encoder layer."""

    def __init__(
        self, encoder_layer: Module, num_layers: int, norm: Module | None = None,
        enable_nested_tensor: bool = True, mask_check: bool = True,
    ) -> None:
        super().__init__(encoder_layer, num_layers, norm)
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(
        self, src: Tensor, mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None, is_causal: bool | None = None,
    ) -> Tensor:
        mask, padding = _canonical(mask, src_key_padding_mask, src, "src")
        return self._through(src, src_mask=mask, is_causal=_is_causal(mask, is_causal),
                             src_key_padding_mask=padding)


class TransformerDecoder(_Stack):
    """A stack of copies of a decoder layer."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None, tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        return self._through(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=_is_causal(tgt_mask, tgt_is_causal), memory_is_causal=memory_is_causal)


class Transformer(Module):
    """An encoder and a decoder."""

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6,
        num_decoder_layers: int = 6, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Any = F.relu, custom_encoder: Any = None, custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False,
        bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:
        super().__init__()
        made = {"device": device, "dtype": dtype}

        def stack(layer: Any, whole: Any, count: int) -> Module:
            one = layer(d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps,
                        batch_first, norm_first, bias, **made)
            found: Module = whole(
                one, count, LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **made))
            return found

        self.encoder = stack(TransformerEncoderLayer, TransformerEncoder, num_encoder_layers) if (
            custom_encoder is None) else custom_encoder
        self.decoder = stack(TransformerDecoderLayer, TransformerDecoder, num_decoder_layers) if (
            custom_decoder is None) else custom_decoder
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self) -> None:
        for p in self.parameters():
            if p.dim() > 1:
                init.xavier_uniform_(p)

    def forward(
        self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None, src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Tensor:
        batched = src.dim() == 3
        at = 0 if self.batch_first else 1
        if batched and src.size(at) != tgt.size(at):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask,
                              is_causal=src_is_causal)
        made: Tensor = self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal)
        return made

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """A mask to add to scores: 0 where a position is not later, -inf elsewhere."""
        return _generate_square_subsequent_mask(sz, device, dtype)


__all__ = ["Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
           "TransformerEncoderLayer"]
