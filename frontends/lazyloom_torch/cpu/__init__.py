"""The CPU as an accelerator: one device, which nothing has to wait for."""

from __future__ import annotations

from typing import Any

import lazyloom

from .. import _absent
from . import amp

__all__ = ["amp", "current_device", "device_count", "is_available", "synchronize"]


def is_available() -> bool:
    """True."""
    return True


def device_count() -> int:
    """1."""
    return 1


def current_device() -> str:
    """``"cpu"``."""
    return "cpu"


def synchronize(device: Any = None) -> None:
    """Run what is recorded and wait for it."""
    lazyloom.sync(wait=True)

__getattr__ = _absent.missing(__name__)
