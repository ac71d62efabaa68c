"""``torch.nn.functional``."""

from __future__ import annotations

from typing import Any

from .. import _absent, _autocast
from .._filling import fill as _fill
from .._foreign import mixing, mixing_fast, takes_several
from .._functions import (
    activations,
    attention,
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

#: functions of one tensor whose wrapper is to cost no more than it must
_CALLED_MOST = frozenset((
    "avg_pool2d", "adaptive_avg_pool2d", "dropout", "elu", "gelu", "glu", "leaky_relu",
    "log_softmax", "max_pool2d", "normalize", "one_hot", "pad", "relu", "sigmoid", "silu",
    "softmax", "softplus", "tanh"))
_FUNCTIONS: dict[str, Any] = {}
for _module in (activations, attention, convolutions, distances, dropping, embeddings, losses,
                margins, normalizing, padding, pooling, resampling):
    _FUNCTIONS.update(_module.FUNCTIONS)
_autocast.apply(_FUNCTIONS, _autocast.GENERAL)
_FUNCTIONS.update({
    name: mixing_fast(function) if takes_several(function) or name in _CALLED_MOST
    else mixing(function) for name, function in _FUNCTIONS.items()})
_fill(__name__, _FUNCTIONS)

__all__ = sorted(_FUNCTIONS)  # noqa: PLE0605

__getattr__ = _absent.missing(__name__)
