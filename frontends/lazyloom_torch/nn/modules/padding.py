"""Padding of spatial dimensions.

``padding`` is one number for all ends, or one for each: (left, right), then (top, bottom), then
(front, back). Negative numbers cut.
"""

from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from .. import functional as F  # noqa: N812
from .module import Module
from .utils import _ntuple, _pair, _quadruple


class _PadNd(Module):
    """Pads the last dimensions; subclasses say how, and how many ends there are."""

    mode = "constant"
    value: float | None = None
    _ends: Any

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = type(self)._ends(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _Ends1(_PadNd):
    _ends = staticmethod(_pair)


class _Ends2(_PadNd):
    _ends = staticmethod(_quadruple)


class _Ends3(_PadNd):
    _ends = staticmethod(_ntuple(6, "_sextuple"))


class _ConstantPadNd(_PadNd):
    value: float

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPadNd(_ConstantPadNd):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ReflectionPadNd(_PadNd):
    mode = "reflect"


class _ReplicationPadNd(_PadNd):
    mode = "replicate"


class _CircularPadNd(_PadNd):
    mode = "circular"


class ConstantPad1d(_ConstantPadNd, _Ends1):
    """Pads (N, C, L) with a number."""


class ConstantPad2d(_ConstantPadNd, _Ends2):
    """Pads (N, C, H, W) with a number."""


class ConstantPad3d(_ConstantPadNd, _Ends3):
    """Pads (N, C, D, H, W) with a number."""


class ZeroPad1d(_ZeroPadNd, _Ends1):
    """Pads (N, C, L) with zeros."""


class ZeroPad2d(_ZeroPadNd, _Ends2):
    """Pads (N, C, H, W) with zeros."""


class ZeroPad3d(_ZeroPadNd, _Ends3):
    """Pads (N, C, D, H, W) with zeros."""


class ReflectionPad1d(_ReflectionPadNd, _Ends1):
    """Pads (N, C, L) with what lies next to them, mirrored."""


class ReflectionPad2d(_ReflectionPadNd, _Ends2):
    """Pads (N, C, H, W) with what lies next to them, mirrored."""


class ReflectionPad3d(_ReflectionPadNd, _Ends3):
    """Pads (N, C, D, H, W) with what lies next to them, mirrored."""


class ReplicationPad1d(_ReplicationPadNd, _Ends1):
    """Pads (N, C, L) with copies of the edge."""


class ReplicationPad2d(_ReplicationPadNd, _Ends2):
    """Pads (N, C, H, W) with copies of the edge."""


class ReplicationPad3d(_ReplicationPadNd, _Ends3):
    """Pads (N, C, D, H, W) with copies of the edge."""


class CircularPad1d(_CircularPadNd, _Ends1):
    """Pads (N, C, L) with what lies at the other end."""


class CircularPad2d(_CircularPadNd, _Ends2):
    """Pads (N, C, H, W) with what lies at the other end."""


class CircularPad3d(_CircularPadNd, _Ends3):
    """Pads (N, C, D, H, W) with what lies at the other end."""


__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d",
    "ConstantPad3d", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d",
    "ReplicationPad2d", "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]
