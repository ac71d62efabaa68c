"""The import of JAX without effects on the process.

JAX's modules, while they are imported, draw from NumPy's global generator
(``jax/_src/clusters/k8s_cluster.py``) and set environment variables (``jax/__init__.py``,
``jax/_src/cloud_tpu_init.py``), which every process that is started afterwards inherits. The
import may run in parallel to the program, so that nothing can be restored afterwards: that would
also undo what the program drew or set meanwhile. So the importing thread gets a generator of its
own and its settings are dropped, while all other threads are unaffected.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any, Final

import numpy

from ..interrupts import start

#: held while JAX is imported
_lock: Final = threading.Lock()
_loaded = False


def loaded() -> bool:
    """Return True if :func:`load` has imported JAX."""
    return _loaded


def load(imports: Callable[[], None], settles: Callable[[], None]) -> None:
    """Import JAX where no interrupt reaches: a half-imported JAX cannot be imported again.

    This happens on a thread of its own: signals are handled in the main thread, and an exception
    from another thread (``PyThreadState_SetAsyncExc``) can reach any thread that is known.

    Args:
        imports: imports it.
        settles: called afterwards, unless the program itself has imported JAX, or is importing it:
            then the program sets it up.
    """
    importing = _Import(imports, settles)
    start(importing)
    importing.join()
    if importing.error is not None:
        raise importing.error


class _Import(threading.Thread):
    """A thread that imports JAX.

    Attributes:
        error: the exception that the import raised.
    """

    def __init__(self, imports: Callable[[], None], settles: Callable[[], None]) -> None:
        super().__init__(name="lazyloom-import")
        self.imports = imports
        self.settles = settles
        self.error: BaseException | None = None

    def run(self) -> None:
        global _loaded
        try:
            with _lock:
                if _loaded:
                    return
                users = "jax" in sys.modules
                thread = threading.get_ident()
                with _own_generator(thread), _own_environment(thread):
                    self.imports()
                if not users:
                    self.settles()
                _loaded = True
        except BaseException as error:
            self.error = error


@contextlib.contextmanager
def _own_generator(thread: int) -> Iterator[None]:
    module: Any = numpy.random
    everybodys: Any = module.rand
    generator: Any = numpy.random.RandomState()

    @functools.wraps(everybodys)
    def rand(*shape: Any) -> Any:
        return (generator.rand if threading.get_ident() == thread else everybodys)(*shape)

    module.rand = rand
    try:
        yield
    finally:
        # unless other code has replaced it meanwhile
        if module.rand is rand:
            module.rand = everybodys


@contextlib.contextmanager
def _own_environment(thread: int) -> Iterator[None]:
    environ: Any = os.environ
    kind: Any = type(environ)
    # a program may have put a mapping of its own there; libtpu must find what JAX sets for it
    if kind is not getattr(os, "_Environ", None) or find_spec("libtpu") is not None:
        yield
        return

    class Environment(kind):  # type: ignore[misc]
        def __setitem__(self, name: str, value: str) -> None:
            if threading.get_ident() != thread:
                super().__setitem__(name, value)

        def setdefault(self, name: str, value: str) -> str:
            if threading.get_ident() != thread:
                return str(super().setdefault(name, value))
            return str(self.get(name, value))

    environ.__class__ = Environment
    try:
        yield
    finally:
        environ.__class__ = kind
