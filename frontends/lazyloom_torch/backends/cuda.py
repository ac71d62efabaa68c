"""Settings of CUDA, which is not used: they are kept and change nothing."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

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
