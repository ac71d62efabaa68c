"""The functions in C of the runtime itself, where they were compiled with the core."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Final


def _loaded() -> Any:
    try:
        return importlib.import_module("lazyloom._native")
    except ImportError:
        return None


#: ``lazyloom._native``; None where it was not compiled
NATIVE: Final[Any] = _loaded()


def in_c(name: str, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """Its function of that name, or what does the same in Python where there is none."""
    found: Callable[..., Any] = getattr(NATIVE, name, otherwise)
    return found
