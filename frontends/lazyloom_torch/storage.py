"""``torch.storage``: what tensors and their views share."""

from __future__ import annotations

from . import _absent
from ._functions.storages import UntypedStorage
from ._functions.typed_storages import TypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]

__getattr__ = _absent.missing(__name__)
