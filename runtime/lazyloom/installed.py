"""Entry points of installed packages, read once: reading them takes 10 ms."""

from __future__ import annotations

import functools
from typing import Any

from .interrupts import Deferred


@functools.lru_cache(maxsize=1)
def _all() -> Any:
    # slow to import; a signal handler that computes arrays would find it half imported
    with Deferred(True):
        from importlib.metadata import entry_points

        return entry_points()


def entry_points(group: str) -> list[Any]:
    """The entry points of a group, as :mod:`importlib.metadata` describes them."""
    return list(_all().select(group=group))
