"""What the processor has."""

from __future__ import annotations


def get_cpu_capability() -> str:
    """``"DEFAULT"``: XLA finds out by itself what instructions there are."""
    return "DEFAULT"
