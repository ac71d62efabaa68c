"""What is kept on disk of lowerings and compiled programs.

It is found only where everything that changes machine code is as it was when it was stored.
"""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache

from ...cache import disk
from . import jax_compat


@lru_cache(maxsize=1)
def fingerprint() -> bytes:
    """A digest of all that changes machine code: our source, versions, flags, processor."""
    digest = hashlib.sha256(jax_compat.environment().encode())
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for part in ("ops", "execute"):
        for name in sorted(os.listdir(os.path.join(here, part))):
            if name.endswith(".py"):
                with open(os.path.join(here, part, name), "rb") as f:
                    digest.update(name.encode() + b"\0" + hashlib.sha256(f.read()).digest())
    with open(os.path.join(here, "program.py"), "rb") as f:
        digest.update(hashlib.sha256(f.read()).digest())
    return digest.digest()


def load(kind: str, description: bytes) -> bytes | None:
    """The payload stored for that description in this environment, or None."""
    return disk.load(kind, fingerprint() + description) if disk.enabled() else None


def store(kind: str, description: bytes, payload: bytes) -> None:
    """Store a payload for this environment; a failure is counted and otherwise ignored."""
    if disk.enabled():
        disk.store(kind, fingerprint() + description, payload)
