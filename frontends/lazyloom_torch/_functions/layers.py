"""The functions of networks that PyTorch has in ``torch`` too, in the order of arguments there.

Most are those of ``torch.nn.functional``; these here take reductions by number, or their
operands in another order.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from .._foreign import mixing
from .._numpy_names import taking
from .._out import taking_out
from .._registry import declare
from .._tensor import Tensor, operand
from . import (
    activations,
    convert,
    convolutions,
    distances,
    dropping,
    embeddings,
    losses,
    margins,
    normalizing,
    padding,
    pooling,
    resampling,
)

_REDUCTIONS = ("none", "mean", "sum")


def _reduction(given: Any) -> str:
    """The reduction of a number; PyTorch takes 0 where none is given, whatever it documents."""
    try:
        number = operator.index(given)
    except TypeError:
        raise TypeError(f"argument 'reduction' must be int (0 none, 1 mean, 2 sum), not "
                        f"{type(given).__name__}; torch.nn.functional takes names") from None
    if number not in (0, 1, 2):
        raise ValueError(f"reduction is 0 (none), 1 (mean) or 2 (sum), not {given}")
    return _REDUCTIONS[number]


def batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, training: bool, momentum: float, eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """:func:`torch.nn.functional.batch_norm` with its operands in another order."""
    return normalizing.batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps)


def native_batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, training: bool, momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Batch normalisation with, in training, the batch's means and 1 / standard deviations."""
    found = normalizing.batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return found, input.new_empty(0), input.new_empty(0)
    dims = [d for d in range(input.ndim) if d != 1]
    variance = input.var(dims, unbiased=False)
    return found, input.mean(dims), (variance + eps).rsqrt()


