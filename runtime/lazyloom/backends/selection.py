"""Which backend runs programs: one for the process, chosen before the first run."""

from __future__ import annotations

import os
import threading
from typing import Final

from ..errors import ArgumentError
from .backend import Backend

#: names the backend: "xla", or "package.module:name" of a Backend, or of what makes one
VARIABLE: Final = "LAZYLOOM_BACKEND"

#: the backends that have names of their own
SHIPPED: Final = {"xla": "lazyloom.backends.xla.backend:Xla"}

_current: Backend | None = None
_lock: Final = threading.RLock()


def backend() -> Backend:
    """The backend of this process, made by the first call."""
    found = _current
    return _made() if found is None else found


def use_backend(backend: Backend) -> None:
    """Run all programs of this process on a backend.

    Raises ArgumentError for what is no :class:`~lazyloom.backends.backend.Backend`, and where
    another one is in use already: its arrays mean nothing to a second one.
    """
    global _current
    if not isinstance(backend, Backend):
        raise ArgumentError(
            f"use_backend: a {type(backend).__name__} was given, expected an instance of "
            "lazyloom.backends.backend.Backend")
    with _lock:
        if _current is not None and _current is not backend:
            raise ArgumentError(
                f"use_backend: the backend {_current.name} is in use already; choose one before "
                f"the first value is read or uploaded, or set {VARIABLE}")
        _current = backend


def _made() -> Backend:
    global _current
    with _lock:
        if _current is None:
            _current = _named(os.environ.get(VARIABLE) or "xla")
        return _current


def _named(name: str) -> Backend:
    # the backend is slow to import, and not needed before the first program
    import importlib

    module, _, attribute = SHIPPED.get(name, name).partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ArgumentError(
            f"{VARIABLE} is {name!r}, expected {', '.join(map(repr, SHIPPED))}, or "
            f"'package.module:name' of a backend: {error}") from error
    made = found() if callable(found) else found
    if not isinstance(made, Backend):
        raise ArgumentError(
            f"{VARIABLE} is {name!r}, which gives a {type(made).__name__}, expected an instance of "
            "lazyloom.backends.backend.Backend")
    return made
