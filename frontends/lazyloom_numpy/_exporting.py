"""The data to code that wants memory: the buffer protocol and ``__array_interface__``.

NumPy asks for both before it asks for ``__array__``, and would make of them arrays that are
read-only, or of the wrong dtype (bfloat16), or that share memory where a copy was asked for. Both
are therefore there for those who ask for them by name in Python's code, and the buffer protocol
for C code that takes bytes or strided memory, and NumPy, which asks in the name of whatever code
called it, is told of ``__array__`` alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

#: of the flags of ``PyObject_GetBuffer``
_WRITABLE: Final = 0x1
_INDIRECT: Final = 0x100

_MAKERS: Final = frozenset(("memoryview", "bytearray", "PickleBuffer"))
_INTERFACE: Final = "__array_interface__"


def _names(depth: int) -> frozenset[Any]:
    """The names and texts in the code of the function so far up; none where there is no such."""
    try:
        code = sys._getframe(depth + 1).f_code
    except ValueError:
        return frozenset()
    return frozenset(code.co_names) | frozenset([c for c in code.co_consts if type(c) is str])


def exported(x: Any, flags: int) -> memoryview:
    """What ``__buffer__`` of an array answers. BufferError for those who want to write."""
    if flags & _WRITABLE:
        raise BufferError(
            "the memory of an array is read-only to others; give numpy.array(x), which is a copy")
    # memoryview, bytearray and NumPy take any layout, indirect ones too; nobody else does
    if flags & _INDIRECT and _MAKERS.isdisjoint(_names(2)):
        raise BufferError("the memory of an array is given by x.data, which is a memoryview")
    found: memoryview = x.data
    return found


def described(x: Any, copied: Callable[[Any], tuple[Any, Any]]) -> dict[str, Any]:
    """What ``__array_interface__`` of an array is; AttributeError for code that does not name it.

    The memory is a copy of all that the array's owner has, so that strides may lead anywhere in
    it; it is read-only, and lives as long as the dict. ``copied`` makes it, and the part of it
    that is the array.
    """
    # bfloat16 has no name there
    if _INTERFACE not in _names(2) or x.dtype.kind == "V":
        raise AttributeError(_INTERFACE)
    memory, part = copied(x)
    described: dict[str, Any] = part.__array_interface__
    offset = described["data"][0] - memory.__array_interface__["data"][0]
    return {**described, "strides": part.strides, "data": memory, "offset": offset}
