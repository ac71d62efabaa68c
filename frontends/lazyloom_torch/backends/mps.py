"""Apple's graphics processors: not supported."""

from __future__ import annotations


def is_available() -> bool:
    """False: tensors live on the CPU."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """False: tensors live on the CPU."""
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """False: tensors live on the CPU."""
    return False


def is_built() -> bool:
    """False: tensors live on the CPU."""
    return False
