"""``torch.utils.hooks``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .. import _absent
from .._hooks import RemovableHandle


def unserializable_hook(f: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a hook that :func:`warn_if_has_hooks` does not warn of."""
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f


def warn_if_has_hooks(tensor: Any) -> None:
    """Warn of the hooks of a tensor, which are not stored with it, but of those that are marked."""
    for hook in (getattr(tensor, "_backward_hooks", None) or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(f"backward hook {hook!r} on tensor will not be serialized. If this is "
                          "expected, you can decorate the function with "
                          "@torch.utils.hooks.unserializable_hook to suppress this warning",
                          stacklevel=2)


__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]

__getattr__ = _absent.missing(__name__)
