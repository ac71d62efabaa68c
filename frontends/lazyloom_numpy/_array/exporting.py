"""The data to code that wants memory: the buffer protocol and ``__array_interface__``.

NumPy asks for both before it asks for ``__array__``, and would make of them arrays that are
read-only, or of the wrong dtype (bfloat16), or that share memory where a copy was asked for. Both
are therefore there for those who ask for them by name in Python's code, and the buffer protocol
for C code that takes bytes or strided memory, and NumPy, which asks in the name of whatever code
called it, is told of ``__array__`` alone.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import _getframe
from types import CodeType
from typing import Any, Final

#: of the flags of ``PyObject_GetBuffer``
_WRITABLE: Final = 0x1
_INDIRECT: Final = 0x100

_MAKERS: Final = frozenset(("memoryview", "bytearray", "PickleBuffer"))
_INTERFACE: Final = "__array_interface__"
#: what code asks for by name, by its id: whether it makes memoryviews, whether it asks for the
#: interface. numpy.asarray(x) is called in loops, and what calls it is looked at twice each time
_asking: Final[dict[int, tuple[CodeType, bool, bool]]] = {}
#: code that is remembered, at most: some is made anew all the time
_REMEMBERED: Final = 512


def _asks(depth: int) -> tuple[bool, bool]:
    """Whether a function so far up names what makes memoryviews, and the interface."""
    try:
        code = _getframe(depth + 1).f_code
    except ValueError:
        return False, False
    found = _asking.get(id(code))
    if found is None or found[0] is not code:
        names = {*code.co_names, *(c for c in code.co_consts if type(c) is str)}
        if len(_asking) >= _REMEMBERED:
            _asking.clear()
        found = _asking[id(code)] = code, not _MAKERS.isdisjoint(names), _INTERFACE in names
    return found[1], found[2]


def exported(x: Any, flags: int) -> memoryview:
    """What ``__buffer__`` of an array answers. BufferError for those who want to write."""
    if flags & _WRITABLE:
        raise BufferError(
            "the memory of an array is read-only to others; give numpy.array(x), which is a copy")
    # memoryview, bytearray and NumPy take any layout, indirect ones too; nobody else does
    if flags & _INDIRECT and not _asks(2)[0]:
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
    if not _asks(2)[1] or x.dtype.kind == "V":
        raise AttributeError(_INTERFACE)
    memory, part = copied(x)
    described: dict[str, Any] = part.__array_interface__
    offset = described["data"][0] - memory.__array_interface__["data"][0]
    return {**described, "strides": part.strides, "data": memory, "offset": offset}
