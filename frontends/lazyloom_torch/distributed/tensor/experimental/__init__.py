"""``torch.distributed.tensor.experimental``: functions of parts, and tensors beside DTensors."""

from __future__ import annotations

from .... import _absent
from ...._absent_names import ALONE
from ...._dtensor.local import implicit_replication, local_map

__all__ = ["implicit_replication", "local_map"]

__getattr__ = _absent.missing(__name__, reason=ALONE)
