"""Accelerators: there is none, and programs that ask are told so."""

from __future__ import annotations

from typing import Any


def is_available() -> bool:
    """False: tensors live on the CPU."""
    return False


def device_count() -> int:
    """0."""
    return 0


def manual_seed(seed: int) -> None:
    """Nothing: no device has a generator."""


def manual_seed_all(seed: int) -> None:
    """Nothing: no device has a generator."""


def is_initialized() -> bool:
    """False: there is nothing to initialise."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False: that asks for a device."""
    return False


def empty_cache() -> None:
    """Nothing: no device holds memory."""


def memory_allocated(device: Any = None) -> int:
    """0."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """0."""
    return 0
