"""``torch.distributed.tensor.experimental._attention``: attention of divided sequences."""

from __future__ import annotations

from ...._dtensor.context import context_parallel, context_parallel_unshard, set_rotate_method
from ...._dtensor.context import options as _cp_options

__all__ = ["_cp_options", "context_parallel", "context_parallel_unshard", "set_rotate_method"]
