"""Prebuilt kernels: those that an installation brings, so that a first run need not trace.

One file beside the package's modules, which the build makes (``python -m lazyloom kernels`` does
by hand). It is right only where it was made by the same sources and versions as those that are
running, as its fingerprint says; anywhere else it is left alone, and kernels are traced as if it
were not there.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Final, TypeVar

from .. import settings
from ..cache.archive import Archive, BadArchiveError
from ..counters import counters

#: the file's name in the package's folder
NAME: Final = "kernels.bin"

#: an entry that is there if all usual kernels are, not the common ones alone
EVERY: Final = ("about", b"every")

_PATH: Final = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), NAME)

_wanted: Final = settings.switched_on("LAZYLOOM_KERNELS")

_T = TypeVar("_T")
_lock: Final = threading.RLock()
#: the open file by its path, or why it is not used
_opened: Final[dict[str, Archive | str]] = {}


def path() -> str:
    """Where the file is, if there is one."""
    return _PATH


def wanted() -> bool:
    """Whether they are to be used (``LAZYLOOM_KERNELS=0`` says no)."""
    return _wanted


def once(opened: dict[str, _T], place: str, open_it: Callable[[str], _T]) -> _T:
    """What there is at a place, opened by the first thread that asks."""
    found = opened.get(place)
    if found is None:
        with _lock:
            found = opened.get(place)
            if found is None:
                found = opened[place] = open_it(place)
    return found


def _archive(fingerprint: bytes) -> Archive | str:
    """The file, if it is right here; else why not."""
    return once(_opened, path(), lambda place: _open(place, fingerprint))


def _open(place: str, fingerprint: bytes) -> Archive | str:
    try:
        found = Archive(place)
    except FileNotFoundError:
        return "none"
    except (OSError, BadArchiveError) as error:
        counters["disk_errors"] += 1
        return f"not used: {error}"
    if found.fingerprint != fingerprint:
        return ("not used: made by other sources, or for other versions of jax, jaxlib or NumPy; "
                "install again, or make them by python -m lazyloom kernels")
    return found


def is_of(place: str, fingerprint: bytes, every: bool) -> bool:
    """Whether there is a file at a path that is right where the fingerprint is this.

    ``every``: with all usual kernels.
    """
    found = _open(place, fingerprint)
    return not isinstance(found, str) and (not every or _has_every(found))


def _has_every(archive: Archive) -> bool:
    try:
        return archive.load(*EVERY) is not None
    except BadArchiveError:
        return False


def load(kind: str, description: bytes, fingerprint: bytes) -> bytes | None:
    """The payload of that description where the fingerprint is this, or None."""
    if not wanted():
        return None
    archive = _archive(fingerprint)
    if isinstance(archive, str):
        return None
    try:
        return archive.load(kind, description)
    except BadArchiveError:
        counters["disk_errors"] += 1
        return None


def described(fingerprint: bytes) -> str:
    """How many there are, or why they are not used; for people."""
    if not wanted():
        return "not used: LAZYLOOM_KERNELS says so"
    archive = _archive(fingerprint)
    if isinstance(archive, str):
        return archive
    if _has_every(archive):
        return f"{archive.count - 1} ops at types"  # one entry says that these are all
    return f"{archive.count} ops at types; python -m lazyloom kernels makes all usual ones"
