"""The size limit of the disk cache, shared by all processes that write to it.

A file in the folder says how many bytes there are at most, and how many of them were written since
the files were last counted. A writer holds its lock, counts the bytes that it is about to write,
and first removes the least recently used files if that would be too much.
"""

from __future__ import annotations

import fcntl
import os
import struct
import time
from collections.abc import Callable
from typing import Final

from ..interrupts import Deferred
from . import private

#: the file's name, in the root of the cache
NAME: Final = ".size"
_COUNTS: Final = struct.Struct("<8sQQ")
_MAGIC: Final = b"LLSIZE01"
#: seconds to wait for the lock: the process that holds it may have been stopped
PATIENCE = 2.0
_INTERVAL: Final = 0.005


def written(
    root: str, size: int, limit: int, interval: int, trim: Callable[[int], int],
    write: Callable[[], None],
) -> bool:
    """Write a file of that size if there is room for it; returns whether it was written.

    Args:
        limit: bytes that the folder may hold.
        interval: bytes that may be written between two counts of the files, since others may
            change them without counting.
        trim: makes room for so many bytes, and returns how many the folder then holds.
        write: writes the file.

    Raises OSError.
    """
    if size > limit:
        return False
    end = time.monotonic() + PATIENCE
    while True:
        # a signal handler that computes arrays may store too, and would wait for the lock held by
        # the code that it interrupted
        with Deferred(True):
            done = _write_now(root, size, limit, interval, trim, write)
        if done is not None:
            return done
        if time.monotonic() >= end:
            return False
        time.sleep(_INTERVAL)


def _write_now(
    root: str, size: int, limit: int, interval: int, trim: Callable[[int], int],
    write: Callable[[], None],
) -> bool | None:
    """:func:`written` in one attempt; None if another process has the lock."""
    with private.folder(root, create=True) as at:
        handle = os.open(
            NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=at)
        try:
            private.check(handle, NAME)
            if not _locked(handle):
                return None
            data = os.pread(handle, _COUNTS.size, 0)
            magic, total, added = _COUNTS.unpack(data) if len(data) == _COUNTS.size else (
                b"", 0, 0)
            if magic != _MAGIC or total + size > limit or added + size >= interval:
                total, added = trim(size), 0
            # count before writing: a writer that is killed has counted too much, not too little
            os.pwrite(handle, _COUNTS.pack(_MAGIC, total + size, added + size), 0)
            if total + size > limit:
                return False
            write()
            return True
        finally:
            os.close(handle)


def _locked(handle: int) -> bool:
    """Take the lock, which closing the file releases; return False if another process has it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # a file system without locks
    return True
