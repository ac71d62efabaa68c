"""``torch.utils``."""

from __future__ import annotations

from typing import Any

from .. import _absent
from . import checkpoint, data, dlpack, hooks

__all__ = ["checkpoint", "data", "dlpack", "hooks"]


def set_module(obj: Any, mod: str) -> None:
    """Set ``__module__``, which tells where something is found."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


#: loaded when they are first used, or imported by name
_LAZY_MODULES = ("_pytree", "model_zoo")

__getattr__ = _absent.missing(__name__)