def native_layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Layer normalisation with the means and 1 / standard deviations."""
    dims = tuple(range(-len(normalized_shape), 0))
    found = normalizing.layer_norm(input, normalized_shape, weight, bias, eps)
    wide = input.float() if input.dtype.itemsize == 2 else input
    variance = wide.var(dims, unbiased=False, keepdim=True)
    return found, wide.mean(dims, keepdim=True), (variance + eps).rsqrt()


def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None,
    bias: Tensor | None = None, eps: float = 1e-5, cudnn_enable: bool = True,
) -> Tensor:
    """:func:`torch.nn.functional.layer_norm`."""
    return normalizing.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5, cudnn_enabled: bool = True,
) -> Tensor:
    """:func:`torch.nn.functional.group_norm`."""
    return normalizing.group_norm(input, num_groups, weight, bias, eps)


def instance_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, use_input_stats: bool, momentum: float, eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """:func:`torch.nn.functional.instance_norm` with its operands in another order."""
    return normalizing.instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def _dropping(name: str) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    function = dropping.FUNCTIONS.get(name) or _feature_dropout

    def plain(input: Tensor, p: float, train: bool) -> Tensor:
        found: Tensor = function(input, p, train)
        return found

    def in_place(input: Tensor, p: float, train: bool) -> Tensor:
        return convert.store(input, operand(function(input, p, train)))

    plain.__name__ = plain.__qualname__ = name
    plain.__doc__ = f"``{name}`` in training, if ``train``."
    in_place.__name__ = in_place.__qualname__ = f"{name}_"
    in_place.__doc__ = f"``{name}`` in place."
    return plain, in_place


def _feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    if input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    shape = (*input.shape[:2], *(1,) * (input.ndim - 2))
    if not train or p == 0:
        return input
    made: Tensor = input * dropping.dropout(input.new_ones(shape), p)
    return made


def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """:func:`torch.nn.functional.embedding` with its operands the other way round."""
    return embeddings.embedding(
        indices, weight, None if padding_idx == -1 else padding_idx,
        scale_grad_by_freq=scale_grad_by_freq)


def embedding_renorm_(
    weight: Tensor, indices: Tensor, max_norm: float, norm_type: float
) -> Tensor:
    """Rows of the weight at the indices scaled, in place, to norms of at most ``max_norm``."""
    embeddings.embedding(indices, weight, None, max_norm, norm_type)
    return weight


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None,
    pos_weight: Tensor | None = None, reduction: Any = 0,
) -> Tensor:
    """:func:`torch.nn.functional.binary_cross_entropy_with_logits`."""
    return losses.binary_cross_entropy_with_logits(
        input, target, weight, reduction=_reduction(reduction), pos_weight=pos_weight)


def kl_div(input: Tensor, target: Tensor, reduction: Any = 0, *, log_target: bool = False
           ) -> Tensor:  # fmt: skip
    """:func:`torch.nn.functional.kl_div`."""
    return losses.kl_div(input, target, reduction=_reduction(reduction), log_target=log_target)


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: Any = 0
                         ) -> Tensor:  # fmt: skip
    """:func:`torch.nn.functional.hinge_embedding_loss`."""
    return margins.hinge_embedding_loss(input, target, margin, reduction=_reduction(reduction))


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: Any = 0
) -> Tensor:
    """:func:`torch.nn.functional.cosine_embedding_loss`."""
    return margins.cosine_embedding_loss(
        input1, input2, target, margin, reduction=_reduction(reduction))


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: Any = 0
) -> Tensor:
    """:func:`torch.nn.functional.margin_ranking_loss`."""
    return margins.margin_ranking_loss(
        input1, input2, target, margin, reduction=_reduction(reduction))


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0,
    eps: float = 1e-6, swap: bool = False, reduction: Any = 0,
) -> Tensor:
    """:func:`torch.nn.functional.triplet_margin_loss`."""
    return margins.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, reduction=_reduction(reduction))


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: Any
) -> Tensor:
    """:func:`torch.nn.functional.poisson_nll_loss`."""
    return losses.poisson_nll_loss(
        input, target, log_input, full, eps=eps, reduction=_reduction(reduction))


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: Any = 0, zero_infinity: bool = False,
) -> Tensor:
    """:func:`torch.nn.functional.ctc_loss`."""
    return margins.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank,
                            _reduction(reduction), zero_infinity)


def grid_sampler_2d(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int,
                    align_corners: bool) -> Tensor:  # fmt: skip
    """:func:`torch.nn.functional.grid_sample` of images, its modes by number."""
    if input.ndim != 4:
        raise RuntimeError(f"grid_sampler_2d: expected a 4D input, got {input.ndim}D")
    return resampling.grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_3d(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int,
                    align_corners: bool) -> Tensor:  # fmt: skip
    """:func:`torch.nn.functional.grid_sample` of volumes, its modes by number."""
    if input.ndim != 5:
        raise RuntimeError(f"grid_sampler_3d: expected a 5D input, got {input.ndim}D")
    return resampling.grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def affine_grid_generator(theta: Tensor, size: Any, align_corners: bool) -> Tensor:
    """:func:`torch.nn.functional.affine_grid`."""
    return resampling.affine_grid(theta, size, align_corners)


def constant_pad_nd(input: Tensor, pad: Any, value: Any = 0) -> Tensor:
    """:func:`torch.nn.functional.pad` by a constant."""
    return padding.pad(input, pad, "constant", value)


def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """The maxima of parts, and their positions."""
    found: tuple[Tensor, Tensor] = pooling.adaptive_max_pool1d(input, output_size, True)
    return found


def convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any,
    transposed: bool, output_padding: Any, groups: int,
) -> Tensor:
    """A convolution of as many spatial dimensions as the input has, or a transposed one."""
    n = input.ndim - 2
    if transposed:
        found: Tensor = convolutions.FUNCTIONS[f"conv_transpose{n}d"](
            input, weight, bias, stride, padding, output_padding, groups, dilation)
        return found
    made: Tensor = convolutions.FUNCTIONS[f"conv{n}d"](
        input, weight, bias, stride, padding, dilation, groups)
    return made


def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """:func:`torch.nn.functional.softmax`."""
    return activations.softmax(input, dim, dtype=dtype)


def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """:func:`torch.nn.functional.log_softmax`."""
    return activations.log_softmax(input, dim, dtype=dtype)


#: the same in both places
_SAME: dict[str, Any] = {name: functions[name] for functions, names in (
    (activations.FUNCTIONS, "celu celu_ hardshrink prelu relu relu_ rrelu rrelu_ selu selu_"
                            " threshold threshold_"),
    (convolutions.FUNCTIONS, "bilinear conv1d conv2d conv3d conv_tbc conv_transpose1d"
                             " conv_transpose2d conv_transpose3d"),
    (distances.FUNCTIONS, "cosine_similarity pairwise_distance pdist"),
    (normalizing.FUNCTIONS, "rms_norm"),
    (pooling.FUNCTIONS, "adaptive_avg_pool1d avg_pool1d max_pool1d max_pool2d max_pool3d"
                        " max_pool1d_with_indices"),
    (resampling.FUNCTIONS, "channel_shuffle native_channel_shuffle pixel_shuffle"
                           " pixel_unshuffle"),
) for name in names.split()}

FUNCTIONS: dict[str, Any] = {
    **_SAME,
    **{f.__name__: f for n in ("dropout", "alpha_dropout", "feature_dropout",
                               "feature_alpha_dropout") for f in _dropping(n)},
    **{f.__name__: f for f in (
        batch_norm, native_batch_norm, native_layer_norm, layer_norm, group_norm, instance_norm,
        embedding, embedding_renorm_, binary_cross_entropy_with_logits, kl_div,
        hinge_embedding_loss, cosine_embedding_loss, margin_ranking_loss, triplet_margin_loss,
        poisson_nll_loss, ctc_loss, grid_sampler_2d, grid_sampler_3d, affine_grid_generator,
        constant_pad_nd, adaptive_max_pool1d, convolution, softmax, log_softmax,
        resampling.grid_sampler)},
}
for _name in ("softmax", "log_softmax"):
    FUNCTIONS[_name] = taking_out(taking(_name, FUNCTIONS[_name]))
declare({
    "function as-is": {**FUNCTIONS, "relu": mixing(FUNCTIONS["relu"])}.items(),
    "method as-is": [(name, FUNCTIONS[name]) for name in ("hardshrink", "prelu")],
})

