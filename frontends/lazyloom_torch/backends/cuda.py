"""Settings of CUDA, which is not used: they are kept and change nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

from .. import _absent

matmul = SimpleNamespace(
    allow_tf32=False, allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True)

_kernels = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def is_built() -> bool:
    """False: tensors live on the CPU."""
    return False


def _kernel(name: str) -> tuple[Callable[[bool], None], Callable[[], bool]]:
    def enable(enabled: bool) -> None:
        _kernels[name] = bool(enabled)

    def asked() -> bool:
        return _kernels[name]

    enable.__doc__ = "Kept only: attention has one implementation here."
    asked.__doc__ = "What was set; at first true."
    return enable, asked


enable_flash_sdp, flash_sdp_enabled = _kernel("flash")
enable_mem_efficient_sdp, mem_efficient_sdp_enabled = _kernel("mem_efficient")
enable_math_sdp, math_sdp_enabled = _kernel("math")
enable_cudnn_sdp, cudnn_sdp_enabled = _kernel("cudnn")


class sdp_kernel(nullcontext[None]):  # noqa: N801
    """Nothing: attention has one implementation here."""

    def __init__(self, enable_flash: bool = True, enable_math: bool = True,
                 enable_mem_efficient: bool = True, enable_cudnn: bool = True) -> None:
        super().__init__()


def can_use_flash_attention(params: Any, debug: bool = False) -> bool:
    """False: attention has one implementation here."""
    return False


can_use_efficient_attention = can_use_cudnn_attention = can_use_flash_attention

__getattr__ = _absent.missing(__name__)
