"""``torch.distributed.algorithms``: communication hooks."""

from __future__ import annotations

from ... import _absent
from ..._absent_names import ALONE
from . import ddp_comm_hooks as ddp_comm_hooks
from . import join as join

__getattr__ = _absent.missing(__name__, reason=ALONE)
