"""``torch.distributed._composable.fsdp``: where older programs import ``fully_shard`` from."""

from __future__ import annotations

from ...fsdp._fully_shard import *  # noqa: F403
from ...fsdp._fully_shard import __all__ as __all__
