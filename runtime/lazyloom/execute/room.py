"""Whether there is memory for what a program is about to ask for.

XLA reports memory that it could not have when the program is under way, with the inputs that it
was given lost; and where it is compiling it ends the process. So what a run asks for at once is
asked for, and given back, before. Only address space is: what the system promises and does not
have (overcommitted memory, the limit of a control group) nobody can know before it is touched.
"""

from __future__ import annotations

import mmap
from typing import Any, Final

from ..interrupts import let_pass
from . import jax_compat

#: programs of values smaller than this altogether are not asked how much memory they need
_SMALL: Final = 1 << 16
#: a run that asks for less is not checked
_LITTLE: Final = 1 << 24


def needed(executable: Any, size: int) -> int:
    """How much memory a run of an executable asks for; 0 if that is little or not known.

    ``size`` is that of all its values together.
    """
    if size < _SMALL or jax_compat.client().platform != "cpu":
        return 0
    try:
        found = jax_compat.memory_needed(executable)
    except Exception as error:
        let_pass(error)
        return 0  # a backend that does not tell
    return found if found >= _LITTLE else 0


def require(size: int) -> None:
    """Raise MemoryError if the process cannot have that many more bytes now."""
    flags = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0)
    if not flags:
        return
    try:
        mmap.mmap(-1, size, flags=flags).close()
    except (OSError, ValueError, OverflowError) as error:
        raise MemoryError(
            f"out of memory: {size:,} bytes are needed and cannot be had") from error
