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
from . import private, used
from .room import NAME as COUNTS
from .room import written

_MAGIC: Final = b"LLCACHE1"
_HEAD: Final = struct.Struct("<8s32sQ")
#: default limit for the size of the folder, in bytes
DEFAULT_LIMIT: Final = 4 * 1024**3

#: bytes of a fingerprint, with which every description begins
FINGERPRINT: Final = 32

_usable: dict[str, bool] = {}
#: entries that a file had (:mod:`.carried`) and that could not be written, for this process
_held: Final[dict[tuple[str, str], bytes]] = {}


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


def name_of(kind: str, description: bytes) -> str:
    """The name of an entry, in hexadecimal."""
    return hashlib.sha256(kind.encode() + b"\0" + description).hexdigest()


def _place(kind: str, name: str) -> tuple[str, str, str]:
    """The two folders below the root, and the name of the file there."""
    return kind, name[:2], name[2:]


def _note(kind: str, name: str, description: bytes) -> None:
    used.note(used.Used(kind, name, description[:FINGERPRINT].hex()))


def load(kind: str, description: bytes) -> bytes | None:
    """The payload stored for that description, or None."""
    if not enabled():
        return None
    name = name_of(kind, description)
    data = entry(kind, name, description)
    if data is None:
        return None
    _note(kind, name, description)
    return data[_HEAD.size + len(description) :]


def entry(kind: str, name: str, description: bytes | None = None) -> bytes | None:
    """The whole bytes of an entry, in the folder or held, if they are what was written.

    Where a description is given it has to be that one. What is damaged is removed.
    """
    root = folder()
    found = None
    if _ready(root):
        found = _from_folder(root, _place(kind, name), description)
    if found is None:
        held = _held.get((kind, name))
        if held is not None and _verified(held, description) is not None:
            found = held
    return found


def _from_folder(
    root: str, place: tuple[str, str, str], description: bytes | None
) -> bytes | None:
    *inner, name = place
    try:
        with private.folder(root, *inner) as at:
            data = None
            try:
                data = private.read(at, name)
            except FileNotFoundError:
                return None
            except OSError:
                pass  # not a file, or not ours
            if data is None or _verified(data, description) is None:
                counters["disk_errors"] += 1
                if logs.hears("cache", logs.INFO):
                    logs.say("cache", logs.INFO, f"removed a file of the disk cache in {root} that "
                             "is damaged or not the user's")
                with contextlib.suppress(OSError):
                    os.unlink(name, dir_fd=at)
                return None
            return data
    except FileNotFoundError:
        return None
    except OSError:
        counters["disk_errors"] += 1
        return None


def _verified(data: bytes, description: bytes | None) -> bytes | None:
    """The description in an entry's bytes, if these are what was written.

    Where a description is given it has to be that one.
    """
    if len(data) < _HEAD.size:
        return None
    magic, digest, length = _HEAD.unpack_from(data)
    body = memoryview(data)[_HEAD.size :]
    if magic != _MAGIC or hashlib.sha256(body).digest() != digest:
        return None
    if length > len(body) or description is not None and length != len(description):
        return None
    found = bytes(body[:length])
    return found if description is None or found == description else None


def description_of(kind: str, name: str, data: bytes) -> bytes | None:
    """The description in the whole bytes of an entry; None where they are not that entry's."""
    found = _verified(data, None)
    return found if found is not None and name_of(kind, found) == name else None


def payload_of(data: bytes, description: bytes) -> bytes:
    """What an entry's whole bytes have for their description."""
    return data[_HEAD.size + len(description) :]


def whole(description: bytes, payload: bytes) -> bytes:
    """The whole bytes of an entry."""
    body = description + payload
    return _HEAD.pack(_MAGIC, hashlib.sha256(body).digest(), len(description)) + body


def store(kind: str, description: bytes, payload: bytes) -> None:
    """Store a payload, if there is room for it; a failure is counted and otherwise ignored."""
    if not enabled():
        return
    name = name_of(kind, description)
    _note(kind, name, description)
    root = folder()
    if not _ready(root):
        return
    try:
        _write(root, kind, name, whole(description, payload))
    except OSError:
        counters["disk_errors"] += 1


def put(kind: str, name: str, data: bytes) -> str:
    """Store the whole bytes of an entry, or hold them for this process.

    Returns "" or why they are not in the folder.
    """
    root = folder()
    try:
        if not _ready(root):
            why = f"the folder {root} cannot be used"
        elif _write(root, kind, name, data):
            _held.pop((kind, name), None)
            return ""
        else:
            why = ("the folder has no room (LAZYLOOM_CACHE_LIMIT), or another process writes to it "
                   "all the time")
    except OSError as error:
        counters["disk_errors"] += 1
        why = f"the folder cannot be written: {error.strerror}"
    _held[kind, name] = data
    return why


def _write(root: str, kind: str, name: str, data: bytes) -> bool:
    """Write an entry; return whether there was room. Raises OSError."""
    *inner, file = _place(kind, name)
    most = limit()

    def write() -> None:
        with private.folder(root, *inner, create=True) as at:
            private.write(at, file, data)

    with private.limit_is_an_error():
        return written(
            root, len(data), most, min(tuning.disk_interval, most // 8),
            lambda coming: trim(root, most, coming), write)


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
            "engine", "lowering", "program", "verdict"
        ):
            with contextlib.suppress(OSError):
                size = entry.stat(follow_symlinks=False).st_size
                os.unlink(entry.path)
                freed += size
    return freed
