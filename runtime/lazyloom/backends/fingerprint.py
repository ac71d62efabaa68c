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
    return storage.digest_of(f"{backend().name}\n{environment()}{_without()}", LAYERS)


def environment() -> str:
    """Return the backend's fingerprint: all outside our source that changes machine code, as text.
    """
    text: object = backend().fingerprint()
    if not isinstance(text, str):
        raise wrong("fingerprint", f"a {type_name(text)}", "a str")
    return text


def about() -> dict[str, str]:
    """Return what the fingerprint is made of, for people: values by name."""
    found = {"source": storage.digest_of("", LAYERS).hex()[:16], "backend": backend().name}
    for line in f"{environment()}{_without()}".splitlines():
        name, _, value = line.partition("=")
        found[name] = value
    return found


def _without() -> str:
    return "\nwithout loops" if "loops" in WITHOUT else ""


def load(kind: str, description: bytes) -> bytes | None:
    """Return the payload stored for a description in this environment, or None."""
    return disk.load(kind, fingerprint() + description) if disk.enabled() else None


def store(kind: str, description: bytes, payload: bytes) -> None:
    """Store a payload for this environment; a failure is counted and otherwise ignored."""
    if disk.enabled():
        disk.store(kind, fingerprint() + description, payload)
