"""The part of ``numpy.lib`` that array programs use; the rest is NumPy's own."""

from __future__ import annotations

from typing import Any

from . import stride_tricks as stride_tricks


def __getattr__(name: str) -> Any:
    if name == "scimath":
        from .. import emath

        return emath
    from importlib import import_module

    lib = import_module("numpy.lib")
    if name.startswith("_") or not hasattr(lib, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(lib, name)
