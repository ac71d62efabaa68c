"""The number of threads that NumPy's products use while a program runs op by op.

Each of NumPy's calls uses one; long products are computed in parts (:mod:`.parts`). NumPy's wheels
bring an OpenBLAS of their own; with any other library nothing is changed. To change its number of
threads and back takes OpenBLAS up to 70 us, so that it is left alone where all products are so
small that it uses one by itself.

The number belongs to the process: products of other threads of the program use one meanwhile, too.
``LAZYLOOM_BLAS_THREADS=0`` leaves it alone. A number that the program sets meanwhile stays.
"""

from __future__ import annotations

import ctypes
import enum
import glob
import os
import threading
from typing import Any, Final

import numpy as np

from ...host.parts import allowed
from ...settings import switched_on

#: estimated seconds of a product from which those of its run may use several threads
LONG: Final = 0.002
#: and below which OpenBLAS uses one for it: 9,216 multiplications of a matrix with a vector
SHORT: Final = 0.8e-6

#: a signal's handler may run a program while its thread holds it
_lock: Final = threading.RLock()


class _Library:
    """NumPy's OpenBLAS.

    Attributes:
        get, set: the functions of the library, or None.
        holders: runs under way.
        before: the number of threads that the program had.
    """

    def __init__(self) -> None:
        self.get: Any = None
        self.set: Any = None
        self.holders = 0
        self.before = 0
        self.looked = False

    def look(self) -> None:
        self.looked = True
        if not switched_on("LAZYLOOM_BLAS_THREADS"):
            return
        here = os.path.dirname(os.path.abspath(np.__file__))
        folders = (f"{here}.libs", os.path.join(here, ".libs"), os.path.join(here, ".dylibs"))
        for path in (p for f in folders for p in glob.glob(os.path.join(f, "lib*openblas*"))):
            try:
                library = ctypes.CDLL(path)
            except OSError:
                continue
            for name in ("scipy_openblas_{}_num_threads64_", "openblas_{}_num_threads64_",
                         "scipy_openblas_{}_num_threads", "openblas_{}_num_threads"):
                get = getattr(library, name.format("get"), None)
                set_ = getattr(library, name.format("set"), None)
                if get is not None and set_ is not None:
                    self.get, self.set = get, set_
                    return


_library: Final = _Library()


def several() -> bool:
    """Whether NumPy's products may use several threads."""
    with _lock:
        if not _library.looked:
            _library.look()
        if _library.get is None:
            return False
        return int(_library.get()) > 1 or _library.before > 1 and _library.holders > 0


class Threads(enum.Enum):
    """How many threads the products of a run use.

    With ``AS_THEY_ARE`` as many as the program has set, with ``ONE`` one, and with ``SEVERAL`` one
    a call, while long products may be in parts for as many threads as the program's products use.
    """

    AS_THEY_ARE = 0
    ONE = 1
    SEVERAL = 2


class using:  # noqa: N801 - used as a function
    """A ``with`` block in which NumPy's products use so many threads."""

    __slots__ = ("_held", "_threads", "_before")

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._held = False
        self._before = 1

    def __enter__(self) -> None:
        self._before = allowed.threads
        allowed.threads = 1
        if self._threads is Threads.AS_THEY_ARE:
            return
        b = _library
        with _lock:
            if not b.looked:
                b.look()
            if b.set is None:
                return
            b.holders += 1
            self._held = True
            if b.holders == 1:
                b.before = int(b.get())
                if b.before > 1:
                    b.set(1)
            if self._threads is Threads.SEVERAL:
                allowed.threads = b.before

    def __exit__(self, *exc: object) -> None:
        allowed.threads = self._before
        if self._held:
            b = _library
            with _lock:
                if b.holders == 1 and b.before > 1 and int(b.get()) == 1:
                    b.set(b.before)
                b.holders -= 1
