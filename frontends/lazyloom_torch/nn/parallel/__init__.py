"""``torch.nn.parallel``: there is one device, so a module runs on it as it is."""

from __future__ import annotations

from ... import _absent
from .data_parallel import DataParallel, data_parallel

__all__ = ["DataParallel", "data_parallel"]

__getattr__ = _absent.missing(__name__)
