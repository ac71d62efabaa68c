"""Windows as columns, and back."""

from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from .. import functional as F  # noqa: N812
from ._declared import Declared


class Fold(Declared):
    """Columns of windows added up to images: (N, C * window, places) to (N, C, H, W)."""

    output_size: Any
    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1
    shown = ("output_size", "kernel_size", "dilation", "padding", "stride")

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding,
                      self.stride)


class Unfold(Declared):
    """Columns of all windows: (N, C, H, W) to (N, C * window, places)."""

    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1
    shown = ("kernel_size", "dilation", "padding", "stride")

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


__all__ = ["Fold", "Unfold"]
