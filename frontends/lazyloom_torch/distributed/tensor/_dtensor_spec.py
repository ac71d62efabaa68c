"""``torch.distributed.tensor._dtensor_spec``: what is known of a tensor on a mesh."""

from __future__ import annotations

from ..._dtensor.spec import DTensorSpec, TensorMeta

__all__ = ["DTensorSpec", "TensorMeta"]
