"""Comparison of a region's results with those of its ops, inside one program."""

from __future__ import annotations

import threading
import weakref
from typing import Any, Final

from ....codegen.faults import failed
from ....codegen.precision import difference, roundings
from .engines import failure, forget_programs_with, native_engine
from .region_op import Called, Compared

_known: Final[weakref.WeakValueDictionary[int, Comparison]] = weakref.WeakValueDictionary()
#: a signal handler that computes arrays may get here while it is held
_lock: Final = threading.RLock()


class Comparison:
    """Gives the region's results, or those of its ops where the region's are wrong."""

    __slots__ = ("called", "native", "__weakref__")

    def __init__(self, compared: Compared) -> None:
        self.called: Final = compared.called
        check = _Check(compared.called)
        self.native: Final = native_engine(
            compared, compared.key, 0, 0, check, check.failed, True)


def comparison_of(compared: Compared) -> Comparison:
    """Return the comparison of a region, created if there is none."""
    with _lock:
        comparison = _known.get(compared.key)
        if comparison is None:
            comparison = _known[compared.key] = Comparison(compared)
        return comparison


class _Check:
    """The function of a run's arrays: the region's results, those of its ops, and the program's."""

    __slots__ = ("called", "rounded")

    def __init__(self, called: Called) -> None:
        self.called: Final = called
        self.rounded: Final = roundings(called.region.program)

    def __call__(self, *arrays: Any) -> None:
        count = len(arrays) // 3
        actual, expected, results = arrays[:count], arrays[count : 2 * count], arrays[2 * count :]
        wrong = difference(actual, expected, self.called.generator.tolerance, self.rounded)
        if wrong is not None:
            self.tell(wrong)
        for out, array in zip(results, actual if wrong is None else expected, strict=True):
            out[...] = array

    def failed(self, error: object, *arrays: Any) -> None:
        """Handle a failure of the comparison itself."""
        self.tell(f"{type(error).__name__}: {error}")
        count = len(arrays) // 3
        for out, array in zip(arrays[2 * count :], arrays[count : 2 * count], strict=True):
            out[...] = array

    def tell(self, wrong: str) -> None:
        if failed(failure(self.called, "verify", wrong)):
            forget_programs_with(self.called)
