"""Handles: 64-bit numbers that stand for objects on the other side of the C ABI.

The upper byte is the kind, the rest a serial number that is never given out again,
so that the number of an object that is gone means nothing for ever after.
"""

from __future__ import annotations

import itertools
from typing import Any, Final

from lazyloom.errors import HandleError

TENSOR: Final = 1
BUFFER: Final = 2
PROGRAM: Final = 3
_KINDS: Final = {TENSOR: "loom_tensor", BUFFER: "loom_buffer", PROGRAM: "loom_program"}
_SERIAL_BITS: Final = 56

_serial = itertools.count(1)
_alive: Final[dict[int, dict[int, Any]]] = {TENSOR: {}, BUFFER: {}, PROGRAM: {}}
#: owners beyond the first, of the few handles that were retained
_extra: Final[dict[int, int]] = {}

#: The objects of all live tensor handles, for callers that look up many.
tensors: Final = _alive[TENSOR]


def give(kind: int, thing: Any) -> int:
    """A new handle for that object."""
    bits = kind << _SERIAL_BITS | next(_serial)
    _alive[kind][bits] = thing
    return bits


def find(kind: int, bits: int) -> Any:
    """The object of a handle of that kind; raises HandleError."""
    found = _alive[kind].get(bits)
    if found is None:
        raise unknown(kind, bits)
    return found


def retain(kind: int, bits: int) -> None:
    """Add an owner; raises HandleError."""
    find(kind, bits)
    _extra[bits] = _extra.get(bits, 0) + 1


def release(kind: int, bits: int) -> None:
    """Remove an owner, and with the last one the handle; raises HandleError."""
    if _extra and bits in _extra and bits in _alive[kind]:
        if _extra[bits] == 1:
            del _extra[bits]
        else:
            _extra[bits] -= 1
    elif _alive[kind].pop(bits, None) is None:
        raise unknown(kind, bits)


def count() -> int:
    """The number of live handles of all kinds."""
    return sum(map(len, _alive.values()))


def release_all() -> None:
    """Make every handle stale."""
    _extra.clear()
    for alive in _alive.values():
        # emptied before the objects go, because their end may call back
        things = list(alive.values())
        alive.clear()
        del things


def unknown(kind: int, bits: int) -> HandleError:
    """The error that says why these bits are no live handle of that kind."""
    expected = _KINDS[kind]
    if bits == 0:
        return HandleError(f"the null handle was given, expected a {expected}")
    given = bits >> _SERIAL_BITS
    if given != kind and bits in _alive.get(given, ()):
        return HandleError(
            f"a {_KINDS[given]} was given ({bits:#018x}), expected a {expected}")
    if given not in _KINDS:
        return HandleError(
            f"{bits:#018x} was never given out as a handle, expected a {expected}; was the "
            "variable set?")
    return HandleError(
        f"the {_KINDS[given]} {bits:#018x} is stale: it was released, or lazyloom was shut down "
        f"since; expected a live {expected}")
