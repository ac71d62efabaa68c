"""Room in the cache's folder, which all processes that write to it keep below its limit together.

A file in the folder says how many bytes there are at most, and how many of them were written since
somebody looked. Who writes holds its lock, counts what is about to be written, and first removes
what was used least recently where that would be too much.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import time
from collections.abc import Callable, Iterator
from typing import Final

from . import private

#: the file's name, in the root of the cache
NAME: Final = ".size"
_COUNTS: Final = struct.Struct("<8sQQ")
_MAGIC: Final = b"LLSIZE01"
#: seconds for which the lock is waited for: a process that has it may have been stopped
PATIENCE = 2.0
_INTERVAL: Final = 0.005


@contextlib.contextmanager
def room(
    root: str, size: int, limit: int, interval: int, trim: Callable[[int], int]
) -> Iterator[bool]:
    """A block in which a file of that size may be written; gives False where it may not be.

    Args:
        limit: bytes that the folder may hold.
        interval: bytes that may be written between two looks at what there is, which others may
            have changed that do not count.
        trim: makes room for so many bytes, and returns how many there are then.

    Raises OSError.
    """
    if size > limit:
        yield False
        return
    with private.folder(root, create=True) as at:
        handle = os.open(
            NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=at)
        try:
            private.check(handle, NAME)
            if not _locked(handle):
                yield False
                return
            found = os.pread(handle, _COUNTS.size, 0)
            magic, total, written = _COUNTS.unpack(found) if len(found) == _COUNTS.size else (
                b"", 0, 0)
            if magic != _MAGIC or total + size > limit or written + size >= interval:
                total, written = trim(size), 0
            # before it is there: a writer that is killed has counted too much, not too little
            os.pwrite(handle, _COUNTS.pack(_MAGIC, total + size, written + size), 0)
            yield total + size <= limit
        finally:
            os.close(handle)


def _locked(handle: int) -> bool:
    """Take the lock, which is given back when the file is closed; False where others keep it."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(_INTERVAL)
        except OSError:
            return True  # a file system without locks
