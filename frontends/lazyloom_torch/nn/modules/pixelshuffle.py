"""Channels as pixels, and back."""

from __future__ import annotations

from ._declared import Declared


class PixelShuffle(Declared, function="pixel_shuffle"):
    """(..., C * r * r, H, W) as (..., C, H * r, W * r)."""

    upscale_factor: int
    shown = ("upscale_factor",)


class PixelUnshuffle(Declared, function="pixel_unshuffle"):
    """(..., C, H * r, W * r) as (..., C * r * r, H, W)."""

    downscale_factor: int
    shown = ("downscale_factor",)


__all__ = ["PixelShuffle", "PixelUnshuffle"]
