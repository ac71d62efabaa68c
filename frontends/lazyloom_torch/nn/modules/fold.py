"""Windows as columns, and back."""

from __future__ import annotations

from typing import Any

from ._declared import Declared


class Fold(Declared, function="fold"):
    """Columns of windows added up to images: (N, C * window, places) to (N, C, H, W)."""

    output_size: Any
    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1
    shown = ("output_size", "kernel_size", "dilation", "padding", "stride")


class Unfold(Declared, function="unfold"):
    """Columns of all windows: (N, C, H, W) to (N, C * window, places)."""

    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1
    shown = ("kernel_size", "dilation", "padding", "stride")


__all__ = ["Fold", "Unfold"]
