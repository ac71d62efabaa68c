"""Autocasting, by the name of its module."""

from __future__ import annotations

from . import autocast, custom_bwd, custom_fwd

__all__ = ["autocast", "custom_bwd", "custom_fwd"]
