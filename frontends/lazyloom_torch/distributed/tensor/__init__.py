"""``torch.distributed.tensor``: tensors whose parts lie in several processes."""

from __future__ import annotations

from ... import _absent
from ..._absent_names import ALONE
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
from ..._dtensor.mesh import DeviceMesh as DeviceMesh
from ..._dtensor.mesh import init_device_mesh as init_device_mesh
from ..._dtensor.placements import Partial, Placement, Replicate, Shard
from ..._dtensor.placements import _StridedShard as _StridedShard
from ..._dtensor.spec import DTensorSpec as _DTensorSpec  # noqa: F401
from ..._dtensor.tensors import DTensor

__all__ = [
    "DTensor", "Partial", "Placement", "Replicate", "Shard", "distribute_module",
    "distribute_tensor", "empty", "full", "ones", "rand", "randn", "zeros",
]  # fmt: skip

_LAZY_MODULES = frozenset(
    ("_api", "_dtensor_spec", "_utils", "device_mesh", "experimental", "parallel",
     "placement_types"))
__getattr__ = _absent.missing(__name__, reason=ALONE)
