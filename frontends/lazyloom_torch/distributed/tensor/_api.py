"""``torch.distributed.tensor._api``: where PyTorch defines DTensor."""

from __future__ import annotations

from ..._dtensor.functions import (
    distribute_module,
    distribute_tensor,
    empty,
    full,
    ones,
    rand,
    randn,
    zeros,
)
from ..._dtensor.tensors import DTensor

__all__ = ["DTensor", "distribute_module", "distribute_tensor", "empty", "full", "ones", "rand",
           "randn", "zeros"]
