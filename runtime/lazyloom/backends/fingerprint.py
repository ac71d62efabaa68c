"""The key of compiled programs and lowerings on disk.

An entry is found only if everything that changes machine code is as it was when it was stored.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from ..cache import disk
from ..errors import type_name
from ..host import storage
from ..settings import WITHOUT
from .returned import wrong
from .selection import backend

#: the layers that determine the machine code of programs: all that this package may import, itself
#: included, except the cache, which keeps bytes as they are
LAYERS: Final = ("backends", "codegen", *storage.LAYERS)


@lru_cache(maxsize=1)
def fingerprint() -> bytes:
    """Return a digest of all that changes machine code: our source, and the backend's fingerprint.
    """
    current = backend()
    text: object = current.fingerprint()
    if not isinstance(text, str):
        raise wrong("fingerprint", f"a {type_name(text)}", "a str")
    without = "\nwithout loops" if "loops" in WITHOUT else ""
    return storage.digest_of(f"{current.name}\n{text}{without}", LAYERS)


def load(kind: str, description: bytes) -> bytes | None:
    """Return the payload stored for a description in this environment, or None."""
    return disk.load(kind, fingerprint() + description) if disk.enabled() else None


def store(kind: str, description: bytes, payload: bytes) -> None:
    """Store a payload for this environment; a failure is counted and otherwise ignored."""
    if disk.enabled():
        disk.store(kind, fingerprint() + description, payload)
