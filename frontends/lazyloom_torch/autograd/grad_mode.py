"""The switches of gradient recording, by PyTorch's module name."""

from __future__ import annotations

from .._grad_mode import (
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)

__all__ = [
    "enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled",
]
