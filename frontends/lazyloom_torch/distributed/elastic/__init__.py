"""``torch.distributed.elastic``: what programs import from it."""

from __future__ import annotations

from ... import _absent

__getattr__ = _absent.missing(__name__)
