"""``torch.distributed.algorithms``: communication hooks, uneven inputs, averages of models."""

from __future__ import annotations

from ... import _absent
from ..._absent_names import ALONE
from . import ddp_comm_hooks as ddp_comm_hooks
from . import join as join
from . import model_averaging as model_averaging

__getattr__ = _absent.missing(__name__, reason=ALONE)
