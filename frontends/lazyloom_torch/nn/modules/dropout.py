"""Dropout."""

from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from .. import functional
from ._declared import Declared


class _DropoutNd(Declared, declared=True):
    """What is dropped in training, with which probability. Raises ValueError for no probability."""

    p: float = 0.5
    inplace: bool = False
    shown = ("p", "inplace")

    def _take(self, arguments: dict[str, Any]) -> None:
        if not 0 <= arguments["p"] <= 1:
            raise ValueError(
                f"dropout probability has to be between 0 and 1, but got {arguments['p']}")
        super()._take(arguments)


_ALL = ("p", "training", "inplace")
# as in PyTorch, these two take inplace and do not use it
_NEW = ("p", "training")


class Dropout(_DropoutNd):
    """Zeroes elements with probability p in training, and scales the others up."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd, function="dropout1d", passes=_ALL):
    """Dropout of whole channels of (N, C, L) or (C, L)."""


class Dropout2d(_DropoutNd, function="dropout2d", passes=_ALL):
    """Dropout of whole channels of (N, C, H, W)."""


class Dropout3d(_DropoutNd, function="dropout3d", passes=_ALL):
    """Dropout of whole channels of (N, C, D, H, W) or (C, D, H, W)."""


class AlphaDropout(_DropoutNd, function="alpha_dropout", passes=_NEW):
    """Dropout that keeps the mean and variance of SELU's outputs."""


class FeatureAlphaDropout(_DropoutNd, function="feature_alpha_dropout", passes=_NEW):
    """Alpha dropout of whole channels."""


__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d",
           "FeatureAlphaDropout"]
