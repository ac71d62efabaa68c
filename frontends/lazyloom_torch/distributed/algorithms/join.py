"""``torch.distributed.algorithms.join``: different numbers of batches in different processes."""

from __future__ import annotations

from ... import _absent
from ..._absent_names import ALONE
from ..._processes.joining import Join, Joinable, JoinHook
from ..._processes.joining import _JoinConfig as _JoinConfig

__all__ = ["Join", "JoinHook", "Joinable"]

__getattr__ = _absent.missing(__name__, reason=ALONE)
