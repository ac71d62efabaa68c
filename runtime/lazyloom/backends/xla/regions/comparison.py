"""Comparison of a region's results with those of its ops, inside one program."""

from __future__ import annotations

import threading
import weakref
from typing import Any, Final

from ....codegen.faults import failed
from ....codegen.precision import difference
from .engines import failure, forget_programs_with, native_engine
from .region_op import Called, Compared

_known: Final[weakref.WeakValueDictionary[int, Comparison]] = weakref.WeakValueDictionary()
#: a signal's handler that computes arrays may get here while it is held
_lock: Final = threading.RLock()


class Comparison:
    """It gives the region's results, or those of its ops where the region's are wrong."""

    __slots__ = ("called", "native", "__weakref__")

    def __init__(self, compared: Compared) -> None:
        self.called: Final = compared.called
        check = _Check(compared.called)
        self.native: Final = native_engine(
            compared, compared.key, 0, 0, check, check.failed, True)


def comparison_of(compared: Compared) -> Comparison:
    """The comparison of a region, made if there is none."""
    with _lock:
        found = _known.get(compared.key)
        if found is None:
            found = _known[compared.key] = Comparison(compared)
        return found


class _Check:
    """What it does with the arrays of a run: the region's results, its ops', and the program's."""

    __slots__ = ("called",)

    def __init__(self, called: Called) -> None:
        self.called: Final = called

    def __call__(self, *arrays: Any) -> None:
        count = len(arrays) // 3
        found, expected, results = arrays[:count], arrays[count : 2 * count], arrays[2 * count :]
        wrong = difference(found, expected, self.called.generator.tolerance)
        if wrong is not None:
            self.tell(wrong)
        for out, array in zip(results, found if wrong is None else expected, strict=True):
            out[...] = array

    def failed(self, error: object, *arrays: Any) -> None:
        """Called where the comparison itself failed."""
        self.tell(f"{type(error).__name__}: {error}")
        count = len(arrays) // 3
        for out, array in zip(arrays[2 * count :], arrays[count : 2 * count], strict=True):
            out[...] = array

    def tell(self, wrong: str) -> None:
        if failed(failure(self.called, "verify", wrong)):
            forget_programs_with(self.called)
