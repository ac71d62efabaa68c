"""``torch.distributed.tensor.placement_types``: how tensors lie along dimensions of a mesh."""

from __future__ import annotations

from ..._dtensor.placements import Partial, Placement, Replicate, Shard, _StridedShard

__all__ = ["Partial", "Placement", "Replicate", "Shard", "_StridedShard"]
