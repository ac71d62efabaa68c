"""``torch.distributed.algorithms.ddp_comm_hooks``."""

from __future__ import annotations

from .... import _absent
from ...._absent_names import ALONE
from . import default_hooks as default_hooks

__getattr__ = _absent.missing(__name__, reason=ALONE)
