"""Functions of numbers that PyTorch's tracer would see as symbols, and what else libraries ask.

Sizes are Python's numbers here, so ``torch.sym_max`` is ``max``.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

from ._registry import declare


def sym_int(a: Any) -> int:
    """``int(a)``."""
    return int(a)


def sym_float(a: Any) -> float:
    """``float(a)``."""
    return float(a)


def sym_not(a: Any) -> bool:
    """``not a``."""
    return not a


def sym_max(a: Any, b: Any) -> Any:
    """The greater number, a float if one of them is."""
    found = builtins.max(a, b)
    return float(found) if isinstance(a, float) or isinstance(b, float) else found


def sym_min(a: Any, b: Any) -> Any:
    """The lesser number, a float if one of them is."""
    found = builtins.min(a, b)
    return float(found) if isinstance(a, float) or isinstance(b, float) else found


def sym_sum(args: Any) -> Any:
    """The sum."""
    return builtins.sum(args)


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """``t if b else f``."""
    return t if b else f


def sym_sqrt(a: Any) -> float:
    """The square root."""
    return math.sqrt(a)


def is_storage(obj: Any) -> bool:
    """False: memory is not addressable, so there are no storages of PyTorch's kind."""
    return False


def is_distributed(input: Any) -> bool:
    """False."""
    return False


def is_vulkan_available() -> bool:
    """False."""
    return False


def compiled_with_cxx11_abi() -> bool:
    """True: no library with the old one is loaded."""
    return True


class JITException(RuntimeError):  # noqa: N818
    """Never raised: nothing is scripted."""


class AcceleratorError(RuntimeError):
    """Never raised: there is no accelerator."""


class FatalError(RuntimeError):
    """Never raised."""


declare({"function as-is": [
    sym_int, sym_float, sym_not, sym_max, sym_min, sym_sum, sym_ite, sym_sqrt, is_storage,
    is_distributed, is_vulkan_available, compiled_with_cxx11_abi, JITException, AcceleratorError,
    FatalError, ("has_lapack", True), ("has_mkl", False), ("has_openmp", False),
    ("has_spectral", True)]})
