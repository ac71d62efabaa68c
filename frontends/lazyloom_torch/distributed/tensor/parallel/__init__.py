"""``torch.distributed.tensor.parallel``: modules whose parts lie in several processes."""

from __future__ import annotations

from .... import _absent
from ...._absent_names import ALONE
from ...._dtensor.losses import loss_parallel
from ...._dtensor.styles import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    PrepareModuleInputOutput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

__all__ = [
    "ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput",
    "PrepareModuleOutput", "RowwiseParallel", "SequenceParallel", "loss_parallel",
    "parallelize_module",
]  # fmt: skip

_LAZY_MODULES = frozenset(("api", "loss", "style"))
__getattr__ = _absent.missing(__name__, reason=ALONE)
