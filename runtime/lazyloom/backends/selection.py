"""The selection of the backend: one for the process, made before the first run."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..errors import ArgumentError, LoomError, of_shadowed_module, type_name
from ..interrupts import Deferred, reraise_from_handler
from ..ops.derived.residuals import learn_types
from ..ops.spec import OpDef
from ..startup import starting
from ..types import TensorType
from .backend import Backend

#: names the backend: "xla", or "package.module:name" of a Backend or of a function that makes one
VARIABLE: Final = "LAZYLOOM_BACKEND"

#: the backends that have names of their own
SHIPPED: Final = {"xla": "lazyloom.backends.xla.backend:Xla"}

_current: Backend | None = None
_lock: Final = threading.RLock()


def backend() -> Backend:
    """Return the backend of this process, which the first call creates."""
    current = _current
    return _made() if current is None else current


def use_backend(backend: Backend) -> None:
    """Run all programs of this process on a backend.

    Raises ArgumentError if it is no :class:`~lazyloom.backends.backend.Backend` or has no name, and
    if another one is already in use: a second one cannot use its arrays.

    Example:

        >>> try:
        ...     lazyloom.use_backend("xla")  # names are for LAZYLOOM_BACKEND
        ... except lazyloom.errors.ArgumentError as error:
        ...     print(error)
        use_backend: a str was given, expected an instance of lazyloom.backends.backend.Backend
    """
    global _current
    fault = _fault(backend)
    if fault is not None:
        raise ArgumentError(f"use_backend: {fault[0]} was given, expected {fault[1]}")
    with _lock:
        if _current is not None and _current is not backend:
            raise ArgumentError(
                f"use_backend: the backend {_current.name} is in use already; choose one before "
                f"the first value is read or uploaded, or set {VARIABLE}")
        _current = backend


def _made() -> Backend:
    global _current
    # a signal handler that computes arrays would find half-imported modules, and the lock taken
    with Deferred(True), _lock, starting():
        if _current is None:
            _current = _named(os.environ.get(VARIABLE) or "xla")
        return _current


def _named(name: str) -> Backend:
    # the backend is slow to import, and not needed before the first program
    import importlib

    module, _, attribute = SHIPPED.get(name, name).partition(":")
    try:
        factory: Any = getattr(importlib.import_module(module), attribute)
        instance: Any = factory() if callable(factory) else factory
    except Exception as error:  # of the import of the module, or of a constructor
        reraise_from_handler(error)
        if name in SHIPPED:
            raise LoomError(
                f"the backend {name} cannot be used: {type(error).__name__}: {error}"
                f"{of_shadowed_module(error)}") from error
        raise ArgumentError(
            f"{VARIABLE} is {name!r}, expected {', '.join(map(repr, SHIPPED))}, or "
            f"'package.module:name' of a backend: {type(error).__name__}: {error}") from error
    fault = _fault(instance)
    if fault is not None:
        raise ArgumentError(
            f"{VARIABLE} is {name!r}, which gives {fault[0]}, expected {fault[1]}")
    chosen: Backend = instance
    return chosen


def _fault(candidate: Any) -> tuple[str, str] | None:
    """Describe an object that cannot be the backend, and what is expected; None if it can."""
    if not isinstance(candidate, Backend):
        return f"a {type_name(candidate)}", "an instance of lazyloom.backends.backend.Backend"
    name: Any = getattr(candidate, "name", None)
    if not isinstance(name, str) or not name:
        return (f"a {type_name(candidate)} whose name is {name!r}",
                "a text that no other backend has: stored programs are found by it")
    return None


def _lowered_types(
    op: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]
) -> tuple[TensorType, ...]:
    return backend().lowered_types(op, types, attrs)


learn_types(_lowered_types)
