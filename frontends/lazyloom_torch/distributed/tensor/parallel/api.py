"""``torch.distributed.tensor.parallel.api``: where PyTorch defines parallelize_module."""

from __future__ import annotations

from ...._dtensor.styles import parallelize_module

__all__ = ["parallelize_module"]
