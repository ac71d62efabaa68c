"""``torch.distributed.tensor.experimental``: functions of parts, and tensors beside DTensors."""

from __future__ import annotations

from .... import _absent
from ...._absent_names import ALONE
from ...._dtensor.context import context_parallel
from ...._dtensor.local import implicit_replication, local_map
from ...._dtensor.registering import register_sharding
from . import _attention as _attention

__all__ = ["context_parallel", "implicit_replication", "local_map", "register_sharding"]

__getattr__ = _absent.missing(__name__, reason=ALONE)
