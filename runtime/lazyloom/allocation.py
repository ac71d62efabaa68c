"""The C library's allocator: how it keeps the memory of freed arrays.

glibc returns large arrays to the system one by one, and the free end of its heap as soon as that
exceeds a small size: the next array then consists of new pages, which the system has to clear.
Clearing them takes longer than NumPy needs to compute what is written there, and for the temporary
memory of a large program it is a good part of every run: 8 % of the processors' time of a training
step of ResNet-50, 9 % of one of a GPT of width 256. Threads have heaps of their own (arenas), which
hold no array of over 64 MiB and do not share free memory.

The setting holds for all memory of the process. ``LAZYLOOM_MALLOC=0`` leaves the C library as it
is.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Final

from .settings import switched_on

#: glibc's mallopt(): the equivalent environment variable, the option, and values, the first of
#: which that it accepts is used. Arrays of up to 1 GiB lie in the heap (glibc before 2.35 accepts
#: at most 32 MiB), which may have 1 GiB free before it shrinks, and all threads share one heap.
_OPTIONS: Final = (
    ("MALLOC_MMAP_THRESHOLD_", -3, (1 << 30, 32 << 20)),
    ("MALLOC_TRIM_THRESHOLD_", -1, (1 << 30,)),
    ("MALLOC_ARENA_MAX", -8, (1,)),
)
#: at most this fraction (1 / _PART) of the machine's memory may be kept free
_PART: Final = 8

_done = False
_one_heap = "MALLOC_ARENA_MAX" in os.environ


def one_heap() -> bool:
    """Return True if new threads get no heaps of their own."""
    return _one_heap


def keep_pages() -> None:
    """Make the C library keep free memory, unless its own variables configure it.

    It applies to threads that are started afterwards.
    """
    global _done, _one_heap
    if _done:
        return
    _done = True
    if sys.platform != "linux" or any(name in os.environ for name, _, _ in _OPTIONS) or (
        not switched_on("LAZYLOOM_MALLOC")
    ):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, AttributeError, ValueError):
        return
    for name, option, values in _OPTIONS:
        for value in values:
            limited = min(value, memory // _PART) if name == "MALLOC_TRIM_THRESHOLD_" else value
            if mallopt(option, limited):
                _one_heap |= name == "MALLOC_ARENA_MAX"
                break
