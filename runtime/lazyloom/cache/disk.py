"""The disk cache: checksummed files in one private folder, shared by all processes.

A file is found by the SHA-256 of its kind and its description, and repeats the description,
which is compared before the payload is used. Files are written under another name and renamed
into place, so readers see only complete files. A failure of the disk costs a recompile and is
counted in ``stats()["disk_errors"]``, no more.

Machine code from here is run, so the folder and everything in it must belong to the user and be
closed to others (:mod:`lazyloom.cache.private`); otherwise it is not used. Nothing is unpickled.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import tempfile
import warnings
from collections.abc import Iterator
from typing import Final

from .. import logs
from ..counters import counters
from ..settings import switched_on, tuning
from . import private
from .room import NAME as COUNTS
from .room import written

_MAGIC: Final = b"LLCACHE1"
_HEAD: Final = struct.Struct("<8s32sQ")
#: default limit for the size of the folder, in bytes
DEFAULT_LIMIT: Final = 4 * 1024**3

_usable: dict[str, bool] = {}


def folder() -> str:
    """The cache folder: ``$LAZYLOOM_CACHE_DIR``, else ``lazyloom`` in the user's cache folder.

    Or ``lazyloom-UID`` where temporary files go, for a user who has no home, as in a container.
    """
    path = os.environ.get("LAZYLOOM_CACHE_DIR")
    if path:
        return path
    base = os.environ.get("XDG_CACHE_HOME")
    home = os.path.expanduser("~")
    if not base and not os.path.isabs(home):
        # it is no path: a folder of that name would be made in the working folder
        return os.path.join(tempfile.gettempdir(), f"lazyloom-{os.getuid()}")
    return os.path.join(base or os.path.join(home, ".cache"), "lazyloom")


def enabled() -> bool:
    """Return True if the disk cache is on (``LAZYLOOM_CACHE=0`` turns it off)."""
    return switched_on("LAZYLOOM_CACHE")


def limit() -> int:
    """The limit in bytes for the size of the folder (``LAZYLOOM_CACHE_LIMIT``)."""
    try:
        return int(os.environ["LAZYLOOM_CACHE_LIMIT"])
    except (KeyError, ValueError):
        return DEFAULT_LIMIT


def _ready(root: str) -> bool:
    """Return True if the folder exists, is ours and is private; creates it if missing."""
    usable = _usable.get(root)
    if usable is None:
        usable = _check(root)
        _usable[root] = usable
    return usable


def _check(root: str) -> bool:
    try:
        with private.folder(root, create=True):
            return True
    except private.NotPrivateError as error:
        warnings.warn(
            f"lazyloom: the cache folder {error} and is not used, since machine code is loaded "
            "from it. Close it to others (mode 700), or set LAZYLOOM_CACHE_DIR.",
            RuntimeWarning, stacklevel=2)
    except OSError as error:
        counters["disk_errors"] += 1
        warnings.warn(
            f"lazyloom: the cache folder {root} cannot be used ({error.strerror}); programs are "
            "compiled again in each process. Set LAZYLOOM_CACHE_DIR to a folder of yours.",
            RuntimeWarning, stacklevel=2)
    return False


def _place(kind: str, description: bytes) -> tuple[str, str, str]:
    """The two folders below the root, and the name of the file there."""
    name = hashlib.sha256(kind.encode() + b"\0" + description).hexdigest()
    return kind, name[:2], name[2:]


def load(kind: str, description: bytes) -> bytes | None:
    """The payload stored for that description, or None."""
    root = folder()
    if not enabled() or not _ready(root):
        return None
    *inner, name = _place(kind, description)
    try:
        with private.folder(root, *inner) as at:
            try:
                payload = _verified(private.read(at, name), description)
            except FileNotFoundError:
                return None
            except OSError:
                payload = None  # not a file, or not ours
            if payload is None:
                counters["disk_errors"] += 1
                if logs.hears("cache", logs.INFO):
                    logs.say("cache", logs.INFO, f"removed a file of the disk cache in {root} that "
                             "is damaged or not the user's")
                with contextlib.suppress(OSError):
                    os.unlink(name, dir_fd=at)
            return payload
    except FileNotFoundError:
        return None
    except OSError:
        counters["disk_errors"] += 1
        return None


def _verified(data: bytes, description: bytes) -> bytes | None:
    if len(data) < _HEAD.size:
        return None
    magic, digest, length = _HEAD.unpack_from(data)
    body = data[_HEAD.size :]
    if magic != _MAGIC or hashlib.sha256(body).digest() != digest:
        return None
    if length != len(description) or body[:length] != description:
        return None
    return body[length:]


def store(kind: str, description: bytes, payload: bytes) -> None:
    """Store a payload, if there is room for it; a failure is counted and otherwise ignored."""
    root = folder()
    if not enabled() or not _ready(root):
        return
    body = description + payload
    data = _HEAD.pack(_MAGIC, hashlib.sha256(body).digest(), len(description)) + body
    *inner, name = _place(kind, description)
    most = limit()

    def write() -> None:
        with private.folder(root, *inner, create=True) as at:
            private.write(at, name, data)

    try:
        with private.limit_is_an_error():
            written(
                root, len(data), most, min(tuning.disk_interval, most // 8),
                lambda coming: trim(root, most, coming), write)
    except OSError:
        counters["disk_errors"] += 1


def files(root: str) -> Iterator[os.DirEntry[str]]:
    """All files of the cache."""
    pending = [root]
    while pending:
        try:
            entries = list(os.scandir(pending.pop()))
        except OSError:
            continue
        for item in entries:
            if item.is_dir(follow_symlinks=False):
                pending.append(item.path)
            elif item.is_file(follow_symlinks=False) and item.name != COUNTS:
                yield item


def trim(root: str, size: int, coming: int = 0) -> int:
    """Remove the least recently used files until the folder holds at most 7/8 of ``size``.

    Does so only if the folder would exceed ``size`` with the ``coming`` bytes, for which there is
    room then. Returns how many bytes it holds.
    """
    by_age: list[tuple[float, int, str]] = []
    for entry in files(root):
        with contextlib.suppress(OSError):
            info = entry.stat(follow_symlinks=False)
            by_age.append((info.st_mtime, info.st_size, entry.path))
    total = sum(k[1] for k in by_age)
    if total + coming <= size:
        return total
    by_age.sort()
    before = total
    for _, length, path in by_age:
        if total <= min(size * 7 // 8, size - coming):
            break
        with contextlib.suppress(OSError):
            os.unlink(path)
            total -= length
    if logs.hears("cache", logs.INFO):
        logs.say("cache", logs.INFO, f"removed {before - total} bytes of the files in {root} that "
                 f"were used least recently, for a limit of {size}")
    return total


def info() -> dict[str, object]:
    """The folder, its number of files, bytes and limit."""
    root = folder()
    sizes: dict[str, list[int]] = {}
    for entry in files(root):
        kind = os.path.relpath(entry.path, root).split(os.sep)[0]
        with contextlib.suppress(OSError):
            sizes.setdefault(kind, []).append(entry.stat().st_size)
    return {
        "folder": root,
        "enabled": enabled(),
        "files": {k: len(v) for k, v in sorted(sizes.items())},
        "bytes": sum(sum(v) for v in sizes.values()),
        "limit": limit(),
    }


def clear() -> int:
    """Remove all files of the cache; return how many bytes that freed."""
    freed = 0
    root = folder()
    for entry in files(root):
        if os.path.relpath(entry.path, root).split(os.sep)[0] in (
            "lowering", "program", "verdict"
        ):
            with contextlib.suppress(OSError):
                size = entry.stat(follow_symlinks=False).st_size
                os.unlink(entry.path)
                freed += size
    return freed
