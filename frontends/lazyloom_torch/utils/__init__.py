"""``torch.utils``."""

from __future__ import annotations

from .. import _absent
from . import checkpoint, data, dlpack, hooks

__all__ = ["checkpoint", "data", "dlpack", "hooks"]

#: loaded when they are first used, or imported by name
_LAZY_MODULES = ("_pytree", "model_zoo")

__getattr__ = _absent.missing(__name__)
