"""Accelerators: there is none, and programs that ask are told so."""

from __future__ import annotations


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
