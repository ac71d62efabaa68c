"""What modules of accelerators answer: there is no such device, and nothing to do for it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any


def _constant(value: Any, doc: str) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        return value

    function.__doc__ = doc
    return function


def _empty(kind: Callable[[], Any]) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        return kind()

    function.__doc__ = "Empty: there is no device."
    return function


def _refusing(kind: str, name: str) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError(
            f"torch.{kind}.{name}() asks for a device, but tensors live on the CPU; call it only "
            f"where torch.{kind}.is_available()")

    function.__doc__ = "Raises AssertionError: there is no device."
    return function


_FALSE = ("is_available", "is_initialized", "is_bf16_supported", "is_tf32_supported",
          "is_current_stream_capturing")
_ZERO = ("device_count", "memory_allocated", "max_memory_allocated", "memory_reserved",
         "max_memory_reserved", "memory_cached", "max_memory_cached")
_NOTHING = ("manual_seed", "manual_seed_all", "seed", "seed_all", "empty_cache",
            "set_rng_state_all", "reset_peak_memory_stats", "reset_max_memory_allocated",
            "reset_max_memory_cached", "reset_accumulated_memory_stats", "ipc_collect",
            "set_sync_debug_mode")
_REFUSED = ("current_device", "synchronize", "get_device_name", "get_device_capability",
            "get_device_properties", "set_device", "mem_get_info", "get_rng_state",
            "set_rng_state", "init", "initial_seed", "utilization", "memory_usage",
            "set_per_process_memory_fraction", "set_device_index", "current_device_index",
            "set_device_idx", "current_device_idx", "current_allocated_memory",
            "driver_allocated_memory", "recommended_max_memory")


def functions(kind: str) -> dict[str, Any]:
    """The functions of ``torch.cuda``, or of another kind of device that is not there."""

    class device(nullcontext[None]):  # noqa: N801
        """Makes a device current: there is none, and nothing changes."""

        def __init__(self, device: Any) -> None:
            super().__init__()

    found: dict[str, Any] = {"device": device}
    for name in _FALSE:
        found[name] = _constant(False, "False: tensors live on the CPU.")
    for name in _ZERO:
        found[name] = _constant(0, "0: tensors live on the CPU.")
    for name in _NOTHING:
        found[name] = _constant(None, "Nothing: there is no device.")
    for name in _REFUSED:
        found[name] = _refusing(kind, name)

    for name, made in (("get_rng_state_all", list), ("memory_stats", dict),
                       ("memory_snapshot", list), ("get_arch_list", list)):
        found[name] = _empty(made)
    for name, function in found.items():
        function.__name__ = function.__qualname__ = name
        function.__module__ = f"{__package__}.{kind}"
        function.__module__ = f"{__package__}.{kind}"
    return found
