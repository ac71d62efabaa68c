"""The version of PyTorch whose names and behaviour are followed, and what it was built with."""

from __future__ import annotations

__version__ = "2.13.0"
debug = False
cuda = None
hip = rocm = xpu = None
git_version = "unknown"
