"""Convolution, pooling, padding and resizing over spatial dimensions."""

from __future__ import annotations

from typing import Any

from . import convolutions, padding, pooling, resampling
from .padding import pad as pad
from .resampling import interpolate as interpolate
from .resampling import pixel_shuffle as pixel_shuffle
from .spatial import ntuple as ntuple

FUNCTIONS: dict[str, Any] = {
    **convolutions.FUNCTIONS, **pooling.FUNCTIONS, **padding.FUNCTIONS, **resampling.FUNCTIONS}
