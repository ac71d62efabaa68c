"""``torch.distributed.device_mesh``: meshes of processes."""

from __future__ import annotations

from .._dtensor.mesh import DeviceMesh, init_device_mesh

__all__ = ["DeviceMesh", "init_device_mesh"]
