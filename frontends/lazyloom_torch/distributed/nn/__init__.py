"""``torch.distributed.nn``: collectives with gradients."""

from __future__ import annotations

from ... import _absent
from ..._absent_names import ALONE
from . import functional as functional
from .functional import (
    all_gather,
    all_reduce,
    all_to_all,
    all_to_all_single,
    broadcast,
    gather,
    reduce,
    reduce_scatter,
    scatter,
)

__all__ = ["all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather",
           "reduce", "reduce_scatter", "scatter"]

__getattr__ = _absent.missing(__name__, reason=ALONE)
