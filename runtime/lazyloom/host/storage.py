"""Host kernels on disk, and what else is known of this machine without a device.

An entry is found only where everything that changes a kernel is as it was when it was stored; some
come with the package (:mod:`.shipped`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy

from ..cache import disk
from ..jaxprs.tracing import versions
from . import shipped

#: the layers that define what kernels are: all that this package may import, itself included, less
#: the cache, which keeps bytes as they are
LAYERS: Final = ("host", "jaxprs", "program", "trace", "ops")


def sources(layers: Sequence[str] = LAYERS) -> dict[str, str]:
    """The source files of layers: paths by the name in the package.

    Those in their folders, recursively, and the modules below all layers; the list of common
    kernels, too, so that an installation makes them again after a change of it.
    """
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    found: dict[str, str] = {}
    for folder, inner, files in os.walk(here):
        if folder == here:
            inner[:] = layers
        inner.sort()
        for file in sorted(files):
            if file.endswith((".py", ".h", ".txt")) and not file.startswith("__main__"):
                path = os.path.join(folder, file)
                found[os.path.relpath(path, here).replace(os.sep, "/")] = path
    return found


def digest_of(text: str, layers: Sequence[str]) -> bytes:
    """A digest of a text and of the sources of layers."""
    digest = hashlib.sha256(text.encode())
    for name, path in sources(layers).items():
        with open(path, "rb") as f:
            digest.update(name.encode() + b"\0" + hashlib.sha256(f.read()).digest())
    return digest.digest()


def versions_text() -> str:
    """The versions of jax, jaxlib and NumPy, which change host kernels."""
    return f"{versions()} numpy={numpy.__version__}"


@lru_cache(maxsize=1)
def fingerprint() -> bytes:
    """A digest of all that changes a host kernel: our source and versions, not the device."""
    return digest_of(f"host {versions_text()}", LAYERS)


def about() -> dict[str, str]:
    """What the fingerprint is made of, for people: values by name."""
    return {"source": digest_of("", LAYERS).hex()[:16], **versions(), "numpy": numpy.__version__}


def load(kind: str, description: bytes) -> bytes | None:
    """The payload stored for that description in this environment, or None."""
    found: bytes | None = None
    if disk.enabled():
        found = disk.load(kind, fingerprint() + description)
    if found is None:
        found = shipped.load(kind, description, fingerprint())
    return found


def store(kind: str, description: bytes, payload: bytes) -> None:
    """Store a payload for this environment; a failure is counted and otherwise ignored."""
    if disk.enabled():
        disk.store(kind, fingerprint() + description, payload)
