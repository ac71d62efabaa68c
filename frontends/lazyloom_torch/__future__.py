"""``torch.__future__``: what conversions of modules do to parameters."""

from __future__ import annotations

#: kept and not looked at: a conversion writes a parameter's data, and never makes another one
_overwrite, _swap = False, False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Kept only."""
    global _overwrite
    _overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """What was set."""
    return _overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Kept only."""
    global _swap
    _swap = value


def get_swap_module_params_on_conversion() -> bool:
    """What was set."""
    return _swap
