"""``torch.jit.annotations``: names for annotations of arguments that take a number or a list."""

from __future__ import annotations

from .. import _absent


class _BroadcastingList:
    """``BroadcastingList2[int]``: an int, or a list of two."""

    def __getitem__(self, item: type) -> object:
        return item | list[item]  # type: ignore[valid-type]


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingList4 = _BroadcastingList()
BroadcastingList5 = BroadcastingList6 = _BroadcastingList()

__getattr__ = _absent.missing(__name__)
