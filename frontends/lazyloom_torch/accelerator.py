"""The current accelerator: there is none, and programs that ask are told so."""

from __future__ import annotations

from . import _absent


def is_available() -> bool:
    """False: tensors live on the CPU."""
    return False


def device_count() -> int:
    """0."""
    return 0


def current_accelerator(check_available: bool = False) -> None:
    """None: tensors live on the CPU."""

__getattr__ = _absent.missing(__name__)
