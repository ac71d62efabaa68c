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


#: ``lazyloom._native``; None if it was not compiled
NATIVE: Final[Any] = _loaded()


def exports_buffers(cls: type) -> None:
    """Let a class export buffers by ``__buffer__``, as Python classes do from 3.12 on.

    Before 3.12, this works only if the functions in C were compiled. Classes that are derived from
    it later export buffers, too.
    """
    function = getattr(NATIVE, "exports_buffers", None)
    if function is not None:
        function(cls)


def in_c(name: str, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """The extension's function of that name, or its equivalent in Python if there is none."""
    function: Callable[..., Any] = getattr(NATIVE, name, otherwise)
    return function
