"""Settings of the libraries that PyTorch computes with. None is used here: assignments are kept."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from . import cuda, cudnn, mps


def _part(**settings: Any) -> SimpleNamespace:
    return SimpleNamespace(is_available=lambda: False, **settings)


mkl, mkldnn, openmp = _part(), _part(enabled=False), _part()
opt_einsum = _part(enabled=True, strategy="auto")
cpu = SimpleNamespace(get_cpu_capability=lambda: "DEFAULT")
fp32_precision = "none"
quantized = SimpleNamespace(engine="none", supported_engines=["none"])

__all__ = ["cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum", "quantized"]
