"""``torch._C._nn``: what libraries call of it by this name."""

from __future__ import annotations

from typing import Any

from .. import _dtypes
from .._tensor import Tensor


def _parse_to(*args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False,
              copy: bool = False, memory_format: Any = None) -> tuple[Any, Any, bool, Any]:
    """Device, dtype, ``non_blocking`` and memory format of the arguments of ``Tensor.to``."""
    for a in args:
        if isinstance(a, Tensor):
            dtype, device = a.dtype, a.device
        elif isinstance(a, _dtypes.dtype):
            dtype = a
        elif isinstance(a, bool):
            non_blocking = a
        elif isinstance(a, (str, int, _dtypes.device)):
            device = _dtypes.device(a)
        elif a is not None:
            raise TypeError(f"to() takes a dtype, a device or a tensor, not {type(a).__name__}")
    if isinstance(device, (str, int)):
        device = _dtypes.device(device)
    return device, dtype, non_blocking, memory_format


__all__ = ["_parse_to"]
