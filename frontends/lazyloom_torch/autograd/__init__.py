"""Gradients: ``backward``, ``grad``, hooks, and functions of derivatives."""

from __future__ import annotations

from lazyloom.errors import GradientError

from .. import _absent
from .._grad_mode import (
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from . import anomaly_mode, forward_ad, function, functional, grad_mode, graph
from ._hooks import (
    register_hook,
    register_post_accumulate_grad_hook,
    retain_grad,
    retains_grad,
)
from ._hooks import watches as _watches
from ._passes import backward, grad, tensor_backward
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .function import Function
from .gradcheck import GradcheckError, gradcheck, gradgradcheck
from .variable import Variable

__all__ = [
    "Function", "GradcheckError", "GradientError", "Variable", "_watches", "anomaly_mode",
    "backward", "detect_anomaly", "enable_grad", "forward_ad", "function", "functional", "grad",
    "grad_mode", "gradcheck", "gradgradcheck", "graph", "inference_mode", "no_grad",
    "register_hook", "register_post_accumulate_grad_hook", "retain_grad", "retains_grad",
    "set_detect_anomaly", "set_grad_enabled", "set_multithreading_enabled", "tensor_backward",
]  # fmt: skip


def _profiler_enabled() -> bool:
    """False: programs are profiled by their evaluations."""
    return False


#: loaded when they are first used, or imported by name
_LAZY_MODULES = ("profiler",)

__getattr__ = _absent.missing(__name__)
