"""Channels as pixels, and back."""

from __future__ import annotations

from ..._tensor import Tensor
from .. import functional as F  # noqa: N812
from ._declared import Declared


class PixelShuffle(Declared):
    """(..., C * r * r, H, W) as (..., C, H * r, W * r)."""

    upscale_factor: int
    shown = ("upscale_factor",)

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Declared):
    """(..., C, H * r, W * r) as (..., C * r * r, H, W)."""

    downscale_factor: int
    shown = ("downscale_factor",)

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)


__all__ = ["PixelShuffle", "PixelUnshuffle"]
