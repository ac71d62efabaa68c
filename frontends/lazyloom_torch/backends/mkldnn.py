"""oneDNN as PyTorch has it. lazyloom's code generator of that name is in lazyloom.codegen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2
#: switches of PyTorch's, kept and not looked at
enabled, deterministic, allow_tf32 = True, False, True


def is_available() -> bool:
    """False: PyTorch's own bindings are not here."""
    return False


def is_acl_available() -> bool:
    """False."""
    return False


class verbose(nullcontext[None]):  # noqa: N801  (PyTorch's name)
    """Nothing: there is nothing that would tell of its calls."""

    def __init__(self, level: int) -> None:
        super().__init__()


def set_flags(_enabled: Any = None, _deterministic: Any = None, _allow_tf32: Any = None,
              _fp32_precision: Any = "none") -> tuple[Any, ...]:  # fmt: skip
    """Set the switches that are given; what they were."""
    global enabled, deterministic, allow_tf32
    before = enabled, deterministic, allow_tf32
    enabled = enabled if _enabled is None else _enabled
    deterministic = deterministic if _deterministic is None else _deterministic
    allow_tf32 = allow_tf32 if _allow_tf32 is None else _allow_tf32
    return before


@contextmanager
def flags(enabled: Any = False, deterministic: Any = False, allow_tf32: Any = True,
          fp32_precision: Any = "none") -> Iterator[None]:  # fmt: skip
    """The switches, for a ``with`` block."""
    before = set_flags(enabled, deterministic, allow_tf32)
    try:
        yield
    finally:
        set_flags(*before)
