"""The key of compiled programs and lowerings on disk.

It is found only where everything that changes machine code is as it was when it was stored.
"""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from typing import Final

from ..cache import disk
from ..errors import type_name
from ..settings import WITHOUT
from . import shipped
from .returned import wrong
from .selection import backend

#: the layers that define what programs are compiled to: all that this package may import, itself
#: included, less the cache, which keeps bytes as they are
LAYERS: Final = ("backends", "codegen", "program", "trace", "ops")


def sources() -> dict[str, str]:
    """The source files on which machine code depends: paths by the name in the package.

    Those of ``LAYERS``, recursively, and the modules below all layers; the list of common kernels,
    too, so that an installation makes them again after a change of it.
    """
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    found: dict[str, str] = {}
    for folder, inner, files in os.walk(here):
        if folder == here:
            inner[:] = LAYERS
        inner.sort()
        for file in sorted(files):
            if file.endswith((".py", ".h", ".txt")) and not file.startswith("__main__"):
                path = os.path.join(folder, file)
                found[os.path.relpath(path, here).replace(os.sep, "/")] = path
    return found


@lru_cache(maxsize=1)
def fingerprint() -> bytes:
    """A digest of all that changes machine code: our source, and what the backend names."""
    current = backend()
    text: object = current.fingerprint()
    if not isinstance(text, str):
        raise wrong("fingerprint", f"a {type_name(text)}", "a str")
    without = "\nwithout loops" if "loops" in WITHOUT else ""
    return _digest(f"{current.name}\n{text}{without}")


def _digest(text: str) -> bytes:
    digest = hashlib.sha256(text.encode())
    for name, path in sources().items():
        with open(path, "rb") as f:
            digest.update(name.encode() + b"\0" + hashlib.sha256(f.read()).digest())
    return digest.digest()


@lru_cache(maxsize=1)
def host_fingerprint() -> bytes:
    """A digest of all that changes a host kernel: our source and versions, not the device."""
    return _digest(f"host {backend().host_versions()}")


def load(kind: str, description: bytes, host: bool = False) -> bytes | None:
    """The payload stored for that description in this environment, or None.

    ``host``: what it is made of is known without the device, and may have come with the package.
    """
    found: bytes | None = None
    if disk.enabled():
        found = disk.load(kind, (host_fingerprint() if host else fingerprint()) + description)
    if found is None and host:
        found = shipped.load(kind, description, host_fingerprint())
    return found


def store(kind: str, description: bytes, payload: bytes, host: bool = False) -> None:
    """Store a payload for this environment; a failure is counted and otherwise ignored."""
    if disk.enabled():
        disk.store(kind, (host_fingerprint() if host else fingerprint()) + description, payload)
