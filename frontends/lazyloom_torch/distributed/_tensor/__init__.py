"""``torch.distributed._tensor``: the older name of ``torch.distributed.tensor``."""

from __future__ import annotations

from ... import _absent
from ..._absent_names import ALONE
from ..tensor import (
    DeviceMesh,
    DTensor,
    Partial,
    Placement,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
    empty,
    full,
    init_device_mesh,
    ones,
    rand,
    randn,
    zeros,
)

__all__ = [
    "DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "distribute_module",
    "distribute_tensor", "empty", "full", "init_device_mesh", "ones", "rand", "randn", "zeros",
]  # fmt: skip

_LAZY_MODULES = frozenset(("api", "device_mesh", "placement_types"))
__getattr__ = _absent.missing(__name__, reason=ALONE)
