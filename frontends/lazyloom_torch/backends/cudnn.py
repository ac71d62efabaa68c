"""Settings of cuDNN, which is not used: they are kept and change nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """False: tensors live on the CPU."""
    return False


def version() -> None:
    """None: it is not there."""


@contextlib.contextmanager
def flags(**settings: Any) -> Iterator[None]:
    """Settings for a block. Raises TypeError for one that is not known."""
    known = globals()
    for name in settings:
        if name not in _SETTINGS:
            raise TypeError(f"flags() got an unexpected keyword argument {name!r}")
    before = {name: known[name] for name in settings}
    known.update(settings)
    try:
        yield
    finally:
        known.update(before)


_SETTINGS = frozenset({"enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32"})
