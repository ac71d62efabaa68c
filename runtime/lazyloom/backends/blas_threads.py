"""How many threads NumPy's products use while a program runs in pieces.

OpenBLAS's threads wait for each other by spinning. Where a compiler works on the other cores, a
product that takes microseconds on one thread takes tens of milliseconds on two. NumPy's wheels
bring an OpenBLAS of their own; with any other library nothing is changed.
"""

from __future__ import annotations

import ctypes
import glob
import os
import threading
from typing import Any, Final

import numpy as np

#: estimated seconds of a product from which those of its run may use all threads
LONG: Final = 0.002

#: a signal's handler may run a program while its thread holds it
_lock: Final = threading.RLock()


class _Library:
    """NumPy's OpenBLAS.

    Attributes:
        get, set: the functions of the library, or None.
        holders: runs that want one thread.
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


class one_thread:  # noqa: N801 - used as a function
    """A ``with`` block in which products use one thread, if ``wanted``."""

    __slots__ = ("_held", "_wanted")

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._held = False

    def __enter__(self) -> None:
        if not self._wanted:
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

    def __exit__(self, *exc: object) -> None:
        if self._held:
            b = _library
            with _lock:
                if b.holders == 1 and b.before > 1:
                    b.set(b.before)
                b.holders -= 1
