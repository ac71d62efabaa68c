"""The memory of NumPy arrays: aligned copies, and references that others hold.

CPython counts the references to an object, and a function that was given a temporary has the only
one: its parameter. What counts show is that nobody else has an array, never that somebody has.
From Python 3.14 on a parameter may be a reference that its caller alone counts, so that a
temporary looks like a variable of the caller; there, and without the global lock, nothing counts
as held by nobody else.
"""

from __future__ import annotations

import ctypes
import sys
from sys import getrefcount
from types import FunctionType
from typing import Any, Final
from weakref import getweakrefcount

import numpy as np

from ..extension import in_c

#: what the memory of an array begins at a multiple of, for XLA to use it in place
ALIGNMENT: Final = 64
#: bytes of an array from which looking who has it takes less time than a copy
WORTHWHILE: Final = 1 << 15


def _copied(array: Any, dtype: Any) -> Any:
    """:data:`copied` without the extension in C: small arrays lie anywhere."""
    size = array.size * dtype.itemsize
    if size < WORTHWHILE:
        return np.array(array, dtype, order="C", copy=True, subok=False)
    block = np.empty(size + ALIGNMENT, np.uint8)
    start = -block.ctypes.data % ALIGNMENT
    made = block[start : start + size].view(dtype).reshape(array.shape)
    np.copyto(made, array, casting="unsafe")
    return made


#: ``copied(array, dtype)``: a copy of a NumPy array with a dtype, row by row, that a device of the
#: host uses in place
copied: Final = in_c("copied", _copied)


def _references(held: Any) -> int:
    return getrefcount(held)


def _references_of_base(view: Any) -> int:
    base = view.base
    return getrefcount(base)


def _references_of_variable() -> int:
    variable = np.empty(0)
    return _references(variable)


#: ``sys.getrefcount`` of a parameter, in the function that was given it, if nobody else has it
ALONE: Final = _references(np.empty(0))
#: of what one other object has, in a variable, if nothing else has it
HELD_ONCE: Final = _references_of_base(np.empty(2)[:1])
#: whether a count of ALONE means that
COUNTED: Final = (
    sys.implementation.name == "cpython" and sys.version_info < (3, 14)
    and getattr(sys, "_is_gil_enabled", lambda: True)()
    # a compiled function does not count its parameters
    and isinstance(_references, FunctionType)
    and _references_of_variable() == ALONE + 1
)  # fmt: skip


def alone(held: Any, references: int) -> bool:
    """Whether nobody has an object but the one that counted its references, as a parameter."""
    return COUNTED and references == ALONE and not getweakrefcount(held)


def sees_alone(array: Any, references: int) -> bool:
    """:func:`alone`, of an array and the memory that it lies in."""
    return type(array) is np.ndarray and alone(array, references) and whole(array)


def whole(array: Any) -> bool:
    """Whether an array that nobody else has fills memory that nobody else has either.

    What NumPy did not allocate, or an object other than an array has, may be anybody's.
    """
    if not COUNTED:
        return False
    size = array.nbytes
    while type(array) is np.ndarray and not getweakrefcount(array):
        flags = array.flags
        if flags.writebackifcopy:
            return False
        base = array.base
        if base is None:
            return bool(flags.owndata) and array.nbytes <= size + ALIGNMENT
        if getrefcount(base) != HELD_ONCE:
            return False
        array = base
    return False


def as_device_wants(array: Any, dtype: Any) -> bool:
    """Whether an array's elements have exactly the dtype and lie in memory row by row.

    NumPy has two dtypes for some integers, which are equal.
    """
    flags, own = array.flags, array.dtype
    return bool(flags.c_contiguous and flags.aligned and own == dtype and own.num == dtype.num)


def writable(view: Any) -> Any:
    """An array of the memory of one that may only be read, to which its new owner may write."""
    held = (ctypes.c_char * view.nbytes).from_address(view.ctypes.data)
    # what keeps the memory
    held.view = view
    return np.frombuffer(held, view.dtype).reshape(view.shape)
