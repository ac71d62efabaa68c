"""``torch.distributed.optim``: optimizers whose state is divided among processes."""

from __future__ import annotations

from ... import _absent
from ..._absent_names import ALONE
from .post_localSGD_optimizer import PostLocalSGDOptimizer
from .zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]

__getattr__ = _absent.missing(__name__, reason=ALONE)
