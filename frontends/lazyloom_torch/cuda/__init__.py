"""Accelerators: there is none, and programs that ask are told so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def is_available() -> bool:
    """False: tensors live on the CPU."""
    return False


def device_count() -> int:
    """0."""
    return 0


def manual_seed(seed: int) -> None:
    """Nothing: no device has a generator."""


def manual_seed_all(seed: int) -> None:
    """Nothing: no device has a generator."""


def is_initialized() -> bool:
    """False: there is nothing to initialise."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False: that asks for a device."""
    return False


def empty_cache() -> None:
    """Nothing: no device holds memory."""


def memory_allocated(device: Any = None) -> int:
    """0."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """0."""
    return 0


def get_rng_state_all() -> list[Any]:
    """No state: no device has a generator."""
    return []


def set_rng_state_all(new_states: Any) -> None:
    """Nothing: no device has a generator."""


def _absent(name: str) -> Callable[..., Any]:
    def function(device: Any = None) -> Any:
        raise AssertionError(
            f"torch.cuda.{name}() asks for a device, but tensors live on the CPU; call it only "
            "where torch.cuda.is_available()")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Raises AssertionError: there is no device."
    return function


current_device, synchronize, get_device_name, get_device_capability, get_device_properties = (
    _absent(n) for n in ("current_device", "synchronize", "get_device_name",
                         "get_device_capability", "get_device_properties"))
