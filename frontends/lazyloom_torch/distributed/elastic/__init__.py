"""``torch.distributed.elastic``: what programs import from it."""

from __future__ import annotations

from ... import _absent
from ..._absent_names import ALONE

__getattr__ = _absent.missing(__name__, reason=ALONE)
