"""Handles: 64-bit numbers that stand for objects on the other side of the C ABI.

The library itself keeps them (``handles.c``); these are its functions for the entries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import _lazyloom_shims  # type: ignore[import-not-found]

TENSOR: Final = 1
BUFFER: Final = 2
PROGRAM: Final = 3
CAPTURE: Final = 4
LINEAR_MAP: Final = 5
#: memory that another library has; a shutdown leaves it
EXPORT: Final = 6
QUANTIZED: Final = 7
EXPORTED: Final = 8

#: ``give(kind, thing)``: a new handle for that object
give: Final[Callable[[int, Any], int]] = _lazyloom_shims.give
#: ``find(kind, bits)``: the object of a handle of that kind; raises HandleError
find: Final[Callable[[int, int], Any]] = _lazyloom_shims.find
#: ``replace(kind, bits, thing)``: a live handle stands for another object from now on
replace: Final[Callable[[int, int, Any], None]] = _lazyloom_shims.replace
#: ``release_all()``: makes every handle stale; gives the objects of the tensors among them
release_all: Final[Callable[[], list[Any]]] = _lazyloom_shims.release_all

#: ``tensors()``: the objects of the live handles of tensors; none by a library that is older
tensors: Final[Callable[[], list[Any]]] = getattr(_lazyloom_shims, "tensors", list)


def _uncounted(by: int) -> None:
    # a library that is older takes the general way with every call
    return None


#: ``apart(by)``: counts the threads that record something by rules of the entries' own, on which
#: no call goes to the core directly (``direct.c``)
apart: Final[Callable[[int], None]] = getattr(_lazyloom_shims, "apart", _uncounted)
