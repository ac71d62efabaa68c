"""The modules of ``torch.nn``, one file for each kind."""

from __future__ import annotations

from . import (
    activation,
    adaptive,
    batchnorm,
    channelshuffle,
    container,
    conv,
    distance,
    dropout,
    flatten,
    fold,
    instancenorm,
    linear,
    linear_cross_entropy,
    linear_cross_entropy_options,
    loss,
    normalization,
    padding,
    pixelshuffle,
    pooling,
    rnn,
    sparse,
    transformer,
    upsampling,
)
from .module import Module

__all__ = ["Module"]
for _file in (
    activation, adaptive, batchnorm, channelshuffle, container, conv, distance, dropout, flatten,
    fold, instancenorm, linear, linear_cross_entropy, linear_cross_entropy_options, loss,
    normalization, padding, pixelshuffle, pooling, rnn, sparse, transformer, upsampling,
):
    for _name in _file.__all__:
        globals()[_name] = getattr(_file, _name)
        __all__.append(_name)  # noqa: PYI056
