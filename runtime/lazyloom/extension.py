"""Access to the runtime's own C extension, if it was built."""

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


def exports_buffers(cls: type) -> None:
    """Let a class export buffers by ``__buffer__``, as Python's classes do from 3.12 on.

    Before that, only where the functions in C were compiled. Classes that are derived from it
    later do, too.
    """
    function = getattr(NATIVE, "exports_buffers", None)
    if function is not None:
        function(cls)


def in_c(name: str, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """Its function of that name, or what does the same in Python where there is none."""
    found: Callable[..., Any] = getattr(NATIVE, name, otherwise)
    return found
