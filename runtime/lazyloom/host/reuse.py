"""Reuse of operands' memory for a host kernel's results.

A step of an optimizer makes as much as it takes: parameters and their state, which nobody else has
and which end with the step. Results in their memory need none of their own.
"""

from __future__ import annotations

import sys
import threading
from typing import Any, Final

import numpy as np

from .. import memory_limits

#: bytes of an array from which it matters
REUSE_FROM_BYTES: Final = 1 << 18


class _Spare(threading.local):
    def __init__(self) -> None:
        #: what the kernel that runs on this thread may write over
        self.arrays: list[Any] = []


_spare: Final = _Spare()


def _references(holder: list[Any], k: int) -> int:
    return sys.getrefcount(holder[k])


#: of an object that nothing but a list holds
_ONE: Final = _references([object()], 0)


def exclusive(holder: list[Any], k: int, others: int) -> bool:
    """Whether nothing but a list, and so many others, hold an array, and all of its memory."""
    return _whole(holder[k]) and _references(holder, k) == _ONE + others


def _whole(array: Any) -> bool:
    if not isinstance(array, np.ndarray) or array.nbytes < REUSE_FROM_BYTES:
        return False
    flags = array.flags
    return flags.owndata and flags.writeable and flags.c_contiguous


def may_write() -> bool:
    """Whether a kernel that has begun to write will not run out of memory, as far as is known."""
    return not memory_limits.look()


def call(kernel: Any, arguments: list[Any], arrays: list[Any]) -> Any:
    """Call a kernel that may write over some of its arguments.

    If it is interrupted, neither those arguments nor its results are usable.
    """
    before = _spare.arrays
    _spare.arrays = arrays
    try:
        return kernel(*arguments)
    finally:
        _spare.arrays = before


def taken(array: Any) -> bool:
    """Whether the array may be written over now; nobody else gets it then."""
    arrays = _spare.arrays
    for k, each in enumerate(arrays):
        if each is array:
            del arrays[k]
            return True
    return False
