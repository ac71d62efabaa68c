"""``torch.distributed.elastic.multiprocessing``."""

from __future__ import annotations

from .... import _absent

__getattr__ = _absent.missing(__name__)
