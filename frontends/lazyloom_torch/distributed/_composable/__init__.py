"""``torch.distributed._composable``: where older programs import ``fully_shard`` from."""

from __future__ import annotations

from .fsdp import fully_shard

__all__ = ["fully_shard"]
