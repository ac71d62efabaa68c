"""``torch.nn.parallel``: modules over several processes, each with one device."""

from __future__ import annotations

from ... import _absent
from .data_parallel import DataParallel, data_parallel
from .distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]

__getattr__ = _absent.missing(__name__)
