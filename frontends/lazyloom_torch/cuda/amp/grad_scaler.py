"""Scaling of gradients, by the name of its module."""

from __future__ import annotations

from . import GradScaler

__all__ = ["GradScaler"]
