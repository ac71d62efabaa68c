"""Libraries of C functions in the disk cache, and an index of their functions.

They are what :mod:`.functions_on_demand` has compiled, for this and later processes.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterable
from typing import Any, Final

from ..cache import private
from ..counters import counters
from ..extension import NATIVE
from ..interrupts import Deferred, reraise_from_handler
from . import native, storage

#: a signal's handler may get here while it is held
_lock: Final = threading.RLock()
#: libraries by their digests
_libraries: Final[dict[str, Any]] = {}


def store(names: Iterable[str], data: bytes) -> None:
    """Keep a library that has functions of these names on disk."""
    digest = _digest(data)
    storage.store("library", _place(digest), data)
    for name in names:
        storage.store("function", _place(name), digest.encode())


def library_of(name: str) -> Any:
    """The library on disk that has a function of that name; None if there is none.

    Raises LibraryError.
    """
    data = storage.load("function", _place(name))
    return None if data is None else _loaded(data.decode(errors="replace"), None)


class LibraryError(Exception):
    """A library was compiled, but cannot be loaded here; the text says why."""


def loaded(data: bytes) -> Any:
    """The library of these bytes. Raises LibraryError."""
    return _loaded(_digest(data), data)


def _loaded(digest: str, data: bytes | None) -> Any:
    """The library of that digest, whose bytes are given or on disk; None if they are not.

    Raises LibraryError.
    """
    with _lock:
        if digest in _libraries:
            return _libraries[digest]
    if data is None:
        data = storage.load("library", _place(digest))
    # what was removed from the disk may come back
    if data is None or _digest(data) != digest:
        return None
    try:
        found = _opened(data)
    except Exception as error:
        reraise_from_handler(error)
        counters["disk_errors"] += 1
        raise LibraryError(f"functions in C cannot be loaded: {error}") from error
    with _lock:
        return _libraries.setdefault(digest, found)


def _opened(data: bytes) -> Any:
    """Raises OSError, and NotPrivateError where others can exchange what is in the folder of
    temporary files before it is loaded."""
    # a signal's handler that gets here would wait for a lock of the module's
    with Deferred(True):
        return _opened_at_once(data)


def _opened_at_once(data: bytes) -> Any:
    # slow to import
    import tempfile

    private.check_above(os.path.join(tempfile.gettempdir(), "lazyloom"))
    with tempfile.TemporaryDirectory(prefix="lazyloom-") as folder:
        path = os.path.join(folder, "functions.so")
        with private.limit_is_an_error(), open(path, "wb") as file:
            file.write(data)
        # the file is not needed once it is open
        return NATIVE.Library(path)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _place(name: str) -> bytes:
    return f"{name} {native.level()}".encode()


def level_of(place: bytes) -> int:
    """The level of x86-64's instructions that what is stored there is for; -1 if none is said."""
    level = place.rpartition(b" ")[2]
    return int(level) if level.isdigit() else -1
