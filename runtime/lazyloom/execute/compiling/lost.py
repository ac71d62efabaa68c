"""The error of a lost compiler process."""

from __future__ import annotations


class CompilerLost(Exception):
    """The process has ended, or was given up, while it compiled."""
