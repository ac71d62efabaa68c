"""The package opt_einsum, which PyTorch asks for orders of contraction."""

from __future__ import annotations

from typing import Any

#: switches of PyTorch's, kept and not looked at
enabled, strategy = False, None


def is_available() -> bool:
    """False: it is not asked."""
    return False


def get_opt_einsum() -> Any:
    """None."""
    return None
