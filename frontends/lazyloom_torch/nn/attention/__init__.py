"""Which kernel attention is to use. There is one here, so a choice is checked and changes
nothing."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ... import _absent


class SDPBackend(enum.IntEnum):
    """PyTorch's kernels of scaled dot product attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[None]:
    """Ask for one kernel or several. AssertionError for what is no :class:`SDPBackend`."""
    given = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(given, list) or not all(isinstance(b, SDPBackend) for b in given):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances")
    yield


__all__ = ["SDPBackend", "sdpa_kernel"]

__getattr__ = _absent.missing(__name__)
