"""What the C library does with the memory of arrays that are let go of.

glibc gives arrays of over 128 KiB back to the system one by one, and what is free at the end of its
heap as soon as that is a little: the next array then consists of new pages, and the system takes
longer to hand these out than NumPy to compute what is written there.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Final

#: glibc's mallopt(): arrays of up to 32 MiB (its greatest value) lie in the heap, of which up to
#: 256 MiB may be free before it shrinks
_OPTIONS: Final = (
    ("MALLOC_MMAP_THRESHOLD_", -3, 32 << 20), ("MALLOC_TRIM_THRESHOLD_", -1, 256 << 20),
)  # fmt: skip

_done = False


def keep_pages() -> None:
    """Have the C library keep free memory, unless its own variables say what it shall do."""
    global _done
    if _done:
        return
    _done = True
    if sys.platform != "linux" or any(name in os.environ for name, _, _ in _OPTIONS):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    for _, option, value in _OPTIONS:
        mallopt(option, value)
