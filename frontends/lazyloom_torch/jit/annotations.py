"""``torch.jit.annotations``: names for annotations of arguments that take a number or a list."""

from __future__ import annotations

from typing import Any as Any
from typing import Dict as Dict  # noqa: UP035
from typing import List as List  # noqa: UP035
from typing import Optional as Optional
from typing import Tuple as Tuple  # noqa: UP035
from typing import Union as Union

from .. import _absent


class _BroadcastingList:
    """``BroadcastingList2[int]``: an int, or a list of two."""

    def __getitem__(self, item: type) -> object:
        return item | list[item]  # type: ignore[valid-type]


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingList4 = _BroadcastingList()
BroadcastingList5 = BroadcastingList6 = _BroadcastingList()

__getattr__ = _absent.missing(__name__)
