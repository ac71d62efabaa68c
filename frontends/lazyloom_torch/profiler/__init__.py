"""``torch.profiler``: labels do nothing, and profiles are the runtime's records."""

from __future__ import annotations

from .. import _absent
from ..autograd.profiler import record_function


def kineto_available() -> bool:
    """False."""
    return False


__all__ = ["kineto_available", "record_function"]

__getattr__ = _absent.missing(__name__)
