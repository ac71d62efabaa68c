"""Caches of executables and lowerings: in memory and on disk, and files of the latter.

:func:`save` writes what a process has used to one file, :func:`load` takes it on another machine of
the same kind, and :func:`contents` lists it. See ``docs/deployment.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .carried import CacheEnvironment
    from .portable import CacheArtifact, CacheInfo, contents, load, save

__all__ = ["CacheArtifact", "CacheEnvironment", "CacheInfo", "contents", "load", "save"]


def __getattr__(name: str) -> Any:
    # slow to import, and not needed by programs that neither save nor load
    if name in __all__:
        from . import carried, portable

        return getattr(carried if name == "CacheEnvironment" else portable, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
