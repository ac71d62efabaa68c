"""The cost of background compilation, and the time that it has saved.

What a compilation takes is measured in seconds of processor, and corrects the estimates of later
ones, those of later processes included. What compilations have taken that have not been seen to
make their program quicker is bounded: beyond an allowance and a share of the processor time that
this process has used itself, no compilation is begun in advance of what the program has earned.
"""

from __future__ import annotations

import struct
import threading
import time
from typing import Final

#: seconds of processor that compilations may take which have not paid, and the share of the
#: process's own seconds beside them (no constants, as tests set them)
ALLOWANCE = 5.0
SHARE = 0.1
#: between these is how many times what is estimated a compilation is taken to cost
LEAST: Final = 0.25
MOST: Final = 4.0
#: what the estimate alone weighs beside what was measured, in estimated seconds
PRIOR: Final = 2.0
#: and what is remembered of measurements; older ones go by and by
REMEMBERED: Final = 60.0
#: what the disk is asked for
_KIND: Final = "compile_costs"
_DESCRIPTION: Final = b"seconds"
_NUMBERS: Final = struct.Struct("<2d")

#: a signal's handler that computes arrays may get here while it is held
_lock: Final = threading.RLock()
_unpaid = 0.0
#: seconds as estimated, and as measured, once the disk was asked for those of earlier processes
_estimated = 0.0
_measured = 0.0
_asked = False


def factor() -> float:
    """How many times what is estimated compilations have taken."""
    if not _asked:
        _ask()
    found = (PRIOR + _measured) / (PRIOR + _estimated)
    return min(max(found, LEAST), MOST)


def _ask() -> None:
    global _estimated, _measured, _asked
    _asked = True
    # slow to import, and asked of by the first compilation
    from ..cache import disk
    from ..host import storage

    kept = storage.load(_KIND, _DESCRIPTION) if disk.enabled() else None
    if kept is not None and len(kept) == _NUMBERS.size:
        estimated, measured = _NUMBERS.unpack(kept)
        if 0 <= estimated <= REMEMBERED and 0 <= measured < MOST * 10 * REMEMBERED:
            _estimated, _measured = estimated, measured


def compiled(estimated: float, seconds: float, alone: bool) -> None:
    """Count a compilation that has taken so many seconds of processor.

    ``estimated``: before any correction. ``alone``: nothing else is in these seconds, such as the
    start of the process that compiles.
    """
    global _unpaid, _estimated, _measured
    with _lock:
        _unpaid += seconds
        if not alone:
            return
        if not _asked:
            _ask()
        _estimated += estimated
        _measured += min(seconds, MOST * 10 * estimated)
        if _estimated > REMEMBERED:
            _measured *= REMEMBERED / _estimated
            _estimated = REMEMBERED
        kept = _NUMBERS.pack(_estimated, _measured)
    from ..host import storage

    storage.store(_KIND, _DESCRIPTION, kept)


def paid(seconds: float) -> None:
    """Take account of a compilation that has made its program quicker."""
    global _unpaid
    with _lock:
        _unpaid = max(0.0, _unpaid - seconds)


def affordable() -> bool:
    """Whether one more compilation may be begun before its program has earned it."""
    return _unpaid <= ALLOWANCE or _unpaid <= ALLOWANCE + SHARE * time.process_time()


def unpaid() -> float:
    """Seconds of processor of the compilations that have not been seen to pay."""
    return _unpaid


def forget() -> None:
    """Begin anew, as another process would."""
    global _unpaid, _estimated, _measured, _asked
    with _lock:
        _unpaid = _estimated = _measured = 0.0
        _asked = False
