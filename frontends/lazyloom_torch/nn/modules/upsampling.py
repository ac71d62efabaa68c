"""Resizing."""

from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from .. import functional as F  # noqa: N812
from ._declared import Declared


class Upsample(Declared, declared=True):
    """Resizes spatial dimensions; see ``functional.interpolate``."""

    size: Any = None
    scale_factor: Any = None
    mode: str = "nearest"
    align_corners: bool | None = None
    recompute_scale_factor: bool | None = None

    def _take(self, arguments: dict[str, Any]) -> None:
        factor = arguments["scale_factor"]
        several = isinstance(factor, tuple)
        arguments["scale_factor"] = tuple(map(float, factor)) if several else (
            float(factor) if factor else None)
        super()._take({"name": type(self).__name__, **arguments})

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(input, **{n: getattr(self, n) for n in self._arguments})

    def extra_repr(self) -> str:
        given = "size" if self.scale_factor is None else "scale_factor"
        return f"{given}={getattr(self, given)!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Resizes images by the nearest pixel."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Resizes images linearly, the corners' pixels kept."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]
