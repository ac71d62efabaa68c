"""Functions of ``torch.nn.functional`` that ``torch`` itself names, too.

Where PyTorch's function under ``torch`` takes the reduction of a loss as a number, so does ours.
"""

from __future__ import annotations

import functools
from typing import Any

from ..nn import functional

_SAME = (
    "adaptive_avg_pool1d", "adaptive_max_pool1d", "alpha_dropout", "avg_pool1d", "bilinear", "celu",
    "celu_", "channel_shuffle", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d", "cosine_similarity", "dropout", "embedding",
    "feature_alpha_dropout", "group_norm", "hardshrink", "instance_norm", "layer_norm",
    "log_softmax", "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool3d",
    "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle", "prelu", "rms_norm", "rrelu",
    "rrelu_", "selu", "selu_", "softmax", "threshold", "threshold_",
)  # fmt: skip
_LOSSES = (
    "binary_cross_entropy_with_logits", "cosine_embedding_loss", "ctc_loss",
    "hinge_embedding_loss", "kl_div", "margin_ranking_loss", "poisson_nll_loss",
    "triplet_margin_loss",
)
_REDUCTIONS = {0: "none", 1: "mean", 2: "sum"}


def _numbered(name: str) -> Any:
    function = getattr(functional, name)

    @functools.wraps(function)
    def call(*args: Any, reduction: Any = 1, **kwargs: Any) -> Any:
        if isinstance(reduction, int) and reduction not in _REDUCTIONS:
            raise ValueError(f"{name}() takes reduction 0 (none), 1 (mean) or 2 (sum), not "
                             f"{reduction}")
        return function(*args, reduction=_REDUCTIONS.get(reduction, reduction), **kwargs)

    return call


def batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
    momentum: float, eps: float, cudnn_enabled: bool = False,
) -> Any:
    """As :func:`torch.nn.functional.batch_norm`, in the order of arguments of ``torch``."""
    return functional.batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps)


FUNCTIONS: dict[str, Any] = {
    **{n: getattr(functional, n) for n in _SAME}, **{n: _numbered(n) for n in _LOSSES},
    "batch_norm": batch_norm,
}
