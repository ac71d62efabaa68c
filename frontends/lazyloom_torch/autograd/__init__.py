"""Gradients: ``backward``, ``grad``, hooks, and functions of derivatives."""

from __future__ import annotations

from lazyloom.errors import GradientError

from .._grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from ._passes import (
    _watches as _watches,
)
from ._passes import (
    backward,
    functional,
    grad,
)
from ._passes import (
    register_hook as register_hook,
)
from ._passes import (
    register_post_accumulate_grad_hook as register_post_accumulate_grad_hook,
)
from ._passes import (
    retain_grad as retain_grad,
)
from ._passes import (
    retains_grad as retains_grad,
)
from ._passes import (
    tensor_backward as tensor_backward,
)

__all__ = ["GradientError", "backward", "enable_grad", "functional", "grad", "inference_mode",
           "no_grad", "set_grad_enabled"]
