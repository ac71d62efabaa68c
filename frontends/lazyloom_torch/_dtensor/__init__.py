"""Tensors whose parts lie in several processes: placements, meshes, DTensor and its functions."""

from __future__ import annotations

from . import attaching  # noqa: F401  (it fills DTensor)
