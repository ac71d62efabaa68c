"""``torch.distributed.tensor.parallel.loss``: where PyTorch defines loss_parallel."""

from __future__ import annotations

from ...._dtensor.losses import loss_parallel

__all__ = ["loss_parallel"]
