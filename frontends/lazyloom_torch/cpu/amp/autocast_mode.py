"""Autocasting, by the name of its module."""

from __future__ import annotations

from . import autocast

__all__ = ["autocast"]
