"""OpenMP, which nothing here uses."""

from __future__ import annotations


def is_available() -> bool:
    """False: XLA has threads of its own."""
    return False
