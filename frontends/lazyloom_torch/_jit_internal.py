"""``torch._jit_internal``: marks for TorchScript that libraries put on functions."""

from __future__ import annotations

from typing import Any

from . import _absent
from .jit import export, ignore, is_scripting, unused


def _copy_to_script_wrapper(fn: Any) -> Any:
    """The function itself: there are no wrappers of scripted modules."""
    return fn


def _overload(func: Any) -> Any:
    """The function itself: nothing is chosen by types."""
    return func


_overload_method = _overload

__all__ = ["export", "ignore", "is_scripting", "unused"]

__getattr__ = _absent.missing(__name__)
